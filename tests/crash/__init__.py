"""The service as a process of its own: killed, stopped, started again."""
