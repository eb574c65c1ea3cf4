"""The faults of the exam: each is a function of a lab that breaks something and returns what takes that back."""
import itertools, json, re, subprocess, time
import networks
import programs
from lab import LabError, until

COUNT = itertools.count(1)

def table(role, family, chain):
    def begin(lab):
        name = f"x{next(COUNT)}"
        lab.nft(role, f"table {family} {name} {{ chain c {{ type {chain} }} }}")
        return lambda: lab.sh(role, f"nft delete table {family} {name}")
    return begin

def drop(role, chain, match="", then="drop", priority=0):
    """A filter of a role drops what matches, or does `then`: in chain prerouting, input, forward or output."""
    return table(role, "inet", f"filter hook {chain} priority {priority}; {match} {then};")

def nothing_forwarded(role): return drop(role, "forward")

def dead(role):
    """A router hears nothing but the link layer."""
    return drop(role, "prerouting", priority=-300)

def dark(role, link, match=""):
    """Nothing that arrives at a link is heard, the link layer included."""
    return table(role, "netdev", f"filter hook ingress device {link} priority 0; {match} drop;")

def lossy(role, percent): return drop(role, "forward", f"numgen random mod 100 < {percent}")

def redirected(role, link, port, match="tcp dport 80"):
    """A router answers itself what is sent to others."""
    return table(role, "ip", f"nat hook prerouting priority -100; iifname {link} {match} redirect to :{port};")

def sh(role, command, undo="true"):
    """A command of a shell. Links, addresses, routes and rules come back without `undo`."""
    def begin(lab):
        before = lab.state(role)
        lab.sh(role, command.format(**lab.notes))
        return lambda: (lab.sh(role, undo), lab.restore(role, before))
    return begin

def ip(role, commands):
    """Commands of ip(8)."""
    def begin(lab):
        before = lab.state(role)
        lab.ip(role, commands.format(**lab.notes))
        return lambda: lab.restore(role, before)
    return begin

def peer(role, link, other, far):
    """A link more, without addresses but link-local ones."""
    return lambda lab: lab.veth(role, link, other, far) or (lambda: lab.ip(role, f"link del {link}"))

def no_carrier(router="router", port="port2"): return ip(router, f"link set {port} down")

def fresh(role="client"):
    """The kernel knows no neighbour."""
    return sh(role, "ip neigh flush all; ip -6 neigh flush all; true")

def file(name, text, before):
    def begin(lab):
        lab.file(text, name)
        return lambda: lab.file(before, name)
    return begin

def mood(**how):
    """How the resolver answers from now on: do (silent, servfail, refused, nxdomain), delay, lies."""
    return file("mood", json.dumps(how), "{}")

def late(delay, jitter=0.0):
    """The line is slow: home(line=delayed)."""
    return file("line", f"{delay} {jitter}", "0 0")

def resolvers(*servers):
    """What /etc/resolv.conf of a home says."""
    def begin(lab):
        with open(f"{lab.folder}/resolv-client") as f: before = f.read()
        lab.resolvers("client", "\n".join(f"nameserver {s}" for s in servers))
        return lambda: lab.resolvers("client", before)
    return begin

def hosts(line):
    """What /etc/hosts says besides localhost."""
    return lambda lab: lab.hosts("client", line) and (lambda: lab.hosts("client"))

def runs(role, function, *arguments):
    """A program starts."""
    def begin(lab):
        number = lab.program(role, function, *arguments)
        return lambda: lab.end(number)
    return begin

def serves(role, *services): return runs(role, programs.servers, services)

def limited_icmp(*roles):
    """Routers answer for themselves as seldom as Linux does without a setting (icmp(7))."""
    def set_all(lab, mask, most):
        for role in roles:
            lab.sh(role, f"cd /proc/sys/net/ipv4; echo {mask} > icmp_ratemask; echo {most} > icmp_msgs_per_sec")
        return lambda: set_all(lab, 0, 10000)
    return lambda lab: set_all(lab, 6168, 1000)

