"""Reads the log of every life of the sidecar while it grows, and checks what has to hold."""

import collections
import json
import re
import sqlite3
import statistics
import threading
import time

import lab

# Events by the message of their log line: the counter that has to agree, and the label by which both are compared.
COUNTED = {
    "task created": ("tidegate_task_submissions_total", "kind"),
    "task resumed": ("tidegate_task_resumes_total", None),
    "task completed": ("tidegate_task_completions_total", "outcome"),
    "task held": ("tidegate_task_holds_total", "reason"),
    "retry scheduled": ("tidegate_task_retries_total", "reason"),
    "retries exhausted": ("tidegate_task_retries_exhausted_total", "reason"),
    "attempt succeeded": ("tidegate_request_attempts_total", None),
    "attempt failed": ("tidegate_request_attempts_total", None),
    "attempt cancelled": ("tidegate_request_attempts_total", None),
    "attempt interrupted by path loss": ("tidegate_request_attempts_total", None),
    "netlink dump completed": ("tidegate_netlink_resyncs_total", None),
    "journal written": ("tidegate_journal_entries_total", None),
    "request answered": ("tidegate_http_requests_total", None),
}
LABELS = dict(COUNTED.values())
# How much a size may grow in the second half if that is more than twice its noise.
FLOORS = {"private memory (MiB)": 1.0, "used heap (MiB)": 1.0, "descriptors": 8, "threads": 2, "journal (KiB)": 256}
# A life deletes what is expired when it starts, and then every ten minutes: until then its journal grows.
EXPIRY = 620
# Shorter runs have not filled their bounded histories when their second half begins.
FLAT_FROM = 600


class Task:
    """What the log says about a task."""

    def __init__(self, path):
        self.path, self.attempts, self.ends, self.why = path, 0, [], ""


class Findings:
    """The log's events by life and by task, and every violation."""

    def __init__(self, sidecar, peer):
        self.sidecar, self.peer = sidecar, peer
        self.lock, self.violations = threading.Lock(), collections.OrderedDict()
        self.life, self.place, self.rest = 0, 0, b""
        self.counts, self.ends = collections.defaultdict(collections.Counter), {}
        # By id: tasks of the log, outcomes that the sidecar listed, and what it listed as open last.
        self.tasks, self.listed, self.open = {}, {}, set()
        self.levels, self.messages = collections.Counter(), collections.Counter()

    def wrong(self, text):
        """Notes a violation; one that comes again is counted."""
        with self.lock:
            self.violations[text] = self.violations.get(text, 0) + 1

    def read(self):
        """Reads what the log has more."""
        while True:
            if self.life:
                with open(self.sidecar.log(self.life), "rb") as log:
                    log.seek(self.place)
                    data = log.read()
                self.place += len(data)
                *lines, self.rest = (self.rest + data).split(b"\n")
                for line in lines:
                    self.line(line)
            if self.life == self.sidecar.life:
                return
            self.life, self.place, self.rest = self.life + 1, 0, b""

    def line(self, text):
        try:
            record = json.loads(text)
            message = record["msg"]
        except (ValueError, KeyError, TypeError):
            return self.wrong(f"life {self.life} wrote no log line: {text[:200].decode(errors='replace')}")
        self.levels[record["level"]] += 1
        self.messages[message] += 1
        if message in COUNTED:
            name, label = COUNTED[message]
            amount = record["entries"] if message == "journal written" else 1
            with self.lock:
                self.counts[self.life][name, snake(record[label]) if label else None] += amount
        if message in ("log events dropped", "log lines dropped", "journal lost transactions"):
            self.wrong(f"life {self.life}: {message}")
        # Broken configurations and full disks are faults of the schedule.
        if record["level"] == "error" and "configuration" not in message and record.get("reason") != "disk_full":
            self.wrong(f"life {self.life} logged an error: {message}: {record.get('error', record.get('reason'))}")
        if "task" in record:
            self.task(message, record)

    def task(self, message, record):
        if message == "task created" and record["task"] not in self.tasks:
            self.tasks[record["task"]] = Task("/" + record["url"].split("/", 3)[3])
        task = self.tasks.setdefault(record["task"], Task(None))
        if message == "attempt started":
            task.attempts += 1
        elif message == "task completed":
            task.ends.append((self.life, record["outcome"], record.get("error_type")))
            task.why = record.get("explanation", "")
            if len(task.ends) > 1:
                self.wrong(f"the task {record['task']} {task.path} ended {len(task.ends)} times: {task.ends}")
            if record["outcome"] == "success" and "file" in record:
                self.file(task.path)

    def file(self, path):
        """Checks the file of a download that is done, and removes it."""
        file = self.sidecar.files / path.rsplit("/", 1)[1]
        if not file.exists() or file.read_bytes() != lab.content(path):
            self.wrong(f"the download {path} is done, and its file is missing or wrong")
        file.unlink(missing_ok=True)

    def logged(self):
        """The counts of the present life so far."""
        with self.lock:
            return self.life, collections.Counter(self.counts[self.life])

    def compare(self, life, before, values):
        """A counter is never behind the lines that were logged before the scrape."""
        counted = totals(values)
        if before[0] == life:
            for key, count in before[1].items():
                if counted[key] < count:
                    self.wrong(f"{key[0]} ({key[1]}) is {counted[key]:.0f} in life {life} after {count} log lines")

    def ended(self, life, how):
        self.read()
        self.ends[life] = (how, time.monotonic())

    def list(self, tasks):
        """Notes what the sidecar lists: ends whose log lines a kill may have taken, and what is open now."""
        self.open = {id for id, task in tasks.items() if not task["outcome"]}
        self.listed.update((id, task["outcome"]) for id, task in tasks.items() if task["outcome"])

    def check_lives(self, scrapes):
        """What was scraped two seconds before the end of a life is in its log."""
        for life, (start, values) in scrapes.items():
            how, end = self.ends.get(life, ("end", start + 10))
            if end - start < 2 and how == "kill":
                continue
            for key, count in totals(values).items():
                if key[0] in LABELS and count > self.counts[life][key]:
                    self.wrong(f"{key[0]} ({key[1]}) was {count:.0f} at the end of life {life}, and its log has "
                               f"{self.counts[life][key]} lines of it")

    def check_quiet(self, before, values, after):
        """Nothing happens: the counters of the last life equal its log."""
        counted = totals(values)
        for key in set(after) | {key for key in counted if key[0] in LABELS}:
            if before[key] == after[key] != counted[key] and key[0] != "tidegate_http_requests_total":
                self.wrong(f"{key[0]} ({key[1]}) is {counted[key]:.0f} in the last life, and its log has {after[key]} lines")

    def check_tasks(self, submissions):
        """Every accepted task ended once or is pending, and the servers saw it as often as it may be sent."""
        kills = sum(how == "kill" for how, _ in self.ends.values())
        outcomes = collections.Counter()
        for submission in submissions:
            if submission.id:
                outcomes[self.check_task(submission, kills)] += 1
        return outcomes

    def check_task(self, submission, kills):
        task = self.tasks.get(submission.id, Task(submission.path))
        what = f"the task {submission.id} {submission.path} ({submission.kind})"
        arrived, answered, refused = self.peer.seen.get(submission.path, (0, 0, 0))
        if arrived > task.attempts + kills:
            self.wrong(f"{what} made {task.attempts} attempts, and the servers saw {arrived}")
        if task.ends and task.ends[0][2] in ("invalid_request", "internal"):
            self.wrong("a valid request ended as " + task.ends[0][2] + ": " + task.why)
        if submission.kind == "post" and arrived - refused > 1:
            self.wrong(f"{what} may be sent once, and arrived {arrived} times, {refused} of them refused by 429")
        outcome = task.ends[0][1] if task.ends else self.listed.get(submission.id)
        if submission.id in self.open:
            if outcome:
                self.wrong(f"{what} ended as {outcome}, and is listed as open")
            outcome = "pending"
        if not outcome:
            self.wrong(f"{what} was accepted, and neither ended nor is listed")
        if outcome == "success" and not answered:
            self.wrong(f"{what} is done, and no server answered it")
        return outcome or "lost"

    def check_open(self, submissions, values):
        """The journal's gauge counts the accepted tasks that are not over."""
        pending = sum(made.id in self.open for made in submissions)
        counted = sum(value for series, value in values.items() if series.startswith("tidegate_journal_tasks{"))
        if counted != pending:
            self.wrong(f"tidegate_journal_tasks is {counted:.0f} at the end, and {pending} accepted tasks are listed as open")

    def check_failures(self, full, whole):
        """While the disk is full, no more writes fail than ten times those that usually succeed."""
        written = sum(counts["tidegate_journal_entries_total", None] for counts in self.counts.values())
        failed, usual = self.messages["journal write failed"], written / whole
        if full and failed / full > 10 * usual:
            self.wrong(f"{failed} journal writes failed in {full:.0f} s of a full disk; usually there are {usual:.0f} a second")

    def check_journal(self):
        """The database is whole."""
        database = sqlite3.connect(f"file:{self.sidecar.state}/journal.sqlite?mode=ro", uri=True)
        found = database.execute("PRAGMA integrity_check").fetchone()[0]
        database.close()
        if found != "ok":
            self.wrong(f"the journal is damaged: {found}")


