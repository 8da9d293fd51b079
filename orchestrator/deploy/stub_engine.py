"""A program that looks like a serving engine and can misbehave: what deployers are tested on.

Standard library only. It streams fixed words, so it is no engine to measure.
"""

import argparse
import contextlib
import http.server
import json
import signal
import subprocess
import sys
import time

WORDS = ("Paris", ".", " It", " is")
SLEEPER = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
BEHAVIOURS = ("plain", "crash", "silent", "refuse", "stubborn", "grandchild", "unready")


class _Answers(http.server.BaseHTTPRequestHandler):
    behaviour = "plain"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Keep the log to what the engine itself says."""

    def do_GET(self) -> None:
        """Answer health and metrics."""
        self._send(503 if self.behaviour == "unready" else 200, b"stub:requests 0\n")

    def do_POST(self) -> None:
        """Stream a few words as completion chunks, or misbehave as asked."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.behaviour == "silent":
            time.sleep(600)
        if self.behaviour == "refuse":
            self._send(400, b'{"error": "the model does not exist"}')
            return
        chunks = [{"choices": [{"index": 0, "text": word}]} for word in WORDS]
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
        self._send(200, "".join([*lines, "data: [DONE]\n\n"]).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    """Serve on loopback until told to end."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--behaviour", choices=BEHAVIOURS, default="plain")
    options = parser.parse_args()
    if options.behaviour == "crash":
        sys.exit("stub: unknown flag --crash")
    if options.behaviour == "stubborn":
        signal.signal(signal.SIGTERM, lambda *_: None)
    if options.behaviour == "grandchild":
        subprocess.Popen([sys.executable, "-c", SLEEPER], start_new_session=True)  # noqa: S603 - a fixed command
    _Answers.behaviour = options.behaviour
    with contextlib.suppress(KeyboardInterrupt):
        http.server.ThreadingHTTPServer(("127.0.0.1", options.port), _Answers).serve_forever()


if __name__ == "__main__":
    main()
