"""One network of the exam: namespaces, links between them, programs in them, and the way back from each change."""
import contextlib, ctypes, os, re, shlex, signal, subprocess, time

LIBC = ctypes.CDLL(None, use_errno=True)
FORWARDING = """cd /proc/sys/net; echo 1 > ipv4/ip_forward; echo 1 > ipv6/conf/all/forwarding
echo 0 > ipv4/icmp_ratemask; echo 0 > ipv6/icmp/ratelimit; echo 10000 > ipv4/icmp_msgs_per_sec"""
QUIET = """ip link set lo up; cd /proc/sys/net; echo 0 > ipv6/conf/default/accept_dad; echo 0 > ipv6/conf/all/accept_dad
echo 0 > ipv6/conf/default/router_solicitations; echo 1 > ipv6/conf/all/keep_addr_on_down
echo '0 2147483647' > ipv4/ping_group_range; for f in bridge/bridge-nf-call-*; do [ ! -e $f ] || echo 0 > $f; done"""
SHOWN = {"link": "-o link", "addr": "-o addr show scope global", "-4 rule": "-4 rule", "-6 rule": "-6 rule",
         "-4 route": "-4 route show table all", "-6 route": "-6 route show table all"}

class LabError(Exception):
    """The network cannot be made, or does not work before its fault."""

def enter(space):
    """Moves this process into a network namespace (setns(2))."""
    with open(f"/run/netns/{space}") as file:
        if LIBC.setns(file.fileno(), 0x40000000): raise OSError(ctypes.get_errno(), "setns " + space)

def until(holds, text, limit=60.0):
    end = time.monotonic() + limit
    while not holds():
        if time.monotonic() > end: raise LabError(text)
        time.sleep(0.05)

