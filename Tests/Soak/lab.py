"""The lab: certificates, the servers and the resolver of the peer namespace, and the sidecar with its configuration."""

import asyncio
import collections
import concurrent.futures
import contextlib
import ctypes
import glob
import hashlib
import http.client
import json
import os
import pathlib
import random
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time

import harness

PLAIN, TLS, HOLD = 8080, 8443, 9000
WEB = ("127.0.0.1", 9843)
ZONE = "soak.test"
TARGETS, PROBES, SCHEDULED = 200, 100, 50
DOWNLOAD = 64 << 10
STATE_BYTES = 48 << 20


def enter(namespace):
    """Moves the calling thread into a network namespace; its sockets belong there (setns(2))."""
    with open(f"/run/netns/{namespace}") as handle:
        if ctypes.CDLL(None, use_errno=True).setns(handle.fileno(), 0x40000000) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter the network namespace {namespace}")


def address(number):
    """An address behind the gateway; the peer answers on all of 10.78.0.0/16."""
    return f"10.78.{number // 250}.{number % 250 + 1}"


def content(path):
    """The file at a path; the same bytes at each request."""
    return hashlib.shake_128(path.encode()).digest(DOWNLOAD)


def certificates(path):
    """An authority, and three certificates of one key: a good one, an expired one, one for another name."""
    def openssl(*words):
        subprocess.run(["openssl", *map(str, words)], check=True, cwd=path, stderr=subprocess.DEVNULL)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout")
    openssl("req", "-x509", *key, "ca.key", "-days", 30, "-subj", "/CN=authority", "-out", "ca.pem")
    for name, host, days in (("good", f"*.{ZONE}", 20), ("expired", f"*.{ZONE}", -1), ("wrong", "other.test", 20)):
        openssl("req", *key, f"{name}.key", "-subj", "/CN=server", "-addext", f"subjectAltName=DNS:{host}",
                "-out", f"{name}.csr")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", days,
                "-copy_extensions", "copy", "-out", f"{name}.pem")


