"""What tasks cost while nothing happens to them: suspended by the hundred thousand, and waiting for an answer."""

import contextlib
import json
import socket
import threading

import harness

SUSPENDED, WAITING, SECONDS = 100_000, 10, 5


def run(rows):
    each = json.loads(harness.Measured([str(harness.BENCH), "suspended", str(SUSPENDED)]).text)["bytesEach"]
    rows.add("a suspended task among 100,000 (bytes)", f"{each:.0f}", "", "", "<= 600", each <= 600)
    with silent_server() as port:
        words = [str(harness.BENCH), "waiting", f"http://127.0.0.1:{port}/", str(WAITING), str(SECONDS)]
        result = json.loads(harness.Measured(words).text)
    spent = result["cpuMilliseconds"]
    reached = result["running"] == WAITING and spent <= 5
    rows.add("10 requests waiting 5 s for an answer, CPU (ms)", f"{spent:.1f}", "", "", "<= 5", reached)


@contextlib.contextmanager
def silent_server():
    """Accepts and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        kept = []

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    kept.append(listener.accept()[0])

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        for connection in kept:
            connection.close()