def far_end_forgets(lab):
    """The far end of the tunnel no longer knows this host's key."""
    key = lab.notes["public"]
    networks.wg(lab, "exit", f"peer {key} remove")
    return lambda: networks.wg(lab, "exit", f"peer {key} allowed-ips 10.99.0.2/32")

def far_end_stops(lab):
    """The tunnel's far end is not running."""
    lab.sh("exit", f"kill -STOP {lab.notes['wg exit']}")
    return lambda: lab.sh("exit", f"kill -CONT {lab.notes['wg exit']}")

def full_table(role):
    """The kernel's table of connections has no free entry."""
    def begin(lab):
        with open("/proc/sys/net/netfilter/nf_conntrack_max") as f: size = int(f.read())
        if size > 600_000: raise LabError(f"nf_conntrack_max is {size}: too many entries to fill")
        lab.nft(role, "table inet full { chain o { type filter hook output priority 0; ct state new counter; } }")
        path = lab.file("".join(
            f"-I -p tcp -s 10.{200 + (n >> 20)}.{n >> 12 & 255}.1 -d 10.250.0.1 --sport {1024 + (n & 4095)} --dport 80 "
            "--state ESTABLISHED -u ASSURED,SEEN_REPLY -t 300\n" for n in range(size)))
        lab.sh(role, f"conntrack -R {path} >/dev/null 2>&1; test $(cat /proc/sys/net/netfilter/nf_conntrack_count) -ge "
                     f"{size - 50}")
        return lambda: lab.sh(role, "conntrack -F; nft delete table inet full")
    return begin

def device(link):
    """A tun device of the client with a program that hangs."""
    return lambda lab: lab.program(None, programs.hole, lab.space("client"), link) and (lambda: None)

def equal_routes(lab):
    """Two equal next hops; notes an address that goes by each."""
    lab.ip("client", "route del default dev lan1; route del default dev lan2; route add default "
                     "nexthop via 192.168.10.1 dev lan1 weight 1 nexthop via 192.168.20.1 dev lan2 weight 1")
    for address in (networks.WEB, networks.TWO, networks.FAR, *networks.PUBLIC[:6]):
        out = lab.read("client", ["ip", "route", "get", address])
        lab.notes.setdefault(re.search(r"dev (\w+)", out)[1], address)
    if not {"lan1", "lan2"} <= set(lab.notes): raise LabError("all addresses go the same way")

def works(url):
    """Not a fault: the network has to do this by now."""
    def check(lab):
        until(lambda: reaches(lab, url.format(**lab.notes)), f"{url} does not work")
        return lambda: None
    return check

def wait(seconds): return lambda lab: time.sleep(seconds) or (lambda: None)
def reaches(lab, target, limit=3): return truths(lab, [target], limit)()[target]

def truths(lab, targets, limit):
    """Starts curl(1) at the client, which knows the truth; the result gives {target: whether it is reached}."""
    asked = {}
    for target in targets:
        script = f"mount --bind {lab.folder}/resolv-{lab.client} /etc/resolv.conf; " \
                 f"mount --bind {lab.folder}/hosts-{lab.client} /etc/hosts; exec curl \"$@\""
        words = ["-gs", "-o", "/dev/null", "-m", str(limit), "--cacert", lab.certificates + "/authority.pem", "-w",
                 "%{http_code} %{time_connect}", target if "://" in target else "telnet://" + target]
        asked[target] = lab.start(lab.client, ["unshare", "--mount", "sh", "-c", script, "sh", *words],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def is_reached(target, process):
        status, connected = ((process.communicate()[0] or "").split() + ["000", "0"])[:2]
        return process.returncode == 0 and status[0] == "2" if "://" in target else float(connected) > 0
    return lambda: {target: is_reached(target, process) for target, process in asked.items()}
