"""What a scenario is, what is asked in it, and how an answer is marked.

right      a right party is named (or that it works), at the right rung, with the words that help, and with advice
unhelpful  it is not known although it can be, or the right party is named without the words, or with forbidden ones
wrong      an innocent party is named; a working target is called broken, or the other way round; two answers contradict
"""
import functools, json, re, subprocess, time, types

PARTIES = {"mine": "this host", "gateway": "your router", "upstream": "your provider", "resolver": "the resolver",
           "path": "on the way", "theirs": "the server", "unknown": "not known", "works": "works"}
MARKS = ["right", "unhelpful", "wrong", "lab error"]
HOST = None  # the target of a question about this host
URL, NAME4 = "http://web.exam.test/", "http://four.exam.test/"
SCENARIOS = {}
# Words that belong to rows of a kind, and that a plain host must not read.
TWIN_WORDS = {"uplinks": r"\blan2|standby|rp_filter|(other|second|another) uplink", "sizes": r"large packets|MTU",
              "tunnels": r"tunnel|VPN|WireGuard|far end|overlay", "proxies": r"\bproxy"}
# What advice about a party has to mention, whatever its cause is.
ADVICE = {"upstream": "provider|uplink|portal", "resolver": "resol|name server|block list|filter",
          "path": "operator|MTU", "gateway": "gateway|power|firewall", "theirs": r"\w", "mine": r"\w", "unknown": r"\w"}

class Ask(types.SimpleNamespace):
    """Questions with one right answer: `right` lists parties, best first; all of `says`, and nothing of `never`."""
    def innocents(self):
        if self.innocent is not None: return self.innocent.split()
        return [p for p in PARTIES if p != "unknown" and p not in self.right]

class Tool(types.SimpleNamespace):
    """Another command of tidegate: its exit status, what it prints, and how long it takes at least."""

def patterns(says): return (says,) if isinstance(says, str) else says

def ask(*targets, right, says=(), never=None, rung=None, args=(), env=None, warm=None, meanwhile=(), within=10, times=1,
        innocent=None):
    """`warm` is a fault just before; `meanwhile` are faults after seconds, None ends the last; `within`: seconds."""
    return Ask(targets=targets or (HOST,), right=right.split(), says=patterns(says), never=never, rung=rung, args=args,
               env=env or {}, warm=warm, meanwhile=meanwhile, within=within, times=times, innocent=innocent)

def tool(*command, exits=0, says=(), meanwhile=(), at_least=0):
    return Tool(command=command, exits=exits, says=patterns(says), meanwhile=meanwhile, at_least=at_least, warm=None,
        times=1)

def scenario(name, network, *parts, kind, before=URL, needs=(), watch=True, test=False, added=False, settings=None):
    """Data, read as a sentence: a name, a network, faults, and questions. README.md has what the rest means."""
    asks = [p for p in parts if isinstance(p, (Ask, Tool))]
    host = next((a for a in asks if isinstance(a, Ask) and HOST in a.targets and not a.args), None)
    assert name not in SCENARIOS and host, f"{name}: a second scenario, or nothing is asked about this host"
    SCENARIOS[name] = types.SimpleNamespace(
        name=name, kind=kind, network=network, faults=[p for p in parts if p not in asks], asks=asks, host=host,
        before=before, needs=needs, watch=watch, test=test, added=added, settings=settings or {})

def of_kind(kind): return functools.partial(scenario, kind=kind)

# Asking
def command(lab, words, user=65534, env=None, added=False):
    """A command of an unprivileged user of the client, with the lab's files below /etc; `added`: the authority too."""
    script = f"mount --bind {lab.folder}/resolv-{lab.client} /etc/resolv.conf\n" \
             f"mount --bind {lab.folder}/hosts-{lab.client} /etc/hosts\n{lab.prelude}\n"
    if added:
        script += f"mount --bind {lab.certificates}/authority.pem /etc/ssl/certs/ca-certificates.crt\n" \
                  f"mount --bind {lab.certificates}/added /usr/local/share/ca-certificates\n"
    script += f'exec setpriv --reuid {user} --regid {user} --clear-groups env -i PATH="$PATH" "$@"'
    pairs = [f"{k}={v}" for k, v in (env or {}).items()]
    return ["ip", "netns", "exec", lab.space(lab.client), "sh", "-ec", script, "sh", *pairs, lab.tidegate, *words]

class Asked:
    """One program that was started, and what came of it."""

    def __init__(self, lab, words, env=None, added=False):
        self.words, self.began, self.status = words, time.monotonic(), None
        self.process = subprocess.Popen(command(lab, words, env=env, added=added), stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)

    def finish(self):
        if self.status is not None: return self
        try: self.out, self.errors = self.process.communicate(timeout=45)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.out, self.errors = self.process.communicate()
        self.seconds, self.status = time.monotonic() - self.began, self.process.returncode
        try: self.json = json.loads(self.out.strip().splitlines()[-1])
        except (ValueError, IndexError): self.json = {}
        return self

    def verdict(self):
        if self.json.get("conclusion") in ("works", "worksBut"): return "works"
        return (self.json.get("party") or "unknown") if self.json.get("conclusion") else None

