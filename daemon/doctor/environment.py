"""Checks of settings, versions, the data folder, key files, and the servers beside."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import platform
import shutil
import sqlite3
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from aiosmtplib import SMTPException, SMTPResponseException

from daemon import __version__
from daemon.connectors.egress import egress_guard
from daemon.keys.commit_keys import CommitKeys
from daemon.keys.keyring import KeyFileRefused, KeyRing, check_owner, read_ring
from daemon.mail import mailer
from daemon.mail.mailer import Mailer
from daemon.mail.server import SmtpServer, parse_sender
from daemon.settings import KEY_FILES, Settings, key_files, renamed_variables, smtp_server, unknown_variables
from daemon.sso.provider import Client, Provider, ProviderUnavailable, ProviderUnfit, insecure, open_session
from daemon.stores.sqlite import inspection
from daemon.stores.sqlite.connection import DATABASE, in_use
from daemon.templates.loading import TemplateRefused, load_folder

State = Literal["ok", "warning", "problem"]
NAMED_MAX = 5


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    state: State
    text: str
    hint: str = ""


def ok(name: str, text: str) -> Check:
    return Check(name, "ok", text)


def warning(name: str, text: str, hint: str) -> Check:
    return Check(name, "warning", text, hint)


def problem(name: str, text: str, hint: str) -> Check:
    return Check(name, "problem", text, hint)


def few(found: Iterable[str]) -> list[str]:
    every = list(found)
    more = [f"{len(every) - NAMED_MAX:,} more"] if len(every) > NAMED_MAX else []
    return every[:NAMED_MAX] + more


PACKAGES = (
    *("aiohttp", "aiosqlite", "pydantic", "cryptography", "cel-expr-python"),
    *("msgspec", "uvloop", "opentelemetry-sdk"),
)
# Two connections that write or checkpoint at once can corrupt a database in WAL mode.
WAL_RESET_BUG = ((3, 7, 0), (3, 51, 2))
COMMIT_KEYS_FROM = 10
"""The schema of SQLite from which commits have MACs, and so a key file."""
FREE_BYTES_MIN = 256 * 1024 * 1024
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def variables() -> Iterator[Check]:
    renamed, unknown = renamed_variables(), unknown_variables()
    for old, new in renamed.items():
        yield problem("settings", f"{old} is now {new}", f"write {new}: the service does not start with {old}")
    for name, meant in unknown.items():
        if meant is None:
            yield warning("settings", f"{name} is not a setting", "remove it, unless another program reads it")
        else:
            yield problem("settings", f"{name} is not a setting and has no effect", f"write {meant}")
    if not renamed and not unknown:
        yield ok("settings", "every PENSTOCK_ variable is a setting")


def versions() -> Iterator[Check]:
    yield ok("python", f"{platform.python_implementation()} {platform.python_version()}")
    bug = WAL_RESET_BUG[0] <= sqlite3.sqlite_version_info <= WAL_RESET_BUG[1]
    note = "; let nothing but penstock write to the file: up to 3.51.2 two writers can damage it" if bug else ""
    yield ok("sqlite", f"SQLite {sqlite3.sqlite_version}{note}")
    yield ok("packages", ", ".join(f"{name} {version}" for name, version in installed().items()))
    owners = set(importlib.metadata.packages_distributions().get("daemon", ())) - {"penstockd"}
    if owners:
        hint = "install Penstock into a virtual environment of its own"
        yield problem("packages", f"{', '.join(sorted(owners))} brings a package called daemon, too", hint)


def installed() -> dict[str, str]:
    """The versions of the main packages; of extras only if installed."""
    found = {"penstock": __version__}
    for name in PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def folder(path: Path) -> Iterator[Check]:
    """Check permissions, free space and whether a service uses the data folder."""
    if not path.is_dir():
        yield warning("folder", f"{path} is not there", "penstock serve makes it; is PENSTOCK_DATA_DIR right?")
        return
    yield from private("folder", path, "0700")
    yield from _owned(path)
    for one in sorted(path.glob(f"{DATABASE}*")):
        yield from private("database", one, "0600")
    free, size = shutil.disk_usage(path).free, sum(one.stat().st_size for one in path.glob(f"{DATABASE}*"))
    text = f"{free // 2**20:,} MiB are free, the database has {size // 2**20:,} MiB"
    if free < FREE_BYTES_MIN:
        yield problem("space", text, "make room: without it nothing can be written")
    elif free < size:
        yield warning("space", text, "make room: a copy of the database does not fit")
    else:
        yield ok("space", text)
    yield ok("lock", "a service is running" if in_use(path) else "no service is running")


def keys(settings: Settings) -> Iterator[Check]:
    """Check the key files; missing ones are created by the service only at their default path."""
    began = (settings.data_dir / DATABASE).exists()
    without_macs = began and _schema(settings.data_dir) < COMMIT_KEYS_FROM
    for purpose, path in key_files(settings).items():
        if path.exists():
            yield _key_file(purpose, path)
        elif without_macs and purpose == "commits":
            yield ok("keys", f"{path} is made at the next start ({purpose}): this database is older than it")
        elif began:
            hint = f"put it back, or say where it is: PENSTOCK_{KEY_FILES[purpose].upper()}"
            yield problem("keys", f"{path} is not there ({purpose})", hint)


def _schema(folder: Path) -> int:
    """The number of a database's schema; the newest where that cannot be read, which others say."""
    try:
        with inspection.looking(folder / DATABASE) as db:
            done = inspection.applied(db)
    except sqlite3.Error:
        return sys.maxsize
    return done[-1].number if done else sys.maxsize


