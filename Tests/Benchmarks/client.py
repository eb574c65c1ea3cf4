"""The HTTP client's parts beside those that programs would use without it: queries, JSON, forms, trust and records.

Instructions or CPU time are compared and not elapsed time, since a busy machine changes them less.
"""

import json
import pathlib
import statistics
import subprocess
import sys

import harness
import instructions

ROUNDS = 5


def query(rows):
    """A query of many parameters beside Foundation's URLComponents, which gets them sorted."""
    count = 10_000
    ours, peer = (json.loads(harness.Measured([str(harness.BENCH), "query", codec, str(count), "1"]).text)["result"]
                  for codec in ("tidegate", "foundation"))
    if ours != peer:
        raise RuntimeError("the queries differ")
    compare(rows, f"instructions per parameter of {count:,} in a query, against URLComponents", "query", count, (2, 12), 1.0)


def read_json(rows):
    """The serializer of `get(as:)` beside JSONDecoder alone."""
    compare(rows, "instructions of a JSON body with one object, against JSONDecoder alone", "json", 1, (500, 4500), None)
    compare(rows, "instructions per object of 10,000 in JSON, against JSONDecoder alone", "json", 10_000, (1, 4), 1.05)


def compare(rows, what, verb, count, rounds, goal):
    """Instructions, which a busy machine changes least; starting, and what is prepared, cancel out."""
    with harness.folder() as path:
        bench = instructions.stripped(path)

        def counted(codec):
            few, many = (instructions.summary(path, bench, verb, codec, count, number) for number in rounds)
            return (many - few) / (rounds[1] - rounds[0]) / count

        ours, peer = counted("tidegate"), counted("foundation")
    ratio = ours / peer
    rows.add(what, f"{ours:.0f}", f"{peer:.0f}", f"{ratio:.2f}", f"<= {goal:.2f}" if goal else "", goal and ratio <= goal)


def multipart(rows):
    """Forms beside libcurl's mime; the file has no blocks on disk."""
    port = "19846"
    url = f"http://127.0.0.1:{port}/"
    with harness.folder() as path, harness.running([sys.executable, harness.HERE / "sink.py", port],
                                                   ready=lambda: harness.status(["curl", "-s", "-d", "x", url]) == 0):
        loop = harness.compile_c("curl_upload.c", path, "-lcurl")
        file = path / "file"
        for fields, mebibytes in ((20_000, 1), (1, 256)):
            sparse(file, mebibytes)
            ours, peer = medians([harness.BENCH, "upload", url, file, fields], [loop, url, file, fields])
            add(rows, f"form with {fields:,} fields and {mebibytes} MiB, CPU (ms), against curl's mime", ours, peer, 1.15)
        peaks = {}
        for mebibytes in (1, 100, 1024):
            sparse(file, mebibytes)
            taken = [harness.Measured([str(word) for word in (program, *words)], subprocess.DEVNULL).peak / 1024
                     for program, words in ((harness.BENCH, ("upload", url, file, 1)), (loop, (url, file, 1)))]
            peaks[mebibytes] = taken
        first, last = peaks[1], peaks[1024]
        rows.add("peak memory of a form of 1, 100 and 1,024 MiB (MiB)",
                 ", ".join(f"{peak[0]:.1f}" for peak in peaks.values()),
                 ", ".join(f"{peak[1]:.1f}" for peak in peaks.values()),
                 f"{last[0] / first[0]:.2f} of itself", "<= 1.10", last[0] / first[0] <= 1.10)


def handshakes(rows):
    """Fresh TLS connections, each for one request, with and without a pin of the server's key."""
    listen = "127.0.0.1:19847"
    with harness.folder() as path:
        pin = certificates(path)
        server = (f"ssl_certificate {path}/server.pem; ssl_certificate_key {path}/server.key; keepalive_timeout 0; "
                  "ssl_session_cache off; ssl_session_tickets off;")
        with harness.nginx(path, f"{listen} ssl", more=server):
            loop = harness.compile_c("curl_loop.c", path, "-lcurl")
            url, count, in_flight, ca = f"https://{listen}/small", 2000, 8, path / "ca.pem"
            for pins in ([], [pin]):
                ours, peer = medians([harness.BENCH, "handshakes", url, count, in_flight, ca, *pins],
                                     [loop, url, count, in_flight, in_flight * 10, ca, *pins])
                what = "with a pin" if pins else "without pins"
                rate = ours["perSecond"] / peer["perSecond"]
                rows.add(f"TLS handshakes/s {what}, against the C loop", f"{ours['perSecond']:.0f}",
                         f"{peer['perSecond']:.0f}", f"{rate:.2f}", "", False)
                add(rows, f"CPU per TLS handshake {what} (ms)", ours, peer, 1.15)


def exchanges(rows):
    """Small GETs whose exchanges are recorded beside the same whose are not, in instructions."""
    listen = "127.0.0.1:19848"
    with harness.folder() as path, harness.nginx(path, listen):
        command = [instructions.stripped(path), "gets", f"http://{listen}/small"]
        plain = instructions.per_request(path, command)
        recorded = instructions.per_request(path, command, "recording")
    ratio = recorded / plain
    rows.add("instructions per GET that is recorded, against one that is not", f"{recorded:.0f}", f"{plain:.0f}",
             f"{ratio:.2f}", "<= 1.05", ratio <= 1.05)


def medians(*commands):
    """The median of each figure that the commands print, run in turns."""
    results = [[] for _ in commands]
    for _ in range(ROUNDS):
        for place, command in enumerate(commands):
            run = harness.Measured([str(word) for word in command])
            if run.status != 0:
                raise RuntimeError(f"{pathlib.Path(command[0]).name} ended with {run.status}")
            results[place].append(json.loads(run.text))
    return [{key: statistics.median(one[key] for one in result) for key in result[0] if key != "client"}
            for result in results]


def add(rows, what, ours, peer, goal):
    ratio = ours["cpuMicroseconds"] / peer["cpuMicroseconds"]
    rows.add(what, f"{ours['cpuMicroseconds'] / 1000:.3f}", f"{peer['cpuMicroseconds'] / 1000:.3f}", f"{ratio:.2f}",
             f"<= {goal:.2f}", ratio <= goal)


def sparse(file, mebibytes):
    with open(file, "wb") as opened:
        opened.truncate(mebibytes << 20)


def certificates(path):
    """An authority, and a server's certificate for 127.0.0.1; gives the pin of the server's key."""
    def openssl(*words, **options):
        return subprocess.run(["openssl", *map(str, words)], check=True, cwd=path,
                                      stderr=subprocess.DEVNULL, **options)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    openssl("req", "-x509", *key, "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
    openssl("req", "-x509", *key, "-subj", "/CN=server", "-addext", "subjectAltName=IP:127.0.0.1", "-CA", "ca.pem",
            "-CAkey", "ca.key", "-addext", "basicConstraints=critical,CA:FALSE", "-keyout", "server.key",
            "-out", "server.pem")
    public = openssl("x509", "-in", "server.pem", "-pubkey", "-noout", stdout=subprocess.PIPE).stdout
    der = openssl("pkey", "-pubin", "-outform", "der", input=public, stdout=subprocess.PIPE).stdout
    digest = openssl("dgst", "-sha256", "-binary", input=der, stdout=subprocess.PIPE).stdout
    return "sha256//" + subprocess.run(["base64"], input=digest, check=True,
                                               stdout=subprocess.PIPE).stdout.decode().strip()
