#!/usr/bin/env python3
"""How often Tidegate's answer is right: broken networks, what is asked in them, and the marks. README.md has more.

  exam.py [NAME ...]            explain is asked in every scenario with NAME in its name, or in those of `kind:NAME`
  exam.py --sidecar [NAME ...]  a sidecar too, at +3, +10, +25 and +60 s and after recovery
  exam.py --record [NAME ...]   both; recorded.jsonl and docs/accuracy.md are written: `make exam`
  exam.py --test [NAME ...]     explain, and some sidecars without times, against recorded.jsonl;
                                with --record they are written instead

As root. Everything happens in namespaces that end with this program. TIDEGATE names the binary (.build/debug/tidegate).
"""
import argparse, importlib, json, os, shutil, signal, subprocess, sys, time, traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import questions, record, watch  # noqa: E402
from faults import reaches  # noqa: E402
from lab import LIBC, Lab, LabError, until  # noqa: E402
from questions import MARKS, SCENARIOS, result  # noqa: E402

FOLDER = "/mnt/exam"  # of a file system of its own, which ends with this program
LIMITS = {"explain": 400, "order": 600, "follow": 600}
CERTIFICATES = """
printf '[ca]\\ndefault_ca=d\\n[d]\\ndir=.\\nnew_certs_dir=.\\ndatabase=index\\nserial=serial\\ndefault_md=sha256
policy=p
unique_subject=no\\ncopy_extensions=copy\\nrand_serial=yes\\n[p]\\ncommonName=supplied\\n' > ca.cnf; : > index
own() { openssl req -x509 -newkey rsa:2048 -nodes -keyout $1.key -out $1.crt -days 30 -subj "/CN=$2"; }
day() { date -u -d "$1 days" +%Y%m%d%H%M%SZ; }
sign() {
  openssl req -newkey rsa:2048 -nodes -keyout $1.key -out $1.csr -subj "/CN=web.exam.test" \\
    -addext "subjectAltName=DNS:$5,IP:203.0.113.10,IP:203.0.113.24"
  openssl ca -batch -config ca.cnf -cert $2.crt -keyfile $2.key -in $1.csr -out $1.crt -notext -startdate $(day $3) \\
    -enddate $(day $4)
}
own authority "Exam Authority"; own stranger "A Stranger"; own selfsigned selfsigned.exam.test
sign good authority -5 60 '*.exam.test'; sign expired authority -90 -3 '*.exam.test'
sign wrong authority -5 60 other.exam.test; sign strange stranger -5 60 '*.exam.test'
mkdir added; cp authority.crt added/example-corp.crt; cp authority.crt authority.pem
for n in good expired wrong strange selfsigned; do cat $n.key $n.crt > $n.pem; done; chmod -R a+rX ."""

def load():
    """One file a kind; each registers its scenarios. Then the twins, which are made from the others."""
    for file in sorted(os.listdir(HERE + "/scenarios")):
        if file.endswith(".py"): importlib.import_module("scenarios." + file[:-3])
    importlib.import_module("twins")

def isolate():
    """Starts this program again in mount and process namespaces of its own: what it makes cannot outlive it."""
    if os.environ.get("TIDEGATE_EXAM") != str(os.getppid()):
        os.environ["TIDEGATE_EXAM"] = "0"  # the parent, in the new process namespace
        own = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        # It ends with this process, whatever ends this one (PR_SET_PDEATHSIG), and all others end with it.
        process = subprocess.Popen(["unshare", *own, sys.executable, *sys.argv], preexec_fn=lambda: LIBC.prctl(1, 9))
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(number, lambda *_: process.kill())
        sys.exit(process.wait() % 256)
    os.makedirs("/run/netns", exist_ok=True)
    for folder in ("/run/netns", "/mnt"): subprocess.run(["mount", "-t", "tmpfs", "exam", folder], check=True)
    os.makedirs(FOLDER + "/ca", mode=0o755)

def examine(scenario, mode, number, options):
    """The marks of one scenario, in a network of its own."""
    lab = Lab(f"e{number}", f"{FOLDER}/{number}", FOLDER + "/ca")
    lab.tidegate = options.tidegate
    try:
        scenario.network(lab)
        if scenario.before:
            until(lambda: reaches(lab, scenario.before, 2), f"{scenario.before} does not work before the fault")
        if mode != "explain": return (watch.follow if mode == "follow" else watch.order)(lab, scenario)
        for fault in scenario.faults: lab.begin(fault)
        return questions.explain_all(lab, scenario, timed=not options.test)
    except LabError as error: return [result("lab error", str(error), mode)]
    except Exception: return [result("lab error", traceback.format_exc()[-600:], mode)]
    finally: lab.down()

