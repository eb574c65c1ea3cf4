"""One gigabyte to a file, durable: `fetch -o` against `curl -o` and sync(1)."""

import statistics

import harness

LISTEN = "127.0.0.1:19845"
BYTES, ROUNDS = 1 << 30, 7


def run(rows):
    with harness.folder() as path, harness.nginx(path, LISTEN):
        write_source(path / "source")
        url, ours_at, peer_at = f"http://{LISTEN}/source", path / "ours", path / "peer"
        ours, peer = [], []
        for _ in range(ROUNDS):
            ours.append(download([str(harness.TIDEGATE), "fetch", "--output", str(ours_at), url], ours_at))
            peer.append(download(["sh", "-c", f"curl -s -o {peer_at} {url} && sync {peer_at}"], peer_at))
    rate = statistics.median(one.seconds for one in peer) / statistics.median(one.seconds for one in ours)
    mine, theirs = (statistics.median(one.cpu for one in runs) for runs in (ours, peer))
    speeds = [BYTES / (1 << 20) / statistics.median(one.seconds for one in runs) for runs in (ours, peer)]
    rows.add("1 GiB to a file (MiB/s), against curl and sync", f"{speeds[0]:.0f}", f"{speeds[1]:.0f}", f"{rate:.2f}",
             ">= 0.97", rate >= 0.97)
    rows.add("1 GiB to a file, CPU (s)", f"{mine:.2f}", f"{theirs:.2f}", f"{mine / theirs:.2f}", "<= 1.3",
             mine / theirs <= 1.3)


def write_source(path):
    # Written whole and not as a hole: the server reads it from the page cache each time.
    block = bytes(range(256)) * 4096
    with path.open("wb") as file:
        for _ in range(BYTES // len(block)):
            file.write(block)


def download(words, path):
    measured = harness.Measured(words)
    if measured.status != 0 or path.stat().st_size != BYTES:
        raise RuntimeError(f"{words[0]} did not bring the file")
    path.unlink()
    return measured
