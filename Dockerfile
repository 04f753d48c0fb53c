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
    /opt/penstock/bin/python -m pip install --require-hashes --no-deps --only-binary :all: \
    --requirement requirements.txt
COPY pyproject.toml README.md LICENSE ./
COPY systemd systemd
COPY docs docs
COPY actors actors
COPY daemon daemon
# The locked build tools make the service's own wheel; the image has neither them nor the documentation.
RUN /opt/penstock/bin/python -m pip wheel --no-build-isolation --no-deps --wheel-dir /wheels . && \
    /opt/penstock/bin/python -m pip install --no-index --no-deps /wheels/*.whl && \
    /opt/penstock/bin/python -m pip uninstall --yes editables hatchling trove-classifiers pip && \
    rm -r /opt/penstock/share /opt/penstock/lib/systemd

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
