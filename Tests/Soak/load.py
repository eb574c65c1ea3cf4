"""The load: submissions, scrapes, pages, followers of events, and connections of other programs."""

import asyncio
import collections
import contextlib
import random
import re
import select
import socket
import threading
import time

import harness
import lab

HELD, OPENED_PER_SECOND = 2000, 20
SUBMITTERS, PAUSE = 2, 1
FOLLOWERS = 3


class Worker(threading.Thread):
    """A thread of the load in a namespace, until `stop` is set."""

    def __init__(self, namespace, stop):
        super().__init__(daemon=True)
        self.namespace, self.stop, self.failures = namespace, stop, 0

    def run(self):
        lab.enter(self.namespace)
        while not self.stop.is_set():
            try:
                self.turn()
            except (OSError, ValueError):
                # The sidecar is away, stopped or slow.
                self.failures += 1
                self.stop.wait(0.5)


class Submission:
    """What was submitted under a key."""

    def __init__(self, key, path, kind):
        self.key, self.path, self.kind, self.id = key, path, kind, None


class Submitter(Worker):
    """Submits tasks of all kinds; repeats a submission under its key until it is accepted."""

    def __init__(self, namespace, stop, sidecar, findings, seed, number):
        super().__init__(namespace, stop)
        self.sidecar, self.findings, self.number = sidecar, findings, number
        self.random = random.Random(f"{seed}/submitter{number}")
        self.made, self.open = [], []

    def turn(self):
        if self.open and self.random.random() < 0.5:
            submission = self.open.pop(0)
        else:
            submission = self.fresh()
        self.send(submission)
        if submission.id and self.random.random() < 0.05:
            again = self.sidecar.submit(submission.key, *self.words(submission))
            if again and again != submission.id:
                self.findings.wrong(f"the key {submission.key} has two tasks: {submission.id} and {again}")
        self.stop.wait(self.random.uniform(0, 2 * PAUSE))

    def fresh(self):
        kind = self.random.choices(("get", "post", "keyed", "download"), (40, 25, 10, 25))[0]
        key = f"k{self.number}-{len(self.made)}"
        submission = Submission(key, f"/{'d' if kind == 'download' else 't'}/{key}", kind)
        host = self.random.randrange(lab.TARGETS)
        secure = self.random.random() < 0.3
        where = f"t{host}.{lab.ZONE}" if secure or self.random.random() < 0.7 else lab.address(host)
        submission.url = (f"https://{where}:{lab.TLS}" if secure else f"http://{where}:{lab.PLAIN}") + submission.path
        self.made.append(submission)
        return submission

    def words(self, submission):
        more = {"get": [], "post": ["--json-body", '{"n": 1}'], "download": ["-o", self.sidecar.files / submission.key],
                "keyed": ["--json-body", "{}", "-H", f"Idempotency-Key: {submission.key}"]}
        return [submission.url, *more[submission.kind]]

    def send(self, submission):
        submission.id = self.sidecar.submit(submission.key, *self.words(submission))
        if not submission.id:
            self.open.append(submission)


class Scraper(Worker):
    """Scrapes each second, and compares the counters with the log that was read before."""

    LINE = re.compile(r"^(tidegate_[a-z_]+(?:\{[^}]*\})?|process_cpu_seconds_total) (\S+)$", re.MULTILINE)

    def __init__(self, namespace, stop, sidecar, findings):
        super().__init__(namespace, stop)
        self.sidecar, self.findings, self.last, self.done, self.slowest = sidecar, findings, {}, 0, 0

    def turn(self):
        due = time.monotonic() + 1
        self.scrape()
        self.stop.wait(max(0, due - time.monotonic()))

    def scrape(self):
        life, before, start = self.sidecar.life, self.findings.logged(), time.monotonic()
        text = self.sidecar.ask("/metrics", 10).decode()
        if life != self.sidecar.life:
            return None
        values = {name: float(value) for name, value in self.LINE.findall(text)}
        self.done, self.slowest = self.done + 1, max(self.slowest, time.monotonic() - start)
        self.last[life] = (start, values)
        self.findings.compare(life, before, values)
        return values


