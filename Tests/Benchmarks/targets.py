"""10,000 targets re-evaluated after one link event, beside a C program that asks the kernel as much."""

import statistics
import subprocess
import threading
import time

import harness

COUNT, ROUNDS = 10_000, 11


def run(rows):
    with harness.folder() as path, harness.Hosts() as hosts:
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
