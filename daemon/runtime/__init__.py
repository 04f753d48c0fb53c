"""The process: systemd, files, ids, JSON and background loops."""
