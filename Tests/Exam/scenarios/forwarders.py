"""The router is the resolver: it forwards names, and the provider dies. The commonest outage of a home."""
from kit import *
forwarders = of_kind("forwarders")
ANSWERS = {"servfail": "says SERVFAIL", "refused": "says REFUSED", "silent": "falls silent",
           "nxdomain": "denies all names"}
OUTAGES = {"the provider's edge is dead": (dead("provider"), r"192\.168\.1\.1"),
           "the provider's core is dead": (dead("core"), r"100\.64\.1\.1"),
           "the router's line is down": (ip("router", "link set wan down"), r"192\.168\.1\.1"),
           "the router has lost its route": (
               ip("router", "route del default; -6 route del default"), r"192\.168\.1\.1")}
TESTED = (("servfail", "the provider's edge is dead"), ("silent", "the router has lost its route"))
SETTING = {"families": "4", "internet": "off", "user": 65534}

for fails, says in ANSWERS.items():
    for outage, (fault, hop) in OUTAGES.items():
        network = home(resolver=ROUTER, v6=False, forwarder=fails)
        forwarders(f"{outage}, and its forwarder {says}", network, fresh(), fault,
            ask(URL, f"{WEB}:80", "http://far.exam.test/", HOST, right="upstream", says=hop,
                never=r"Repair the resolver|resolv\.conf|spelling"),
            settings={**SETTING, "targets": "four"}, test=(fails, outage) in TESTED)
forwarders("the forwarder says SERVFAIL for want of its resolver, and the provider works",
    home(resolver=ROUTER, v6=False, forwarder="servfail"), dead("servers"), fresh(),
    ask(HOST, "http://two.exam.test/", right="resolver", says="SERVFAIL"), watch="resolver path works")
forwarders("the forwarder's resolver has died before it knew a name, and the provider works",
    home(resolver=ROUTER, v6=False, forwarder="silent"), ip("servers", "addr del 203.0.113.53/24 dev net"), fresh(),
    ask(HOST, "http://far.exam.test/", right="resolver", says=r"192\.168\.1\.1"), ask(f"{WEB}:80", right="works"),
    watch="resolver works")
