"""Where slowness begins: what explain and the sidecar say of an emulated network, beside mtr and blackbox_exporter.

The table of all situations is printed; .build/slowness.json has the figures of each program. With TIDEGATE_WRITE_EVIDENCE=1 the
measurements of each situation are recorded for the tests. TIDEGATE_SITUATIONS is a regular expression: only these are measured.
"""

import concurrent.futures
import contextlib
import dataclasses
import json
import os
import re
import statistics
import subprocess
import time
import urllib.parse

import harness

ROUTER, PROVIDER, SERVER, OTHER = "10.0.0.1", "100.64.0.2", "203.0.113.2", "198.51.100.2"
PLACES = {ROUTER: "router", PROVIDER: "provider", SERVER: "path"}
EXPORTER, LISTEN = "127.0.0.1:9115", "127.0.0.1:9595"
MODULES = "modules:\n" + "".join(
    f"  {kind}: {{prober: {kind}, timeout: 9s, {kind}: {{preferred_ip_protocol: ip4}}}}\n" for kind in ("http", "icmp"))
# Most of the time they wait; more would delay the emulated links.
AT_A_TIME = 3
EVIDENCE = harness.ROOT / "Tests/TidegateAttributionTests/Recorded/slowness.json"
# A rise of so many milliseconds from one hop of mtr to the next stands out.
RISE = 30
# A page that takes that long is measured, and is not slow by itself.
LATE = f"http://{SERVER}/slow?ms=400"
# Causes with two places that cannot be told apart.
PAIRS = {"lossInOrBehind": ("router", "provider")}


@dataclasses.dataclass
class Situation:
    name: str
    # What is changed in the network.
    changes: list
    # Where slowness begins; None for a control.
    place: str | None
    # The place and the party that Tidegate can know.
    begins: str | None = None
    party: str | None = None
    url: str = f"http://{SERVER}/"
    seconds: int | None = None
    limits_icmp: bool = False
    uploads: bool = False
    # Whether the measurements are recorded with the usual round trips.
    has_normal: bool = False
    # What depends on chance is measured several times.
    runs: int = 1
    # Python programs at both ends.
    server: str | None = None
    client: str | None = None
    # What the server's kernel drops.
    rules: str | None = None
    # A queue of the client's own.
    queue: str | None = None


def situations():
    """The controls, and then what has a place."""
    yield Situation("healthy", [], None)
    yield Situation("healthy, a page of 400 ms", [], None, url=LATE)
    yield Situation("routers limit ICMP errors", [], None, url=LATE, limits_icmp=True)
    yield Situation("jitter of 20 ms and reordering behind the router", [
        "wan there jitter 20", "wan back jitter 20", "wan there reordering 0.02"], None, url=LATE, has_normal=True)
    yield Situation("a long quiet path of 300 ms", ["far there delay 270"], None)
    places = {"link": ("before the router", "router", "unknown"), "wan": ("behind the router", "provider", "upstream"),
              "far": ("before the server", "path", "unknown")}
    for loss, seconds, runs in ((0.2, None, 1), (0.1, None, 3), (0.05, 30, 1)):
        for link, (where, place, party) in places.items():
            yield Situation(f"{loss * 100:.0f} % loss {where}", [f"{link} there loss {loss}"], place, place, party, LATE, seconds,
                            runs=runs)
    for delay in (50, 200):
        for link, (where, place, _) in places.items():
            # What is usual is not known. 200 ms are more than routers and lines take, and not more than a distance.
            isKnown = delay == 200 and link != "far"
            yield Situation(f"{delay} ms more {where}", [f"{link} there delay {delay}"], place,
                            place if isKnown else None, "unknown" if isKnown else None, has_normal=True)
    yield Situation("an own upload fills the line", ["wan there rate 4000000", "wan there queue 250000"], "provider", "provider",
                    "unknown", uploads=True, has_normal=True)
    yield Situation("the resolver takes 300 ms", ["resolver delay 300"], "resolver", "resolver", "resolver", "http://slow.test/")
    yield from connections()
    yield Situation("the server takes 2 s", [], "server", "server", "theirs", f"http://{SERVER}/slow?ms=2000")


