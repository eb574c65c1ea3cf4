"""10,000 targets re-evaluated after one link event, beside a C program that asks the kernel as much; 1,000 checked."""

import statistics
import subprocess
import threading
import time

import connections
import harness

COUNT, ROUNDS = 10_000, 11
# Targets of a sidecar that connects to each every 30 seconds.
CHECKED, PORT = 1000, 9000
LISTEN = "127.0.0.1:19850"


def run(rows):
    with harness.folder() as path, harness.Hosts() as hosts:
        checked(rows, path, hosts)
        second(hosts)
        asks = hosts.home(harness.compile_c("lookups.c", path), COUNT, ROUNDS)
        with harness.running(hosts.home(harness.BENCH, "targets", COUNT), stdout=subprocess.PIPE) as ours:
            moments, ready = [], threading.Event()
            threading.Thread(target=harness.follow, args=(ours, moments, ready), daemon=True).start()
            if not ready.wait(30) or not harness.wait_until(lambda: moments, 30):
                raise RuntimeError("the targets did not come up")
            time.sleep(1)
            looked = [one_evaluation(hosts, moments, number) for number in range(ROUNDS)]
            bare = statistics.median(float(line) for line in harness.Measured(asks).text.split())
            moved = [one_move(hosts, moments) for _ in range(ROUNDS)]
    for what, latencies in (("looked at", looked), ("moved", moved)):
        median = statistics.median(latencies)
        rows.add(f"10,000 targets {what} after one link event, against bare lookups (ms)", f"{median:.1f}",
                 f"{bare:.1f}", f"{median / bare:.2f}", "<= 60 ms", median <= 60)


def checked(rows, path, hosts):
    """CPU of a sidecar that connects to targets, over a minute."""
    load = harness.compile_c("tcp_load.c", path)
    lines = [f"    - {{name: t{port}, host: {hosts.peer}, port: {port}}}" for port in range(PORT, PORT + CHECKED)]
    (path / "checked.yml").write_text("\n".join(["reachability:", "  targets:"] + lines))
    words = hosts.home(
        harness.TIDEGATE, "serve", "--config.file", path / "checked.yml", "--web.listen-address", LISTEN,
        "--state.dir", path / "state", "--control.socket", path / "socket")
    with connections.ready(hosts.away(load, "serve", PORT, CHECKED, "close")), harness.running(
            words, ready=lambda: harness.status(hosts.home("curl", "-sf", f"http://{LISTEN}/-/healthy")) == 0) as ours:
        time.sleep(35)
        used = connections.cpu(ours.pid)
        time.sleep(60)
        used = connections.cpu(ours.pid) - used
        text = subprocess.run(hosts.home("curl", "-sf", f"http://{LISTEN}/metrics"), check=True, capture_output=True,
                              text=True).stdout
        dirty = harness.dirty_memory(ours.pid)
    reached = sum(line.endswith(" 1") for line in text.splitlines() if line.startswith("tidegate_target_reachable{"))
    rows.note(f"1,000 targets ({reached} reachable), a connect each in 30 s: CPU of a minute (s), private memory (MiB)",
              f"{used:.2f}, {dirty:.1f}")


def second(hosts):
    """A second default route, used while the first link has no carrier."""
    harness.call("ip", "link", "add", "backup", "index", "78", "netns", hosts.inside,
             "type", "veth", "peer", "name", "spare", "netns", hosts.outside)
    hosts.at_peer("addr add 10.78.0.1/24 dev spare")
    hosts.at_peer("link set spare up")
    hosts.at_home("addr add 10.78.0.2/24 dev backup")
    hosts.at_home("link set backup up")
    hosts.at_home("route add default via 10.78.0.1 metric 200")
    for link in ("all", "uplink"):
        harness.call(*hosts.home("sysctl", "-q", "-w", f"net.ipv4.conf.{link}.ignore_routes_with_linkdown=1"))


def latency_of(moments, act):
    """Milliseconds from the change to the first notification."""
    moments.clear()
    start = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    act()
    if not harness.wait_until(lambda: moments, 10):
        raise RuntimeError("the targets were not notified")
    return (moments[0] - start) / 1e6


def one_evaluation(hosts, moments, number):
    # A link of a container: every target is evaluated again, and no path changes.
    latency = latency_of(moments, lambda: hosts.at_home(f"link add some{number} type veth peer name other{number}"))
    # A change may lead to a second evaluation; the next round begins after both.
    time.sleep(0.5)
    return latency


def one_move(hosts, moments):
    latency = latency_of(moments, lambda: hosts.at_peer("link set cable down"))
    time.sleep(0.5)
    moments.clear()
    hosts.at_peer("link set cable up")
    harness.wait_until(lambda: moments, 10)
    time.sleep(0.5)
    return latency
