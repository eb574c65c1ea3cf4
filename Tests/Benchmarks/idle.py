"""Memory of the idle sidecar (stripped), against blackbox_exporter; how long `status`, `--version` and a start take."""

import shutil
import statistics
import subprocess
import time
import urllib.request

import harness

LISTEN, PEER = "127.0.0.1:19843", "127.0.0.1:19115"


def answers(listen):
    def ask():
        try:
            return urllib.request.urlopen(f"http://{listen}/metrics", timeout=1).status == 200
        except OSError:
            return False
    return ask


def run(rows):
    with harness.folder() as path:
        binary = path / "tidegate"
        shutil.copy(harness.TIDEGATE, binary)
        harness.call("strip", str(binary))
        (path / "blackbox.yml").write_text("modules: {http_2xx: {prober: http}}\n")
        with harness.running([str(binary), "serve", "--web.listen-address", LISTEN,
                          "--state.dir", f"{path}/state", "--control.socket", f"{path}/control.sock"], ready=answers(LISTEN)) as ours, \
                harness.running(["prometheus-blackbox-exporter", f"--config.file={path}/blackbox.yml",
                             f"--web.listen-address={PEER}"], ready=answers(PEER)) as peer:
            for _ in range(20):
                answers(LISTEN)()
                answers(PEER)()
                time.sleep(0.5)
            for listen in (LISTEN, PEER):
                urllib.request.urlopen(f"http://{listen}/", timeout=5).read()
            dirty, peerDirty = harness.dirty_memory(ours.pid), harness.dirty_memory(peer.pid)
            resident, peerResident = harness.memory(ours.pid)[0], harness.memory(peer.pid)[0]
        rows.add("idle dirty private memory (MiB), against blackbox_exporter", f"{dirty:.1f}", f"{peerDirty:.1f}",
                 f"{dirty / peerDirty:.2f}", "<= 6 MiB", dirty <= 6)
        rows.add("idle resident memory, files' pages included (MiB)", f"{resident:.1f}", f"{peerResident:.1f}",
                 f"{resident / peerResident:.2f}", "", True)
        version, peer = (statistics.median(wall(words) for _ in range(41))
                         for words in ([str(binary), "--version"], ["curl", "--version"]))
        rows.add("--version, wall time (ms), against curl's", f"{version:.1f}", f"{peer:.1f}", f"{version / peer:.2f}",
                 "<= 8 ms", version <= 8)
        start = statistics.median(first_verdict(binary, path) for _ in range(11))
        rows.add("serve: from the start to the first verdict (ms)", f"{start:.1f}", "", "", "<= 60 ms", start <= 60)
        ours = [wall([str(binary), "status"]) for _ in range(21)]
        peer = [wall(["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do ip route get 1.1.1.1; done"]) for _ in range(21)]
        mine, theirs = statistics.median(ours), statistics.median(peer)
        rows.add("status, wall time (ms), against ip route get x8", f"{mine:.1f}", f"{theirs:.1f}",
                 f"{mine / theirs:.2f}", "<= 20 ms", mine <= 20)


def first_verdict(binary, path):
    """Milliseconds until the sidecar logs its first verdict."""
    start = time.monotonic()
    process = subprocess.Popen([str(binary), "serve", "--web.listen-address", LISTEN, "--state.dir", f"{path}/state",
                                "--control.socket", f"{path}/control.sock"], stderr=subprocess.PIPE, text=True)
    try:
        next(line for line in process.stderr if 'msg="path changed"' in line)
        return (time.monotonic() - start) * 1000
    finally:
        process.terminate()
        process.communicate(timeout=15)


def wall(words):
    start = time.monotonic()
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.monotonic() - start) * 1000