def snake(text):
    return re.sub(r"[A-Z]", lambda letter: "_" + letter.group().lower(), text)


def totals(values):
    """Counters by name and by the label that is compared."""
    counted = collections.Counter()
    for series, value in values.items():
        name = series.split("{")[0]
        label = LABELS.get(name)
        found = re.search(rf'\b{label}="([^"]*)"', series) if label else None
        counted[name, snake(found.group(1)) if found else None] += value
    return counted


def by_code(values):
    """Attempts by status, without those that no server answered."""
    codes = collections.Counter()
    for series, value in values.items():
        found = re.match(r'tidegate_request_attempts_total\{.*\bcode="(\d+)"', series)
        if found:
            codes[int(found.group(1))] += int(value)
    return codes


def check_flat(findings, samples, start, end, seconds):
    """The growth of each size over the second half, beside its noise."""
    rows, lives = [], [sample[0] for sample in samples if sample[-1] == samples[-1][-1]]
    for column, (name, floor) in enumerate(FLOORS.items(), 1):
        first = max(start, lives[0] + EXPIRY) if name.startswith("journal") else start
        chosen = [sample for sample in samples if first <= sample[0] <= end]
        if len(chosen) < 10:
            continue
        times, sizes = [sample[0] for sample in chosen], [sample[column] for sample in chosen]
        slope, intercept = statistics.linear_regression(times, sizes)
        noise = statistics.pstdev(size - slope * time - intercept for time, size in zip(times, sizes))
        grown, allowed = slope * (times[-1] - times[0]), max(floor, 2 * noise)
        rows.append((name, statistics.mean(sizes), min(sizes), max(sizes), grown, allowed))
        if grown > allowed and seconds >= FLAT_FROM:
            findings.wrong(f"{name} grew by {grown:.2f} in the second half; {allowed:.2f} would be noise")
    return rows
