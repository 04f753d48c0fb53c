"""The benchmark: the service beside a bare aiohttp echo server, interleaved, in one run."""
