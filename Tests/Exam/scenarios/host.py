"""The fault is on this host: its links, addresses, routes, filters."""
from kit import *
host = of_kind("host")
ADDRESS, WORKS = f"{WEB}:80", ask(HOST, right="works")

host("the only link is switched off", home(), ip("client", "link set eth0 down"),
    ask(URL, HOST, right="mine", rung="interface", says="ip link set eth0 up"), test=True)
host("the only link has no carrier", home(), no_carrier(),
    ask(URL, HOST, right="mine", rung="carrier", says=("eth0", "cable")), test=True)
CONTAINERS = "; link add docker0 type bridge; link set docker0 up; link set vpn0 master docker0"
for beside, link, more in (("a VPN has a link-local address", "", ""), (
        "a bridge of containers has a link-local address, and the DHCP client took its own", CONTAINERS,
        "; addr flush dev eth0 scope global")):
    host(f"the cable of a host without IPv6 is pulled, {beside}", home(),
        ip("client", "-6 addr flush dev eth0 scope global"), no_carrier(), peer("client", "vpn0", "router", "far0"),
        ip("client", "link set vpn0 up" + link + more), tool("status", exits=1, says="eth0 has no carrier"),
        ask(HOST, URL, ADDRESS, right="mine", rung="carrier", says="Plug in the cable of eth0", never="DHCP"))
host("no carrier, and a second uplink has a route", two_uplinks(), no_carrier("router1", "lan"),
    ask(URL, HOST, right="mine", rung="carrier", says=("lan1", "lan2", "ignore_routes_with_linkdown")))
host("there is no default route", home(), ip("client", "route del default; -6 route del default"),
    ask(URL, f"{FAR}:80", HOST, right="mine", rung="route", says=("default", "route")), test=True)
host("a blackhole route", home(), ip("client", f"route add blackhole {WEB}"), WORKS,
    ask(ADDRESS, right="mine", rung="route", says="blackhole"))
host("a rule prohibits the target", home(), ip("client", f"rule add to {WEB} pref 100 prohibit"), WORKS,
    ask(ADDRESS, right="mine", rung="route", says="rule"))
host("a multicast address is no host", home(), ask("224.0.0.1:80", right="mine", rung="route", says="multicast"), WORKS)
host("nothing listens on an address of this host", home(), WORKS,
    ask("127.0.0.1:80", f"{CLIENT}:80", right="mine", rung="tcp", says=("nothing listens", "80")))
host("this host's firewall rejects the target", home(), drop("client", "output", f"ip daddr {WEB} reject", ""), WORKS,
    ask(ADDRESS, right="mine", rung="tcp", says="nft list ruleset", never="start the service"), before=NAME4)
host("this host's firewall drops TCP and lets UDP pass", home(), drop("client", "output", "tcp dport 80"), WORKS,
    ask(ADDRESS, right="unknown", rung="tcp", says="nft list ruleset", never="operator|provider"))
host("this host rejects all that goes out", home(),
    drop("client", "output", 'oifname != "lo"', "reject with icmpx type admin-prohibited"),
    ask(URL, f"{FAR}:80", HOST, right="mine", says="firewall|filter|nft"))
host("the VPN is down and its kill switch holds", home(v6=False),
    sh("client", "ip rule add not fwmark 51820 lookup 51820 prio 100; ip route add unreachable default table 51820; "
                 "ip rule add lookup main suppress_prefixlength 0 prio 99"),
    ask(URL, HOST, right="mine", says="unreachable|VPN|rule"))
host("a host on the own link hangs, while the provider is dead", home(hosts=("nas",)), dead("provider"),
    drop("nas", "input", "tcp dport 8080"),
    ask("192.168.1.30:8080", right="theirs", rung="tcp", never="provider", args=("--internet-check",
        "http://203.0.113.30/")), ask(HOST, right="upstream"))
host("no host on the link has the address", home(),
    ask("192.168.1.99", "192.168.1.99:80", right="theirs", rung="tcp", says="no host on eth0 has the address",
        within=3), WORKS)
host("the link is renamed while the router is dead", home(), dark("router", "lan"),
    ip("client", "link set eth0 name wan0"),
    ask(URL, HOST, right="gateway", rung="gateway", says=("192.168.1.1", "wan0"), never="eth0"))
host("the gateway's address is not in use", home(),
    ip("client", "route replace default via 192.168.1.254; route replace default via 2001:db8:1::99"), fresh(),
    ask(ADDRESS, URL, HOST, right="gateway mine", rung="gateway", says=r"192\.168\.1\.254", within=3), test=True)
host("the default route leads to the wrong router, another one works", home(hosts=("spare",), v6=False),
    sh("spare", "echo 1 > /proc/sys/net/ipv4/ip_forward; ip link add iso type bridge; ip link set iso up; "
        "ip addr add 192.168.77.1/24 dev iso; ip route replace default via 192.168.77.2"),
    ip("client", f"route add 203.0.113.0/24 via {ROUTER}; route replace default via 192.168.1.30"),
    ask(URL, right="works"),
    ask(HOST, right="mine gateway upstream", says=r"192\.168\.1\.1\b|other (router|gateway|way|route)|another"))
host("the route to the lab's network is missing", home(hosts=("lab",), v6=False), WORKS,
    ip("lab", "link add w type bridge; link set w up; addr add 10.60.0.10/24 dev w"),
    ask("http://10.60.0.10/", right="mine gateway", says="route"))
host("another host on the LAN has the router's address", home(hosts=("intruder",), v6=False),
    ip("intruder", "route del default; -6 route del default; addr add 192.168.1.1/24 dev eth0"),
    lambda lab: lab.nft("router", "table arp x { chain c { type filter hook input priority 0; drop; } }"), fresh(),
    sh("client", "ping -c1 -W1 192.168.1.1 >/dev/null 2>&1 || true"), ask(URL, HOST, right="gateway mine"))
host("this host's own table of connections is full", home(v6=False), full_table("client"),
    ask(f"{FAR}:80", URL, HOST, right="mine", says="conntrack|table"), needs=("conntrack",), watch=False)
host("IPv6 is there first, IPv4 three seconds later", home(resolver=RESOLVER6), ip("client", "-4 addr flush dev eth0"),
    ask(NAME4, right="mine", says="IPv4|address"), WORKS,
    tool("wait", "--for", NAME4, "--timeout", "8s", at_least=2.9,
         meanwhile=[(3, ip("client", f"addr add {CLIENT}/24 dev eth0; route add default via {ROUTER}"))]), watch=False)
host("IPv4 is translated, and the translator hangs", home(resolver=RESOLVER6), device("clat"),
    ip("client", "-4 addr flush dev eth0; link set clat mtu 1260 up; addr add 192.0.0.1/32 dev clat; "
        "route add default dev clat metric 2048"), ask(NAME4, right="mine", says="translat|clat"),
    ask(URL, HOST, right="works", says="IPv4"))
