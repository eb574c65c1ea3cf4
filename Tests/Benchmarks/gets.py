"""Small GETs over kept-alive connections, 64 in flight, events and metrics on."""

import json
import statistics

import harness

COUNT, IN_FLIGHT, ROUNDS = 60_000, 64, 5
LISTEN = "127.0.0.1:19841"


def run(rows):
    with harness.folder() as path, harness.nginx(path, LISTEN):
        loop = harness.compile_c("curl_loop.c", path, "-lcurl")
        url = f"http://{LISTEN}/small"
        # curl reads every URL from its configuration; fewer of them, because it starts a connection cache scan for each.
        urls = path / "urls"
        urls.write_text(f'url = "{url}"\noutput = /dev/null\n' * (COUNT // 6))
        ours, peer, tool = [], [], []
        for _ in range(ROUNDS):
            ours.append(json.loads(harness.Measured([str(harness.BENCH), "gets", url, str(COUNT), str(IN_FLIGHT)]).text))
            peer.append(json.loads(harness.Measured([str(loop), url, str(COUNT), str(IN_FLIGHT)]).text))
            curl = harness.Measured(["curl", "-s", "--parallel", "--parallel-max", str(IN_FLIGHT), "-K", str(urls)])
            tool.append(COUNT // 6 / curl.seconds)
    mine = {key: statistics.median(one[key] for one in ours) for key in ("perSecond", "cpuMicroseconds")}
    theirs = {key: statistics.median(one[key] for one in peer) for key in ("perSecond", "cpuMicroseconds")}
    curl = statistics.median(tool)
    rate = mine["perSecond"] / theirs["perSecond"]
    cpu = mine["cpuMicroseconds"] / theirs["cpuMicroseconds"]
    rows.add("GETs/s, 64 in flight, against the C loop", f"{mine['perSecond']:.0f}", f"{theirs['perSecond']:.0f}",
             f"{rate:.2f}", ">= 0.90", rate >= 0.90)
    rows.add("CPU per GET (µs), against the C loop", f"{mine['cpuMicroseconds']:.1f}",
             f"{theirs['cpuMicroseconds']:.1f}", f"{cpu:.2f}", "<= 1.15", cpu <= 1.15)
    rows.add("GETs/s, against curl --parallel", f"{mine['perSecond']:.0f}", f"{curl:.0f}",
             f"{mine['perSecond'] / curl:.2f}", ">= 1.5", mine["perSecond"] / curl >= 1.5)