class Peer(threading.Thread):
    """Servers for HTTP, HTTPS and held connections, and a resolver, in one event loop of the peer namespace."""

    def __init__(self, namespace, path, seed):
        super().__init__(daemon=True)
        self.namespace, self.path, self.random = namespace, path, random.Random(f"{seed}/servers")
        self.loop, self.up = asyncio.new_event_loop(), threading.Event()
        # By path: requests that arrived, those answered with 200 and the whole body, those refused with 429.
        self.seen = collections.defaultdict(lambda: [0, 0, 0])
        self.task_requests = self.other_requests = 0
        self.statuses = collections.Counter()
        # Which share of the tasks' requests goes wrong, and how; what the resolver does; whether answers wait.
        self.trouble, self.troubles = 0.02, ("stall", "reset", "cut", 500, 503, 404, 429)
        self.dns, self.stalls = "good", False
        self.open, self.listeners = set(), []
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)

    def run(self):
        enter(self.namespace)
        asyncio.set_event_loop(self.loop)
        self.certificate("good")
        self.loop.run_until_complete(self.start_all())
        self.up.set()
        self.loop.run_forever()

    async def start_all(self):
        await self.loop.create_datagram_endpoint(lambda: Resolver(self), (harness.Hosts.peer, 53))
        await asyncio.start_server(self.hold, "0.0.0.0", HOLD, backlog=4096)
        await self.listen()

    def call(self, function, *values):
        """Runs a function, or awaits a coroutine of it, in the loop."""
        async def run():
            result = function(*values)
            return await result if asyncio.iscoroutine(result) else result
        with contextlib.suppress(concurrent.futures.TimeoutError):
            asyncio.run_coroutine_threadsafe(run(), self.loop).result(10)

    def certificate(self, name):
        """What new connections get."""
        self.tls.load_cert_chain(self.path / f"{name}.pem", self.path / f"{name}.key")

    async def listen(self):
        options = {"backlog": 1024, "reuse_address": True}
        self.listeners = [await asyncio.start_server(self.serve, "0.0.0.0", PLAIN, **options),
                          await asyncio.start_server(self.serve, "0.0.0.0", TLS, ssl=self.tls, **options)]

    def refuse(self):
        for listener in self.listeners:
            listener.close()
        self.cut()

    def cut(self):
        for writer in list(self.open):
            reset(writer)

    async def hold(self, reader, writer):
        """Keeps a connection; answers each byte with one, and closes when the client does."""
        with contextlib.suppress(OSError):
            while data := await reader.read(64):
                writer.write(data)
        writer.close()

    async def serve(self, reader, writer):
        self.open.add(writer)
        try:
            # An idle connection is closed after a time that a client does not know.
            while await self.answer(writer, *await asyncio.wait_for(self.read(reader), self.random.uniform(2, 20))):
                pass
        except (OSError, EOFError, ValueError, asyncio.TimeoutError):
            pass
        finally:
            self.open.discard(writer)
            writer.close()

    async def read(self, reader):
        line, *fields = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = line.split(" ")
        fields = dict(field.lower().split(": ", 1) for field in fields if ": " in field)
        await reader.readexactly(int(fields.get("content-length", 0)))
        return path, fields

    async def answer(self, writer, path, fields):
        """Answers one request; true if the connection goes on."""
        if path[:3] not in ("/t/", "/d/"):
            self.other_requests += 1
            await self.stall()
            return await self.reply(writer, 200, b"up")
        record = self.seen[path]
        record[0] += 1
        self.task_requests += 1
        await self.stall()
        if self.random.random() < self.trouble:
            return await self.misbehave(writer, record)
        body = content(path) if path[1] == "d" else path.encode()
        first = fields.get("range", "").removeprefix("bytes=").removesuffix("-")
        tag = hashlib.sha1(path.encode()).hexdigest()
        start = int(first) if first.isdigit() and fields.get("if-range") == f'"{tag}"' else 0
        status, more = (206, f"Content-Range: bytes {start}-{DOWNLOAD - 1}/{DOWNLOAD}\r\n") if start else (200, "")
        record[1] += 1
        self.statuses[status] += 1
        return await self.reply(writer, status, body[start:], f'{more}ETag: "{tag}"\r\nAccept-Ranges: bytes\r\n')

    async def stall(self):
        deadline = time.monotonic() + 20
        while self.stalls and time.monotonic() < deadline:
            await asyncio.sleep(0.5)

    async def misbehave(self, writer, record):
        what = self.random.choice(self.troubles)
        if what == "stall":
            await asyncio.sleep(self.random.uniform(1, 10))
        if what in ("stall", "reset"):
            reset(writer)
            return False
        if what == "cut":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b"x" * 1000)
            await writer.drain()
            return False
        record[2] += what == 429
        self.statuses[what] += 1
        return await self.reply(writer, what, b"trouble", "Retry-After: 1\r\n" if what == 429 else "")

    async def reply(self, writer, status, body, more=""):
        writer.write(f"HTTP/1.1 {status} Text\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body)
        await writer.drain()
        return True


def reset(writer):
    """Ends a connection with a reset (SO_LINGER of socket(7))."""
    handle = writer.get_extra_info("socket")
    with contextlib.suppress(OSError, AttributeError):
        handle.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class Resolver(asyncio.DatagramProtocol):
    """Answers tN.soak.test with the address of N; what else it does says the peer's `dns`."""

    CODES = {"servfail": 2, "nxdomain": 3, "refused": 5}

    def __init__(self, peer):
        self.peer = peer

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, client):
        mode = self.peer.dns
        if mode == "silent" or len(data) < 17:
            return
        answer = os.urandom(40) if mode == "garbage" else self.answer(data, self.CODES.get(mode, 0))
        delay = 1.5 if mode == "slow" else 0
        self.peer.loop.call_later(delay, self.transport.sendto, answer, client)

    def answer(self, query, code):
        labels, place = [], 12
        while query[place]:
            labels.append(query[place + 1:place + 1 + query[place]].decode("latin-1").lower())
            place += 1 + query[place]
        kind, = struct.unpack("!H", query[place + 1:place + 3])
        known = labels[-2:] == ZONE.split(".") and labels[0][1:].isdigit()
        record = b""
        if not code and known and kind == 1:
            record = struct.pack("!HHHIH", 0xC00C, 1, 1, 5, 4) + socket.inet_aton(address(int(labels[0][1:])))
        code = code or (0 if known or labels[-1:] == ["net"] else 3)
        return query[:2] + struct.pack("!HHHHH", 0x8580 | code, 1, bool(record), 0, 0) + query[12:place + 5] + record