class Job:
    """One scenario in a process of its own, so that nothing of it can outlive it."""
    count = 0
    def __init__(self, scenario, mode, options):
        Job.count += 1
        self.scenario, self.mode, self.number = scenario, mode, Job.count
        self.path, self.end = f"{FOLDER}/{self.number}.json", time.monotonic() + LIMITS[mode]
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setpgid(0, 0)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                rows = examine(scenario, mode, self.number, options)
                with open(self.path + ".new", "w") as file: json.dump(rows, file)
                os.rename(self.path + ".new", self.path)
            finally: os._exit(0)

    def is_over(self):
        is_late = time.monotonic() > self.end
        if is_late: os.killpg(self.pid, signal.SIGKILL)
        return os.waitpid(self.pid, 0 if is_late else os.WNOHANG)[0] != 0

    def rows(self):
        for name in os.listdir("/run/netns"):
            if name.startswith(f"e{self.number}-"): subprocess.run(["ip", "netns", "del", name], check=False)
        shutil.rmtree(f"{FOLDER}/{self.number}", ignore_errors=True)
        if not os.path.exists(self.path): return [result("lab error", f"no end after {LIMITS[self.mode]} s", self.mode)]
        with open(self.path) as file: return json.load(file)

def worst(rows): return max(rows, key=lambda r: MARKS.index(r["mark"]))

def run(jobs, options):
    """Every job, some at a time: {(mode, name): rows}."""
    running, found = [], {}
    while jobs or running:
        while jobs and len(running) < options.at_a_time: running.append(Job(*jobs.pop(0), options))
        for job in [j for j in running if j.is_over()]:
            running.remove(job)
            rows = found[job.mode, job.scenario.name] = job.rows()
            bad, how = worst(rows), "" if job.mode == "explain" else f" [{job.mode}]"
            why = f" — {bad['why']} [{bad.get('moment') or bad['question']}]" if bad["mark"] != "right" else ""
            print(f"{bad['mark']:10} {job.scenario.kind}: {job.scenario.name}{how}: {bad['said'].strip()}{why}",
                flush=True)
            for row in rows if options.verbose else (): print("           " + json.dumps(row, ensure_ascii=False))
        time.sleep(0.05)
    return found

def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("-v", "--verbose", action="store_true", help="every answer")
    parser.add_argument("-n", "--at-a-time", type=int, default=4)
    for option in ("--list", "--sidecar", "--record", "--test"): parser.add_argument(option, action="store_true")
    options = parser.parse_args()
    load()
    chosen = [s for s in SCENARIOS.values() if not options.names or any(
        s.kind == n[5:] if n.startswith("kind:") else n in s.name for n in options.names)]
    if options.list: return print("\n".join(f"{s.kind:11}{'*' if s.test else ' '} {s.name}" for s in chosen))
    options.tidegate = os.path.abspath(os.environ.get("TIDEGATE") or ROOT + "/.build/debug/tidegate")
    if not os.access(options.tidegate, os.X_OK):
        sys.exit(f"no program at {options.tidegate}: build it, or set TIDEGATE")
    if os.geteuid(): sys.exit("as root: the networks are namespaces")
    isolate()
    subprocess.run(["bash", "-ec", CERTIFICATES], check=True, capture_output=True, cwd=FOLDER + "/ca")
    absent = {s.name: [n for n in s.needs if not shutil.which(n)] for s in chosen}
    able = [s for s in chosen if not absent[s.name]]
    watched = [s for s in able if watch.can_watch(s)]
    jobs = [(s, "follow") for s in watched if options.sidecar or (options.record and not options.test)]
    jobs += [(s, "order") for s in watched if s.test and (options.test or options.record)] + [(s, "explain") for s in
        able]
    found = run(jobs, options)
    marks = [worst(rows)["mark"] for rows in found.values()]
    for name, programs in absent.items():
        if programs: print(f"skipped    {name}: needs {', '.join(programs)}")
    print(", ".join(f"{marks.count(mark)} {mark}" for mark in MARKS) + f" of {len(marks)}")
    if options.record: record.write(ROOT, list(SCENARIOS.values()), found)
    is_bad = "lab error" in marks or (len(able) < len(chosen) and os.environ.get("CI"))
    return 1 if is_bad or options.test and not options.record and record.worse(found) else 0

if __name__ == "__main__": sys.exit(main())