class Lab:
    """A role, such as `router`, is a namespace that is made when it is first named."""
    def __init__(self, name, folder, certificates):
        self.prefix, self.folder, self.certificates = name + "-", folder, certificates
        os.makedirs(folder, mode=0o755)
        self.roles, self.below, self.index, self.files = set(), {}, 100, 0
        self.programs, self.processes, self.undos = [], [], []
        self.client, self.prelude, self.notes = "client", "", {}
        self.resolvers("client"), self.hosts("client")

    def file(self, text, name=None):
        """A new file, or the same one with another text: it stays the one that is mounted."""
        self.files += 1
        path = f"{self.folder}/{name or self.files}"
        with open(path, "w") as file: file.write(text)
        return path

    def resolvers(self, role, text=""): return self.file(text + "\n", f"resolv-{role}")
    def hosts(self, role, line=""): return self.file(f"127.0.0.1 localhost\n::1 localhost\n{line}\n", f"hosts-{role}")

    # Namespaces and commands
    def space(self, role):
        if role not in self.roles:
            self.roles.add(role)
            subprocess.run(["ip", "netns", "add", self.prefix + role], check=True)
            self.sh(role, QUIET)
        return self.prefix + role

    def start(self, role, command, **how):
        space = self.space(role)
        return subprocess.Popen(command, preexec_fn=lambda: enter(space), text=True, **how)

    def read(self, role, command, text=None, check=True):
        """The output; without `check` whether the command succeeds."""
        process = self.start(role, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try: out, errors = process.communicate(text, timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise LabError(f"{role}: {shlex.join(command)[:200]} does not end")
        if check and process.returncode:
            raise LabError(f"{role}: {shlex.join(command)[:200]}: {text or ''} {(errors or out).strip()[:300]}")
        return out if check else process.returncode == 0

    def sh(self, role, command, check=True): return self.read(role, ["sh", "-ec", command], check=check)

    def ip(self, role, commands):
        """Commands of ip(8) between semicolons; `-6` before one that does not show its family."""
        groups = []
        for command in filter(None, map(str.strip, commands.split(";"))):
            family, command = re.fullmatch(r"(?:(-[46]) )?(.*)", command).groups()
            if not family:
                is_six = re.search(r"[0-9a-f]:[0-9a-f]*:", command)
                family = "-6" if is_six else "-4" if command.startswith(("route", "rule", "neigh")) else "-0"
            if not groups or groups[-1][0] != family: groups.append((family, []))
            groups[-1][1].append(command)
        for family, lines in groups:
            self.read(role, ["ip", *([family] if family != "-0" else []), "-batch", "-"], "\n".join(lines) + "\n")

    def nft(self, role, rules): self.read(role, ["nft", "-f", "-"], re.sub(r"} }$", "}\n}\n", rules.strip()))

    # Links
    def veth(self, a, link_a, b, link_b):
        # With equal indexes at both ends the kernel delays carrier events.
        self.index += 1
        end = f"index {self.index} type veth peer name {link_b} netns {self.space(b)}"
        self.ip(a, f"link add {link_a} {end}; link set {link_a} up")
        self.ip(b, f"link set {link_b} up")

    def addresses(self, role, link, net, six, number):
        self.ip(role, f"addr add {net}.{number}/24 dev {link}"
                + (f"; addr add 2001:db8:{six}::{number}/64 dev {link} nodad" if six else ""))

    def link(self, upper, up, lower, down, net, six, line=None, metric=None):
        """A link down from `upper`, which is .1 and the gateway, to `lower`, which is .2; `line` carries it."""
        (line or Lab.veth)(self, upper, up, lower, down)
        self.attach(upper, up, lower, down, net, six, 2, metric)
        below = self.below.setdefault(lower, [])
        for prefix in below:
            self.ip(upper, f"route add {prefix} via " + (f"2001:db8:{six}::2" if ":" in prefix else f"{net}.2"))
        self.below.setdefault(upper, []).extend(below + [f"{net}.0/24"] + ([f"2001:db8:{six}::/64"] if six else []))

    def attach(self, upper, up, lower, down, net, six, number, metric=None):
        if f"{upper}.{up}" not in self.notes:
            self.notes[f"{upper}.{up}"] = net
            self.addresses(upper, up, net, six, 1)
            self.sh(upper, FORWARDING)
        self.addresses(lower, down, net, six, number)
        last = f" dev {down}" + (f" metric {metric}" if metric else "")
        self.ip(lower, f"route add default via {net}.1{last}"
                + (f"; route add default via 2001:db8:{six}::1{last}" if six else ""))

    def port(self, role, link, number, six="1"):
        """A host at the LAN of `router`, which is a bridge."""
        if "router.lan" not in self.notes:
            self.ip("router", "link add lan type bridge; link set lan up")
            self.below["router"] = ["192.168.1.0/24"] + (["2001:db8:1::/64"] if six else [])
        self.veth("router", f"port{number}", role, link)
        self.ip("router", f"link set port{number} master lan")
        self.attach("router", "lan", role, link, "192.168.1", six, number)

    # Programs
    def program(self, role, function, *arguments):
        """Runs a function in a process and a namespace of its own; it calls its first argument once it is ready."""
        space, (ready, write) = role and self.space(role), os.pipe()
        number = os.fork()
        if number == 0:
            try:
                os.close(ready)
                if space: enter(space)
                function(lambda: os.write(write, b"1"), *arguments)
            finally: os._exit(1)
        self.programs.append(number)
        os.close(write)
        started = os.read(ready, 1)
        os.close(ready)
        if not started: raise LabError(f"{function.__name__} does not start at {role}")
        return number

    def end(self, number):
        self.programs.remove(number)
        with contextlib.suppress(ProcessLookupError): os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)

    def down(self):
        for process in self.processes:
            process.kill()
            process.wait()
        for number in list(self.programs): self.end(number)
        for role in self.roles: subprocess.run(["ip", "netns", "del", self.prefix + role], check=False)

    # Faults
    def begin(self, fault):
        """A fault is a function that changes the lab; what it returns takes the change back."""
        self.undos.append(fault(self))

    def over(self):
        """Takes the last fault back."""
        (self.undos.pop() or (lambda: None))()

    def state(self, role):
        """What ip(8) shows of a role, so that `restore` can bring it back."""
        drop = re.compile(r"\b(linkdown|dead|expires \w+|valid_lft.*|dynamic)\b|\\")
        return {kind: [drop.sub("", line).strip() for line in self.read(role, ["ip", *words.split()]).splitlines() if
            not re.search(r"table local|proto kernel|fe80::|multicast", line)] for kind, words in SHOWN.items()}

    def restore(self, role, before):
        def links(state):
            found = [re.match(r"(\d+): ([^:@]+)[^<]*<([^>]*)> mtu (\d+)", line) for line in state["link"]]
            return {m[1]: (m[2], "UP" in m[3].split(","), m[4]) for m in found}
        now = self.state(role)
        for index, (name, was_up, size) in links(before).items():
            other, is_up, new_size = links(now).get(index, (name, True, size))
            # Below 1280 bytes a link has no IPv6.
            if size != new_size: self.ip(role, f"link set {other} mtu {size}")
            if other != name: self.ip(role, f"link set {other} down; link set {other} name {name}")
            if was_up and (other != name or not is_up): self.ip(role, f"link set {name} up")
        for verb, lines, others in (("del", self.state(role), before), ("add", before, self.state(role))):
            for kind in list(SHOWN)[1:]:
                for line in (line for line in lines[kind] if line not in others[kind]):
                    words = line.split()
                    if kind == "addr": words = [*words[3:6 if words[4] == "peer" else 4], "dev", words[1]]
                    if "rule" in kind: words = ["pref", words[0].rstrip(":"), *words[1:]]
                    done = "replace" if verb == "add" and "rule" not in kind else verb
                    command = ["ip", *kind.split(), done, *words]
                    if not self.read(role, command, check=False) and verb == "add":
                        raise LabError(f"{role}: cannot be restored: {shlex.join(command)}")
