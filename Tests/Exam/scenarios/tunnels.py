"""Tunnels, overlays, and what is below them."""
from kit import *
tunnels = of_kind("tunnels")
WG = ("wireguard-go", "wg")

tunnels("the tunnel works", tunnel, ask(NAME4, HOST, right="works"), needs=WG)
tunnels("the provider under the tunnel is dead", tunnel, drop("provider", "forward"),
    ask(NAME4, f"{FAR}:80", HOST, right="upstream"), needs=WG)
tunnels("the tunnel's far end no longer knows this host's key", tunnel, far_end_forgets,
    ask(NAME4, HOST, right="path mine", says="tunnel|vpn0|far end"), needs=WG)
tunnels("the tunnel's end point is routed into the tunnel", tunnel, ip("client", f"route del {EXIT}/32"),
    ask(NAME4, HOST, right="mine", says="route|loop|tunnel"), needs=WG)
tunnels("the tunnel's far end does not translate addresses", tunnel, sh("exit", "nft flush ruleset"),
    ask(f"http://{FAR}/", HOST, right="path gateway"), before=NAME4, needs=WG)
tunnels("TCP vanishes in the overlay, all else passes", overlay, dark("node2", "vxlan1", "ip protocol tcp"),
    ask("10.244.2.2:80", right="path"), ask(NAME4, HOST, right="works"), before="http://10.244.2.2/")