def connections():
    """What programs at both ends do with a connection; the network is healthy."""
    def ends(name, place, party, server="c.recv(1 << 16)", client="c.recv(1 << 16)", buffers=(0, 0), control="reno", **more):
        begin = f"import socket, time; s = socket.socket(); s.setsockopt(6, 13, b'{control}'); "
        limits = [f"s.setsockopt(1, 8, {size}); " if size else "" for size in buffers]
        return Situation(
            name, more.pop("changes", []), place, place, party, seconds=6,
            server=f"{begin}{limits[0]}s.bind(('', 81)); s.listen(); c = s.accept()[0]\nwhile True: {server}",
            client=f"{begin}{limits[1]}s.connect(('{SERVER}', 81)); c = s\nwhile True: {client}", **more)

    much, little = "c.send(b'x' * 65536)", "c.send(b'x' * 1000); time.sleep(0.02)"
    yield ends("the client reads slowly", "program", "mine", much, "c.recv(1024); time.sleep(0.05)")
    yield ends("the client has a small buffer", "program", "mine", much, buffers=(0, 4096))
    yield ends("the server does not read", "server", "theirs", "time.sleep(1)", much)
    yield ends("the server has a small buffer", "server", "theirs", client=much, buffers=(4096, 0))
    yield ends("the server sends in pieces", "server", "theirs", "c.send(b'x' * 10000); time.sleep(0.4)")
    yield ends("the client sends little", None, None, client=little)
    yield ends("the server sends little and evenly", None, None, little)
    line = ["wan back rate 8000000", "wan back queue 60000"]
    yield ends("a download with BBR", None, None, much, control="bbr", changes=line)
    yield ends("a download over a fast line", None, None, "c.send(b'x' * 1000000)", changes=["wan back rate 20000000", "wan back queue 50000"])
    # As many connections, each with a request and its answer ten times a second.
    asking = ("import socket, time\n{}\n"
              "while True:\n    for c in all: c.send(b'x' * 300)\n    for c in all: c.recv(4096)\n    time.sleep(0.1)")
    yield Situation(
        "forty busy connections", [], None, seconds=6,
        server="import socket, threading\ns = socket.create_server(('', 81))\ndef serve(c):\n    while c.recv(4096): c.send(b'y' * 900)\n"
               "while True: threading.Thread(target=serve, args=(s.accept()[0],)).start()",
        client=asking.format(f"all = [socket.create_connection(('{SERVER}', 81)) for _ in range(40)]"))
    yield Situation(
        "the server accepts late", [], "server", "server", "theirs",
        rules="table ip late { set seen { type inet_service; flags dynamic; }; chain in { type filter hook input priority 0; "
              "tcp dport 80 tcp flags & (syn | ack) == syn tcp sport != @seen add @seen { tcp sport } drop; }; }")
    # 3 Mbit/s to a port on which nothing listens.
    yield Situation("an own queue is full", [], "thisHost", "thisHost", "mine", LATE, queue="tbf rate 2mbit burst 4kb limit 60kb",
                    client="import socket, time\ns, next = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), time.monotonic()\n"
                           f"while True:\n    s.sendto(b'x' * 1200, ('{OTHER}', 9)); next += 1228 * 8 / 3e6\n"
                           "    time.sleep(max(0, next - time.monotonic()))")


