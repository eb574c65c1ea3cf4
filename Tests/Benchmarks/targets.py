"""10,000 targets re-evaluated after one link event, beside a C program that asks the kernel as much."""

import statistics
import subprocess
import threading
import time

import lab

COUNT, ROUNDS = 10_000, 11


def run(rows):
    with lab.folder() as path, lab.Hosts() as hosts:
        second(hosts)
        asks = hosts.home(lab.compile_c("lookups.c", path), COUNT, ROUNDS)
        with lab.running(hosts.home(lab.BENCH, "targets", COUNT), stdout=subprocess.PIPE) as ours:
            moments, ready = [], threading.Event()
            threading.Thread(target=lab.follow, args=(ours, moments, ready), daemon=True).start()
            if not ready.wait(30) or not lab.wait_until(lambda: moments, 30):
                raise RuntimeError("the targets did not come up")
            time.sleep(1)
            looked = [one_look(hosts, moments, number) for number in range(ROUNDS)]
            bare = statistics.median(float(line) for line in lab.Measured(asks).text.split())
            moved = [one_move(hosts, moments) for _ in range(ROUNDS)]
    for what, latencies in (("looked at", looked), ("moved", moved)):
        median = statistics.median(latencies)
        rows.add(f"10,000 targets {what} after one link event, against bare lookups (ms)", f"{median:.1f}",
                 f"{bare:.1f}", f"{median / bare:.2f}", "<= 60 ms", median <= 60)


def second(hosts):
    """Another way out, which is taken while the first has no carrier."""
    lab.call("ip", "link", "add", "backup", "index", "78", "netns", hosts.inside,
             "type", "veth", "peer", "name", "spare", "netns", hosts.outside)
    hosts.at_peer("addr add 10.78.0.1/24 dev spare")
    hosts.at_peer("link set spare up")
    hosts.at_home("addr add 10.78.0.2/24 dev backup")
    hosts.at_home("link set backup up")
    hosts.at_home("route add default via 10.78.0.1 metric 200")
    for link in ("all", "uplink"):
        lab.call(*hosts.home("sysctl", "-q", "-w", f"net.ipv4.conf.{link}.ignore_routes_with_linkdown=1"))


def heard(moments, act):
    """Milliseconds from the event to the first moment that is told."""
    moments.clear()
    start = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    act()
    if not lab.wait_until(lambda: moments, 10):
        raise RuntimeError("the targets did not hear")
    return (moments[0] - start) / 1e6


def one_look(hosts, moments, number):
    # Somebody else's link, as a container's: everything is looked at, and nothing moves.
    latency = heard(moments, lambda: hosts.at_home(f"link add some{number} type veth peer name other{number}"))
    # An event may lead to a second look; the next one begins after both.
    time.sleep(0.5)
    return latency


def one_move(hosts, moments):
    latency = heard(moments, lambda: hosts.at_peer("link set cable down"))
    time.sleep(0.5)
    moments.clear()
    hosts.at_peer("link set cable up")
    lab.wait_until(lambda: moments, 10)
    time.sleep(0.5)
    return latency
