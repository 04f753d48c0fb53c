"""`penstock templates`: list, show, check, and keep processes of one's own in files."""

from daemon.commands.templates import files  # noqa: F401 - its commands
from daemon.commands.templates.reading import templates

__all__ = ["templates"]
