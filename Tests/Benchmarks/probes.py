"""What a probe costs: /probe of the sidecar beside that of blackbox_exporter, by the same modules, sixteen at a time."""

import re
import statistics
import subprocess

import harness
import scrapes

SERVER, LISTEN, PEER = "127.0.0.1:19845", "127.0.0.1:19846", "127.0.0.1:19847"
AT_A_TIME, SECONDS, ROUNDS = 16, 4, 3
TARGETS, SCHEDULED_SECONDS = 1000, 120
KINDS = {"http": f"http://{SERVER}/small", "tcp": SERVER, "icmp": "127.0.0.1"}
# The name is resolved by neither, and blackbox_exporter would ask for IPv6 first.
MODULES = "modules:\n" + "".join(
    f"  {kind}: {{prober: {kind}, timeout: 5s, {kind}: {{preferred_ip_protocol: ip4}}}}\n" for kind in KINDS)


def run(rows):
    with harness.folder() as path, harness.Hosts() as hosts:
        (path / "modules.yml").write_text(MODULES)
        ours = hosts.home(
            harness.TIDEGATE, "serve", "--config.file", path / "modules.yml", "--web.listen-address", LISTEN,
            "--state.dir", path / "state", "--control.socket", path / "socket")
        peer = hosts.home(
            "prometheus-blackbox-exporter", f"--config.file={path}/modules.yml", f"--web.listen-address={PEER}")
        ready = {address: (lambda address=address: harness.status(
            hosts.home("curl", "-sf", f"http://{address}/-/healthy")) == 0) for address in (LISTEN, PEER)}
        with harness.nginx(path, SERVER, wrap=hosts.home), \
                harness.running(ours, ready=ready[LISTEN]) as tidegate, \
                harness.running(peer, ready=ready[PEER]) as exporter:
            for kind, target in KINDS.items():
                mine, theirs = [], []
                for _ in range(ROUNDS):
                    mine.append(measure(hosts, tidegate.pid, LISTEN, kind, target))
                    theirs.append(measure(hosts, exporter.pid, PEER, kind, target))
                compare(rows, kind, mine, theirs)
            resident = [harness.memory(process.pid)[0] for process in (tidegate, exporter)]
            rows.add("resident after these probes (MiB), against blackbox_exporter", f"{resident[0]:.1f}",
                     f"{resident[1]:.1f}", f"{resident[0] / resident[1]:.2f}", "", True)
            scheduled(rows, hosts)


def scheduled(rows, hosts):
    """A thousand targets every second for two minutes: how late the probes start, and what they leave behind."""
    output = subprocess.run(
        hosts.home(harness.BENCH, "probes", KINDS["http"], str(TARGETS), str(SCHEDULED_SECONDS)), check=True,
        capture_output=True, text=True).stdout
    runs, succeeded, missed, overruns = (
        int(re.search(rf"{name} (\d+)", output).group(1)) for name in ("runs", "succeeded", "missed", "overruns"))
    if succeeded < runs - TARGETS:
        raise RuntimeError(f"probes fail: {output}")
    skew = float(re.search(r"p99 ([\d.]+) ms", output).group(1))
    anonymous = [int(number) / 1024 for number in re.search(r"anonymous ([\d ]+) KiB", output).group(1).split()]
    what = f"{TARGETS:,} scheduled probes a second for {SCHEDULED_SECONDS} s"
    rows.add(f"{what}: lateness, p99 (ms)", f"{skew:.2f}", "", "", "<= 5", skew <= 5)
    rows.add(f"{what}: left out", f"{missed + overruns}", "", "", "0", missed + overruns == 0)
    # Each target keeps its latest forty results: memory grows until they are there, and then no more.
    growth = anonymous[3] - anonymous[1]
    rows.add(f"{what}: memory at the end of each quarter (MiB)", " ".join(f"{value:.1f}" for value in anonymous),
             "", "", "second half +0.5", growth <= 0.5)


def compare(rows, kind, mine, theirs):
    for what, field, goal, is_reached in (
            ("probes/s", "rate", ">= 2", lambda ratio: ratio >= 2),
            ("CPU of a probe (µs)", "cpu", "<= 0.6", lambda ratio: ratio <= 0.6)):
        ours, peers = (statistics.median(one[field] for one in list) for list in (mine, theirs))
        ratio = ours / peers
        rows.add(f"{kind}: {what}, {AT_A_TIME} at a time, against blackbox_exporter", f"{ours:,.0f}", f"{peers:,.0f}",
                 f"{ratio:.2f}", goal, is_reached(ratio))


def measure(hosts, pid, address, kind, target):
    """Probes a second and the CPU of one in µs; every answer has to be a success."""
    url = f"http://{address}/probe?module={kind}&target={target}"
    answer = subprocess.run(hosts.home("curl", "-s", url), check=True, capture_output=True, text=True).stdout
    if "\nprobe_success 1\n" not in answer:
        raise RuntimeError(f"{url} does not succeed:\n{answer}")
    before = scrapes.cpu(pid)
    output = subprocess.run(
        hosts.home("wrk", "-t1", f"-c{AT_A_TIME}", f"-d{SECONDS}s", url), check=True, capture_output=True,
        text=True).stdout
    used = (scrapes.cpu(pid) - before) * 1e6
    if "Non-2xx" in output or "Socket errors" in output:
        raise RuntimeError(f"{url} was refused:\n{output}")
    count = int(re.search(r"(\d+) requests in", output).group(1))
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", output).group(1))
    return {"rate": rate, "cpu": used / count}

