"""200,000 route changes while watching, against `ip monitor`."""

import json
import os
import pathlib
import subprocess
import time

import harness

ROUTES = 100_000
TICK = os.sysconf("SC_CLK_TCK")


def cpu(process):
    """Seconds of processor time that a running process has used (proc_pid_stat(5))."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def resident(process):
    return harness.memory(process.pid)[0]


def settle(processes):
    """Waits until the processes are idle; working off a backlog is part of the cost."""
    while True:
        before = [cpu(process) for process in processes]
        time.sleep(0.5)
        if [cpu(process) for process in processes] == before:
            return


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def flood(hosts, path):
    """Adds the routes of a routing daemon, to the main table and to another."""
    with path.open("w") as batch:
        for number in range(ROUTES):
            prefix = f"20.{number // 4096}.{number // 16 % 256}.{number % 16 * 16}/28"
            batch.write(f"route add {prefix} via {hosts.peer} proto bird\n")
            batch.write(f"route add {prefix} via {hosts.peer} proto bird table 100\n")
    start = time.monotonic()
    harness.call("ip", "-n", hosts.inside, "-batch", str(path))
    return time.monotonic() - start


def run(rows):
    with harness.folder() as path, harness.Hosts() as hosts:
        statuses = path / "statuses"
        with statuses.open("w") as output, \
                harness.running(hosts.home(harness.BENCH, "watch"), ready=statuses.read_text, stdout=output) as ours, \
                harness.running(hosts.home("ip", "monitor")) as peer:
            time.sleep(0.5)
            first = lines_of(statuses)[-1]
            before, memory = (cpu(ours), cpu(peer)), resident(ours)
            seconds = flood(hosts, path / "batch")
            settle([ours, peer])
            mine, theirs = cpu(ours) - before[0], cpu(peer) - before[1]
            grown = resident(ours) - memory
            emissions = lines_of(statuses)[-1]["emissions"] - first["emissions"]
            level = lines_of(statuses)[-1]["level"]
            lookup = wall_of_lookups(hosts)
            hosts.at_peer("link set cable down")
            exact = harness.wait_until(lambda: lines_of(statuses)[-1]["reason"] == "noCarrier", 5)
            overruns = lines_of(statuses)[-1]["overruns"]
    rows.note("200,000 routes were added in (s); overruns meanwhile", f"{seconds:.1f}; {overruns:.0f}")
    rows.add("200,000 route changes, CPU (s), against ip monitor", f"{mine:.2f}", f"{theirs:.2f}",
             f"{mine / max(theirs, 0.01):.2f}", "<= 1", mine <= theirs)
    rows.add("of them published as path events", f"{emissions:.0f}", "", "", "0", emissions == 0)
    rows.add("resident memory grown by (MiB)", f"{grown:.1f}", "", "", "<= 5", grown <= 5)
    rows.add("verdict during and after", f"{level}, noCarrier" if exact else "wrong", "", "", "exact",
             exact and level == "routed")
    rows.note("a lookup among them, by ip route get x1000 in a batch (µs)", f"{lookup:.1f}")


def wall_of_lookups(hosts):
    lines = "route get 8.8.8.8\n" * 1000
    words = ["ip", "-n", hosts.inside, "-batch", "-"]
    start = time.monotonic()
    subprocess.run(words, input=lines.encode(), stdout=subprocess.DEVNULL, check=True)
    return (time.monotonic() - start) * 1000
