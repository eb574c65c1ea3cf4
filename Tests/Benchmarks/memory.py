"""Resident memory of the sidecar over a minute under load: scrapes, links, addresses and routes that come and go."""

import pathlib
import shutil
import time

import harness

LISTEN = "127.0.0.1:19844"
SECONDS = 60


def run(rows):
    with harness.folder() as path, harness.Hosts() as hosts:
        binary = path / "tidegate"
        shutil.copy(harness.TIDEGATE, binary)
        harness.call("strip", str(binary))
        words = hosts.home(binary, "serve", "--web.listen-address", LISTEN,
                           "--state.dir", f"{path}/state", "--control.socket", f"{path}/control.sock")
        with harness.running(words, ready=lambda: scrape(hosts), cwd=str(path)) as ours:
            # Pages that only starting needed were given back; those that are used after all are here again by then.
            load(hosts, path, 30)
            before = harness.memory(ours.pid)
            rounds = load(hosts, path, SECONDS)
            after = harness.memory(ours.pid)
    grown = after[0] / before[0]
    rows.add(f"resident memory after a minute under load, {rounds} rounds (MiB)", f"{after[0]:.1f}",
             f"{before[0]:.1f} before", f"{grown:.2f}", "<= 1.05", grown <= 1.05)


def scrape(hosts):
    words = hosts.home("curl", "-s", "-o", "/dev/null", "--fail", f"http://{LISTEN}/metrics")
    return harness.status(words) == 0


def load(hosts, path, seconds):
    batch = pathlib.Path(path) / "load"
    lines = []
    for number in range(40):
        lines += [f"link add vetha{number} type veth peer name vethb{number}",
                  f"addr add 172.18.{number}.1/24 dev vetha{number}", f"link set vetha{number} up"]
    lines += [f"route add 172.19.{number}.0/24 via {hosts.peer}" for number in range(200)]
    lines += [f"route del 172.19.{number}.0/24" for number in range(200)]
    lines += [f"link del vetha{number}" for number in range(40)]
    batch.write_text("\n".join(lines) + "\n")
    end, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        harness.call("ip", "-n", hosts.inside, "-batch", str(batch))
        hosts.at_peer("link set cable down")
        hosts.at_peer("link set cable up")
        for _ in range(5):
            scrape(hosts)
        rounds += 1
    return rounds
