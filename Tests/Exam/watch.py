"""What a sidecar says while a network breaks: page, status, targets, guard, metrics, incidents, log, and commands."""
import html, json, os, re, shlex, subprocess, time, zlib
from faults import truths
from questions import MARKS, PARTIES, Ask, Asked, command, result

# Each pair of values of two columns is in a row: targets, internet check, families, user of the sidecar.
TABLE = [(targets, ("off", "on")[(i + j) % 2], families, (65534, 65533)[(i // 2 + j) % 2])
         for i, targets in enumerate(("none", "one", "two", "four")) for j, families in enumerate(("both", "4", "6"))]
LEVELS, NO_WAY = ("unknown", "none", "local", "portal", "limited", "routed", "online"), ("none", "local")
OWN, RIGHT = ("mine", "gateway", "upstream", "resolver"), ("right", "")
ROUTES = {"status": "/api/v1/status", "targets": "/api/v1/targets", "guard": "/api/v1/guard", "metrics": "/metrics",
          "incidents": "/api/v1/incidents", "page": "/"}
MOMENTS = (3, 10, 25, 60)

def can_watch(scenario):
    """A sidecar has no hand that changes the network just before a question."""
    return bool(scenario.watch) and not any(a.warm or a.meanwhile for a in scenario.asks if isinstance(a, Ask))

class Reading(dict):
    """What all routes say at one moment."""
    def __init__(self, lab):
        urls = [f"http://127.0.0.1:9843{path}" for path in ROUTES.values()]
        out = lab.read(lab.client, ["curl", "-gs", "-m", "8", "-w", "\x1e%{http_code}\x1f", *urls])
        for name, part in zip(ROUTES, out.split("\x1f")):
            text, _, code = part.rpartition("\x1e")
            self[name] = text if name in ("page", "metrics") else code if name == "guard" else json.loads(text)
        page = self["page"]
        headline = re.search(r"<h1>(.*?)</h1>|$", page, re.S)[1] or ""
        self.headline = html.unescape(re.sub(r"<[^>]*>", "", headline)).strip()
        self.detail = html.unescape(re.sub(r"<[^>]*>", "", re.search(r"</h1>(.*?)<dl>|$", page, re.S)[1] or ""))
        self.level, self.diagnosis = self["status"]["level"], self["status"].get("diagnosis") or {}
        self.is_checking = self.diagnosis.get("state") == "checking"
        is_broken = self.diagnosis.get("conclusion") == "broken"
        self.verdict = (self.diagnosis.get("party") or "unknown") if is_broken else "works"
        self.targets = {t["name"]: t for t in self["targets"]["targets"]}
        self.open = [i for i in self["incidents"]["incidents"] if not i["end"] and i["kind"] != "degraded"]

    def series(self, pattern):
        return [(m[1], float(m[2])) for m in re.finditer(rf"^tidegate_{pattern} (\S+)$", self["metrics"], re.M)]

    def charged(self):
        """How many scheduled requests have failed, and how many of them are charged to each party."""
        failed, found = sum(n for _, n in self.series(r'task_completions_total\{.*outcome="(failure)".*\}')), {}
        for party, n in self.series(r'task_failures_total\{.*party="(\w+)".*\}'): found[party] = found.get(party, 0) + n
        return failed, found

class Watch:
    """A sidecar at the client, with the targets of its setting, beside a program that makes two requests each 3 s."""
    def __init__(self, lab, scenario):
        self.lab, self.scenario, self.host = lab, scenario, scenario.host
        row = TABLE[zlib.crc32(scenario.name.encode()) % len(TABLE)]
        self.setting = {**dict(zip(("targets", "internet", "families", "user"), row)), **scenario.settings}
        self.knows = not isinstance(scenario.watch, str)  # as much as `explain`
        self.right = self.host.right if self.knows else scenario.watch.split()
        self.expected, self.truth, self.before, self.since, self.charged = {}, {}, None, {}, {}
        for one in scenario.asks:
            for target in one.targets if isinstance(one, Ask) and not set(one.args) - {"-4"} else ():
                if target and re.search("[:/]", target): self.expected[target.format(**lab.notes)] = one.right
        self.urls = self.choose()

    def choose(self):
        """The targets of the questions come first; others have to work before the fault."""
        asked, how = [self.of_family(t) for t in list(self.expected)], self.setting["targets"]
        self.first = (asked or [self.of_family("http://web.exam.test/")])[0]
        host = re.sub(r":\d+$", "", re.sub(r"^\w+://([^/]*).*", r"\1", self.first))
        second = f"{host}:80" if re.search("443|https", self.first) else f"{host}:443"
        more = [self.of_family(f"http://{name}.exam.test/") for name in ("far", "two")]
        chosen = {"none": [], "one": [self.first], "two": [self.first, second], "asked": asked,
                  "four": [self.first, second, *more]}[how]
        works = truths(self.lab, chosen[1:], 2)()
        return [t for t in dict.fromkeys(chosen) if t == self.first or how == "asked" or works[t]]

    def of_family(self, target):
        family = self.setting["families"] if self.lab.families == "46" else "both"
        names = {"4": {"web": "four", "far": "far4"}, "6": {"web": "six", "two": "six2"}}.get(family, {})
        changed = re.sub(r"(\w+)(\.exam\.test/)$", lambda m: names.get(m[1], m[1]) + m[2], target)
        if target in self.expected: self.expected.setdefault(changed, self.expected[target])
        return changed

    def start(self):
        lab, user = self.lab, self.setting["user"]
        entries, probe = [], self.first if "://" in self.first else f"http://{self.first}/"
        for n, url in enumerate(self.urls):
            host, _, port = url.rpartition(":")
            where = f'url: "{url}"' if "://" in url else f'host: "{host.strip("[]")}", port: {port}'
            entries.append(f"{{name: t{n}, {where}}}")
        check = f"http://{'far4' if self.setting['families'] == '4' else 'far'}.exam.test/generate_204"
        check = f"{{enabled: {str(self.setting['internet'] == 'on').lower()}, urls: [\"{check}\"], interval: 10s}}"
        task = f'{{name: t, url: "{probe}", every: 1s, jitter: 0%, timeout: 2s, retry: {{attempts: 1}}}}'
        text = f"reachability: {{targets: [{', '.join(entries)}], internet_check: {check}}}\ntasks: [{task}]\n"
        config, self.state = lab.file(text, "tidegate.yml"), f"{lab.folder}/state"
        os.mkdir(self.state)
        os.chown(self.state, user, user)
        self.socket, self.log = f"{self.state}/c.sock", open(f"{lab.folder}/log", "w+")
        words = ["serve", "--config.file", config, "--state.dir", self.state, "--control.socket", self.socket]
        sidecar = command(lab, words, user, added=True)
        curl = f"curl -gs -m 2 -o /dev/null {shlex.quote(probe)} &"
        program = command(lab, [])[:-1] + ["sh", "-c", f"while :; do {curl} {curl} sleep 3; done"]
        lab.processes += [subprocess.Popen(w, stdout=self.log, stderr=self.log) for w in (sidecar, program)]
        self.began = time.monotonic()

    def log_text(self):
        self.log.seek(0)
        return self.log.read()

    def read(self):
        """A reading, or None if the sidecar is not there yet or hangs."""
        try: return Reading(self.lab)
        except Exception as error: self.unread = f"it does not answer: {str(error)[:80]} {self.log_text()[-200:]}"

    # Marking
    def mark(self, is_early=False, is_over=False, incidents=False):
        """(mark, why, what it said) of one moment; what is not right has to last for half a second."""
        for n in range(2):
            reading = self.read()
            if not reading: return "unhelpful", self.unread, ""
            mark, why = self.mark_reading(reading, is_early, ["works"] if is_over else self.right, is_over)
            if mark == "right" and incidents: mark, why = self.mark_incidents(reading, is_over)
            if mark == "right" or n: return mark, why, reading.headline
            time.sleep(0.5)

    def mark_reading(self, r, is_early, right, is_over):
        d, verdict = r.diagnosis, r.verdict
        if is_early and (r.is_checking or verdict == "works"): return RIGHT
        if not is_early and (bad := self.contradiction(r)): return "wrong", bad
        if r.is_checking and verdict not in right: return "unhelpful", "still checking"
        if verdict not in right:
            mark = "unhelpful" if verdict == "unknown" else "wrong"
            return mark, f"{PARTIES[right[0]]} is right, not {PARTIES[verdict]}"
        if is_early: return RIGHT
        # Without an internet check a sidecar asks in no network that could show what else is broken.
        is_sound = verdict == "works" and self.setting["internet"] == "off"
        for words in () if is_over or is_sound else self.host.says:
            if not re.search(words, r.headline + r.detail + json.dumps(d), re.I): return "unhelpful", f"lacks /{words}/"
        if verdict not in ("works", "unknown") and (not d.get("advice") or d["advice"] not in r.detail):
            return "unhelpful", "no advice on the page"
        if len(r.headline) > 90: return "unhelpful", "the headline has more than 90 characters"
        marks = [self.mark_target(r, n, url, right, is_over) for n, url in enumerate(self.urls)]
        return max(marks, key=lambda m: MARKS.index(m[0]), default=RIGHT)

    def mark_target(self, r, n, url, right, is_over):
        target, works = r.targets.get(f"t{n}") or {}, (self.before if is_over else self.truth)[url]
        reached, failure = target.get("reached"), target.get("lastFailure") or {}
        if reached is None or (target.get("checkingSince") and reached != works):
            return "unhelpful", f"{url} is still checked"
        # A name that was resolved before has its addresses still.
        if reached != works and not (reached and self.host.rung == "dns"):
            return "wrong", f"{url} {'works' if works else 'does not work'}, and is called the other way round"
        if f'tidegate_target_reachable{{target="t{n}"}} {int(reached)}' not in r["metrics"]:
            return "wrong", f"tidegate_target_reachable contradicts the state of {url}"
        if reached: return RIGHT
        parties, party = right if right != ["works"] else self.expected.get(url), failure["party"]
        if parties and party not in parties:
            return "unhelpful" if party == "unknown" else "wrong", f"{url}: {PARTIES[party]}"
        if self.since.setdefault(url, failure["since"]) != failure["since"]: return "wrong", f"the start of {url} moves"
        alike = {t["lastFailure"]["party"] for t in r.targets.values() if t.get("reached") is False}
        if right == ["works"] and len(alike) == 1 and PARTIES[party] not in r.headline.lower() and not r.is_checking:
            return "unhelpful", f"the headline does not say {PARTIES[party]}"
        return RIGHT

    def mark_incidents(self, r, is_over):
        """One incident for one outage of the way out, and one for each target that fails by itself."""
        failing = sum(t.get("reached") is False for t in r.targets.values())
        wanted = 1 if self.right != ["works"] and not is_over else failing
        bad = [i for i in r.open if self.right != ["works"] and i["party"] not in (*self.right, "unknown", None)]
        if bad: return "wrong", f"an incident of {PARTIES[bad[0]['party']]} ({bad[0]['scope']})"
        shown = [(i["scope"], i["party"]) for i in r.open]
        return RIGHT if len(r.open) == wanted else ("unhelpful", f"open incidents: {shown}, not {wanted}")

    def mark_tasks(self, limit):
        """Every scheduled request that has failed since the fault is charged, and to no innocent party."""
        end, charged = time.monotonic() + limit, {"unknown"}
        while (reading := self.read()) and time.monotonic() < end:
            failed, parties = reading.charged()
            charged = {p for p, n in parties.items() if n > self.charged.get(p, 0)}
            if sum(parties.values()) >= failed: break
            time.sleep(1)
        right = self.right if self.right != ["works"] else self.expected.get(self.first, ["works"])
        if innocent := charged - {*right, "unknown"}: return "wrong", f"requests are charged to {innocent}", ""
        return ("unhelpful", "requests are charged to no party", "") if charged - {*right} else (*RIGHT, "")

    def contradiction(self, r):
        """Two answers of one moment that cannot both hold."""
        d, verdict = r.diagnosis, r.verdict
        if r.is_checking: return None
        outages = [party for party, value in r.series(r'outage\{party="(\w+)"\}') if value]
        if outages != [verdict] * (verdict != "works"): return f"tidegate_outage says {outages}, status {verdict}"
        if verdict != "unknown" and (r["guard"] == "503") != (verdict in OWN):
            return f"guard answers {r['guard']}: {PARTIES[verdict]}"
        for family, ladder in (d.get("families") or {}).items():
            for rung in ladder["rungs"]:
                series = f'tidegate_rung_status{{family="{family}",rung="{rung["rung"]}",status="{rung["status"]}"}} 1'
                if rung["status"] in ("ok", "bad") and series not in r["metrics"]: return f"no {series}"
        if verdict == "works": return f"the level is {r.level}, and it works" if r.level in NO_WAY else None
        if r.level in ("online", "routed"): return f"the level is {r.level}: {PARTIES[verdict]}"
        if r.headline != d["sentence"]: return f"the page says “{r.headline}”, status “{d['sentence']}”"
        if 'class="hero bad' not in r["page"]: return "the page looks good"
        if self.since.setdefault("host", d["since"]) != d["since"]: return f"its start moves to {d['since']}"
        line = ([line for line in self.log_text().splitlines() if "network diagnosed" in line] or [""])[-1]
        return None if f'party="{PARTIES[verdict]}"' in line else f"status says {PARTIES[verdict]}, {line[-160:]}"

    def commands(self):
        """What the commands say beside the sidecar, compared with it: guard, status and explain."""
        ours, about = ["--control.socket", self.socket], self.urls[:1]
        asked = [Asked(self.lab, words, added=True) for words in (
            ["guard", *ours], ["status", "--json", *ours], ["explain", "--json"], ["explain", "--brief"],
            ["explain", "--json", *about])]
        guard, status, explain, brief, of_target = (a.finish() for a in asked)
        r, own, said = self.read(), explain.verdict(), f"explain: {explain.json.get('sentence')}"
        if not r: return "unhelpful", self.unread, ""
        # Another user's sidecar cannot be asked: then guard diagnoses this host, and must not mute an alarm.
        is_bad, is_own = guard.status == 1, r.verdict in OWN
        if r.verdict != "unknown" and (is_bad and not is_own or is_own > is_bad and self.setting["user"] == 65534):
            return "wrong", f"guard ends with {guard.status}: {PARTIES[r.verdict]}", guard.out + guard.errors
        if (status.json.get("level") in NO_WAY) != (r.level in NO_WAY):
            return "wrong", f"status --json says {status.json.get('level')}, the sidecar {r.level}", said
        if self.knows and own not in (None, "unknown", r.verdict) and r.verdict != "unknown":
            return "wrong", f"explain says {PARTIES[own]}, the sidecar {PARTIES[r.verdict]}", said
        if own and (brief.status == 0) != (own == "works"): return "wrong", f"--brief ends with {brief.status}", said
        target, party = r.targets.get("t0") or {}, of_target.verdict()
        if self.knows and target.get("reached") is False and party not in (None, "unknown"):
            failure = target["lastFailure"]
            if failure["party"] not in (party, "unknown"):
                return "wrong", f"{about}: explain says {PARTIES[party]}, the sidecar {PARTIES[failure['party']]}", said
            if failure["party"] == party and r.verdict == "works" and failure["advice"] != of_target.json["advice"]:
                return "wrong", f"{about}: explain advises: {of_target.json['advice']}", failure["advice"]
        return (*RIGHT, said)

    # The life of a row
    def wait_for_health(self, limit):
        """Before the fault everything works, all routes say so, and no level went down for want of a question."""
        self.truth = self.before = truths(self.lab, self.urls, 4)()
        end, last, levels = time.monotonic() + limit, None, {}
        while not last or last[0] != "right" and time.monotonic() < end: last = self.mark(is_over=True)
        self.since = {}
        for line in self.log_text().splitlines():
            if "path changed" in line:
                fields = dict(re.findall(r"(\w+)=(\S+)", line))
                levels.setdefault(fields.get("target") or fields["scope"], []).append(LEVELS.index(fields["to"]))
        broken = {re.sub(r"^\w+://|/.*$", "", url) for url, works in self.before.items() if not works}
        for target in [t for t in levels if t in broken or t.rpartition(":")[0] in broken]: del levels[target]
        if bad := [scope for scope, ranks in levels.items() if ranks != sorted(ranks)]:
            return "wrong", f"at the start the level of {bad} goes down", last[2]
        if last[0] == "right" and (reading := self.read()): self.charged = reading.charged()[1]
        return last

    def begin(self):
        for fault in self.scenario.faults: self.lab.begin(fault)
        self.learn = truths(self.lab, self.urls, 9)
        return time.monotonic()

def row(moment, mark, why, said=""): return {**result(mark, why, "sidecar", said), "moment": moment}

def prepare(lab, scenario, ran_for):
    """A sidecar that is sound, then the fault: the watch and when it began, or None and rows."""
    watch = Watch(lab, scenario)
    if scenario.faults and scenario.before:
        watch.start()
        mark, why, said = watch.wait_for_health(30)
        if mark != "right": return None, [row("start", "wrong", "before the fault: " + why, said)]
        time.sleep(max(0, watch.began + ran_for - time.monotonic()))
        return watch, watch.begin()
    watch.begin(), watch.start()
    while not watch.read():
        if time.monotonic() > watch.began + 20: return None, [row("start", "wrong", watch.unread)]
        time.sleep(0.3)
    return watch, time.monotonic()

def follow(lab, scenario):
    """The row of `make exam`: at its moments, and after recovery."""
    watch, began = prepare(lab, scenario, 30)
    if not watch: return began
    rows = []
    for second in MOMENTS:
        time.sleep(max(0, began + second - time.monotonic()))
        if second == 10: watch.truth = watch.learn()
        rows.append(row(f"+{second}", *watch.mark(is_early=second == 3)))
        if second == 25: rows.append(row("commands", *watch.commands()))
    rows += [row("incidents", *watch.mark(incidents=True)), row("tasks", *watch.mark_tasks(1))]
    return rows + recovery(watch)

def recovery(watch):
    """Everything says that everything works, and no incident is open."""
    if not watch.before or None in watch.lab.undos: return []
    while watch.lab.undos: watch.lab.over()
    end, last = time.monotonic() + 45, None
    while not last or last[0] != "right" and time.monotonic() < end:
        last = watch.mark(is_over=True, incidents=True)
    return [row("recovery", "right" if last[0] == "right" else "unhelpful", *last[1:])]

def order(lab, scenario):
    """The row of `--test`: no innocent party at any time, the right one in the end, and recovery; no times."""
    watch, began = prepare(lab, scenario, 0)
    if not watch: return began
    stays, watch.truth = 0, watch.learn()
    while stays < 3:
        mark, why, said = watch.mark()
        r = watch.read()
        if r and not r.is_checking and r.verdict not in (*watch.right, "unknown", "works"):
            return [row("order", "wrong", f"on the way there: {PARTIES[r.verdict]}", r.headline)]
        stays = stays + 1 if mark == "right" else 0
        if time.monotonic() > began + 75: return [row("order", mark, why, said)]
        time.sleep(1 if watch.right != ["works"] else 3)
    # What fails in silence is charged after 30 s.
    rows = [row("tasks", *watch.mark_tasks(45))] if scenario.test == "tasks" else []
    rows += recovery(watch)
    bad = next((r for r in rows if r["mark"] != "right"), None)
    return [row("order", bad["mark"], f"{bad['moment']}: {bad['why']}", said) if bad else row("order", *RIGHT, said)]
