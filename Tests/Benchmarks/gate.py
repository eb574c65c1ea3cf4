"""From `ip link set … down` to the gate's subscriber, against a C program on raw netlink."""

import os
import statistics
import subprocess
import threading
import time

import harness

ROUNDS = 50


def run(rows):
    with harness.folder() as path, harness.Hosts() as hosts:
        raw = harness.compile_c("netlink_watch.c", path)
        watchers = {
            "raw": hosts.home(raw, "uplink"),
            "ours": hosts.home(harness.BENCH, "gate", hosts.peer),
        }
        latencies = {name: [] for name in watchers}
        with harness.running(watchers["raw"], stdout=subprocess.PIPE) as one, \
                harness.running(watchers["ours"], stdout=subprocess.PIPE) as two:
            moments = {"raw": [], "ours": []}
            for name, process in (("raw", one), ("ours", two)):
                ready = threading.Event()
                threading.Thread(target=harness.follow, args=(process, moments[name], ready), daemon=True).start()
                if not ready.wait(10):
                    raise RuntimeError(f"{name} did not come up")
            for _ in range(ROUNDS):
                for name in moments:
                    moments[name].clear()
                start = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
                hosts.at_peer("link set cable down")
                harness.wait_until(lambda: moments["raw"] and moments["ours"], 2)
                hosts.at_peer("link set cable up")
                for name in moments:
                    if not moments[name]:
                        raise RuntimeError(f"{name} was not notified")
                    latencies[name].append((moments[name][0] - start) / 1e6)
                # A gain is held back for 200 ms, 5 s after three losses in 30 s; only the loss is measured, and it
                # shows once the gate has opened again.
                time.sleep(5.5)
    # Both watchers see the same cut, so that the difference of each pair is what the monitor adds.
    added = sorted(ours - raw for ours, raw in zip(latencies["ours"], latencies["raw"]))
    median, p99 = statistics.median(added), added[int(len(added) * 0.99) - 1]
    rows.add("link down to gate shut, median (ms)", f"{statistics.median(latencies['ours']):.2f}",
             f"{statistics.median(latencies['raw']):.2f}", f"+{median:.3f} ms", "<= raw + 0.3 ms", median <= 0.3)
    rows.add("link down to gate shut, p99 (ms)", f"{max(latencies['ours']):.2f}", f"{max(latencies['raw']):.2f}",
             f"+{p99:.3f} ms", "<= raw + 1 ms", p99 <= 1)

