"""Beyond the router: the provider. An outage at every hop, asked about by name and by address, over both families."""
from kit import *
provider = of_kind("provider")
ADDRESS, ADDRESS6, WORKS = f"{WEB}:80", f"[{WEB6}]:80", ask(HOST, right="works")
LIMITED = limited_icmp("router", "provider", "core")

def either(*addresses):
    return "|".join(a.replace(".", r"\.") for a in addresses)

def everywhere(right, rung, says, says6, **how):
    """A name and an address, over both families and over each, and no target."""
    return (ask(HOST, URL, ADDRESS, right=right, rung=rung, says=either(says, says6), **how),
            ask(ADDRESS, URL, right=right, rung=rung, says=either(says), args=("-4",), **how),
            ask(ADDRESS6, URL, right=right, rung=rung, says=either(says6), args=("-6",), **how))

HOPS = [("the router is dead", dark("router", "lan"), "gateway", (ROUTER, ROUTER6)),
        ("the router forwards nothing", nothing_forwarded("router"), "upstream", (ROUTER, ROUTER6)),
        ("the provider's edge is dead", dead("provider"), "upstream", (ROUTER, ROUTER6)),
        ("the provider's edge forwards nothing", nothing_forwarded("provider"), "upstream", (EDGE, EDGE6)),
        ("the provider's core is dead", dead("core"), "upstream", (EDGE, EDGE6)),
        ("the provider's core forwards nothing", nothing_forwarded("core"), "upstream", (CORE, CORE6))]
for name, fault, party, hop in HOPS:
    rung, innocent = ("gateway" if party == "gateway" else "internet"), r"another (one|resolver)|resolv\.conf|is up\b"
    # Without an internet check a sidecar asks in no other network than the servers'.
    watch = {"watch": "path upstream"} if "core forwards" in name else {}
    provider(name, home(), fresh(), fault, *everywhere(party, rung, *hop, never=innocent),
        test="tasks" if name == "the router forwards nothing" else "edge forwards" not in name, **watch)
    said = either(*hop) if ROUTER in hop else ()
    provider(name + ", and routers have used up their ICMP", home(), LIMITED, fresh(), fault,
        ask(ADDRESS, NAME4, HOST, right=party, rung=rung, says=said, times=3, args=("-4",)),
        ask(HOST, right=party, rung=rung, says=said, times=2), watch=name == "the router forwards nothing")
provider("the servers are dead, and the rest of the internet answers", home(), fresh("core"), dead("servers"),
    ask(HOST, URL, right="resolver", rung="dns", says=r"203\.0\.113\.53"),
    ask(ADDRESS, right="path", rung="tcp", says=r"100\.65\.1\.1"), ask(ADDRESS6, right="theirs", rung="tcp"),
    watch="resolver path")
provider("the router forwarded nothing before the sidecar started", home(), nothing_forwarded("router"),
    ask(URL, ADDRESS, HOST, right="upstream", rung="internet", says=r"192\.168\.1\.1"), before=None)
provider("the provider is dead, and an internet check fails as well", home(), dead("provider"),
    ask(URL, ADDRESS, right="upstream", rung="internet", says=r"192\.168\.1\.1", never=r"another|resolv\.conf",
        args=("--internet-check", "http://check.exam.test/"), within=3),
    ask(ADDRESS, right="upstream", rung="internet", args=("--internet-check", "http://203.0.113.30/")),
    ask(HOST, right="upstream"), settings={"internet": "on"}, test="tasks")
FETCH = ("fetch", "--retry", "0")
provider("a transfer ends with the responsible party", home(), nothing_forwarded("router"), ask(HOST, right="upstream"),
    tool(*FETCH, "--connect-timeout", "4", f"http://{WEB}/", exits=1, says=("went unanswered", r"192\.168\.1\.1",
        r"\(your provider\)\n\Z")),
    tool(*FETCH, "--max-time", "4", f"http://{WEB}/", exits=1, says=("not done within 4 s; ", r"192\.168\.1\.1",
        r"\(your provider\)\n\Z")),
    tool(*FETCH, "--max-time", "4", URL, exits=1, says=("not done within 4 s; the gateway", r"\(your provider\)\n\Z")),
    watch=False)