def put(lab, scenario, ask):
    """Asks all questions of one `Ask` at the same time: [(target, answer)], the first with a brief answer, too."""
    if ask.warm: lab.begin(ask.warm)
    if isinstance(ask, Tool):
        asked = [(None, Asked(lab, [w.format(**lab.notes) for w in ask.command]))]
    else:
        asked = []
        for n, target in enumerate(ask.targets):
            # A few at a time: more would make the machine slow.
            for a in asked[n - 3][1:] if n > 2 else (): a.finish()
            target = target and target.format(**lab.notes)
            words = ["explain", *([target] if target else []), *ask.args]
            if not scenario.added: words += ["--cacert", lab.certificates + "/authority.pem"]
            how = ("--json",) if n or ask.meanwhile else ("--json", "--brief")
            asked.append((target, *(Asked(lab, [*words, h], ask.env, scenario.added) for h in how)))
    began = time.monotonic()
    for second, fault in ask.meanwhile:
        time.sleep(max(0, began + second - time.monotonic()))
        lab.begin(fault) if fault else lab.over()
    return [(target, *(a.finish() for a in answers)) for target, *answers in asked]

# Marking
def plain(text, target):
    """A text without the target's own name, which would satisfy a search."""
    if target:
        host = re.sub(r"^\w+://", "", target).split("/")[0]
        for name in sorted({target, host, re.sub(r":\d+$", "", host)}, key=len, reverse=True):
            text = text.replace(name, "TARGET")
    return text

def said_of(j, target):
    evidence = [line for family in (j.get("families") or {}).values() for rung in family["rungs"]
                if rung["rung"] == j.get("firstFailure") for line in rung["evidence"]]
    text = [j.get("sentence") or "", j.get("cause") or "", j.get("advice") or "", *(j.get("findings") or [])]
    return plain("\n".join(text), target), plain("\n".join(text + evidence), target)

def mark_explain(scenario, ask, target, answer, brief, timed):
    """(mark, why) of one answer of `explain`."""
    verdict, j = answer.verdict(), answer.json
    if verdict is None: return "unhelpful", f"no answer ({answer.status}: {answer.errors.strip()[-80:]})"
    if verdict not in ask.right:
        mark = "wrong" if verdict in ask.innocents() else "unhelpful"
        return mark, f"{PARTIES[ask.right[0]]} is right"
    if answer.status != (0 if verdict == "works" else 1): return "wrong", f"exit status {answer.status}"
    if brief and (bad := contradiction_of_brief(verdict, brief)): return "wrong", bad
    text, everything = said_of(j, target)
    for words in ask.says:
        if not re.search(words, everything, re.I): return "unhelpful", f"lacks /{words}/"
    if ask.never and (found := re.search(ask.never, text, re.I)): return "unhelpful", f"has “{found[0]}”"
    if ask.rung and j.get("firstFailure") != ask.rung:
        return "unhelpful", f"fails at {j.get('firstFailure')}, not at {ask.rung}"
    if verdict != "works" and not re.search(ADVICE[verdict], j.get("advice") or "", re.I):
        return "unhelpful", f"advice “{j.get('advice')}”"
    if timed and answer.seconds > ask.within: return "unhelpful", f"took {answer.seconds:.1f} s"
    return "right", ""

def contradiction_of_brief(verdict, brief):
    """`--brief` is one sentence with the exit status of the whole answer, and names no other party."""
    line = brief.out.strip()
    if "\n" in line or len(line) > 90: return f"--brief is no sentence of 90 characters: {line}"
    if (brief.status == 0) != (verdict == "works"): return f"--brief ends with {brief.status}: {line}"
    # It begins with the party, if one is known.
    named = next((p for p, shown in PARTIES.items() if line.lower().startswith(shown)), verdict)
    return None if {"unknown", named} & {verdict} or named == "unknown" else f"--brief says: {line}"

def mark_status(scenario, answer):
    """`status` knows the kernel only: it must not contradict what is right about this host."""
    level = answer.json.get("level")
    if level is None: return "unhelpful", f"status: {answer.errors.strip()[-80:]}"
    if scenario.host.right == ["works"] and level in ("none", "local", "unknown"):
        return "wrong", f"status says {level}, and this host works"
    if scenario.host.rung in ("interface", "carrier", "address", "route") and level not in ("none", "local"):
        return "wrong", f"status says {level}, and {scenario.host.rung} fails"
    return "right", ""

def mark_tool(ask, answer, timed):
    text = answer.out + answer.errors
    if answer.status != ask.exits: return "wrong", f"exit status {answer.status}: {text.strip()[-120:]}"
    for words in ask.says:
        if not re.search(words, text, re.I | re.S): return "unhelpful", f"lacks /{words}/"
    return ("right", "") if answer.seconds >= ask.at_least else ("unhelpful", f"took {answer.seconds:.1f} s")

def result(mark, why, question, said="", seconds=0.0):
    return {"mark": mark, "why": why, "question": question, "said": said, "seconds": round(seconds, 2)}

def explain_all(lab, scenario, timed):
    """Every question of a scenario, marked."""
    results = []
    for one in scenario.asks:
        for _ in range(one.times):
            for target, answer, *brief in put(lab, scenario, one):
                if isinstance(one, Tool):
                    mark, why = mark_tool(one, answer, timed)
                    said = (answer.out + answer.errors).strip()[-160:]
                else:
                    mark, why = mark_explain(scenario, one, target, answer, brief[0] if brief else None, timed)
                    j = answer.json
                    said = f"{j.get('sentence')} ({PARTIES.get(answer.verdict())}; {j.get('advice')})"
                    if j.get("findings"): said += f" [{'; '.join(j['findings'])}]"
                shown = [w for w in answer.words if not w.startswith((lab.folder, "/mnt"))]
                results.append(result(mark, why, " ".join(shown), said, answer.seconds))
    answer = Asked(lab, ["status", "--json"]).finish()
    results.append(result(*mark_status(scenario, answer), "status", f"level {answer.json.get('level')}"))
    return results
