"""The networks of the exam, each a function that builds it in a lab.

    home()         client ─ router (lan, with more hosts) ─ provider ─ core ┬ servers  203.0.113.0/24
                                                                            └ world    198.51.100.0/24, public ones
    two_uplinks()  client ┬ lan1 ─ router1 ─ provider1 ┬ core …  equal=True: both routers are 192.168.10.1
                          └ lan2 ─ router2 ─ provider2 ┘         office=True: vpn0 over lan1 to 10.50.0.0/16
    tunnel()       home, and vpn0 with the default route from client to exit (192.0.2.9), which stands behind core
    overlay()      pod ─ client (a node) ─ LAN ─ node2 ─ pod2: VXLAN between the nodes; the pod asks
"""
import os
import programs
from lab import FORWARDING, until

ROUTER, CLIENT, ROUTER6 = "192.168.1.1", "192.168.1.2", "2001:db8:1::1"
EDGE, EDGE6, CORE, CORE6 = "100.64.1.1", "2001:db8:64::1", "100.65.1.1", "2001:db8:65::1"
WEB, WEB6, TWO, ABSENT = "203.0.113.10", "2001:db8:113::10", "203.0.113.12", "203.0.113.11"
RESOLVER, RESOLVER6, DENIES, CLOSED, REFUSES, SILENT, LATE = (
    "203.0.113.53", "2001:db8:113::53", *(f"203.0.113.{n}" for n in (54, 55, 56, 57, 58)))
FAR, FAR6, EXIT = "198.51.100.10", "2001:db8:198::10", "192.0.2.9"
PUBLIC = ["1.1.1.1", "8.8.8.8", "9.9.9.9", "193.0.14.129", "198.41.0.4", "199.7.91.13", "2001:4860:4860::8888",
          "2400:cb00:2049:1::a29f:1804", "2600:9000:5300:4500::1", "2a00:1450:4001:80b::200e", "2606:4700:4700::1111"]
ZONE = {
    "web": [WEB, WEB6], "two": [TWO, "2001:db8:113::12"], "four": [WEB], "six": [WEB6], "six2": ["2001:db8:113::12"],
    "far": [FAR, FAR6], "far4": [FAR], "check": ["203.0.113.30"], "multi": [WEB, ABSENT], "pair": [SILENT, WEB],
    "selfsigned": ["203.0.113.20"], "expired": ["203.0.113.21"], "wrong": ["203.0.113.22"], "plain": ["203.0.113.23"],
    "bad": ["203.0.113.24"], "strange": ["203.0.113.25"], "nas": ["192.168.1.30"], "ads": [WEB],
    **{f"s{n}": [WEB] for n in (401, 403, 404, 429, 500, 503)}}
ZONE = {name + ".exam.test": addresses for name, addresses in ZONE.items()}
ZONE["a.root-servers.net"] = ["198.41.0.4", "2001:503:ba3e::2:30"]
OFFICE_ZONE = {"intranet.office.test": ["10.50.0.20"]}

