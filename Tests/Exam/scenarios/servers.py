"""The way beyond the provider, and the server at its end."""
from kit import *
servers = of_kind("servers")
ADDRESS, WORKS = f"{WEB}:80", ask(HOST, right="works")

def row(name, target, right, rung, says, *faults, test=False, **how):
    """A server that is wrong from the start, while this host is sound."""
    servers(name, home(), *faults, WORKS, ask(target, right=right, rung=rung, says=says, **how), test=test)

row("nothing listens at the port", f"{WEB}:81", "theirs", "tcp", "refused")
row("a server's firewall drops one port", f"{WEB}:9999", "theirs", "tcp",
    ("the host is there", "Allow port 9999 in the firewall of TARGET"), never="nft")
row("the server swallows connections to its port", ADDRESS, "theirs", "tcp", "port",
    drop("servers", "input", "tcp dport 80"), test=True)
row("the server's port is closed", ADDRESS, "theirs", "tcp", "refused",
    drop("servers", "input", "tcp dport 80", "reject with tcp reset"))
row("the last router says that the host is gone", f"{ABSENT}:80", "theirs", "tcp", "host unreachable")
row("packets go in circles beyond the provider", "203.0.113.66:80", "path", "tcp", "circles",
    ip("core", f"route add 203.0.113.66 via {WEB}"), ip("servers", "route add 203.0.113.66 via 203.0.113.1"),
    never="is running")
row("a self-signed certificate", "https://selfsigned.exam.test/", "theirs", "tls", "self-signed", never="clock")
row("an expired certificate", "https://expired.exam.test/", "theirs", "tls", "expired", never="settings")
row("a certificate for another name", "https://wrong.exam.test/", "theirs", "tls", r"other\.exam\.test", never="clock")
row("a certificate of an unknown authority", "https://strange.exam.test/", "theirs", "tls", "authority|trust")
row("plain HTTP on port 443", "https://plain.exam.test/", "theirs", "tls", ("does not speak TLS", "http://"),
    never="certificate")
row("a reset in the handshake", "https://bad.exam.test/", "theirs", "tls", "reset", never="certificate")
row("a reset after the request", "http://bad.exam.test/", "theirs", "http", "reset", never="not valid HTTP")
row("an SSH server answers the request", "http://203.0.113.24:22/", "theirs", "http", "does not speak HTTP")
row("the server accepts a request and does not answer", "http://203.0.113.24:8080/", "theirs", "http",
    "then nothing came for ")
row("the server does not answer the handshake", "https://203.0.113.24:8443/", "theirs", "tls",
    "nothing came|silen|answer", never="certificate", within=3, args=("--timeout", "20s"))
servers("the listener goes after one connection", home(v6=False), WORKS,
    ask("https://203.0.113.24:9444/", right="theirs", says="broke|reset|refuse|closed"), watch=False)
servers("one service has an expired certificate, nothing else is wrong", home(), WORKS, ask(URL, right="works"),
    ask("https://expired.exam.test/", right="theirs", rung="tls", says="expired"))
for status, party in ((401, "mine"), (403, "mine"), (404, "mine"), (429, "theirs"), (500, "theirs"), (503, "theirs")):
    advice = {401: "credentials", 404: "path of the URL", 429: "fewer requests"}.get(status, r"access|later|operator")
    row(f"the server answers {status}", f"http://s{status}.exam.test/{status}", party, "http", (str(status), advice))
servers("the first of two addresses is silent", home(), WORKS,
    ask("http://pair.exam.test/", right="works", says=r"203\.0\.113\.57"))
servers("the second address of a name is dead", home(), WORKS,
    ask("http://multi.exam.test/", right="works", says=r"203\.0\.113\.11", args=("--timeout", "10s")))
for code in (0, 13):
    servers(f"a forged ICMP error of code {code} convicts no party", home(), runs("router", forger, "lan", code, WEB),
        drop("router", "forward", f"ip daddr {WEB} tcp dport 80 ip ttl > 40"), WORKS,
        ask(ADDRESS, right="unknown", rung="tcp", never="firewall|operator|provider|restart"), watch=False)
servers("thirty targets, each wrong in its own way, beside two that work", home(),
    drop("router", "forward", "ip daddr 203.0.113.20 tcp dport 80", "reject with icmp net-unreachable"),
    drop("router", "forward", "ip daddr 203.0.113.21 tcp dport 80", "reject with icmp admin-prohibited"),
    drop("client", "output", "ip daddr 203.0.113.22 tcp dport 80", "reject"),
    ip("core", f"route add 203.0.113.66 via {WEB}"), ip("servers", "route add 203.0.113.66 via 203.0.113.1"),
    ip("client", "route add blackhole 203.0.113.56; rule add to 203.0.113.30 pref 100 prohibit"), WORKS,
    ask("203.0.113.20:80", right="upstream", says="no route"), ask("203.0.113.21:80", right="gateway", says="firewall"),
    ask("203.0.113.66:80", right="path", says="circles"), ask("203.0.113.56:80", right="mine", says="blackhole"),
    ask("203.0.113.30:80", right="mine", says="rule"), ask("203.0.113.22:80", right="mine", says="nft list ruleset"),
    ask("http://wwww.exam.test/", right="mine", says="spelling"), ask("127.0.0.1:81", right="mine", says="listens"),
    ask("192.168.1.99:80", right="theirs", says="no host on eth0"), ask("224.0.0.1:80", right="mine"),
    ask("https://selfsigned.exam.test/", "https://expired.exam.test/", "https://wrong.exam.test/",
        "https://plain.exam.test/", "https://bad.exam.test/", "http://bad.exam.test/", "http://203.0.113.24:22/",
        "http://203.0.113.24:8080/", "https://203.0.113.24:8443/", f"{WEB}:81", f"{WEB}:9999", f"{ABSENT}:80",
        *(f"http://s{n}.exam.test/{n}" for n in (429, 500, 503)), right="theirs"),
    *(ask(f"http://s{n}.exam.test/{n}", right="mine") for n in (401, 403, 404)),
    ask(NAME4, "http://multi.exam.test/", right="works"), before=None, settings={"targets": "asked"}, test=True)
