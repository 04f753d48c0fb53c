# The service as an image: `make image` builds it and tries it. docs/guides/install.md says how to run it.
# Tags name the base; where you build for others, replace them by the digests that you have checked.

FROM python:3.13-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_ROOT_USER_ACTION=ignore
WORKDIR /source
# What the service needs comes as wheels that are checked against their hashes; nothing is built from foreign source.
COPY requirements.txt ./
RUN python -m venv /opt/penstock && \
    /opt/penstock/bin/python -m pip install --no-compile --require-hashes --no-deps --only-binary :all: \
    --requirement requirements.txt
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY systemd systemd
COPY docs docs
COPY actors actors
COPY daemon daemon
# The locked build tools make the service's own wheel. The image has neither them nor the documentation, and neither
# compiled modules, which nothing could write anew, nor the build files that a dependency leaves behind.
RUN /opt/penstock/bin/python -m pip wheel --no-build-isolation --no-deps --wheel-dir /wheels . && \
    /opt/penstock/bin/python -m pip install --no-compile --no-index --no-deps /wheels/*.whl && \
    /opt/penstock/bin/python -m pip uninstall --yes \
    editables hatchling pathspec pluggy tomlkit trove-classifiers pip && \
    rm -rf /opt/penstock/share /opt/penstock/lib/systemd /opt/penstock/lib/python*/site-packages/bazel-project && \
    find /opt/penstock -name __pycache__ -type d -prune -exec rm -r {} +

FROM python:3.13-slim-bookworm
LABEL org.opencontainers.image.title="Penstock" \
      org.opencontainers.image.description="A service that runs governed processes" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN groupadd --system --gid 10001 penstock && \
    useradd --system --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent \
        --shell /usr/sbin/nologin penstock && \
    install --directory --owner 10001 --group 10001 --mode 0700 /var/lib/penstock
COPY --from=build /opt/penstock /opt/penstock
ENV PATH=/opt/penstock/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PENSTOCK_HOST=0.0.0.0 \
    PENSTOCK_PORT=8080 \
    PENSTOCK_DATA_DIR=/var/lib/penstock
# A number, so that Kubernetes sees that it is not root.
USER 10001:10001
# The only folder that it writes to, beside /tmp: everything else may be read-only.
VOLUME /var/lib/penstock
EXPOSE 8080
# The service drains on SIGTERM, also as process 1, and starts no process that it does not wait for.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import http.client, os, sys; line = http.client.HTTPConnection('127.0.0.1', int(os.environ['PENSTOCK_PORT']), timeout=4); line.request('GET', '/health'); sys.exit(line.getresponse().status != 200)"]
ENTRYPOINT ["penstock"]
CMD ["serve"]
