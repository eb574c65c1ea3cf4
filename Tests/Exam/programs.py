"""What runs in the namespaces: name servers, web servers, proxies, lines and devices. Each calls `ready` first."""
import fcntl, heapq, json, os, random, re, select, signal, socket, ssl, struct, threading, time
from lab import enter

def quietly(function, *arguments):
    """A peer that goes away ends its own connection only."""
    def run():
        try: function(*arguments)
        except Exception: pass
    threading.Thread(target=run, daemon=True).start()

def bound(kind, address, port):
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.IPPROTO_IP, 15, 1)  # IP_FREEBIND
    s.bind((address, port))
    if kind == socket.SOCK_STREAM: s.listen(64)
    return s

# Names
CODES = {"servfail": 2, "nxdomain": 3, "refused": 5}

def question(query):
    """The name that is asked for, its type, and where the question ends."""
    labels, end = [], 12
    while query[end]:
        labels.append(query[end + 1:end + 1 + query[end]].decode().lower())
        end += 1 + query[end]
    return ".".join(labels), struct.unpack(">H", query[end + 1:end + 3])[0], end + 5

def reply(query, code=0, addresses=()):
    _, kind, end = question(query)
    family = socket.AF_INET6 if kind == 28 else socket.AF_INET
    records = [socket.inet_pton(family, a) for a in addresses if kind in (1, 28) and (":" in a) == (kind == 28)]
    body = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 60, len(r)) + r for r in records)
    return query[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(records), 0, 0) + query[12:end] + body

def each_query(ready, addresses, answer):
    sockets = {bound(socket.SOCK_DGRAM, address, 53): address for address in addresses}
    def one(s, query, client):
        if out := answer(query, sockets[s]): s.sendto(out, client)
    ready()
    while True:
        for s in select.select(sockets, [], [])[0]: quietly(one, s, *s.recvfrom(4096))

def name_server(ready, manners, zone, mood=""):
    """`manners`: how it answers at each of its addresses: do, delay, lies; the file `mood` overrides them."""
    def answer(query, address):
        how = manners[address]
        if os.path.exists(mood):
            with open(mood) as file: how = {**how, **json.load(file)}
        time.sleep(how.get("delay", 0))
        if do := how.get("do"): return None if do == "silent" else reply(query, CODES[do])
        found = {**zone, **how.get("lies", {})}.get(question(query)[0])
        return reply(query, 3 if found is None else 0, found or ())
    each_query(ready, list(manners), answer)

def forwarder(ready, addresses, upstream, fails="silent", zones=None):
    """Asks `upstream`, keeps answers for a minute, and without one does what `fails` says."""
    kept = {}
    def answer(query, _):
        name, kind, _ = question(query)
        end, data = kept.get((name, kind), (0, b""))
        if end > time.monotonic(): return query[:2] + data[2:]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(1.5)
            try:
                s.connect((next((to for zone, to in (zones or {}).items() if name.endswith(zone)), upstream), 53))
                s.send(query)
                data = s.recv(4096)
            except OSError: return None if fails == "silent" else reply(query, CODES[fails])
        kept[name, kind] = (time.monotonic() + 60, data)
        return data
    each_query(ready, addresses, answer)

# Servers
def servers(ready, services):
    """(address, port, kind, …): http, tls with a certificate's file, banner, reset, hang, slow, once, portal."""
    for address, port, *how in services:
        threading.Thread(target=accept, args=(bound(socket.SOCK_STREAM, address, port), *how), daemon=True).start()
    ready()
    signal.pause()

def accept(listener, kind, *how):
    while True:
        c = listener.accept()[0]
        if kind == "once":
            listener.close()
            return c.close()
        quietly(serve, c, kind, *how)

def serve(c, kind, *how):
    c.settimeout(30)
    if kind in ("banner", "hang"):
        c.sendall(how[0].encode() if how else b"")
        time.sleep(30)
    if kind == "reset":
        c.recv(4096)
        c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return c.close()
    if kind == "tls":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(how[0])
        c = context.wrap_socket(c, server_side=True)
    file = c.makefile("rwb")
    while first := file.peek(1):
        if first[0] == 0x16:  # TLS, which this port does not speak
            return c.sendall(b"HTTP/1.1 400 Bad request\r\nContent-Length: 0\r\n\r\n")
        head = "".join(iter(lambda: file.readline().decode("latin-1").replace("\r\n", "\n"), "\n"))
        path, host = head.split(" ")[1], re.search(r"(?im)^host: *([^\s:]+)|$", head)[1] or ""
        file.read(int(re.search(r"(?im)^content-length: *(\d+)|$", head)[1] or 0))
        if kind == "slow" or path == "/slow": time.sleep(4)
        status, body, extra = 200, b"hello\n", ""
        if kind == "portal" and not re.search(how[0], host + path):
            status, body, extra = 302, b"log in", "Location: http://login.portal.test/\r\n"
        elif path == "/generate_204" or kind == "portal": status, body = 204, b""
        elif match := re.fullmatch(r"/(\d{3})", path): status = int(match[1])
        elif match := re.fullmatch(r"/bytes/(\d+)", path): body = b"z" * int(match[1])
        if status != 204: extra += f"Content-Length: {len(body)}\r\n"
        file.write(f"HTTP/1.1 {status} X\r\n{extra}\r\n".encode() + (b"" if head.startswith("HEAD") else body))
        file.flush()
    c.close()

