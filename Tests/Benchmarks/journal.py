"""How fast accepted tasks become durable, against plain SQLite with the same settings and the same rows."""

import json
import sqlite3
import statistics
import time

import harness

COUNT = 1000
ROUNDS = 3
TEXT = "x" * 900


def run(rows):
    """Turn about, so that both meet the same disk; of each figure the middle one of the rounds."""
    ours, alone, together = [], [], []
    with harness.folder() as path:
        for turn in range(ROUNDS):
            words = [str(harness.BENCH), "journal", f"{path}/state{turn}", str(COUNT)]
            ours.append(json.loads(harness.Measured(words, limit=600).text))
            alone.append(plain(path / f"alone{turn}.sqlite", COUNT, 1))
            together.append(plain(path / f"together{turn}.sqlite", COUNT * 10, 512))
    mine = {name: statistics.median(figures[name] for figures in ours) for name in ours[0]}
    latency, worst, rate = (statistics.median(figures) for figures in zip(*alone))
    rate512 = statistics.median(figures[2] for figures in together)
    rows.add("a task accepted and durable, median (µs), against plain SQLite", f"{mine['median']:.0f}",
             f"{latency:.0f}", f"{mine['median'] / latency:.2f}", "", None)
    rows.add("the same, p99 (µs)", f"{mine['p99']:.0f}", f"{worst:.0f}", f"{mine['p99'] / worst:.2f}", "", None)
    rows.add("tasks accepted one after the other (per second)", f"{mine['perSecond']:.0f}", f"{rate:.0f}",
             f"{mine['perSecond'] / rate:.2f}", "", None)
    rows.add("tasks accepted many at a time (per second), against 512 rows a transaction",
             f"{mine['togetherPerSecond']:.0f}", f"{rate512:.0f}", f"{mine['togetherPerSecond'] / rate512:.2f}", "",
             None)
    rows.note("tasks that shared a transaction then, on average", f"{mine['togetherPerCommit']:.0f}")


def plain(path, count, batch):
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
                             ((f"{first + row:036}", first, TEXT) for row in range(batch)))
        database.execute("COMMIT")
        times.append(time.perf_counter() - began)
    elapsed = time.perf_counter() - start
    database.close()
    times.sort()
    return times[len(times) // 2] * 1e6, times[len(times) * 99 // 100] * 1e6, count / elapsed
