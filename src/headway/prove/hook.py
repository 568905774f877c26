"""An endpoint for webhooks that notes every message, in the process that kills the others."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from headway.prove import ledger
from headway.prove.ledger import Ledger


class Hook:
    """Takes messages until it is closed."""

    def __init__(self, book: Ledger) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                told = json.loads(self.rfile.read(int(self.headers["content-length"])))
                book.note(ledger.TOLD, run_id=told["run_id"] or "", status=told["event"])
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """The ledger is the log."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Take no more."""
        self._server.shutdown()
        self._server.server_close()
