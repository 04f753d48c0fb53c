"""An HTTP endpoint for connectors: it responds at once, on release, or closes the connection."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, Self

RESPONSE = b'{"reference": "PAY-77"}'
TIMEOUT_S = 30.0


class Endpoint:
    """Listens on loopback; `/slow` waits for `release`, `/break` closes without a response."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, str | None]] = []
        self.release = Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def connector(self, path: str, **more: Any) -> dict[str, Any]:
        return {"base_url": self.url, "path": path, "method": "POST", "reversible": True, "retries": 0, **more}

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()


def _handler(endpoint: Endpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            endpoint.calls.append((self.command, self.path, self.headers.get("Authorization")))
            if self.path.endswith("/slow"):
                endpoint.release.wait(TIMEOUT_S)
            if self.path.endswith("/break"):
                self.connection.close()
                return
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(RESPONSE)))
            self.end_headers()
            self.wfile.write(RESPONSE)

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, *_: object) -> None:
            """Keep the output of the tests clean."""

    return Handler
