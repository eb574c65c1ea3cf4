"""How fast accepted tasks become durable, against plain SQLite with the same settings and the same rows."""

import json
import sqlite3
import time

import lab

COUNT = 1000


def run(rows):
    with lab.folder() as path:
        words = [str(lab.BENCH), "journal", f"{path}/state", str(COUNT)]
        ours = json.loads(lab.Measured(words).text)
        text = "x" * 900
        median, p99, single = plain(path / "single.sqlite", text, COUNT, 1)
        _, _, together = plain(path / "together.sqlite", text, COUNT * 10, 512)
    rows.add("a task accepted and durable, median (µs), against plain SQLite", f"{ours['median']:.0f}",
             f"{median:.0f}", f"{ours['median'] / median:.2f}", "", True)
    rows.add("the same, p99 (µs)", f"{ours['p99']:.0f}", f"{p99:.0f}", f"{ours['p99'] / p99:.2f}", "", True)
    rows.add("tasks accepted one after the other (per second)", f"{ours['perSecond']:.0f}", f"{single:.0f}",
             f"{ours['perSecond'] / single:.2f}", "", True)
    rows.add("tasks accepted many at a time (per second), against 512 rows a transaction",
             f"{ours['togetherPerSecond']:.0f}", f"{together:.0f}",
             f"{ours['togetherPerSecond'] / together:.2f}", "", True)


def plain(path, text, count, batch):
    """Rows of the same size in the same mode; median and p99 of a commit in µs, and rows per second."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE task (id TEXT NOT NULL PRIMARY KEY, accepted INTEGER, text TEXT) STRICT")
    times = []
    start = time.perf_counter()
    for first in range(0, count, batch):
        began = time.perf_counter()
        database.execute("BEGIN IMMEDIATE")
        database.executemany("INSERT INTO task VALUES (?, ?, ?)",
                             ((f"{first + row:036}", first, text) for row in range(batch)))
        database.execute("COMMIT")
        times.append(time.perf_counter() - began)
    elapsed = time.perf_counter() - start
    database.close()
    times.sort()
    return times[len(times) // 2] * 1e6, times[len(times) * 99 // 100] * 1e6, count / elapsed