class Pages(Worker):
    """Opens the page and the routes of the API in turn."""

    ROUTES = ("/", "/?span=day", "/api/v1/status", "/api/v1/targets", "/api/v1/probes", "/api/v1/connections",
              "/api/v1/tasks?limit=200", "/-/healthy", f"/probe?module=web&target=http://t1.{lab.ZONE}:{lab.PLAIN}/p")

    def __init__(self, namespace, stop, sidecar):
        super().__init__(namespace, stop)
        self.sidecar, self.done = sidecar, 0

    def turn(self):
        self.sidecar.ask(self.ROUTES[self.done % len(self.ROUTES)])
        self.done += 1
        self.stop.wait(1)


class Follower(Worker):
    """Follows the events, as an open page does; now and then it stops reading for a while."""

    def __init__(self, namespace, stop, findings, seed, number):
        super().__init__(namespace, stop)
        self.findings, self.random, self.events = findings, random.Random(f"{seed}/follower{number}"), 0
        self.last, self.recent = None, collections.deque(maxlen=1000)

    def turn(self):
        with socket.create_connection(lab.WEB, 5) as connection:
            resumed = f"Last-Event-ID: {self.last}\r\n" if self.last else ""
            connection.sendall(f"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n{resumed}\r\n".encode())
            end, rest = time.monotonic() + self.random.uniform(20, 120), b""
            while not self.stop.is_set() and time.monotonic() < end:
                if not select.select([connection], [], [], 0.5)[0]:
                    continue
                data = connection.recv(1 << 16)
                if not data:
                    raise OSError("the sidecar closed the events")
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self.note(line)
                if self.random.random() < 0.002:
                    self.stop.wait(self.random.uniform(1, 15))

    def note(self, line):
        """Notes the id of an event; none comes twice, although several threads may publish them out of order."""
        if not line.startswith(b"id: "):
            return
        self.events, self.last = self.events + 1, line[4:].strip().decode()
        if self.last in self.recent:
            self.findings.wrong("an event of /api/v1/events came twice to a follower")
        self.recent.append(self.last)


class Connections(Worker):
    """The connections that the sidecar observes: thousands that are held, and others that come and go."""

    def __init__(self, namespace, stop):
        super().__init__(namespace, stop)
        self.opened, self.held = 0, 0

    def turn(self):
        asyncio.run(self.all())

    async def all(self):
        keeping = asyncio.create_task(self.keep())
        running = set()
        while not self.stop.is_set():
            task = asyncio.create_task(self.once())
            running.add(task)
            task.add_done_callback(running.discard)
            await asyncio.sleep(1 / OPENED_PER_SECOND)
        keeping.cancel()

    async def keep(self):
        writers = []
        for number in range(HELD):
            with contextlib.suppress(OSError, asyncio.TimeoutError):
                writers.append((await asyncio.wait_for(asyncio.open_connection(lab.address(number % 50), lab.HOLD), 5))[1])
            self.held = len(writers)
        try:
            await asyncio.Event().wait()
        finally:
            for writer in writers:
                writer.close()

    async def once(self):
        host = lab.address(self.opened % lab.TARGETS)
        self.opened += 1
        writer = None
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            reader, writer = await asyncio.wait_for(asyncio.open_connection(host, lab.HOLD), 5)
            writer.write(b"x")
            await asyncio.wait_for(reader.read(1), 5)
        if writer:
            writer.close()


class Load:
    """All workers."""

    def __init__(self, hosts, sidecar, findings, seed):
        self.stop, self.stop_submitting = threading.Event(), threading.Event()
        home = hosts.inside
        self.submitters = [Submitter(home, self.stop_submitting, sidecar, findings, seed, n) for n in range(SUBMITTERS)]
        self.scraper, self.pages = Scraper(home, self.stop, sidecar, findings), Pages(home, self.stop, sidecar)
        self.followers = [Follower(home, self.stop, findings, seed, n) for n in range(FOLLOWERS)]
        self.connections = Connections(home, self.stop)
        self.workers = [*self.submitters, self.scraper, self.pages, *self.followers, self.connections]

    def start(self):
        for worker in self.workers:
            worker.start()

    def end(self):
        self.stop_submitting.set()
        self.stop.set()
        for worker in self.workers:
            worker.join(30)

    def submissions(self):
        return [submission for submitter in self.submitters for submission in submitter.made]
