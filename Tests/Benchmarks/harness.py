"""The harness: network namespaces, nginx, measured processes, and the table that is printed in the end."""

import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OURS = ROOT / ".build/release"
TIDEGATE = OURS / "tidegate"
BENCH = OURS / "TidegateBench"


def measure(folder):
    """Takes the programs of a folder from now on."""
    global TIDEGATE, BENCH
    TIDEGATE, BENCH = folder / "tidegate", folder / "TidegateBench"


class Rows:
    """The results, each with the ratio to reach, if there is one."""

    def __init__(self):
        self.rows = []
        self.before = []

    def add(self, what, ours, peer, ratio, goal, reached):
        # Without a goal there is nothing to reach.
        row = (what, ours, peer, ratio, goal, "" if not goal else "yes" if reached else "missed")
        self.rows.append(row)
        print("  ".join(row), flush=True)

    def note(self, what, value):
        self.rows.append((what, value, "", "", "", ""))
        print(what, value, flush=True)

    def table(self):
        rows = [("what", "Tidegate", "peer", "ratio", "to reach", "reached")] + self.rows
        if self.before:
            # Both ran the same benchmarks, so that their rows correspond.
            rows = [row[:1] + (old,) + row[1:] for row, old in zip(rows, ["before"] + [row[1] for row in self.before])]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
        lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
        return "\n".join(lines)


class Measured:
    """What a finished process cost."""

    def __init__(self, words, output=None, limit=120):
        start = time.monotonic()
        process = subprocess.Popen(words, stdout=output or subprocess.PIPE, stderr=subprocess.DEVNULL)
        timer = start + limit
        text = b""
        self.peak = 0
        if process.stdout:
            text = process.stdout.read()
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > timer:
                process.send_signal(signal.SIGKILL)
            self.peak = high_water(process.pid) or self.peak
            time.sleep(0.005)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.status = process.returncode
        self.seconds = time.monotonic() - start
        self.cpu = usage.ru_utime + usage.ru_stime
        self.text = text.decode()


def high_water(pid):
    """The most that a process had resident, in KiB; getrusage(2) counts what its parent had before exec(2), too."""
    try:
        found = re.search(r"^VmHWM:\s*(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(found.group(1)) if found else None


@contextlib.contextmanager
def running(words, ready=None, **options):
    """A process that is ended by its id when the block ends; `ready` is called until it says yes."""
    process = subprocess.Popen(words, stdout=options.pop("stdout", subprocess.DEVNULL),
                               stderr=subprocess.DEVNULL, **options)
    try:
        deadline = time.monotonic() + 20
        while ready and not ready():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{words[0]} did not come up")
            time.sleep(0.05)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def folder():
    path = pathlib.Path(tempfile.mkdtemp(prefix="tidegate-bench-"))
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


class Hosts:
    """Two namespaces with a veth pair: `uplink` here, `cable` at the peer."""

    here, swapped, peer = "10.77.0.2", "10.77.0.3", "10.77.0.1"

    def __init__(self):
        name = f"tgb{random.randrange(1 << 24):x}"
        self.inside, self.outside = name + "a", name + "b"

    def __enter__(self):
        for namespace in (self.inside, self.outside):
            call("ip", "netns", "add", namespace)
            call("ip", "-n", namespace, "link", "set", "lo", "up")
        call("ip", "link", "add", "uplink", "index", "77", "netns", self.inside,
             "type", "veth", "peer", "name", "cable", "netns", self.outside)
        self.at_peer(f"addr add {self.peer}/24 dev cable")
        self.at_peer("link set cable up")
        self.at_home(f"addr add {self.here}/24 dev uplink")
        self.at_home("link set uplink up")
        self.at_home(f"route add default via {self.peer}")
        return self

    def __exit__(self, *_):
        for namespace in (self.inside, self.outside):
            call("ip", "netns", "del", namespace)

    def at_home(self, words):
        call("ip", "-n", self.inside, *words.split())

    def at_peer(self, words):
        call("ip", "-n", self.outside, *words.split())

    def home(self, *words):
        return ["ip", "netns", "exec", self.inside, *map(str, words)]

    def away(self, *words):
        return ["ip", "netns", "exec", self.outside, *map(str, words)]

    def swap_address(self):
        """What a DHCP server that changed its mind does to a client."""
        # Removing the first address of a prefix takes the others with it, so the new one comes after.
        # By one process: the time without an address is the same for all, and short.
        lines = (f"addr del {self.here}/24 dev uplink\naddr add {self.swapped}/24 dev uplink\n"
                 f"route add default via {self.peer}\n")
        subprocess.run(["ip", "-n", self.inside, "-batch", "-"], input=lines.encode(), check=True,
                       stdout=subprocess.DEVNULL)


def status(words):
    """The exit status of a command that may fail."""
    return subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def smaps(pid):
    """The memory of a process by kind, in MiB (smaps_rollup of proc_pid_smaps(5))."""
    fields = {}
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, value = line.split(":")
        fields[name] = int(value.split()[0]) / 1024
    return fields


def memory(pid):
    """Resident and of it anonymous memory of a process, in MiB."""
    fields = smaps(pid)
    return fields["Rss"], fields["Anonymous"]


def dirty_memory(pid):
    """What only this process has, and no file: its cost to the machine, in MiB."""
    return smaps(pid)["Private_Dirty"]


def follow(process, moments, ready):
    """Collects the moments that a process prints, after its word that it is ready."""
    for line in process.stdout:
        if line.strip() == b"ready":
            ready.set()
        elif line.strip().isdigit():
            moments.append(int(line))


def wait_until(condition, limit):
    """True once the condition holds; False where it did not within so many seconds."""
    deadline = time.monotonic() + limit
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


def call(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def nginx(path, listen, rate="0", wrap=lambda *words: list(words), connections=4096, more=""):
    """nginx with one worker over the files below `path`; `rate` is bytes a second per connection, `more` goes into the server."""
    temporary = " ".join(
        f"{kind}_temp_path {path}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    limit = "" if rate == "0" else f"limit_rate {rate};"
    (path / "nginx.conf").write_text(
        f"daemon off; worker_processes 1; user root; pid {path}/nginx.pid; error_log {path}/nginx.err;\n"
        f"worker_rlimit_nofile {connections * 2}; events {{ worker_connections {connections}; }}\n"
        f"http {{ access_log off; {temporary} keepalive_requests 100000000; sendfile on; tcp_nopush on;\n"
        f"  server {{ listen {listen}; root {path}; {limit} {more}\n"
        "    location = /small { default_type text/plain; return 200 'thirty-four bytes of plain answer'; } } }\n")
    return running(wrap("nginx", "-c", str(path / "nginx.conf")), ready=(path / "nginx.pid").exists)


def compile_c(source, path, *flags):
    binary = path / pathlib.Path(source).stem
    call("gcc", "-O2", "-Wall", "-o", str(binary), str(HERE / source), *flags)
    return binary
