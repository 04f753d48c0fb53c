"""Answers that are whole before they are sent, as nearly all of ours are."""

from __future__ import annotations

from aiohttp import HttpVersion11, hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.helpers import rfc822_formatted_time


class Answer(web.Response):
    """An answer whose head is made in one step, where aiohttp takes five for whatever else an answer may be."""

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Make the head, as aiohttp would; to it is left what is out of the ordinary."""
        if not self._is_ordinary(request) or not isinstance(self._body, bytes):
            return await super().prepare(request)
        headers, writer = self._headers, request.writer
        self._req, self._payload_writer = request, writer
        if self._keep_alive is None:
            self._keep_alive = request.keep_alive
        headers[hdrs.CONTENT_LENGTH] = str(len(self._body))
        headers[hdrs.DATE] = rfc822_formatted_time()
        if not self._keep_alive:
            headers[hdrs.CONNECTION] = "close"
        await writer.write_headers(f"HTTP/1.1 {self._status} {self._reason}", headers)
        return writer

    def _is_ordinary(self, request: web.BaseRequest) -> bool:
        """Whether nothing but the body is asked for, and nothing but that was made."""
        return (
            request.version == HttpVersion11
            and request.method != hdrs.METH_HEAD
            and not self.prepared
            and not self._cookies
            and not self._compression
        )
