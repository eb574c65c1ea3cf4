"""Sixteen scrapers at a time: what a scrape costs the sidecar, beside Prometheus' own endpoint."""

import gzip
import http.client
import os
import pathlib
import threading
import time

import harness

LISTEN, PEER = "127.0.0.1:19844", "127.0.0.1:19190"
SCRAPERS, SECONDS = 16, 5
ACCEPT = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"


def run(rows):
    with harness.folder() as path:
        (path / "empty.yml").write_text("{}\n")
        with harness.running([str(harness.TIDEGATE), "serve", "--web.listen-address", LISTEN, "--state.dir", f"{path}/state",
                          "--control.socket", f"{path}/control.sock"], ready=lambda: answers(LISTEN)) as ours, \
                harness.running(["prometheus", f"--config.file={path}/empty.yml", f"--storage.tsdb.path={path}/data",
                             f"--web.listen-address={PEER}", "--log.level=error"], ready=lambda: answers(PEER)) as peer:
            for encoding, words in (("identity", "plain"), ("gzip", "compressed")):
                mine, theirs = measure(ours.pid, LISTEN, encoding), measure(peer.pid, PEER, encoding)
                ratio = mine["cpu"] / mine["samples"] / (theirs["cpu"] / theirs["samples"])
                rows.add(f"16 scrapers, {words}: CPU of a scrape (µs), against Prometheus' own, ratio by sample",
                         shown(mine), shown(theirs), f"{ratio:.2f}", "<= 1", ratio <= 1)


def shown(result):
    return (f"{result['cpu']:.0f} ({result['samples']} samples, {result['bytes']:,} bytes, "
            f"{result['rate']:,.0f}/s)")


def answers(address):
    try:
        return ask(http.client.HTTPConnection(address, timeout=2), "identity")[0] == 200
    except OSError:
        return False


def ask(connection, encoding):
    connection.request("GET", "/metrics", headers={"Accept": ACCEPT, "Accept-Encoding": encoding})
    response = connection.getresponse()
    return response.status, response.read()


def measure(pid, address, encoding):
    """CPU in µs of one scrape, its samples and bytes, and how many there were in a second."""
    counts, stop = [0] * SCRAPERS, threading.Event()

    def scrape(number):
        connection = http.client.HTTPConnection(address, timeout=10)
        while not stop.is_set():
            status, _ = ask(connection, encoding)
            if status == 200:
                counts[number] += 1

    threads = [threading.Thread(target=scrape, args=(number,)) for number in range(SCRAPERS)]
    for thread in threads:
        thread.start()
    # The first answers fill buffers and caches.
    time.sleep(1)
    before, start, first = cpu(pid), time.monotonic(), sum(counts)
    time.sleep(SECONDS)
    used, seconds, done = cpu(pid) - before, time.monotonic() - start, sum(counts) - first
    stop.set()
    for thread in threads:
        thread.join()
    body = ask(http.client.HTTPConnection(address, timeout=10), encoding)[1]
    text = gzip.decompress(body) if encoding == "gzip" else body
    samples = sum(1 for line in text.splitlines() if line and not line.startswith(b"#"))
    return {"cpu": used / done * 1e6, "samples": samples, "bytes": len(body), "rate": done / seconds}


def cpu(pid):
    """Seconds of both kinds that a process has used (proc_pid_stat(5))."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
