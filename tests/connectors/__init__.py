"""The room of connectors, against real servers on the loopback address."""
