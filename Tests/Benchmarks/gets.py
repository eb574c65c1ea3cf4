"""Small GETs over kept-alive connections, 64 in flight, events and metrics on.

Both are measured within a process that has made requests before; what whole programs cost is measured in `fetch`.
"""

import json
import statistics

import harness

COUNT, IN_FLIGHT, ROUNDS = 60_000, 64, 5
LISTEN = "127.0.0.1:19841"


def run(rows):
    with harness.folder() as path, harness.nginx(path, LISTEN):
        loop = harness.compile_c("curl_loop.c", path, "-lcurl")
        url = f"http://{LISTEN}/small"
        ours, peer = [], []
        for _ in range(ROUNDS):
            ours.append(json.loads(harness.Measured([str(harness.BENCH), "gets", url, str(COUNT), str(IN_FLIGHT)]).text))
            warm_up = str(IN_FLIGHT * 10)
            peer.append(json.loads(harness.Measured([str(loop), url, str(COUNT), str(IN_FLIGHT), warm_up]).text))
    mine = {key: statistics.median(one[key] for one in ours) for key in ("perSecond", "cpuMicroseconds")}
    theirs = {key: statistics.median(one[key] for one in peer) for key in ("perSecond", "cpuMicroseconds")}
    rate = mine["perSecond"] / theirs["perSecond"]
    cpu = mine["cpuMicroseconds"] / theirs["cpuMicroseconds"]
    rows.add("GETs/s, 64 in flight, against the C loop", f"{mine['perSecond']:.0f}", f"{theirs['perSecond']:.0f}",
             f"{rate:.2f}", ">= 0.90", rate >= 0.90)
    rows.add("CPU per GET (µs), against the C loop", f"{mine['cpuMicroseconds']:.1f}",
             f"{theirs['cpuMicroseconds']:.1f}", f"{cpu:.2f}", "<= 1.15", cpu <= 1.15)
