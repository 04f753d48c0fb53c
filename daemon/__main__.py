"""`python -m daemon` is `penstock`."""

from daemon.cli import app

app()
