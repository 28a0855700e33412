"""A server of ClickHouse on loopback, for its own client: HTTP in front of the engine of chdb.

All requests share one session, with its settings. The first line printed is the port.
"""

from __future__ import annotations

import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlsplit

import chdb.session

_SESSION: Any = chdb.session.Session
ENGINE: Any = _SESSION(sys.argv[1])
ALONE = Lock()
_NO_SETTINGS = {
    *("buffer_size", "client_protocol_version", "compress", "database", "decompress", "query"),
    *("query_id", "role", "session_id", "session_timeout", "wait_end_of_query"),
}
"""Parameters of an address that are no settings."""


class Handler(BaseHTTPRequestHandler):
    """Answers a statement in the format that it asks for."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """The statement is the body, or stands in the address."""
        asked = parse_qs(urlsplit(self.path).query)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        text = "\n".join([*asked.get("query", []), body]).strip().rstrip(";")
        found = re.search(r"\sFORMAT\s+(\w+)\s*$", text)
        form = found[1] if found else "TabSeparated"
        text = text[: found.start()] if found else text
        try:
            with ALONE:
                for name in {*asked} - _NO_SETTINGS:
                    ENGINE.query(f"SET {name} = '{asked[name][0]}'")
                content, status = bytes(ENGINE.query(text, form).bytes()), 200
        except Exception as error:  # noqa: BLE001  # whatever it is, the client is told
            content, status = str(error).encode(), 500
        print(text.replace("\n", " "), file=sys.stderr, flush=True)  # noqa: T201  # the log of the test
        self.send_response(status)
        if status != 200:
            code = re.search(rb"Code: (\d+)", content)
            self.send_header("X-ClickHouse-Exception-Code", code[1].decode() if code else "1")
        self.send_header("X-ClickHouse-Format", form)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing."""


with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
    print(server.server_port, flush=True)  # noqa: T201  # the test waits for it
    server.serve_forever()
