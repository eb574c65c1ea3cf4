"""20 MiB at 2 MiB/s; the source address is replaced after 3 s. The ideal is an undisturbed transfer in the same run.

The server grants no burst, so that a continued transfer gains nothing by its second request.
"""

import hashlib
import json
import threading

import harness

SWAP_AT, LIMIT = 3.0, 90
RATE = 2 << 20


def server(path, hosts):
    ready = path / "ready"
    ready.unlink(missing_ok=True)
    words = ["python3", harness.HERE / "paced_server.py", hosts.peer, 80, path / "image", RATE, ready]
    return harness.running(hosts.away(*words), ready=ready.exists)


def undisturbed(path, url):
    with harness.Hosts() as hosts, server(path, hosts):
        return harness.Measured(hosts.home("curl", "-s", "-o", "/dev/null", url)).seconds


def transfer(words, hosts):
    timer = threading.Timer(SWAP_AT, hosts.swap_address)
    timer.start()
    try:
        return harness.Measured(hosts.home(*words), limit=LIMIT)
    finally:
        timer.join()


def run(rows):
    results = {}
    with harness.folder() as path:
        served = path / "image"
        served.write_bytes(bytes(range(256)) * (20 << 12))
        digest = hashlib.sha256(served.read_bytes()).hexdigest()
        url = f"http://{harness.Hosts.peer}/image"
        ideal = undisturbed(path, url)
        programs = {
            "Tidegate": [str(harness.TIDEGATE), "fetch", url, "-o", f"{path}/got", "--write-out", "json"],
            "curl": ["curl", "-s", "--retry", "5", "--retry-all-errors", "--speed-time", "5", "-C", "-",
                     "-o", f"{path}/got", url],
            "aria2c": ["aria2c", "-q", "--allow-overwrite=true", "-d", str(path), "-o", "got", url],
        }
        for name, words in programs.items():
            got = path / "got"
            got.unlink(missing_ok=True)
            with harness.Hosts() as hosts, server(path, hosts):
                measured = transfer(words, hosts)
            whole = got.exists() and hashlib.sha256(got.read_bytes()).hexdigest() == digest
            results[name] = (measured.seconds, whole)
            if name == "Tidegate":
                report = json.loads(measured.text)
    ours, isWhole = results["Tidegate"]
    rows.add("recovery from an address swap (s), against an undisturbed one", f"{ours:.2f}", f"{ideal:.2f}",
             f"{ours / ideal:.3f}", "<= 1.02", isWhole and ours <= 1.02 * ideal)
    rows.add("bytes fetched twice", str(report["refetchedBytes"]), "", "", "0", report["refetchedBytes"] == 0)
    for name in ("curl", "aria2c"):
        seconds, whole = results[name]
        text = f"{seconds:.1f}" if whole else f"{seconds:.1f} (lost)"
        rows.add(f"the same, against {name}", f"{ours:.2f}", text, f"{ours / seconds:.2f}", "< 1", ours < seconds)
