"""The faults: a schedule that the seed decides, and how each begins and ends."""

import contextlib
import dataclasses
import os
import random
import signal
import subprocess

import harness
import lab

# By group: kinds, how long a fault lasts, and the pause before the next one (s). One group has one fault at a time.
GROUPS = {
    "path": (("link", "carrier", "silent", "lossy", "route", "blackhole", "address"), (1, 12), (6, 24)),
    "dns": (("silent", "servfail", "nxdomain", "refused", "slow", "garbage"), (4, 15), (8, 30)),
    "tls": (("expired", "wrong"), (5, 20), (10, 40)),
    "server": (("stalls", "trouble", "refuses", "resets"), (3, 15), (8, 30)),
    "daemon": (("stop", "clock", "disk", "reload", "kill", "restart"), (2, 10), (6, 18)),
}
# These begin a new life of the process; there are none after the first quarter: later sizes have to be flat.
ENDS_LIFE = ("kill", "restart")
NFT = "table inet soak {{ chain in {{ type filter hook input priority 0; {}; }}; }}"


@dataclasses.dataclass
class Fault:
    group: str
    kind: str
    start: float
    end: float
    amount: int

    def __str__(self):
        return f"{self.group}/{self.kind}"


def schedule(seed, seconds):
    """All faults of so many seconds, by their starts."""
    faults = []
    for group, (kinds, length, pause) in GROUPS.items():
        chance, now, waiting = random.Random(f"{seed}/{group}"), 4.0, []
        while True:
            now += chance.uniform(*pause)
            # Each kind comes once before one comes again.
            if not waiting:
                waiting = [kind for kind in kinds if kind not in ENDS_LIFE or now < seconds / 4]
                chance.shuffle(waiting)
            kind, lasting = waiting.pop(), chance.uniform(*length)
            if kind in ENDS_LIFE and now + lasting > seconds / 4:
                continue
            if now + lasting > seconds:
                break
            # Late steps are short: they must not let everything that is over expire at once while sizes are compared.
            amount = chance.randrange(60, 7200 if now < seconds / 2 else 120)
            faults.append(Fault(group, kind, now, now + lasting, amount))
            now += lasting
    return sorted(faults, key=lambda fault: fault.start)


class Faults:
    """Applies and repairs."""

    def __init__(self, hosts, peer, sidecar, findings):
        self.hosts, self.peer, self.sidecar, self.findings = hosts, peer, sidecar, findings
        self.good = sidecar.configuration.read_text()

    def begin(self, fault):
        getattr(self, fault.group)(fault)

    def end(self, fault):
        getattr(self, f"{fault.group}_over")(fault)

    def path(self, fault):
        home, peer = self.hosts.at_home, self.hosts.at_peer
        match fault.kind:
            case "link": home("link set uplink down")
            case "carrier": peer("link set cable down")
            case "silent": harness.call(*self.hosts.away("nft", NFT.format("drop")))
            case "lossy": harness.call(*self.hosts.away("nft", NFT.format("numgen random mod 100 < 30 drop")))
            case "route": home("route del default")
            case "blackhole": home("route add blackhole 10.78.0.0/16")
            case "address": self.hosts.swap_address()

    def path_over(self, fault):
        self.hosts.at_peer("link set cable up")
        if fault.kind in ("silent", "lossy"):
            harness.call(*self.hosts.away("nft", "delete", "table", "inet", "soak"))
        if fault.kind == "blackhole":
            self.hosts.at_home("route del blackhole 10.78.0.0/16")
        if fault.kind == "address":
            self.hosts.at_home(f"addr del {self.hosts.swapped}/24 dev uplink")
        self.hosts.at_home("link set uplink up")
        self.hosts.at_home(f"addr replace {self.hosts.here}/24 dev uplink")
        self.hosts.at_home(f"route replace default via {self.hosts.peer}")

    def dns(self, fault):
        self.peer.dns = fault.kind

    def dns_over(self, _):
        self.peer.dns = "good"

    def tls(self, fault):
        self.peer.call(self.peer.certificate, fault.kind)

    def tls_over(self, _):
        self.peer.call(self.peer.certificate, "good")

    def server(self, fault):
        match fault.kind:
            case "stalls": self.peer.stalls = True
            case "trouble": self.peer.trouble = 0.6
            case "refuses": self.peer.call(self.peer.refuse)
            case "resets": self.peer.call(self.peer.cut)

    def server_over(self, fault):
        self.peer.stalls, self.peer.trouble = False, 0.02
        if fault.kind == "refuses":
            self.peer.call(self.peer.listen)

    def daemon(self, fault):
        match fault.kind:
            case "stop": self.sidecar.signal(signal.SIGSTOP)
            case "clock": self.sidecar.step(fault.amount)
            case "disk": self.fill()
            case "reload": self.reload("tasks: [broken\n")
            case "kill" | "restart": self.end_life(fault.kind)

    def daemon_over(self, fault):
        match fault.kind:
            case "stop": self.sidecar.signal(signal.SIGCONT)
            # Every second step back is left out, so that the next one goes from another time.
            case "clock" if fault.amount % 2: self.sidecar.step(0)
            case "disk": self.empty()
            case "reload": self.reload(self.good)
            case "kill" | "restart": self.sidecar.start()

    def end_life(self, kind):
        number = signal.SIGKILL if kind == "kill" else signal.SIGTERM
        status = self.sidecar.end(number)
        self.findings.ended(self.sidecar.life, kind)
        if status != (-signal.SIGKILL if kind == "kill" else 0):
            self.findings.wrong(f"life {self.sidecar.life} ended with {status} after {number.name}")

    def reload(self, text):
        self.sidecar.configuration.write_text(text)
        self.sidecar.signal(signal.SIGHUP)

    def fill(self):
        """Takes every free byte of the disk of the state directory."""
        full = self.sidecar.path / "disk/full"
        with open(full, "wb", buffering=0) as file, contextlib.suppress(OSError):
            space = os.statvfs(full)
            os.posix_fallocate(file.fileno(), 0, space.f_bavail * space.f_bsize)
            file.seek(0, os.SEEK_END)
            while file.write(bytes(4096)):
                pass

    def empty(self):
        (self.sidecar.path / "disk/full").unlink(missing_ok=True)

    def repair(self):
        """Ends what may still be in force, whatever the schedule says."""
        self.sidecar.signal(signal.SIGCONT)
        self.empty()


def mount(sidecar):
    """A disk of its own for the state directory, and a resolver: both only in this mount namespace."""
    disk, names = sidecar.path / "disk", sidecar.path / "resolv.conf"
    disk.mkdir()
    harness.call("mount", "-t", "tmpfs", "-o", f"size={lab.STATE_BYTES}", "tmpfs", str(disk))
    sidecar.files.mkdir()
    names.write_text(f"nameserver {harness.Hosts.peer}\noptions timeout:2 attempts:2\n")
    harness.call("mount", "--bind", str(names), os.path.realpath("/etc/resolv.conf"))


def unmount(sidecar):
    for place in (sidecar.path / "disk", os.path.realpath("/etc/resolv.conf")):
        subprocess.run(["umount", "--lazy", str(place)], stderr=subprocess.DEVNULL)
