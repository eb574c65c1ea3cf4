"""Nothing is to be blamed: what works, however oddly."""
from kit import *
healthy = of_kind("healthy")
FAR_URL, TLS = "http://far.exam.test/", "https://web.exam.test/"

healthy("everything works on one segment", home(hosts=("nas",)), serves("nas", ("0.0.0.0", 80, "http")),
    ask("http://nas.exam.test/", HOST, right="works"), before=None)
healthy("everything works behind a router", home(),
    ask(URL, TLS, FAR_URL, HOST, right="works", never="authority"), test=True)
healthy("everything works behind two routers", home(routers=2, v6=False), ask(NAME4, FAR_URL, HOST, right="works"))
healthy("both IP versions work", home(), ask(HOST, right="works"), ask(URL, right="works", args=("-4",)),
    ask(URL, right="works", args=("-6",)))
healthy("this host has only link-local IPv6 addresses, and IPv6 is dead behind the router", home(),
    ip("client", "-6 addr flush dev eth0 scope global"), drop("router", "forward", "meta nfproto ipv6"),
    ask(HOST, right="works", never="IPv6"), tool("explain", "--brief", says=r"^Online\.\n\Z"))
healthy("two uplinks work", two_uplinks(), ask(URL, HOST, right="works"),
    tool("status", "--json", says="lan1.*lan2|lan2.*lan1"))
healthy("two routers on the LAN, each with its own job", home(hosts=("lab",), v6=False),
    ip("lab", "link add w type bridge; link set w up; addr add 10.60.0.10/24 dev w"),
    serves("lab", ("0.0.0.0", 80, "http")), ip("client", "route add 10.60.0.0/24 via 192.168.1.30"),
    ask("http://10.60.0.10/", f"http://{WEB}/", HOST, right="works"))
healthy("ten percent of packets are lost", home(), lossy("provider", 5), ask(URL, HOST, right="works"))
healthy("a line of 700 ms", home(line=delayed), late(0.35), ask(URL, right="works", says=r"slow|takes|late|\d m?s"),
    ask(HOST, right="works"))
healthy("answers take 20 to 220 ms", home(line=delayed), late(0.06, 0.05), ask(URL, HOST, right="works"))
healthy("UDP to port 443 is dropped, TCP is not", home(), drop("provider", "forward", "udp dport 443"),
    ask(TLS, HOST, right="works"))
healthy("servers greet with SSH and SMTP", home(), ask(*(f"bad.exam.test:{n}" for n in (22, 25, 26)), right="works"),
    ask(HOST, right="works"))
healthy("the first byte takes four seconds", home(),
    ask("http://203.0.113.24:8088/", right="works", says="first byte", args=("--timeout", "10s")),
    ask("https://web.exam.test/slow", right="works", says="first byte", never="large", args=("-4", "--timeout", "10s")),
    ask(HOST, right="works"))
healthy("a private authority was added to this host, and the address is a public one", home(),
    ask(TLS, right="works", args=("-4",), says=("private authority", "Exam Authority",
        "/usr/local/share/ca-certificates/example-corp.crt")), ask(HOST, right="works", never="authority"), added=True)
healthy("a router that answers nothing itself, and forwards", home(v6=False),
    drop("router", "input", "ip daddr 192.168.1.1"),
    drop("router", "output", "icmp type { destination-unreachable, time-exceeded }"), ask(URL, HOST, right="works"),
    ask(f"{WEB}:9999", right="theirs", rung="tcp", never="restart"), test=True)
healthy("the default route is in a table of its own", home(v6=False),
    sh("client", "ip route del default; ip route add default via 192.168.1.1 table 100; "
        "ip rule add lookup 100 prio 1000"), ask(URL, f"{FAR}:80", HOST, right="works"))
CHECK = ("--internet-check", "http://check.exam.test/body")
healthy("the URL of an internet check answers 200 with a body", home(),
    ask(URL, right="works", args=CHECK, says=("http://check.exam.test/body", "has to answer 204"), never="portal"),
    ask(HOST, right="works", args=("--internet", *CHECK), says=("over IPv4", "has to answer 204"),
        never="IPv6|does not work|portal"), ask(HOST, right="works"))
healthy("the server of an internet check is dead, and nothing else", home(),
    ask(HOST, right="works", says=r"203\.0\.113\.11", never="provider", args=("-4", "--internet", "--internet-check",
        "http://203.0.113.11/")), ask(HOST, right="works"))
