"""The router, between this host and its provider."""
from kit import *
router = of_kind("router")
ADDRESS, WORKS = f"{WEB}:80", ask(HOST, right="works")

router("the router hung a moment ago, and the kernel takes it for reachable", home(), dark("router", "lan"),
    ask(URL, HOST, right="gateway", rung="gateway", says=(r"192\.168\.1\.1", "last confirmed|answered")))
FAILED = ip("client",
    "neigh replace 192.168.1.1 dev eth0 nud failed; -6 neigh replace 2001:db8:1::1 dev eth0 nud failed")
router("the router has hung for long: the kernel has given it up", home(), dark("router", "lan"), FAILED,
    ask(URL, HOST, right="gateway", rung="gateway", says=r"192\.168\.1\.1"), test="tasks")
router("the router was dead before the sidecar started", home(), dark("router", "lan"), fresh(),
    ask(URL, HOST, right="gateway", rung="gateway", says=r"192\.168\.1\.1"), before=None)
router("the router's firewall forbids the target", home(),
    drop("router", "forward", f"ip daddr {WEB}", "reject with icmp admin-prohibited"), WORKS,
    ask(ADDRESS, right="gateway", rung="tcp", says=(r"192\.168\.1\.1", "firewall"), never="is running"))
router("the router drops two ports, all else passes", home(v6=False), WORKS, ask(URL, right="works"),
    drop("router", "forward", "ip daddr 203.0.113.53 tcp dport { 443, 853 }"),
    ask("203.0.113.53:853", right="path gateway"))
router("the router no longer advertises itself", home(),
    sh("client",
        "ip -6 addr flush dev eth0; ip -6 route flush dev eth0; echo 1 > /proc/sys/net/ipv6/conf/eth0/accept_ra; "
        "ip link set eth0 down; ip link set eth0 up; ip route replace default via 192.168.1.1"), wait(1.2),
    runs("router", advertiser, "lan", "2001:db8:1::", 2), wait(3.2),
    ask("http://six.exam.test/", right="gateway mine", says=r"advert|announc|RA\b|router"),
    ask(URL, HOST, right="works"), before=None, watch=False)
router("the second of two routers hangs", home(routers=2, v6=False), dead("router2"),
    ask(NAME4, ADDRESS, HOST, right="upstream gateway", says=r"192\.168\.1\.1"))
router("IPv6 dies in the router, IPv4 lives", home(), drop("router", "forward", "meta nfproto ipv6"),
    ask(URL, HOST, right="works", says="IPv6"))
router("the router of a second network hangs", home(v6=False), lambda lab: lab.veth("client", "plane1", "fabric", "p"),
    ip("client", "addr add 10.50.0.2/24 dev plane1; route add 10.60.0.0/16 via 10.50.0.1"),
    ip("fabric", "addr add 10.50.0.1/24 dev p; link add w type bridge; link set w up; addr add 10.60.0.10/24 dev w"),
    dark("fabric", "p"), fresh(), ask("10.60.0.10:80", right="gateway", says="plane1"), ask(URL, HOST, right="works"))