provider("the gateway has no route", home(), ip("router", "route del default; -6 route del default"),
    ask(URL, right="upstream", rung="internet", says=("192.168.1.1 has no route there", "provider"),
        never=r"resolver that|resolv\.conf"), ask(ADDRESS, HOST, right="upstream", rung="internet"), test=True)
provider("the gateway has no route to the resolver", home(),
    drop("router", "forward", "ip daddr 203.0.113.53", "reject with icmp net-unreachable"),
    ask(URL, right="upstream", says=("192.168.1.1", "no route")), ask(HOST, right="upstream", says="no route"))
provider("the gateway has no route to the target", home(),
    drop("router", "forward", f"ip daddr {WEB}", "reject with icmp net-unreachable"), WORKS,
    ask(ADDRESS, right="upstream", rung="tcp", says=(r"192\.168\.1\.1", "no route"), never="is running"))
provider("the route back over IPv6 is missing, IPv4 works", home(), ip("provider", "route del 2001:db8:1::/64"),
    ask(URL, HOST, right="works", says="IPv6"))
provider("IPv6 is dead, and the servers have nothing else", home(), drop("provider", "forward", "meta nfproto ipv6"),
    ask("http://six.exam.test/", "http://six2.exam.test/", right="upstream"), ask(HOST, right="works", says="IPv6"))
for dead_family, name, resolver in (("ipv6", "IPv6", RESOLVER), ("ipv4", "IPv4", RESOLVER6)):
    provider(f"{name} is dead behind the router, and the other version works", home(resolver=resolver),
        drop("router", "forward", f"meta nfproto {dead_family}"), ask(HOST, right="works", says=f"{name} does not work"),
        tool("explain", says=rf"^the internet works, but {name} does not\n"),
        tool("explain", "--brief", says=rf"^Online, but {name} does not work\.\n\Z"),
        settings={"internet": "on", "targets": "none", "families": "both"}, test=name == "IPv6")
provider("the target's network is gone for 0.75 s", home(), ask(f"http://{WEB}/", HOST, right="works"),
    ask(URL, right="works theirs", innocent="mine gateway upstream resolver path", warm=drop("core", "forward",
        f"ip daddr {WEB}"), meanwhile=[(0.75, None)]))
CUT = drop("provider", "forward")
provider("the line drops out for half a second, twice", home(v6=False), WORKS,
    ask(NAME4, right="works", warm=CUT, meanwhile=((0.5, None), (0.7, CUT), (1.1, None))))
provider("the provider's table of connections is full: old ones live", home(v6=False), runs("client", steady, FAR, 80),
    wait(0.5), drop("provider", "forward", "ct state new"), wait(1),
    ask(URL, f"http://{WEB}/", HOST, right="upstream path"))
provider("a point-to-point line is up, and nothing comes back", home(v6=False), device("ppp0"),
    ip("client", "addr add 100.71.0.2 peer 100.71.0.1 dev ppp0; link set ppp0 up; link set ppp0 mtu 1492; "
        "route replace default dev ppp0; -4 addr flush dev eth0"),
    ask(URL, f"{FAR}:80", HOST, right="upstream unknown", says="ppp0|line"), before=f"http://{WEB}/")
CHECK = ("--internet-check", "http://check.exam.test/generate_204")
provider("a portal answers the check", home(v6=False), serves("provider", ("0.0.0.0", 8080, "portal", "^login")),
    redirected("provider", "cust", 8080), ask(HOST, URL, right="upstream", says="portal", args=CHECK),
    ask(HOST, right="works upstream"), watch="upstream", settings={"internet": "on"})
provider("a router that answers every address and port itself is a portal", home(v6=False),
    serves("router", ("0.0.0.0", 8888, "portal", "^login")), redirected("router", "lan", 8888, "meta l4proto tcp"),
    ask(HOST, right="works upstream"),
    ask(URL, "https://web.exam.test/", f"{WEB}:22", right="upstream", rung="internet", says="http://login.portal.test/",
        args=("--internet-check", "http://203.0.113.30/generate_204")), watch="upstream", settings={"internet": "on"})
