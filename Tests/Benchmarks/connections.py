"""What it costs to observe every TCP connection: the sidecar beside a bare C reader of the same messages, and beside ss."""

import contextlib
import re
import statistics
import subprocess
import threading
import time

import harness

LISTEN, QUIET = "127.0.0.1:19848", "127.0.0.1:19849"
PORT, PORTS = 9000, 16
RATES, SECONDS, OPENERS = (1000, 5000, 10000), 5, 4
# A process may not have more files open than some 20,000.
LIVE, HELD = (10000, 50000), 10000
# Bytes of a message's buffer, which both ask for.
BUFFER = 8 << 20


def run(rows):
    with harness.folder() as path, harness.Hosts() as hosts:
        load, reader = harness.compile_c("tcp_load.c", path), harness.compile_c("socket_diag.c", path)
        prepare(hosts)
        idle(rows, path, hosts)
        with sidecar(path, hosts) as ours:
            # What a start costs once, such as giving its memory back after three seconds, is no message's.
            time.sleep(6)
            with ready(hosts.away(load, "serve", PORT, PORTS, "close")):
                for rate in RATES:
                    closes(rows, hosts, ours, load, reader, rate)
            for count in LIVE:
                dumps(rows, hosts, ours, load, reader, count)
            cut(rows, hosts)


def prepare(hosts):
    """Room for many connections: what ends is forgotten at once, and ports may be used again."""
    for where in (hosts.home, hosts.away):
        for setting in ("ipv4.ip_local_port_range=1024 65000", "ipv4.tcp_max_tw_buckets=0", "core.somaxconn=4096"):
            harness.call(*where("sysctl", "-qw", f"net.{setting}"))


def sidecar(path, hosts, listen=LISTEN, observation="{max_tracked: 60000}"):
    """A sidecar that observes connections, and does nothing else."""
    name = listen.replace(":", "-")
    (path / f"{name}.yml").write_text(f"observation: {observation}\n")
    words = hosts.home(
        harness.TIDEGATE, "serve", "--config.file", path / f"{name}.yml", "--web.listen-address", listen,
        "--state.dir", path / f"state-{name}", "--control.socket", path / f"socket-{name}")
    return harness.running(words, ready=lambda: harness.status(
        hosts.home("curl", "-sf", f"http://{listen}/-/healthy")) == 0)


