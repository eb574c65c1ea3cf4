"""Each row about uplinks, tunnels, sizes or proxies has a twin on a plain host: there its words must not appear.

Advice that names everything passes no exam. Rows of one kind with one right party share a twin.
"""
from kit import *

# What breaks a plain host so that a party is right: the question, what is right about this host, and the faults.
PLAIN = {
    "works": (NAME4, "works"), "upstream": (NAME4, "upstream", dead("provider")), "theirs": (f"{WEB}:81", "works"),
    "gateway": (NAME4, "gateway", dark("router", "lan"), fresh()),
    "mine": (NAME4, "mine", ip("client", "link set eth0 down")),
    "path": ("203.0.113.66:80", "works", ip("core", f"route add 203.0.113.66 via {WEB}"),
             ip("servers", "route add 203.0.113.66 via 203.0.113.1"))}

for kind, words in TWIN_WORDS.items():
    rows = [s for s in SCENARIOS.values() if s.kind == kind]
    for party in sorted({a.right[0] for s in rows for a in s.asks if isinstance(a, Ask)} & set(PLAIN)):
        target, of_host, *made = PLAIN[party]
        scenario(f"a plain host reads nothing of {kind}: {PARTIES[party]}", home(v6=False), *made,
            ask(target, right=party, never=words), ask(HOST, right=of_host, never=words), kind=kind, watch=False)
