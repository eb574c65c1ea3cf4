"""A list of small URLs with `fetch`, beside `curl --parallel`: both read the list and run from start to end.

`fetch` discards the bodies; curl writes them to its standard output, because it would open a file for each.

What the list costs in memory is seen between a short one and a long one.
"""

import statistics
import subprocess

import harness

FEW, MANY, IN_FLIGHT, ROUNDS = 10_000, 100_000, 64, 3
LISTEN = "127.0.0.1:19848"


def run(rows):
    with harness.folder() as path, harness.nginx(path, LISTEN):
        lists = {count: write_lists(path, count) for count in (FEW, MANY)}
        results = {name: {FEW: [], MANY: []} for name in ("ours", "peer")}
        for _ in range(ROUNDS):
            for count in (FEW, MANY):
                urls, configuration = lists[count]
                results["ours"][count].append(transfer(
                    [str(harness.TIDEGATE), "fetch", "--quiet", "--discard", "--parallel", str(IN_FLIGHT),
                     "--input-file", str(urls)]))
                results["peer"][count].append(transfer(
                    ["curl", "--silent", "--no-progress-meter", "--parallel", "--parallel-max", str(IN_FLIGHT),
                     "--config", str(configuration)]))
    mine, theirs = (summary(results[name]) for name in ("ours", "peer"))
    ratio = mine["rate"] / theirs["rate"]
    rows.add(f"{MANY:,} URLs with fetch (per second), against curl --parallel", f"{mine['rate']:.0f}",
             f"{theirs['rate']:.0f}", f"{ratio:.2f}", ">= 1.3", ratio >= 1.3)
    rows.add("CPU of each (µs)", f"{mine['cpu']:.1f}", f"{theirs['cpu']:.1f}", f"{mine['cpu'] / theirs['cpu']:.2f}",
             "", None)
    grown = mine[MANY] / mine[FEW]
    rows.add(f"peak memory at {FEW:,} and at {MANY:,} URLs (MiB)", f"{mine[FEW]:.1f}, {mine[MANY]:.1f}",
             f"{theirs[FEW]:.1f}, {theirs[MANY]:.1f}", f"{grown:.2f} of itself", "<= 1.05", grown <= 1.05)


def write_lists(path, count):
    urls, configuration = path / f"urls{count}", path / f"curl{count}"
    each = [f"http://{LISTEN}/small?{number}" for number in range(count)]
    urls.write_text("\n".join(each) + "\n")
    configuration.write_text("".join(f'url = "{url}"\n' for url in each))
    return urls, configuration


def transfer(words):
    measured = harness.Measured(words, output=subprocess.DEVNULL)
    if measured.status != 0:
        raise RuntimeError(f"{words[0]} ended with {measured.status}")
    return measured


def summary(runs):
    result = {count: statistics.median(one.peak for one in runs[count]) / 1024 for count in (FEW, MANY)}
    result["rate"] = MANY / statistics.median(one.seconds for one in runs[MANY])
    result["cpu"] = statistics.median(one.cpu for one in runs[MANY]) / MANY * 1e6
    return result