def far_side(lab):
    """core ─ servers, and core ─ world, which has the default route of the internet."""
    lab.veth("core", "rack", "servers", "net")
    lab.veth("core", "peering", "world", "net")
    lab.attach("core", "rack", "servers", "net", "203.0.113", "113", 2)
    lab.attach("core", "peering", "world", "net", "198.51.100", "198", 10)
    lab.sh("servers", FORWARDING)
    lab.sh("world", FORWARDING + "; echo 0 > ipv4/ip_forward; echo 0 > ipv6/conf/all/forwarding")
    for number in (10, 12, 20, 21, 22, 23, 24, 25, 30, 53, 54, 55, 56, 57, 58):
        lab.addresses("servers", "net", "203.0.113", "113", number)
    lab.ip("world", "; ".join(f"addr add {a} dev lo" for a in PUBLIC))
    lab.ip("core", f"route add default via {FAR}; route add default via {FAR6}")
    # A silent server, and a port that a firewall closes without a word.
    lab.nft("servers", f"table inet standing {{ chain c {{ type filter hook input priority 0; ip daddr {SILENT} drop; "
                       "tcp dport 9999 drop; } }")
    lab.mood = f"{lab.folder}/mood"
    manners = {address: {} for address in (RESOLVER, RESOLVER6)}
    manners.update({DENIES: {"lies": dict.fromkeys(ZONE, None)}, REFUSES: {"do": "refused"}, LATE: {"delay": 1.5}})
    manners[DENIES]["lies"].update({"ads.exam.test": ["0.0.0.0"], "a.root-servers.net": ["198.41.0.4"]})
    lab.program("servers", programs.name_server, manners, ZONE, lab.mood)
    lab.program("world", programs.name_server, dict.fromkeys(["1.1.1.1", "8.8.8.8", "9.9.9.9"], {}), ZONE)
    good, bad, tls = lab.certificates + "/good.pem", "203.0.113.24", 443
    web = [(a, 80, "http") for a in (WEB, WEB6, TWO, "2001:db8:113::12", "203.0.113.25", "203.0.113.30")]
    web += [(a, tls, "tls", good) for a in (WEB, WEB6)] + [("203.0.113.23", tls, "http"), (RESOLVER, 853, "tls", good)]
    web += [(ZONE[f"{name}.exam.test"][0], tls, "tls", f"{lab.certificates}/{name}.pem")
            for name in ("selfsigned", "expired", "wrong", "strange")]
    web += [(bad, port, *how) for port, *how in (
        (22, "banner", "SSH-2.0-OpenSSH_9.2p1\r\n"), (25, "banner", "220 mail.exam.test\r\n"), (80, "reset"),
        (26, "banner", "554 mail.exam.test\r\n"), (tls, "reset"), (8080, "hang"), (8443, "hang"), (8088, "slow"),
        (9444, "once"))]
    lab.program("servers", programs.servers, web)
    lab.program("world", programs.servers, [(a, 80, "http") for a in ("0.0.0.0", FAR6)] + [("0.0.0.0", tls, "tls",
        good)])

def home(resolver=RESOLVER, v6=True, hosts=(), line=None, forwarder=None, options="", routers=1):
    """`forwarder`: the router answers names and does this if the resolver is silent; `hosts` are at .30 and up."""
    def build(lab):
        lab.families = "46" if v6 else "4"
        lab.port("client", "eth0", 2, "1" if v6 else None)
        for number, host in enumerate(hosts, 30): lab.port(host, "eth0", number)
        if routers == 2: lab.link("router2", "lan", "router", "wan", "192.168.2", "2")
        upper = "router2" if routers == 2 else "router"
        lab.link("provider", "cust", upper, "wan", "100.64.1", "64", line)
        lab.link("core", "south", "provider", "north", "100.65.1", "65")
        far_side(lab)
        if forwarder: lab.program("router", programs.forwarder, [ROUTER], RESOLVER, forwarder)
        lab.resolvers("client", "\n".join(f"nameserver {r}" for r in resolver.split()) + "\n" + options)
    return build

def delayed(lab, upper, up, lower, down):
    """The carrier of a link: a program that can make packets late."""
    lab.notes["line"] = lab.file("0 0", "line")
    ends = [(lab.space(upper), up), (lab.space(lower), down)]
    lab.program(None, programs.line, ends, lab.notes["line"])
    for role, link in ((upper, up), (lower, down)): lab.ip(role, f"link set {link} up")

def two_uplinks(equal=False, v6=False, metrics=(100, 200), office=False):
    """Without `office` the resolver is at the servers; with it each provider has one, and vpn0 leads to an office."""
    def build(lab):
        lab.families = "46" if v6 else "4"
        for n in (1, 2):
            net = "192.168.10" if equal or n == 1 else "192.168.20"
            six = f"{n}" if v6 and n == 1 else None
            lab.link(f"router{n}", "lan", "client", f"lan{n}", net, six, metric=metrics[n - 1])
            if equal:
                lab.below[f"router{n}"] = []
                lab.nft(f"router{n}", "table ip n { chain p { type nat hook postrouting priority 100; "
                                      "oifname wan masquerade; } }")
            lab.link(f"provider{n}", "cust", f"router{n}", "wan", f"100.{6 + n}0.0", f"{n}64")
            lab.link("core", f"south{n}", f"provider{n}", "north", f"100.{6 + n}1.0", f"{n}65")
            lab.program(f"provider{n}", programs.name_server, {f"100.{6 + n}0.0.1": {}}, ZONE)
        far_side(lab)
        lab.resolvers("client", "nameserver 100.70.0.1\nnameserver 100.80.0.1" if office else "nameserver " + RESOLVER)
        if office:
            wireguard(lab, "192.168.10.1 dev lan1", "10.50.0.0/16,10.99.0.0/24")
            lab.program("exit", programs.name_server, {"10.99.0.1": {}}, OFFICE_ZONE)
    return build

