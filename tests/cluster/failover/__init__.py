"""Several daemons on a database that fails over: its primary is killed, frozen and brought back."""
