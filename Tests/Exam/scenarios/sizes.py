"""Large packets are lost where small ones pass."""
from kit import *
sizes = of_kind("sizes")
TLS, WORKS = "https://web.exam.test/", ask(HOST, right="works")
MUTE = "icmp type destination-unreachable icmp code 4"
SINGLE = ip("servers", "link set net gso_max_segs 1")  # as a network card sends them, and not in one piece

sizes("small packets pass and large ones do not", home(), SINGLE,
    drop("provider", "forward", "tcp sport 443 meta length > 600"), WORKS,
    ask(TLS, right="path", rung="tls", says="large|MTU", never="certificate", args=("-4",)), test=True)
sizes("the line carries 576 bytes and does not say so", home(v6=False), drop("router", "output", MUTE),
    drop("provider", "output", MUTE), ip("router", "link set wan mtu 576"), ip("provider", "link set cust mtu 576"),
    ask(URL, right="works"), ask(TLS, right="path", says="large|MTU"), WORKS)
sizes("large packets from here vanish, answers come", home(v6=False), WORKS,
    drop("provider", "forward", 'iifname "cust" ip length > 1400'),
    ask(TLS, right="works path", says="large|MTU|bytes"))
BIG = "http://web.exam.test/bytes/30000"
sizes("the tunnel is narrower than its MTU says", tunnel,
    drop("provider", "forward", "meta l4proto udp meta length > 1360"), ask(BIG, right="path mine", says="large|MTU"),
    WORKS, before=BIG, needs=("wireguard-go", "wg"))
