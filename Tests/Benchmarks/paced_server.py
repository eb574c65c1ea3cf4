"""Serves one file at so many bytes a second, and never more: each request begins without a burst.

Usage: paced_server.py ADDRESS PORT FILE BYTES_PER_SECOND READY_FILE
nginx' limit_rate grants each request a second's worth at once, so that a transfer that is broken off and continued would
be faster than one that is not.
"""

import http.server
import pathlib
import re
import sys
import time

TURN = 0.01


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        start = int(wanted.group(1)) if wanted and self.headers.get("If-Range", ETAG) == ETAG else 0
        if start >= len(BODY):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(BODY)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        self.send_header("ETag", ETAG)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(BODY) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(BODY) - 1}/{len(BODY)}")
        self.end_headers()
        self.send_paced(start)

    def send_paced(self, start):
        # What a connection could not take in its turn is not made up for later.
        step, next_turn = int(RATE * TURN), time.monotonic()
        for offset in range(start, len(BODY), step):
            self.wfile.write(BODY[offset:offset + step])
            next_turn = max(next_turn + TURN, time.monotonic() - TURN)
            time.sleep(max(0, next_turn - time.monotonic()))

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


if __name__ == "__main__":
    address, port, file, rate, ready = sys.argv[1:]
    BODY, RATE, ETAG = pathlib.Path(file).read_bytes(), int(rate), '"image"'
    with Server((address, int(port)), Handler) as server:
        pathlib.Path(ready).touch()
        server.serve_forever()
