"""The library of shipped processes, judged by its own standard: `make library`."""
