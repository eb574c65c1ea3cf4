"""Thousands of slow transfers open at once: what they cost, beside the C loop on libcurl."""

import os
import pathlib
import resource
import subprocess
import time

import harness

LISTEN = "127.0.0.1:19847"
COUNT, SECONDS, RATE = 5_000, 20, 1024


def run(rows):
    # Each transfer has a descriptor here and one in the server.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with harness.folder() as path, harness.nginx(path, LISTEN, rate=str(RATE), connections=COUNT + 1000) as server:
        (path / "long").write_bytes(bytes(1 << 20))
        loop = harness.compile_c("curl_loop.c", path, "-lcurl")
        url = f"http://{LISTEN}/long"
        ours = cost([str(harness.BENCH), "slow", url, str(COUNT)], server)
        peer = cost([str(loop), url, str(COUNT), str(COUNT)], server)
    rows.add(f"{COUNT} transfers of 1 KiB/s, CPU over {SECONDS} s (s)", f"{ours[0]:.2f}", f"{peer[0]:.2f}",
             f"{ours[0] / peer[0]:.2f}", "<= 1.5", ours[0] <= peer[0] * 1.5)
    more = (ours[1] - peer[1]) * 1024 / COUNT
    rows.add(f"{COUNT} transfers, memory each (KiB)", f"{ours[1] * 1024 / COUNT:.1f}", f"{peer[1] * 1024 / COUNT:.1f}",
             f"+{more:.1f}", "<= +40", more <= 40)


def cost(words, server):
    """CPU seconds while all transfers are open, and anonymous MiB at the end."""
    with harness.running(words, stdout=subprocess.DEVNULL) as process:
        if not harness.wait_until(lambda: sockets(process.pid) >= COUNT, 60):
            raise RuntimeError(f"{words[0]} has not opened {COUNT} connections")
        time.sleep(10)
        before = cpu(process.pid)
        time.sleep(SECONDS)
        result = cpu(process.pid) - before, harness.memory(process.pid)[1]
    # The server closes what the process before had open.
    harness.wait_until(lambda: sum(sockets(pid) for pid in children(server.pid)) < 100, 30)
    return result


def sockets(pid):
    folder = f"/proc/{pid}/fd"
    return sum(1 for name in os.listdir(folder) if "socket:" in target(f"{folder}/{name}"))


def target(link):
    try:
        return os.readlink(link)
    except OSError:
        return ""


def children(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def cpu(pid):
    # The process's own clock (clock_getcpuclockid(3)): /proc counts in hundredths of a second, which is too coarse here.
    return time.clock_gettime(~pid << 3 | 2)