def wireguard(lab, via, allowed):
    """vpn0 at client and exit, by programs in user space; `allowed` are the networks that it leads to."""
    lab.veth("core", "ex", "exit", "net")
    lab.attach("core", "ex", "exit", "net", "192.0.2", None, 9)
    lab.sh("exit", "echo 1 > /proc/sys/net/ipv4/ip_forward")
    keys, public = {}, {}
    for role in ("client", "exit"):
        # Its control socket has one path for all namespaces: each program gets a folder of its own.
        start = "mkdir -p /run/wireguard; mount -t tmpfs none /run/wireguard; exec wireguard-go -f vpn0"
        variables = {**os.environ, "LOG_LEVEL": "silent", "WG_PROCESS_FOREGROUND": "1"}
        process = lab.start(role, ["unshare", "--mount", "sh", "-ec", start], env=variables)
        lab.processes.append(process)
        lab.notes["wg " + role] = process.pid
        keys[role] = lab.read(role, ["wg", "genkey"]).strip()
        public[role] = lab.read(role, ["wg", "pubkey"], keys[role]).strip()
        until(lambda: lab.sh(role, f"nsenter -t {process.pid} -m test -S /run/wireguard/vpn0.sock", check=False),
              "wireguard-go does not start")
    wg(lab, "exit", f"listen-port 51820 private-key {lab.file(keys['exit'])} peer {public['client']} "
                    "allowed-ips 10.99.0.2/32")
    wg(lab, "client", f"private-key {lab.file(keys['client'])} peer {public['exit']} endpoint {EXIT}:51820 "
                      f"allowed-ips {allowed} persistent-keepalive 5")
    lab.notes["public"] = public["client"]
    lab.ip("exit", f"addr add 10.99.0.1/24 dev vpn0; link set vpn0 mtu 1420 up; addr add 10.50.0.20/32 dev lo")
    lab.ip("client", f"addr add 10.99.0.2/24 dev vpn0; link set vpn0 mtu 1420 up; route add {EXIT}/32 via {via}")
    for network in allowed.split(","):
        if not network.startswith("10.99."):
            lab.ip("client", f"route replace {'default' if network == '0.0.0.0/0' else network} dev vpn0")
    lab.nft("exit", "table ip n { chain p { type nat hook postrouting priority 100; oifname net masquerade; } }")
    lab.program("exit", programs.servers, [("0.0.0.0", 80, "http")])
    until(lambda: lab.sh("client", "curl -s -m1 -o /dev/null http://10.99.0.1/", check=False), "the tunnel stays down")

def wg(lab, role, settings):
    lab.sh(role, f"nsenter -t {lab.notes['wg ' + role]} -m wg set vpn0 {settings}")

def tunnel(lab):
    home(v6=False)(lab)
    wireguard(lab, ROUTER, "0.0.0.0/0")

def overlay(lab):
    home(v6=False, hosts=("node2",))(lab)
    nodes = {"client": ("pod", 1, CLIENT, "192.168.1.30"), "node2": ("pod2", 2, "192.168.1.30", CLIENT)}
    for node, (pod, n, mine, peer) in nodes.items():
        lab.link(node, "veth1", pod, "eth0", f"10.244.{n}", None)
        lab.ip(node, f"link add vxlan1 type vxlan id 7 local {mine} remote {peer} dstport 4789 dev eth0; "
                     f"addr add 10.244.0.{n}/24 dev vxlan1; link set vxlan1 up; "
                     f"route add 10.244.{3 - n}.0/24 via 10.244.0.{3 - n}")
    lab.nft("client", "table ip n { chain p { type nat hook postrouting priority 100; "
                      "ip saddr 10.244.1.0/24 oifname eth0 masquerade; } }")
    lab.program("pod2", programs.servers, [("0.0.0.0", 80, "http")])
    lab.client = "pod"
    lab.resolvers("pod", "nameserver " + RESOLVER)
    lab.hosts("pod")