@contextlib.contextmanager
def holding(hosts, load, count):
    """Holds `count` idle connections."""
    with contextlib.ExitStack() as stack:
        for port in range(PORT, PORT + count // HELD * PORTS, PORTS):
            stack.enter_context(ready(hosts.away(load, "serve", port, PORTS, "hold")))
            stack.enter_context(ready(hosts.home(load, "hold", hosts.peer, port, PORTS, HELD)))
        yield


class ready:
    """A program that says when it is ready; it is ended by the end of its input, then by a signal."""

    def __init__(self, words):
        self.process = subprocess.Popen(list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline().strip() != "ready":
            raise RuntimeError(f"{words} did not come up")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.terminate()
        self.process.wait(30)


def cpu(pid):
    """Seconds that a process has run, by its clock, which counts in ns (clock_getcpuclockid(3))."""
    return time.clock_gettime(~pid << 3 | 2)


def metrics(hosts, *names):
    """The sum of all series of each name."""
    text = subprocess.run(hosts.home("curl", "-sf", f"http://{LISTEN}/metrics"), check=True, capture_output=True,
                          text=True).stdout
    return [sum(float(value) for value in re.findall(rf"^{re.escape(name)}(?:{{[^}}]*}})? (\S+)", text, re.MULTILINE))
            for name in names]


def closes(rows, hosts, ours, load, reader, rate):
    """CPU for each connection that ends, of each in turn, at a steady rate."""
    counted = ("tidegate_observation_messages_total", "tidegate_observation_dropped_total")
    before, used = metrics(hosts, *counted), cpu(ours.pid)
    done = opened(hosts, load, rate)
    # The last message is counted by the next second.
    time.sleep(1.5)
    used, after = cpu(ours.pid) - used, metrics(hosts, *counted)
    messages, drops = (new - old for new, old in zip(after, before))
    mine = used / messages * 1e6
    if rate == RATES[0]:
        rows.note(f"{rate:,} observed connections a second: CPU of a minute (s)", f"{used / SECONDS * 60:.2f}")

    with ready(hosts.home(reader, "ends", BUFFER)) as peer:
        done = opened(hosts, load, rate)
        bare = cpu(peer.process.pid)
        peer.process.terminate()
        read, lost = map(int, peer.process.stdout.read().split())
    theirs = bare / read * 1e6
    rows.add(f"{rate:,} connections closed a second: CPU of a message (µs), against a bare reader in C",
             f"{mine:.2f} ({done / SECONDS:,.0f}/s, {drops:.0f} dropped)", f"{theirs:.2f} ({done / SECONDS:,.0f}/s, {lost} dropped)", f"{mine / theirs:.2f}", "<= 2",
             mine <= 2 * theirs)

    with harness.running(hosts.home("ss", "-HtinE")) as ss:
        time.sleep(0.2)
        started = cpu(ss.pid)
        done = opened(hosts, load, rate)
        theirs = (cpu(ss.pid) - started) / done * 1e6
    rows.add(f"{rate:,} connections closed a second: CPU of a message (µs), against ss -tinE", f"{mine:.2f}",
             f"{theirs:.2f}", f"{mine / theirs:.2f}", "", True)


def opened(hosts, load, rate):
    """Opens and closes connections for some seconds; how many, which may be fewer than wanted on a small machine."""
    # One program waits for each answer; several have enough of them under way.
    words = list(map(str, hosts.home(load, "open", hosts.peer, PORT, PORTS, rate // OPENERS, SECONDS)))
    openers = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(OPENERS)]
    counts = [int(opener.communicate()[0].split()[0]) for opener in openers]
    if any(opener.returncode for opener in openers):
        raise RuntimeError("connections could not be opened")
    return sum(counts)


def dumps(rows, hosts, ours, load, reader, count):
    """How long a list of live connections takes, and what each of them takes in memory."""
    names = [f"tidegate_observation_dump_duration_seconds_{kind}" for kind in ("sum", "count")]
    empty = harness.memory(ours.pid)[1]
    with holding(hosts, load, count):
        if not harness.wait_until(
                lambda: metrics(hosts, "tidegate_observation_tracked_connections")[0] >= count, 60):
            raise RuntimeError(f"{count:,} connections were not found")
        before, lists = established(hosts), []
        while len(lists) < 3:
            time.sleep(0.5)
            now = established(hosts)
            if now[1] > before[1]:
                lists.append((now[0] - before[0]) / (now[1] - before[1]) * 1000)
                before = now
        mine, full = statistics.median(lists), harness.memory(ours.pid)[1]
        output = subprocess.run(list(map(str, hosts.home(reader, "dump", 7))), check=True, capture_output=True,
                                text=True).stdout
        theirs = float(output.split()[1])
        start = time.monotonic()
        subprocess.run(hosts.home("ss", "-Htin"), check=True, stdout=subprocess.DEVNULL)
        slow = (time.monotonic() - start) * 1000
    rows.add(f"a list of {count:,} live connections (ms), against a bare reader in C", f"{mine:.1f}", f"{theirs:.1f}",
             f"{mine / theirs:.2f}", "", True)
    rows.add(f"a list of {count:,} live connections (ms), against ss -tin", f"{mine:.1f}", f"{slow:.1f}",
             f"{mine / slow:.2f}", "", True)
    bytes = (full - empty) * (1 << 20) / count
    rows.add(f"memory of each of {count:,} live connections (bytes)", f"{bytes:.0f}", "", "", "<= 128", bytes <= 128)


def established(hosts):
    """Seconds and number of the lists of live connections so far."""
    label = '{kind="established"}'
    return metrics(hosts, *(f"tidegate_observation_dump_duration_seconds_{field}{label}" for field in ("sum", "count")))


def idle(rows, path, hosts):
    """What observing costs where nothing happens: one sidecar that does beside one that does not."""
    with sidecar(path, hosts, observation="{connections: true}") as on, \
            sidecar(path, hosts, QUIET, "{connections: false}") as off:
        time.sleep(5)
        before = [cpu(process.pid) for process in (on, off)]
        time.sleep(20)
        used = [(cpu(process.pid) - start) / 20 * 100 for process, start in zip((on, off), before)]
    cost = used[0] - used[1]
    rows.add("idle: share of a core (%), against the same sidecar that observes nothing", f"{used[0]:.3f}",
             f"{used[1]:.3f}", "", "<= 0.1 more", cost <= 0.1)


def cut(rows, hosts):
    """From the moment at which nothing comes through to the event that a connection hangs."""
    client = (f"import socket, time\nconnection = socket.create_connection(('{hosts.peer}', 9100))\n"
              "print('ready', flush=True)\nwhile True:\n"
              "    connection.sendall(b'x')\n    connection.recv(1)\n    time.sleep(0.02)\n")
    # The end of a client behind a cut never arrives: each has a thread of its own.
    server = ("import socket, threading\nlistener = socket.create_server(('', 9100))\nprint('ready', flush=True)\n"
              "def answer(connection):\n    while data := connection.recv(1):\n        connection.sendall(data)\n"
              "while True:\n    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()\n")
    took = []
    with ready(hosts.away("python3", "-c", server)):
        for _ in range(5):
            with ready(hosts.home("python3", "-c", client)), stalls(hosts) as moments:
                # What shows a list must not be the first of it.
                time.sleep(3)
                start = time.monotonic()
                harness.call(*hosts.away("nft", "table inet cut { chain in { type filter hook input priority 0; drop; }; }"))
                if not harness.wait_until(lambda: moments.seen, 20):
                    raise RuntimeError("no connection hangs")
                took.append((moments.seen[0] - start) * 1000)
                harness.call(*hosts.away("nft", "delete", "table", "inet", "cut"))
    middle, worst = statistics.median(took), max(took)
    rows.add("a path cut under load to the event that a connection hangs (ms), median and worst of 5",
             f"{middle:,.0f} ({worst:,.0f})", "", "", "<= 2,200", worst <= 2200)


class stalls:
    """The moments of the events that connections hang."""

    def __init__(self, hosts):
        self.seen = []
        self.process = subprocess.Popen(
            hosts.home("curl", "-sN", f"http://{LISTEN}/api/v1/events"), stdout=subprocess.PIPE, text=True)
        self.thread = threading.Thread(target=self.follow)
        self.thread.start()

    def follow(self):
        for line in self.process.stdout:
            if line.strip() == "event: connection.stalled":
                self.seen.append(time.monotonic())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(10)
        self.thread.join()
