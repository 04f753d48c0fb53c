"""Settings from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import quote, urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from daemon.mail.server import SmtpServer, is_page_address, parse_sender, parse_smtp_url
from daemon.model.audit_events import KeyPurpose
from daemon.model.budgets import PREFIX, Budgets
from daemon.runtime.systemd import SystemdEnvironment

RENAMED: Mapping[str, str] = {
    "PENSTOCK_ANSWER_BYTES_MAX": "PENSTOCK_RESPONSE_BYTES_MAX",
    "PENSTOCK_BODIES_BYTES_MAX": "PENSTOCK_REQUEST_BUFFERS_BYTES_MAX",
    "PENSTOCK_BODY_S": "PENSTOCK_BODY_TIMEOUT_S",
    "PENSTOCK_DRAIN_S": "PENSTOCK_DRAIN_TIMEOUT_S",
    "PENSTOCK_HASHES_MAX": "PENSTOCK_PASSWORD_HASHES_MAX",
    "PENSTOCK_IDLE_CONNECTION_S": "PENSTOCK_KEEPALIVE_TIMEOUT_S",
    "PENSTOCK_IDLE_S": "PENSTOCK_RUN_IDLE_S",
    "PENSTOCK_RECEIPTS_KEPT_S": "PENSTOCK_RECEIPT_TTL_S",
    "PENSTOCK_REQUESTS_WAITING_MAX": "PENSTOCK_REQUEST_QUEUE_MAX",
    "PENSTOCK_REQUESTS_WAIT_S": "PENSTOCK_REQUEST_QUEUE_TIMEOUT_S",
    "PENSTOCK_SWEEP_S": "PENSTOCK_SWEEP_INTERVAL_S",
    "PENSTOCK_TRACES_TO": "PENSTOCK_OTLP_ENDPOINT",
    "PENSTOCK_UNREAD_BYTES_MAX": "PENSTOCK_WRITE_BUFFERS_BYTES_MAX",
    "PENSTOCK_UNREAD_S": "PENSTOCK_WRITE_TIMEOUT_S",
}
"""Variables of earlier versions and their present names; an earlier name is refused."""

KEY_FILES: Mapping[KeyPurpose, str] = {
    "commits": "commit_keys_file",
    "tokens": "jwt_keys_file",
    "secrets": "vault_key_file",
    "audit": "audit_keys_file",
}
"""The setting that names the key file, by purpose; the others are logged under the first."""


SECRET_FILES = ("database_password_file", "smtp_password_file", "oidc_client_secret_file")


class Remote(BaseSettings):
    """Settings of the commands that call the service."""

    model_config = SettingsConfigDict(extra="ignore", frozen=True, env_ignore_empty=True)

    penstock_url: str = ""
    penstock_port: int = 8080
    penstock_token: str = ""
    penstock_api_key: str = ""
    xdg_config_home: Path | None = None

    @property
    def url(self) -> str:
        """The address of the service; without one, that of a service on this machine."""
        return self.penstock_url or f"http://127.0.0.1:{self.penstock_port}"

    @property
    def tokens_file(self) -> Path:
        """The file of login tokens; a relative XDG_CONFIG_HOME is ignored."""
        home = self.xdg_config_home
        return (home if home is not None and home.is_absolute() else Path.home() / ".config") / "penstock" / "tokens"


class Settings(Budgets):
    """Settings of the service, from `PENSTOCK_<NAME>`; a unit stands last in a name."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True)

    host: str = Field("127.0.0.1", description="address to listen on")
    port: Annotated[int, Field(ge=0, le=65535)] = Field(8080, description="port to listen on; 0 picks a free port")
    data_dir: Path = Field(Path("var"), description="folder of the database and the key files")
    database_url: SecretStr | None = Field(
        None,
        description="a PostgreSQL database that daemons share, postgresql://…; SQLite in the data folder when not set",
    )
    database_password_file: Path | None = Field(None, description="password at the database, if it is not in its URL")
    lease_s: Annotated[float, Field(ge=1, le=60)] = Field(
        5.0, description="with PostgreSQL: seconds without a heartbeat before other daemons take over its runs"
    )
    migrate_beside_others: bool = Field(
        default=False,
        description="with PostgreSQL: migrate the schema though daemons of an earlier version serve it, which then end",
    )
    disk_free_bytes_min: Annotated[int, Field(ge=0)] = Field(
        8_388_608, description="free space below which nothing is written to the data folder"
    )
    archive_dir: Path | None = Field(
        None,
        description="folder of archived runs: with SQLite archive in the data folder when not set; daemons that share "
        "a database need one that all of them see",
    )
    templates_dir: Path | None = Field(None, description="folder with further process templates (*.yaml)")
    egress_allow: str = Field(
        "", description="private networks that connectors and webhooks may reach, comma-separated"
    )
    egress_hosts: str = Field(
        "",
        description="hosts that connectors and webhooks may reach, like api.example.com, *.example.org; all if empty",
    )
    egress_ports: str = Field(
        "80,443",
        description="ports that connectors and webhooks may call; in a network of egress_allow they may call any",
    )
    public_url: str = Field(
        "", description="address of the page for people, which links in mails begin with: https://penstock.example"
    )
    witness_url: str = Field(
        "",
        description="place outside that is offered each new checkpoint of the service: https://witness.example/penstock"
        ", or a folder as file:///mnt/witness",
    )
    draft_model_url: str = Field(
        "",
        description="chat-completions endpoint that drafts processes from words: https://models.example/v1/chat/completions"
        "; rules draft them if not set, and where its answer does not keep all rules",
    )
    draft_model_name: str = Field("", description="model that the endpoint is asked for")
    draft_model_token: SecretStr | None = Field(None, description="bearer token at the endpoint")
    smtp_url: SecretStr | None = Field(
        None,
        description="server that takes mail: smtp://user:password@host:587, with ?starttls=auto or none for one "
        "without TLS, or smtps://…; no mail is sent if not set",
    )
    smtp_password_file: Path | None = Field(None, description="password at the SMTP server, if it is not in its URL")
    mail_from: str = Field("", description="sender of mails, such as Penstock <penstock@example.test>")
    oidc_issuer: str = Field(
        "", description="OpenID provider of single sign-on, such as https://login.example.com; off if empty"
    )
    oidc_client_id: str = Field("", description="name of the service at the OpenID provider")
    oidc_client_secret: SecretStr | None = Field(None, description="secret of the service at the OpenID provider")
    oidc_client_secret_file: Path | None = Field(None, description="file with the secret, in place of the secret")
    oidc_audience: str = Field(
        "", description="audience of the provider's tokens that the API takes, besides the name of the service"
    )
    oidc_domains: str = Field(
        "",
        description="companies by e-mail domain with the role of who comes, such as "
        "example.com=<company id>:member, comma-separated",
    )
    oidc_email_trusted: bool = Field(
        default=False, description="take e-mail addresses of a provider as verified that does not say whether they are"
    )
    oidc_id_tokens: bool = Field(default=False, description="take ID tokens of the provider as bearer tokens, too")
    oidc_email_claim: str = Field(
        "email", min_length=1, description="claim that names a person's e-mail address, such as upn"
    )
    oidc_groups_claim: str = Field(
        "", description="claim that names a person's groups, or the way to it, such as realm_access.roles"
    )
    oidc_groups: str = Field(
        "",
        description="groups whose members the provider decides at each log-in, comma-separated, such as nurses or "
        "nurses=<its name in the claim>; none if empty",
    )
    oidc_session_hours: Annotated[int, Field(ge=1)] = Field(
        12, description="hours after which a session by the provider ends, so that people log in there again"
    )
    rate_limits: bool = Field(default=True, description="limit registrations and wrong passwords per network")
    registration: Literal["open", "invited"] = Field(
        "open", description="who may register a company: anybody, or with `invited` nobody without an invitation"
    )
    trusted_proxies: str = Field(
        "",
        description="networks of proxies whose X-Forwarded-For or Forwarded header is trusted, comma-separated",
    )
    jwt_keys_file: Path | None = Field(None, description="token signing keys; created in the data folder if not set")
    vault_key_file: Path | None = Field(
        None, description="encryption keys of stored secrets; created in the data folder if not set"
    )
    audit_keys_file: Path | None = Field(
        None, description="checkpoint signing keys; created in the data folder if not set"
    )
    commit_keys_file: Path | None = Field(
        None, description="keys of the MAC of each commit; created in the data folder if not set"
    )
    token_ttl_s: Annotated[int, Field(ge=60)] = Field(86_400, description="lifetime of an API client's token")
    page_token_ttl_s: Annotated[int, Field(ge=5)] = Field(
        900, description="lifetime of the page's token, which is renewed while the page is open"
    )
    page_idle_s: Annotated[int, Field(ge=60)] = Field(
        86_400, description="time without use after which a session of the page ends"
    )
    page_session_ttl_s: Annotated[int, Field(ge=60)] = Field(
        2_592_000, description="longest time that a session of the page lasts"
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="lowest level that is logged")
    access_log: Literal["all", "errors", "off"] = Field(
        "errors",
        description="requests that are logged: all, only those that fail (5xx) or take 1 s or longer, or none",
    )
    metrics_port: Annotated[int, Field(ge=0, le=65535)] | None = Field(
        None, description="port of /metrics for Prometheus; 0 picks a free port; off if not set"
    )
    metrics_host: str = Field(
        "127.0.0.1", description="address of /metrics, which asks for no password; 0.0.0.0 only in a closed network"
    )
    otlp_endpoint: Annotated[str, Field(pattern=r"^(https?://[^/@\s]+(/[^@\s]*)?)?$")] = Field(
        "", description="OTLP/HTTP collector of traces, such as http://127.0.0.1:4318; off if empty"
    )
    mailbox_max: Annotated[int, Field(ge=1)] = Field(4_096, description="commands that may wait for one run")
    run_idle_s: Annotated[float, Field(ge=0)] = Field(10.0, description="how long an idle run stays in memory")
    batch_max: Annotated[int, Field(ge=1)] = Field(256, description="commits in one transaction")
    steps_max: Annotated[int, Field(ge=1)] = Field(10_000, description="steps that a run may enter")
    calls_max: Annotated[int, Field(ge=1)] = Field(
        256, description="connector calls in flight, at most three quarters of them for one company"
    )
    password_hashes_max: Annotated[int, Field(ge=1)] = Field(1, description="passwords hashed concurrently")
    body_bytes_max: Annotated[int, Field(ge=1024)] = Field(1_048_576, description="size of a request body")
    request_buffers_bytes_max: Annotated[int, Field(ge=2_097_152)] = Field(
        67_108_864,
        description="memory for request bodies that arrive or are worked on; a quarter more for those without a token",
    )
    response_bytes_max: Annotated[int, Field(ge=1024)] = Field(262_144, description="size of a connector's response")
    write_buffers_bytes_max: Annotated[int, Field(ge=1_048_576)] = Field(
        268_435_456, description="memory for all responses that wait for slow clients"
    )
    body_timeout_s: Annotated[float, Field(gt=0)] = Field(30.0, description="time for a request body to arrive")
    write_timeout_s: Annotated[float, Field(gt=0)] = Field(
        10.0, description="time that a response may wait for a slow client"
    )
    keepalive_timeout_s: Annotated[float, Field(gt=0)] = Field(
        12.0, description="time that a connection may be idle, or take to send a request head"
    )
    connections_max: Annotated[int, Field(ge=1)] = Field(10_000, description="open connections")
    requests_max: Annotated[int, Field(ge=1)] = Field(64, description="requests processed concurrently")
    request_queue_max: Annotated[int, Field(ge=0)] = Field(
        20_000, description="requests that may be queued, at most half of them for one company; more are refused"
    )
    request_queue_timeout_s: Annotated[float, Field(gt=0)] = Field(
        5.0, description="longest queue time of a request; 0.3 of it after a request has reached it"
    )
    wait_s: Annotated[float, Field(ge=0, le=60)] = Field(
        10.0, description="how long a response waits for a run to park or end"
    )
    drain_timeout_s: Annotated[float, Field(ge=0)] = Field(
        5.0, description="time that a shutdown waits for calls in flight"
    )
    sweep_interval_s: Annotated[float, Field(gt=0)] = Field(
        60.0, description="interval between searches for stuck runs"
    )
    receipt_ttl_s: Annotated[int, Field(ge=86_400)] = Field(
        172_800, description="how long an Idempotency-Key repeats its response"
    )

    @field_validator("database_url")
    @classmethod
    def _postgres(cls, given: SecretStr | None) -> SecretStr | None:
        """Accept PostgreSQL URLs only; an empty one is None."""
        if given is None or not given.get_secret_value():
            return None
        if not given.get_secret_value().startswith(("postgresql://", "postgres://")):
            raise ValueError("it has to begin with postgresql://")
        return given

    @model_validator(mode="after")
    def _database_has_one_password(self) -> Self:
        url = self.database_url
        if url is not None and self.database_password_file and urlsplit(url.get_secret_value()).password:
            raise ValueError("PENSTOCK_DATABASE_URL has a password, and PENSTOCK_DATABASE_PASSWORD_FILE, too")
        return self

    @field_validator("public_url")
    @classmethod
    def _public_url(cls, given: str) -> str:
        """Accept the address of a page, and take a slash off its end."""
        if given and not is_page_address(given):
            raise ValueError("it is no address such as https://penstock.example")
        address = given.rstrip("/")
        if urlsplit(address).path:
            # The page asks for /assets, and Location and Link begin at the root.
            raise ValueError(
                f"the page works at the root of a host alone, not below {urlsplit(address).path}: "
                "give it a host of its own, such as https://penstock.example"
            )
        return address

    @field_validator("witness_url")
    @classmethod
    def _witness(cls, given: str) -> str:
        parts = urlsplit(given)
        known = parts.hostname if parts.scheme in {"http", "https"} else parts.scheme == "file" and not parts.netloc
        if given and not known:
            raise ValueError("it is no address such as https://witness.example/penstock or file:///mnt/witness")
        return given

    @field_validator("draft_model_url")
    @classmethod
    def _model(cls, given: str) -> str:
        if given and not (given.startswith(("http://", "https://")) and urlsplit(given).hostname):
            raise ValueError("it is no address such as https://models.example/v1/chat/completions")
        return given

    @field_validator("smtp_url")
    @classmethod
    def _smtp(cls, given: SecretStr | None) -> SecretStr | None:
        """Accept the URL of an SMTP server; an empty one is None."""
        if given is None or not given.get_secret_value():
            return None
        parse_smtp_url(given.get_secret_value())
        return given

    @field_validator("mail_from")
    @classmethod
    def _sender(cls, given: str) -> str:
        if given:
            parse_sender(given)
        return given

    @model_validator(mode="after")
    def _mail_is_complete(self) -> Self:
        """Refuse a mail server without a sender, or without the address that links begin with."""
        if self.smtp_url is not None and not (self.mail_from and self.public_url):
            raise ValueError("PENSTOCK_SMTP_URL needs PENSTOCK_MAIL_FROM and PENSTOCK_PUBLIC_URL, too")
        return self

    @model_validator(mode="after")
    def _single_sign_on_is_complete(self) -> Self:
        """Refuse an OpenID provider without the name of the service there and its own address."""
        if self.oidc_issuer and not (self.oidc_client_id and self.public_url):
            raise ValueError("PENSTOCK_OIDC_ISSUER needs PENSTOCK_OIDC_CLIENT_ID and PENSTOCK_PUBLIC_URL, too")
        return self

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, given: str) -> str:
        for item in filter(None, map(str.strip, given.split(","))):
            try:
                ip_network(item)
            except ValueError as error:
                raise ValueError(f"{item} is no network such as 10.1.0.0/16 or ::1/128: {error}") from None
        return given

    @model_validator(mode="before")
    @classmethod
    def _key_files_from_credentials(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Take systemd credentials for files of secrets: `jwt.keys` for `jwt_keys_file`."""
        folder = SystemdEnvironment().credentials_directory
        names = [name for name in KEY_FILES.values() if name not in given]
        names += [name for name in SECRET_FILES if name not in given]
        files = {name: folder / key_file_name(name) for name in names if folder}
        return {**given, **{name: file for name, file in files.items() if file.exists()}}


def key_files(settings: Settings) -> dict[KeyPurpose, Path]:
    return {
        purpose: getattr(settings, name) or settings.data_dir / key_file_name(name)
        for purpose, name in KEY_FILES.items()
    }


def libpq_environment() -> Mapping[str, str]:
    """Variables such as PGHOST, by which clients of PostgreSQL find what a URL leaves open."""
    return os.environ


def database_address(settings: Settings) -> str | None:
    """The URL of the shared database with its password; None for SQLite.

    OSError when the file of the password cannot be read.
    """
    if settings.database_url is None or settings.database_password_file is None:
        return None if settings.database_url is None else settings.database_url.get_secret_value()
    url = urlsplit(settings.database_url.get_secret_value())
    user, _, host = url.netloc.rpartition("@")
    password = quote(settings.database_password_file.read_text(encoding="utf-8").strip(), safe="")
    return url._replace(netloc=f"{user}:{password}@{host}").geturl()


def smtp_server(settings: Settings) -> SmtpServer | None:
    """The server that takes mail; OSError when the file of its password cannot be read."""
    if settings.smtp_url is None:
        return None
    server = parse_smtp_url(settings.smtp_url.get_secret_value())
    if settings.smtp_password_file is None:
        return server
    return replace(server, password=settings.smtp_password_file.read_text(encoding="utf-8").strip())


def key_file_name(setting: str) -> str:
    """The name of a file of secrets in the data folder and among the credentials."""
    return setting.removesuffix("_file").replace("_", ".")


def renamed_variables() -> dict[str, str]:
    return {name: new for name in sorted(os.environ) if (new := RENAMED.get(name.upper())) is not None}


def unknown_variables() -> dict[str, str | None]:
    """The variables with our prefix that never were settings, each with the likely meant one."""
    prefix = str(Settings.model_config["env_prefix"])
    known = [name.upper() for name in Settings.model_fields]
    known += [name.upper().removeprefix(prefix) for name in Remote.model_fields if name.upper().startswith(prefix)]
    own = [name for name in sorted(os.environ) if name.upper().startswith(prefix) and name.upper() not in RENAMED]
    given = {name: name.upper().removeprefix(prefix) for name in own}
    close = {name: get_close_matches(given[name], known, 1) for name in given if given[name] not in known}
    return {name: prefix + found[0] if found else None for name, found in close.items()}