def proxy(ready, speaks, port, names, fails=None):
    """An HTTP proxy (CONNECT and whole URLs) or a SOCKS 5 proxy, which knows `names` without a resolver."""
    def connect(host, to):
        """The connection, or the reply code of RFC 1928."""
        address = next((a for a in names.get(host.lower(), [host]) if re.fullmatch(r"[\d.]+", a)), None)
        try: return socket.create_connection((address, to), 4) if address else 4
        except OSError as error: return 5 if isinstance(error, ConnectionRefusedError) else 4

    def http(c):
        data = b""
        while b"\r\n\r\n" not in data: data += c.recv(65536)
        verb, url, _ = data.split(b"\r\n")[0].decode().split(" ")
        m = re.match(r"(?:http://)?([^/:]+)(?::(\d+))?(/.*)?$", url)
        other = connect(m[1], int(m[2] or 80))
        if isinstance(other, int):
            return c.sendall(b"HTTP/1.1 502 Bad gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        if verb == "CONNECT": c.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        else: other.sendall(data.replace(url.encode(), (m[3] or "/").encode(), 1))
        return pump(c, other)

    def socks(c):
        c.recv(c.recv(2)[1])
        c.sendall(b"\x05\x00")
        form = c.recv(4)[3]
        raw = c.recv({1: 4, 4: 16}.get(form) or c.recv(1)[0])
        host = raw.decode() if form == 3 else socket.inet_ntop(socket.AF_INET if form == 1 else socket.AF_INET6, raw)
        other = 1 if fails else connect(host, struct.unpack(">H", c.recv(2))[0])
        c.sendall(bytes([5, other if isinstance(other, int) else 0, 0, 1]) + bytes(6))
        return None if isinstance(other, int) else pump(c, other)

    def one(c):
        with c: (http if speaks == "http" else socks)(c)
    s = bound(socket.SOCK_STREAM, "0.0.0.0", port)
    ready()
    while True: quietly(one, s.accept()[0])

def pump(a, b):
    with b:
        while ready := select.select([a, b], [], [], 30)[0]:
            for s in ready:
                data = s.recv(65536)
                if not data: return
                (b if s is a else a).sendall(data)

# Lines and devices
def device(space, link, mode):
    """Makes a tun or tap device in a namespace (the kernel's tuntap.rst)."""
    enter(space)
    file = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(file, 0x400454CA, struct.pack("16sH", link.encode(), {"tun": 1, "tap": 2}[mode] | 0x1000))
    return file

def line(ready, ends, how):
    """Two ends in two namespaces; the file `how` says by how many seconds packets are late: delay and jitter."""
    files, waiting, number = [device(space, link, "tap") for space, link in ends], [], 0
    ready()
    while True:
        for file in select.select(files, [], [], max(0, waiting[0][0] - time.monotonic()) if waiting else None)[0]:
            data, number = os.read(file, 65536), number + 1
            with open(how) as text: delay, jitter = map(float, text.read().split() or (0, 0))
            due = time.monotonic() + max(0, delay + random.uniform(-1, 1) * jitter)
            heapq.heappush(waiting, (due, number, files[1 - files.index(file)], data))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, file, data = heapq.heappop(waiting)
            try: os.write(file, data)
            except OSError: pass  # the other end is down

def hole(ready, space, link):
    """A device with a program that hangs: it takes packets and gives none."""
    file = device(space, link, "tun")
    ready()
    while True: os.read(file, 65536)

def steady(ready, host, port):
    """Another program's connection, opened now and used all the time."""
    s = socket.create_connection((host, port), 4)
    s.settimeout(2)
    ready()
    while True:
        try:
            s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            s.recv(65536)
        except OSError: pass
        time.sleep(0.2)

def advertiser(ready, link, prefix, lifetime):
    """Two router advertisements with a prefix (RFC 4861)."""
    s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
    body = struct.pack(">BBHBBHII", 134, 0, 0, 64, 0, lifetime, 0, 0)
    body += struct.pack(">BBBBIII16s", 3, 4, 64, 0xC0, 86400, 86400, 0, socket.inet_pton(socket.AF_INET6, prefix))
    for _ in range(2):
        s.sendto(body, ("ff02::1", 0, 0, socket.if_nametoindex(link)))
        time.sleep(0.2)
    ready()
    signal.pause()

def forger(ready, link, code, to):
    """Answers each SYN to an address as if 192.0.2.66, which is not on the way, had refused it."""
    seen = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
    seen.bind((link, 0x0800))
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    ready()
    while True:
        data, place = seen.recvfrom(2000)
        if place[2] == 4 or data[8] <= 40 or data[9] != 6 or data[16:20] != socket.inet_aton(to): continue
        body = bytes([3, code, 0, 0, 0, 0, 0, 0]) + data[:28]
        total = sum(struct.unpack("!18H", body))
        total = (total & 0xFFFF) + (total >> 16)
        body = body[:2] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + body[4:]
        head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(body), 0, 0, 64, 1, 0)
        raw.sendto(head + socket.inet_aton("192.0.2.66") + data[12:16] + body, (socket.inet_ntoa(data[12:16]), 0))