class Sidecar:
    """The sidecar in its namespace: one process after the other over the same state directory."""

    def __init__(self, hosts, path, keep):
        self.hosts, self.path, self.life, self.process = hosts, path, 0, None
        self.state, self.files = path / "disk/state", path / "disk/files"
        self.socket, self.shared = path / "control.sock", path / "shared"
        self.shared.write_bytes(bytes(16))
        self.library = harness.compile_c(pathlib.Path(__file__).parent / "preload.c", path, "-shared", "-fPIC", "-ldl", "-pthread")
        self.configuration = path / "tidegate.yml"
        self.configuration.write_text(json.dumps(settings(path, keep), indent=1))

    def log(self, life):
        return self.path / f"log-{life}.json"

    def start(self):
        self.life += 1
        words = self.hosts.home(
            "env", f"LD_PRELOAD={self.library}", f"SOAK_SHARED={self.shared}", harness.TIDEGATE, "serve",
            "--config.file", self.configuration, "--state.dir", self.state, "--control.socket", self.socket,
            "--log.level", "debug", "--log.format", "json")
        with open(self.log(self.life), "wb") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def signal(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)

    def end(self, number):
        """Ends the process by a signal; its status, or None if it had to be killed after the ten seconds it has."""
        self.signal(number)
        try:
            return self.process.wait(10.5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None

    def step(self, seconds):
        """Sets how far the wall clock of the process is from the machine's."""
        with open(self.shared, "r+b") as file:
            file.write(struct.pack("q", seconds))

    def submit(self, key, *words):
        """The id of the task that the command printed, or None."""
        words = [harness.TIDEGATE, "tasks", "submit", "-q", "--key", key, "--control.socket", self.socket, *words]
        with contextlib.suppress(subprocess.SubprocessError):
            return subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=20, check=True).stdout.strip()

    def ask(self, path, timeout=5):
        """The body of a route; the caller's thread has to be in the home namespace."""
        try:
            with contextlib.closing(http.client.HTTPConnection(*WEB, timeout=timeout)) as connection:
                connection.request("GET", path)
                response = connection.getresponse()
                if response.status == 200:
                    return response.read()
        except http.client.HTTPException as error:
            raise OSError(str(error)) from error
        raise OSError(f"{path}: {response.status}")

    def tasks(self):
        """The tasks that the sidecar lists, by id."""
        found, after = {}, ""
        for _ in range(1000):
            page = json.loads(self.ask(f"/api/v1/tasks?limit=1000{after}", 10))
            found.update((task["id"], task) for task in page["tasks"])
            if not page["next"]:
                break
            after = f"&after={page['next']}"
        return found

    def sizes(self):
        """Private memory and used heap (MiB), descriptors, threads and the journal's files (KiB)."""
        pid, used = self.process.pid, struct.unpack("qq", self.shared.read_bytes())[1]
        files = sum(os.stat(file).st_size for file in glob.glob(f"{self.state}/journal.sqlite*")) / 1024
        return (harness.dirty_memory(pid), used / (1 << 20), len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task")),
                files)


def settings(path, keep):
    """The configuration; JSON is YAML."""
    name = "t{}." + ZONE
    kinds = [lambda n: {"host": name.format(n), "port": PLAIN}, lambda n: {"host": address(n), "port": PLAIN},
             lambda n: {"url": f"http://{name.format(n)}:{PLAIN}/c"}, lambda n: {"host": name.format(n), "port": TLS,
             "check": "tls"}, lambda n: {"host": address(n), "check": "none"}]
    probes = [("web", lambda n: f"http://{name.format(n)}:{PLAIN}/p"), ("web", lambda n: f"https://{name.format(n)}:{TLS}/p"),
              ("tcp", lambda n: f"{name.format(n)}:{PLAIN}"), ("dns", lambda n: harness.Hosts.peer),
              ("icmp", lambda n: address(n))]
    return {
        "reachability": {"targets": [{"name": f"target{n}", **kinds[n % 5](n)} for n in range(TARGETS)]},
        "modules": {
            "web": {"prober": "http", "timeout": "5s", "http": {
                "preferred_ip_protocol": "ip4", "tls_config": {"ca_file": str(path / "ca.pem")}}},
            "tcp": {"prober": "tcp", "timeout": "5s", "tcp": {"preferred_ip_protocol": "ip4"}},
            "icmp": {"prober": "icmp", "timeout": "5s", "icmp": {"preferred_ip_protocol": "ip4"}},
            "dns": {"prober": "dns", "timeout": "5s", "dns": {
                "query_name": f"t1.{ZONE}", "query_type": "A", "preferred_ip_protocol": "ip4"}}},
        "probes": [{"name": f"probe{n}", "module": probes[n % 5][0], "target": probes[n % 5][1](n), "every": "15s"}
                   for n in range(PROBES)],
        "tasks": [{"name": f"scheduled{n}", "url": f"http://{name.format(n)}:{PLAIN}/t/s{n}", "every": "20s",
                   "timeout": "1m"} for n in range(SCHEDULED)],
        "transfers": {"tls": {"ca_file": str(path / "ca.pem")}, "retry": {"base": "500ms", "cap": "5s"}},
        "journal": {"keep_completed": f"{keep}s", "path_events": f"{keep}s"},
        "events": {"history": 512},
    }