class Network:
    """The emulated network, by the names of its namespaces; it ends with the block."""

    def __init__(self, seed):
        self.process = subprocess.Popen([str(harness.BENCH), "slowNetwork", str(seed)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        self.client, self.router, self.server, self.other = self.process.stdout.readline().split()
        # Packets of the upload are the situation's.
        harness.call(*self.inside(self.client, "nft", "table inet count { counter sent {}; counter echoes {};\n"
                                  "chain out { type filter hook output priority 0; oifname != lan return; tcp dport 9 return;\n"
                                  "counter name sent; icmp type echo-request counter name echoes; }; }"))
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(30)

    def change(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        if self.process.stdout.readline() != "done\n":
            raise RuntimeError(f"the network does not know “{line}”")

    def inside(self, namespace, *words):
        return ["ip", "netns", "exec", namespace, *map(str, words)]

    def run(self, *words, check=True):
        """The output of a program on the client."""
        return subprocess.run(self.inside(self.client, *words), check=check, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, timeout=120).stdout

    def counted(self, name):
        """The packets that the client has sent."""
        return int(re.search(r"packets (\d+)", self.run("nft", "list", "counter", "inet", "count", name)).group(1))

    def measured(self, work):
        """What a program says, how long it took, and how many packets this host sent meanwhile."""
        before, start = self.counted("sent"), time.monotonic()
        result = work()
        return result | {"seconds": round(time.monotonic() - start, 2), "packets": self.counted("sent") - before}


@contextlib.contextmanager
def programs(network, situation):
    """Runs the programs at both ends, or the client's that fills its own queue."""
    ports = lambda state: subprocess.run(
        network.inside(network.server, "ss", "-Htn", "state", state, "sport = :81"), check=True, stdout=subprocess.PIPE,
        text=True).stdout
    drops = lambda: "(dropped 0," not in network.run("tc", "-s", "qdisc", "show", "dev", "lan")
    with contextlib.ExitStack() as stack:
        if situation.server:
            stack.enter_context(harness.running(
                network.inside(network.server, "python3", "-c", situation.server), ready=lambda: ports("listening")))
        stack.enter_context(harness.running(
            network.inside(network.client, "python3", "-c", situation.client),
            ready=(lambda: ports("established")) if situation.server else drops))
        yield


@contextlib.contextmanager
def upload(network):
    """Fills the line; the server takes what comes."""
    sink = "import socket\nwith socket.create_server(('', 9)) as server:\n    peer = server.accept()[0]\n    while peer.recv(65536): pass"
    source = f"import socket\npeer = socket.create_connection(('{OTHER}', 9))\nwhile True: peer.sendall(bytes(65536))"
    listening = lambda: "LISTEN" in subprocess.run(network.inside(network.other, "ss", "-Htln", "sport = :9"), check=True,
                                                   stdout=subprocess.PIPE, text=True).stdout
    with harness.running(network.inside(network.other, "python3", "-c", sink), ready=listening), \
            harness.running(network.inside(network.client, "python3", "-c", source), ready=lambda: waits(network) > 300):
        yield


def waits(network):
    """The round trip of the upload in milliseconds; 0 before it began."""
    found = re.search(r"\brtt:([\d.]+)", network.run("ss", "-Htin", "dport = :9"))
    return float(found.group(1)) if found else 0


def explain(network, situation):
    words = ["explain", situation.url, "--json"] + (["--for", f"{situation.seconds}s"] if situation.seconds else [])
    answer = json.loads(network.run(harness.TIDEGATE, *words, check=False))
    quality = answer["quality"] or {}
    places = PAIRS.get(quality.get("cause")) or [quality["begins"]] if quality.get("begins") else []
    return {"places": places, "party": quality.get("party"), "cause": quality.get("cause"), "sentence": answer["sentence"],
            "segments": quality.get("segments", [])}


def mtr(network):
    """The first hop whose loss or delay stands out and stays to the end, as a person has to find it."""
    hops = json.loads(network.run("mtr", "--report", "--json", "--no-dns", "-c", 10, SERVER))["report"]["hubs"]
    hops = [hop for hop in hops if hop["host"] in PLACES]
    place = None
    for number, hop in enumerate(hops):
        later = hops[number:]
        rise = hop["Avg"] - (hops[number - 1]["Avg"] if number else 0)
        if min(one["Loss%"] for one in later) > 0 or (
                rise >= RISE and all(one["Avg"] >= hop["Avg"] * 0.9 for one in later)):
            place = PLACES[hop["host"]]
            break
    return {"places": [place] if place else [], "hops": [{key: hop[key] for key in ("host", "Loss%", "Avg", "Best", "Wrst")} for hop in hops]}


def exporter(network, situation):
    """What blackbox_exporter's metrics say; they have no place."""
    result = {}
    for kind, target in (("http", situation.url), ("icmp", SERVER)):
        text = network.run("curl", "-s", f"http://{EXPORTER}/probe?module={kind}&target={urllib.parse.quote(target)}")
        result[kind] = {"success": "\nprobe_success 1\n" in text} | {
            phase: float(value) for phase, value in
            re.findall(rf'^probe_{kind}_duration_seconds{{phase="(\w+)"}} (\S+)$', text, re.MULTILINE)}
    return result


def observe(seed, situation, path):
    """What each program says of a situation."""
    peer = lambda network: network.inside(
        network.client, "prometheus-blackbox-exporter", f"--config.file={path}/modules.yml", f"--web.listen-address={EXPORTER}")
    with Network(seed) as network, contextlib.ExitStack() as stack:
        stack.enter_context(harness.running(peer(network), ready=lambda: harness.status(
            network.inside(network.client, "curl", "-sf", f"http://{EXPORTER}/-/healthy")) == 0))
        records = os.environ.get("TIDEGATE_WRITE_EVIDENCE")
        usual = evidence(network, situation, 2) if records and situation.has_normal else None
        for line in situation.changes:
            network.change(line)
        if situation.limits_icmp:
            for namespace in (network.router, network.server):
                harness.call(*network.inside(namespace, "sysctl", "-qw", "net.ipv4.icmp_ratelimit=1000"))
        if situation.rules:
            harness.call(*network.inside(network.server, "nft", situation.rules))
        if situation.queue:
            harness.call(*network.inside(network.client, "tc", "qdisc", "replace", "dev", "lan", "root", *situation.queue.split()))
        if situation.client:
            stack.enter_context(programs(network, situation))
        if situation.uploads:
            stack.enter_context(upload(network))
        result = {"situation": situation.name, "place": situation.place, "begins": situation.begins, "party": situation.party,
                  "tidegate": network.measured(lambda: explain(network, situation)),
                  "mtr": network.measured(lambda: mtr(network)),
                  "blackbox": network.measured(lambda: exporter(network, situation))}
        if records:
            result["evidence"] = recorded(network, situation, usual)
        return result


def evidence(network, situation, seconds):
    return json.loads(network.run(harness.BENCH, "evidence", situation.url, seconds))


def recorded(network, situation, usual):
    """The measurements of a situation, with the usual round trips if they were measured before it."""
    # Ten seconds show a loss of 5 %, and their round trips are a few kilobytes.
    now = evidence(network, situation, 6 if situation.server else 10 if situation.seconds else 2)
    if usual:
        medians = {host["address"]: statistics.median_low(host["roundTrips"])
                   for host in usual["hosts"] + [usual["reference"]]}
        for host in now["hosts"] + [now["reference"]]:
            host["normal"] = medians.get(host["address"])
    return now


def run(rows):
    loads = [os.getloadavg()[0]]
    with harness.folder() as path, concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        (path / "modules.yml").write_text(MODULES)
        only = re.compile(os.environ.get("TIDEGATE_SITUATIONS", ""))
        wanted = [situation for situation in situations() for _ in range(situation.runs)]
        jobs = [pool.submit(observe, seed, situation, path) for seed, situation in enumerate(wanted, start=1)
                if only.search(situation.name)]
        results = [job.result() for job in jobs]
        changes = [("20 % loss behind the router", "wan there loss 0.2", 45), ("5 % loss behind the router", "wan there loss 0.05", 90),
                   ("50 ms more behind the router", "wan there delay 50", 45)]
        jobs = [pool.submit(follow, seed, change, path / str(seed)) for seed, change in enumerate(changes, start=1)
                if only.search(f"sidecar: {change[0]}")]
        followed = [job.result() for job in jobs]
    loads.append(os.getloadavg()[0])
    # A busy machine makes timers late, and Tidegate trusts no measurement then.
    rows.note("load of the machine, before and after", f"{loads[0]:.1f}, {loads[1]:.1f}")
    groups = {}
    for result in results:
        groups.setdefault(result["situation"], []).append(result)
    if os.environ.get("TIDEGATE_WRITE_EVIDENCE"):
        known = json.loads(EVIDENCE.read_text()) | {name: group[0]["evidence"] for name, group in groups.items()}
        lines = (f"{json.dumps(one.name)}: {json.dumps(known[one.name], sort_keys=True, separators=(',', ':'))}"
                 for one in situations() if one.name in known)
        EVIDENCE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    for name, group in groups.items():
        show(rows, name, group)
    if results:
        compare(rows, results)
    for result in followed:
        show_sidecar(rows, result)
    (harness.ROOT / ".build/slowness.json").write_text(json.dumps({"load": loads, "explain": results, "sidecar": followed}, indent=1) + "\n")


def show(rows, name, group):
    wanted = answer(filter(None, [group[0]["begins"]]), group[0]["party"])
    ours = [answer(result["tidegate"]["places"], result["tidegate"]["party"]) for result in group]
    peer = [answer(result["mtr"]["places"]) for result in group]
    page = [result["blackbox"]["http"] for result in group]
    took = statistics.median(sum(one.get(phase, 0) for phase in ("resolve", "connect", "tls", "processing")) for one in page)
    rows.add(f"{name}, against mtr and blackbox_exporter", listed(ours),
             f"{listed(peer)}; {sum(one['success'] for one in page)} of {len(page)} succeed, {took * 1000:.0f} ms", "", wanted,
             all(one == wanted for one in ours))


def answer(places, party=None):
    return ", ".join(filter(None, [" or ".join(places), party])) or "-"


def listed(answers):
    """Equal answers once, with their number."""
    if len(answers) == 1:
        return answers[0]
    return "; ".join(f"{answers.count(one)} x {one}" for one in dict.fromkeys(answers))


def compare(rows, results):
    """How often each program names the place, and the costs of one answer."""
    names = ("tidegate", "mtr")
    ends = [result for result in results if result["place"] and result["place"] not in PLACES.values()]
    rows.add(f"resolver, server, program or own queue named, of {len(ends)}; mtr sees only the way",
             f"{sum(result['place'] in result['tidegate']['places'] for result in ends)}", "", "", f"{len(ends)}",
             all(result["place"] in result["tidegate"]["places"] for result in ends))
    troubles = [result for result in results if result["place"] in PLACES.values()]
    right = [sum(result["place"] in result[name]["places"] for result in troubles) for name in names]
    rows.add(f"place on the way named, of {len(troubles)} measurements of troubles, against mtr", f"{right[0]}", f"{right[1]}",
             f"{right[0] / max(right[1], 1):.2f}", "", True)
    wrong = [sum(bool(result[name]["places"]) and result["place"] not in result[name]["places"] for result in results)
             for name in names]
    rows.add(f"wrong place named, of {len(results)} measurements, against mtr", f"{wrong[0]}", f"{wrong[1]}", "", "0",
             wrong[0] == 0)
    for key in ("seconds", "packets"):
        ours, peer, exporter = (statistics.median(result[name][key] for result in results)
                                for name in ("tidegate", "mtr", "blackbox"))
        most = max(result["tidegate"][key] for result in results)
        rows.add(f"{key} of an answer, median and most, against mtr and blackbox_exporter", f"{ours:.1f} ({most:.1f})",
                 f"{peer:.1f}; {exporter:.1f}", f"{ours / peer:.2f}", "", True)


def follow(seed, change, path):
    """Runs a sidecar until it says what has become slow."""
    name, line, limit = change
    path.mkdir()
    (path / "c.yml").write_text("reachability:\n  targets:\n" + "".join(
        f"    - {{name: {target}, url: \"http://{address}/\", interval: 2s}}\n"
        for target, address in (("api", SERVER), ("other", OTHER))))
    (path / "c.yml").chmod(0o600)
    with Network(seed) as network:
        words = network.inside(
            network.client, harness.TIDEGATE, "serve", "--config.file", path / "c.yml", "--web.listen-address", LISTEN,
            "--state.dir", path / "state", "--control.socket", path / "socket")
        get = lambda: json.loads(network.run("curl", "-sf", f"http://{LISTEN}/api/v1/status"))["quality"] or {"segments": []}
        with harness.running(words, ready=lambda: harness.status(
                network.inside(network.client, "curl", "-sf", f"http://{LISTEN}/-/healthy")) == 0) as sidecar:
            require(lambda: len(get()["segments"]) == 2, 60, "no hosts are watched")
            # The search for them is over by then.
            time.sleep(5)
            before, used = network.counted("echoes"), cpu(sidecar.pid)
            time.sleep(60)
            result = {"change": name, "limit": limit, "echoesPerMinute": network.counted("echoes") - before,
                      "cpuPercent": round((cpu(sidecar.pid) - used) / 60 * 100, 3)}
            require(lambda: all(host["normalSeconds"] for host in get()["segments"]), 120, "the usual times stay unknown")
            # Once they are known, it measures all hosts: 46 echoes to each of four.
            before = network.counted("echoes")
            require(lambda: network.counted("echoes") - before >= 4 * 46, 60, "nothing is measured")
            time.sleep(10)
            result["silent"] = get()["network"] is None
            network.change(line)
            start = time.monotonic()
            harness.wait_until(lambda: get()["network"] or time.sleep(0.5), 120)
            trouble = get()["network"] or {}
            result |= {"seconds": round(time.monotonic() - start, 1) if trouble else None, "begins": trouble.get("begins"),
                       "party": trouble.get("party"), "text": trouble.get("text")}
    return result


def require(condition, limit, complaint):
    if not harness.wait_until(lambda: condition() or time.sleep(0.5), limit):
        raise RuntimeError(complaint)


def cpu(pid):
    """Seconds that a process has run (clock_getcpuclockid(3))."""
    return time.clock_gettime(~pid << 3 | 2)


def show_sidecar(rows, result):
    took = f"{result['seconds']:.1f} s" if result["seconds"] else "not within 120 s"
    rows.add(f"sidecar: {result['change']}, from the change to the status", f"{took}: {result['begins'] or '-'}, {result['party'] or '-'}",
             "", "", f"<= {result['limit']} s", result["silent"] and (result["seconds"] or 999) <= result["limit"])
    echoes, share = result["echoesPerMinute"], result["cpuPercent"]
    rows.add("sidecar before: echoes a minute, share of a core (%)", f"{echoes}, {share:.2f}", "", "", "<= 15, <= 0.3",
             echoes <= 15 and share <= 0.3)
