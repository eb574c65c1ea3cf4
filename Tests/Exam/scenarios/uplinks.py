"""Two uplinks, and a tunnel to an office over the first one."""
from kit import *
uplinks = of_kind("uplinks")
LAN2 = r"lan2|192\.168\.20\.1|(other|second|another) (way|uplink|link|route|router)"
WG, OFFICE, API = ("wireguard-go", "wg"), "http://10.50.0.20/", "http://two.exam.test/"

uplinks("the preferred uplink leads nowhere, the other one works", two_uplinks(), nothing_forwarded("provider1"),
    ask(NAME4, HOST, right="upstream", says=LAN2))
uplinks("two gateways have one address, and the used one hangs", two_uplinks(equal=True), dark("router1", "lan"),
    fresh(), ask(f"{FAR}:80", HOST, right="gateway", says="lan1"))
uplinks("one of two equal next hops is gone", two_uplinks(), equal_routes, works("http://{lan1}/"),
    works("http://{lan2}/"), dark("router2", "lan"), fresh(),
    ask("{lan2}:80", right="gateway", says=r"lan2|192\.168\.20\.1"), ask("{lan1}:80", right="works"),
    ask(HOST, right="works gateway", innocent="mine upstream resolver path theirs"), watch=False)
uplinks("answers come by the other uplink, and this host drops them", two_uplinks(),
    sh("client", "for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 1 > $f; done",
        "for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 > $f; done"),
    ip("core", "route replace 192.168.10.0/24 via 100.81.0.2"),
    ip("provider2", "route add 192.168.10.0/24 via 100.80.0.2"),
    ip("router2", "route add 192.168.10.0/24 via 192.168.20.2"),
    ask(f"{FAR}:80", HOST, right="mine", says="rp_filter|revers|asymm|other (uplink|link)|lan2"))

def pair(name, *faults_and_asks, v6_too=True, metrics=(100, 200), test=False, **how):
    """The same with IPv6 over the first uplink and without. Four targets, and otherwise the default configuration."""
    for v6 in (False, True) if v6_too is True else (v6_too == "only",):
        uplinks(name + (", with IPv6" if v6 else ""), two_uplinks(v6=v6, office=True, metrics=metrics),
            *faults_and_asks, settings={"targets": "asked", "families": "both", "internet": "off", "user": 65533},
            needs=WG, test=test and not v6, **how)

def all_of(right, says, **how):
    return ask(NAME4, API, f"{WEB}:443", HOST, right=right, says=says, **how)

BOTH = (r"lan1|192\.168\.10\.1", LAN2)
OTHERS, TUNNEL = ask(NAME4, API, f"{WEB}:443", HOST, right="works"), "tunnel|vpn0|far end"
pair("provider A has no way beyond it, and its resolver lives", nothing_forwarded("provider1"),
    all_of("upstream", BOTH), test=True)
pair("provider A is silent", dead("provider1"), all_of("upstream", BOTH), test=True)
pair("router 1 is off", no_carrier("router1", "lan"), all_of("mine", ("lan1", "carrier|cable", "lan2"), rung="carrier"))
pair("router 1 hangs", dark("router1", "lan"), fresh(), all_of("gateway", BOTH), test=True)
pair("provider B is dead, and lan2 is standby", dead("provider2"), ask(NAME4, API, f"{WEB}:443", right="works"),
    ask(HOST, right="works", says=r"lan2.*provider|provider.*lan2"))
pair("the VPN's far end is not running", far_end_stops, OTHERS, ask(OFFICE, right="path mine", says=TUNNEL))
pair("the VPN's far end is not running, and a local stub asks the office for its names", far_end_stops,
    runs("client", forwarder, ["127.0.0.1"], "100.70.0.1", "silent", {"office.test": "10.99.0.1"}),
    resolvers("127.0.0.1"), OTHERS, ask("http://intranet.office.test/", right="path mine", says=TUNNEL))
pair("the default route leads into the tunnel, and its far end carries no internet", drop("exit", "forward"),
    ip("client", "route replace default dev vpn0 metric 50"), ask(NAME4, HOST, right="path", says=TUNNEL), v6_too="no")
pair("the tunnel loses packets above 600 bytes", drop("exit", "input", "meta l4proto udp meta length > 660"),
    drop("exit", "output", "meta l4proto udp meta length > 660"), OTHERS,
    ask("http://10.50.0.20/bytes/30000", right="path mine", says="large|MTU"))
pair("IPv6 is dead beyond provider A, IPv4 works", drop("provider1", "forward", "meta nfproto ipv6"),
    ask(URL, HOST, right="works", says="IPv6"), ask(NAME4, API, f"{WEB}:443", right="works"), v6_too="only")
pair("port 443 is filtered at the server, its other ports work", drop("servers", "input", "tcp dport 443"),
    ask(NAME4, API, HOST, right="works"), ask(f"{WEB}:443", right="theirs", rung="tcp", says="port"))
pair("a captive portal on lan1", serves("router1", ("0.0.0.0", 8888, "portal", "^login")),
    redirected("router1", "lan", 8888),
    ask(NAME4, right="upstream", says=("portal", LAN2), args=("--internet-check",
        "http://check.exam.test/generate_204")), ask(HOST, right="works upstream"), v6_too="no")
pair("a wrong static link-layer address of the gateway",
    sh("client", "ip neigh replace 192.168.10.1 dev lan1 lladdr " "02:00:00:00:00:01 nud permanent",
        "ip neigh del 192.168.10.1 dev lan1"), all_of("mine", "permanent|static|neigh"), v6_too="no")
pair("this host's firewall drops what comes from one address", drop("client", "input", f"ip saddr {WEB}"),
    ask(f"{WEB}:443", NAME4, right="mine unknown", says="nft list ruleset"), ask(API, HOST, right="works"), v6_too="no")
pair("router 1 drops new connections, old ones live", drop("router1", "forward", "ct state new"),
    all_of("gateway", r"lan1|192\.168\.10\.1"), v6_too="no")
pair("provider A loses 15 % each way", lossy("provider1", 15), all_of("works", ()),
    ask(NAME4, API, right="works", says=("los[st]", "provider"), args=("--for", "6s"), within=25))
pair("IPv4 of provider A is silent, IPv6 works, and the targets have IPv4",
    drop("provider1", "prerouting", "meta nfproto ipv4", priority=-300),
    ask(NAME4, f"{WEB}:443", right="upstream", says=BOTH), ask(HOST, right="works upstream", says="IPv4"),
    v6_too="only")
pair("vpn0 goes down, and its routes go with it", ip("client", "link set vpn0 down"), OTHERS,
    ask(OFFICE, right="mine", says="vpn0"))
pair("a rule sends packets out of lan1 with the address of lan2",
    sh("client", "ip rule add to 203.0.113.0/24 lookup 77 "
        "prio 77; ip route add default via 192.168.10.1 dev lan1 src 192.168.20.2 table 77"),
    drop("router1", "forward", "ip saddr != 192.168.10.0/24 iifname lan"),
    ask(NAME4, f"{WEB}:443", right="mine", says=r"source|192\.168\.20\.2|lan2"),
    ask(HOST, right="works mine", innocent="gateway upstream path"), v6_too="no")
pair("lan2 is preferred by mistake, and provider B is dead", dead("provider2"),
    all_of("upstream", (r"lan2|192\.168\.20\.1", "lan1")), metrics=(100, 50))
