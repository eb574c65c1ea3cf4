"""Small GETs again, beside the clients that a Swift program could use instead; builds them first."""

import json
import statistics
import subprocess

import gets
import harness

LISTEN = "127.0.0.1:19846"
ROUNDS = 3
# The package below `peers`, its program, how many requests both make in a round, and the ratio to reach.
PEERS = [("AsyncHTTPClient", "AsyncGets", gets.COUNT // 3, 1.5), ("URLSession", "SessionGets", gets.COUNT // 20, 12)]


def run(rows):
    programs = [(name, build(name, program), count, goal) for name, program, count, goal in PEERS]
    with harness.folder() as path, harness.nginx(path, LISTEN):
        url = f"http://{LISTEN}/small"
        for name, program, count, goal in programs:
            ours, peer = [], []
            for _ in range(ROUNDS):
                ours.append(rate([str(harness.BENCH), "gets"], url, count))
                peer.append(rate([str(program)], url, count))
            mine, theirs = statistics.median(ours), statistics.median(peer)
            rows.add(f"GETs/s, against {name}", f"{mine:.0f}", f"{theirs:.0f}", f"{mine / theirs:.2f}",
                     f">= {goal}", mine / theirs >= goal)


def build(name, program):
    package = harness.HERE / "peers" / name
    words = ["swift", "build", "--package-path", str(package), "--configuration", "release"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return package / ".build" / "release" / program


def rate(words, url, count):
    return json.loads(harness.Measured([*words, url, str(count), str(gets.IN_FLIGHT)]).text)["perSecond"]
