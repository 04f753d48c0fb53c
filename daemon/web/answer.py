"""Answers that are whole before they are sent, as nearly all of ours are."""

from __future__ import annotations

from aiohttp import HttpVersion11, hdrs, web
from aiohttp.helpers import rfc822_formatted_time
from aiohttp.http_writer import _serialize_headers


class Answer(web.Response):
    """An answer that is made and written in one step, where aiohttp takes a dozen for whatever else one may be."""

    def whole(self, request: web.BaseRequest) -> bytes | None:
        """All of it as aiohttp would send it; None where something is out of the ordinary, which is left to aiohttp."""
        if not self._is_ordinary(request) or not isinstance(self._body, bytes):
            return None
        headers = self._headers
        if self._keep_alive is None:
            self._keep_alive = request.keep_alive
        headers[hdrs.CONTENT_LENGTH] = str(len(self._body))
        headers[hdrs.DATE] = rfc822_formatted_time()
        if not self._keep_alive:
            headers[hdrs.CONNECTION] = "close"
        return _serialize_headers(f"HTTP/1.1 {self._status} {self._reason}", headers) + self._body

    def _is_ordinary(self, request: web.BaseRequest) -> bool:
        """Whether nothing but the body is asked for, and nothing but that was made."""
        return (
            request.version == HttpVersion11
            and request.method != hdrs.METH_HEAD
            and not self.prepared
            and not self._cookies
            and not self._compression
        )
