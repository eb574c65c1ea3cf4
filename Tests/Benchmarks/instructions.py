"""Instructions of one small GET, counted by callgrind, which a busy machine changes far less than its time."""

import pathlib
import re
import subprocess

import harness

FEW, MANY, IN_FLIGHT, RUNS = 1_000, 11_000, 64, 3
LISTEN = "127.0.0.1:19842"


def run(rows):
    with harness.folder() as path, harness.nginx(path, LISTEN):
        loop = harness.compile_c("curl_loop.c", path, "-lcurl")
        url = f"http://{LISTEN}/small"
        ours = per_request(path, [stripped(path), "gets", url])
        peer = per_request(path, [loop, url])
    rows.add("instructions per GET, against the C loop", f"{ours:.0f}", f"{peer:.0f}", f"{ours / peer:.2f}",
             "< 85,000", ours < 85_000)


def per_request(path, command, *more):
    """What each further request adds; starting and stopping cancel out.

    The least of several runs: the fewer answers come together, the more each turn of the loop costs one of them.
    """
    few, many = (min(total(path, command, count, *more) for _ in range(RUNS)) for count in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def total(path, command, count, *more):
    return summary(path, *command, count, IN_FLIGHT, *more)


def summary(path, *words):
    """The instructions of a whole run."""
    output = path / "callgrind.out"
    subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}", *map(str, words)], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600)
    return int(re.search(r"^summary: (\d+)", pathlib.Path(output).read_text(), re.MULTILINE).group(1))


def stripped(path):
    """Our side without debug information: valgrind does not read what Swift writes, and stops at it."""
    bench = path / "bench"
    harness.call("objcopy", "--strip-debug", str(harness.BENCH), str(bench))
    return bench
