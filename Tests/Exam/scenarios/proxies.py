"""Only a proxy leads out, or a proxy is what fails."""
from kit import *
proxies = of_kind("proxies")
NETWORK, TLS, WORKS = home(hosts=("proxy",), v6=False), "https://web.exam.test/", ask(HOST, right="works")
HTTP, VARIABLES = ("--proxy", "http://192.168.1.30:3128"), {"https_proxy": "http://192.168.1.30:3128"}
SOCKS = ("--proxy", "socks5h://192.168.1.30:1080")
ONLY = drop("router", "forward", f"ip saddr {CLIENT} meta l4proto tcp")
IS_HTTP, IS_SOCKS = runs("proxy", proxy, "http", 3128, ZONE), runs("proxy", proxy, "socks", 1080, ZONE)

proxies("only a proxy leads out", NETWORK, IS_HTTP, ONLY, WORKS, ask(URL, right="works", args=HTTP),
    ask(TLS, right="works", args=("--proxy-from-environment",), env=VARIABLES),
    ask(HOST, right="works", args=("--proxy-from-environment",), env={**VARIABLES, "http_proxy": HTTP[1]}), watch=False)
proxies("only a proxy leads out, and no resolver answers", NETWORK, IS_HTTP, ONLY,
    drop("router", "forward", f"ip saddr {CLIENT} udp dport 53"), ask(URL, TLS, right="works", args=HTTP),
    ask(HOST, right="resolver path gateway unknown"), watch=False)
proxies("the proxy's port swallows connections", NETWORK, IS_SOCKS, drop("proxy", "input", "tcp dport 1080"), WORKS,
    ask(URL, right="theirs", says=r"proxy|192\.168\.1\.30", args=SOCKS), watch=False)
proxies("the proxy fails and gives no reason", NETWORK, runs("proxy", proxy, "socks", 1080, ZONE, "general"), WORKS,
    ask(URL, right="theirs", says="proxy", args=SOCKS), watch=False)
proxies("the server behind the proxy refuses", NETWORK, IS_SOCKS, WORKS, ask(URL, right="works", args=SOCKS),
    ask("http://web.exam.test:81/", right="theirs", says="proxy|refuse", args=SOCKS), watch=False)
proxies("only the proxy knows a private name, which is looked up here", NETWORK,
    runs("proxy", proxy, "socks", 1080, {**ZONE, "wiki.exam.test": [WEB]}), WORKS,
    ask("http://wiki.exam.test/", right="mine", says="wiki.exam.test|socks5h|name", args=("--proxy",
        "socks5://192.168.1.30:1080")), watch=False)
