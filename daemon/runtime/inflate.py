"""Inflates compressed bodies, within bounds of size and of ratio."""

from __future__ import annotations

import zlib

RATIO_MAX = 100
RATIO_FREE_BYTES = 64 * 1024
"""Up to so many bytes the ratio does not matter."""
_GZIP = 16 + zlib.MAX_WBITS


class NotCompressed(ValueError):
    """The bytes are not compressed as they are said to be."""


class InflatesTooFar(ValueError):
    """More than `limit` bytes would come out."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"inflates to more than {limit} bytes")
        self.limit = limit


def inflate(raw: bytes, encoding: str, bytes_max: int) -> bytes:
    """What one stream of gzip or deflate holds; a header of deflate may be missing."""
    limit = min(bytes_max, max(RATIO_FREE_BYTES, RATIO_MAX * len(raw)))
    if encoding == "gzip":
        window = _GZIP
    else:
        window = zlib.MAX_WBITS if raw[:1] and raw[0] & 0xF == zlib.DEFLATED else -zlib.MAX_WBITS
    stream = zlib.decompressobj(window)
    try:
        inflated = stream.decompress(raw, limit + 1)
    except zlib.error:
        raise NotCompressed from None
    if len(inflated) > limit:
        raise InflatesTooFar(limit)
    if not stream.eof or stream.unused_data:
        raise NotCompressed
    return inflated
