"""The name is wrong, or what answers for it."""
from kit import *
names = of_kind("names")
WORKS = ask(HOST, right="works")

names("the resolver swallows queries", home(), drop("servers", "input", f"ip daddr {RESOLVER} udp dport 53"),
    ask(URL, HOST, right="resolver", rung="dns", says=r"203\.0\.113\.53"), test=True)
names("the only resolver is dead", home(), resolvers(SILENT),
    ask(URL, HOST, right="resolver", rung="dns", says=r"203\.0\.113\.57"))
names("the only resolver was dead before the sidecar started", home(resolver=SILENT),
    ask(URL, HOST, right="resolver", rung="dns", says=r"203\.0\.113\.57"), before=None)
names("nothing listens on the resolver's port", home(), resolvers(CLOSED),
    ask(URL, HOST, right="resolver", rung="dns", says=r"203\.0\.113\.55"), test=True)
names("the resolver refuses to answer", home(), resolvers(REFUSES),
    ask(URL, HOST, right="resolver", rung="dns", says=(r"203\.0\.113\.56", "REFUSED")))
names("a name with a typo, and a resolver that works", home(), WORKS,
    ask("http://wwww.exam.test/", "printer.exam.test:631", right="mine", rung="dns", says=("does not exist",
        "spelling")))
names("the resolver holds its answers for 0.8 s", home(), mood(delay=0.8), ask(URL, HOST, right="works"))
names("the only resolver answers after 1.5 s", home(), resolvers(LATE),
    ask(URL, HOST, right="works", says=(r"203\.0\.113\.58", "answers after")),
    tool("wait", "--for", "dns", "--timeout", "10s"), test=True)
names("the resolver fails for a while and recovers", home(),
    ask(URL, HOST, right="resolver", rung="dns", says="SERVFAIL", warm=mood(do="servfail")),
    ask(URL, HOST, right="works", warm=mood()))
names("the resolver says SERVFAIL, and the way to it works", home(), mood(do="servfail"),
    ask(URL, HOST, right="resolver", rung="dns", says="SERVFAIL"))
names("the resolver falls silent for 0.6 s", home(), WORKS,
    ask(URL, right="works", warm=mood(do="silent"), meanwhile=[(0.65, None)]))
names("the resolver leads a name to another server, which answers", home(), mood(lies={"two.exam.test": [FAR]}),
    ask("http://two.exam.test/", HOST, right="works"))
names("a resolver denies a name that another one knows", home(), resolvers(DENIES, RESOLVER), WORKS,
    ask(URL, right="resolver", rung="dns", says=(r"203\.0\.113\.54", "denies"), never="spelling"), watch=False)
names("a resolver answers with 0.0.0.0", home(), resolvers(DENIES), WORKS,
    ask("http://ads.exam.test/", right="resolver", rung="dns", says=(r"203\.0\.113\.54", "blocks"), never="VPN"))
names("/etc/hosts overrides a name with a dead address", home(), hosts(f"{ABSENT} four.exam.test"), WORKS,
    ask(NAME4, right="mine", rung="tcp", says=("/etc/hosts", r"203\.0\.113\.11", r"203\.0\.113\.10")))
names("/etc/resolv.conf names no server", home(), resolvers(),
    ask(URL, HOST, right="mine", rung="dns", says="/etc/resolv.conf", never="start this host's"))
names("the first resolver is dead, the second one works", home(), resolvers(SILENT, RESOLVER), WORKS,
    ask(URL, right="works", says=r"203\.0\.113\.57", args=("--timeout", "10s")))
for lost in ("mod 2 0", "mod 4 < 3"):
    names(f"packets to the resolver are lost ({lost})", home(), ask(URL, HOST, right="works"),
        drop("servers", "input", f"udp dport 53 numgen inc {lost}"))
names("a name without an IPv6 address, asked for over IPv6", home(), WORKS,
    ask(NAME4, right="mine", rung="dns", says="IPv6", args=("-6",)))
names("this host's firewall drops name queries", home(),
    drop("client", "output", "meta l4proto { tcp, udp } th dport 53"),
    ask(URL, HOST, right="mine", rung="dns", says="nft list ruleset", never=r"\broute"))
names("five search domains are asked before the name",
    home(options="search a.lan b.lan c.lan d.lan e.lan\noptions ndots:5\n"), mood(delay=0.25),
    ask(URL, right="works", says="search|ndots"), WORKS)
names("a short name that only the last of five search domains has",
    home(options="search a.lan b.lan c.lan d.lan exam.test\n"), mood(delay=0.25), ask("http://four/", right="works"),
    ask("http://fourr/", right="mine", rung="dns", says="does not exist"), WORKS)
names("the local stub hangs, its upstream answers", home(resolver="127.0.0.53"),
    runs("client", name_server, {"127.0.0.53": {"do": "silent"}}, {}),
    lambda lab: setattr(lab, "prelude", "mount -t tmpfs none /run; mkdir -p /run/systemd/resolve; chmod -R a+rX /run; "
        f"echo nameserver {RESOLVER} > /run/systemd/resolve/resolv.conf"),
    ask(URL, HOST, right="mine", says=r"127\.0\.0\.53|resolved", innocent="gateway upstream path theirs works"),
    before=f"http://{WEB}/", watch=False)
names("a container's resolver forwards to a server of yesterday, and says SERVFAIL", home(resolver="127.0.0.11"),
    runs("client", forwarder, ["127.0.0.11"], "10.9.9.9", "servfail"),
    ask(URL, HOST, right="mine", says=r"127\.0\.0\.11", innocent="gateway upstream path theirs works"), before=None)
names("the VPN is gone and its name server stayed", home(resolver="10.99.0.53", v6=False),
    ask(URL, HOST, right="mine", says=r"10\.99\.0\.53|resolv"), before=f"http://{WEB}/")