def vault_ring(settings: Settings) -> KeyRing | None:
    """The keys that seal stored secrets; None when they cannot be read."""
    try:
        return read_ring(key_files(settings)["secrets"])
    except KeyFileRefused:
        return None


def commit_keys(settings: Settings) -> CommitKeys | None:
    """The keys of commits; None when they cannot be read."""
    try:
        return CommitKeys.open(key_files(settings)["commits"], create=False)
    except KeyFileRefused:
        return None


def _key_file(purpose: str, path: Path) -> Check:
    try:
        ring = read_ring(path)
        if os.geteuid() != 0:  # root is not the user of the service
            check_owner(path)
    except KeyFileRefused as refused:
        return problem("keys", str(refused), "mend it, or put it back from where the keys are kept apart")
    return ok("keys", f"{path} holds {len(ring.keys)} ({purpose})")


def private(name: str, path: Path, mode: str) -> Iterator[Check]:
    found = path.stat()
    if found.st_mode & OTHERS:
        yield problem(name, f"{path} is open to others: {stat.filemode(found.st_mode)}", f"chmod {mode} {path}")
    if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
        hint = "a restore was cut off here: repeat it, or remove the other name without opening it"
        yield warning(name, f"{path} has {found.st_nlink} names", hint)


def _owned(path: Path) -> Iterator[Check]:
    owner = path.stat().st_uid
    wrong = [one.name for one in sorted(path.iterdir()) if one.stat().st_uid != owner]
    if wrong:
        hint = "give them to the owner of the folder, or the service cannot open them"
        yield problem("folder", f"others own {', '.join(wrong)}", hint)
    elif owner not in (os.geteuid(), 0) and os.geteuid() != 0:
        yield warning("folder", f"{path} belongs to another user", "run penstock as the user of the service")
    else:
        yield ok("folder", f"{path} and what is in it belong to one user")


HINT = "correct PENSTOCK_SMTP_URL, or see that the server is up and that this machine trusts its certificate"


def mail(settings: Settings) -> Iterator[Check]:
    """Connect to the SMTP server and log in, if there is one; no mail is sent."""
    file = settings.smtp_password_file
    try:
        server = smtp_server(settings)
    except (OSError, ValueError) as error:
        yield problem("mail", f"{file} cannot be read: {type(error).__name__}", "correct PENSTOCK_SMTP_PASSWORD_FILE")
        return
    if server is None:
        return
    if file is not None:
        yield from private("mail", file, "0600")
    if not mailer.HEADERS_VERIFIED:
        hint = "update Python; Penstock keeps such words out of headers itself"
        yield warning("python", "this Python writes line breaks of encoded words into headers of mails", hint)
    yield asyncio.run(_smtp_reached(server, settings.mail_from))


async def _smtp_reached(server: SmtpServer, sender: str) -> Check:
    where = f"{server.host}:{server.port}"
    try:
        await Mailer(server, parse_sender(sender)).reach()
    except (SMTPException, OSError) as error:
        answer = f" ({error.code})" if isinstance(error, SMTPResponseException) else ""
        return problem("mail", f"{where} takes no mail from here: {type(error).__name__}{answer}", HINT)
    with_login = "" if server.user is None else " and takes the password"
    return ok("mail", f"{where} is there{with_login}")


def beside(settings: Settings) -> Iterator[Check]:
    """Read the rules of egress and the folder of templates, which the service has to start with."""
    try:
        egress_guard(settings.egress_allow, settings.egress_hosts, settings.egress_ports)
    except ValueError as wrong:
        yield problem("settings", f"{str(wrong).partition(':')[0]} cannot be read", "correct or remove it")
    if settings.templates_dir is None:
        return
    try:
        found = load_folder(settings.templates_dir)
    except (TemplateRefused, OSError) as wrong:
        yield problem(
            "templates", f"{settings.templates_dir} cannot be served: {wrong}", "correct PENSTOCK_TEMPLATES_DIR"
        )
    else:
        yield ok("templates", f"{settings.templates_dir} has {len(found)}")


NAME = "single sign-on"


def single_sign_on(settings: Settings) -> Iterator[Check]:
    """Read what the provider says of itself, if there is one."""
    if not settings.oidc_issuer:
        return
    if (reason := insecure(settings.oidc_issuer)) is not None:
        yield problem(NAME, f"{settings.oidc_issuer}: {reason}", "correct PENSTOCK_OIDC_ISSUER")
        return
    yield asyncio.run(_provider_reached(settings))


async def _provider_reached(settings: Settings) -> Check:
    client = Client(settings.oidc_issuer, settings.oidc_client_id, "", "")
    guard = egress_guard(settings.egress_allow, settings.egress_hosts, settings.egress_ports)
    async with open_session(guard) as session:
        try:
            metadata = await Provider(client, session).metadata()
        except ProviderUnfit as unfit:
            return problem(NAME, f"the provider does not fit: {unfit}", "correct the PENSTOCK_OIDC_ settings")
        except ProviderUnavailable as unavailable:
            hint = "see that it is up, and that this machine may call it"
            return problem(NAME, f"{settings.oidc_issuer}: {unavailable}", hint)
    return ok(NAME, f"{metadata.issuer} is there and signs by {', '.join(sorted(metadata.algorithms))}")
