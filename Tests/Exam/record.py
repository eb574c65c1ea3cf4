"""The marks that were recorded, one line a scenario, and docs/accuracy.md, which is made from them."""
import json, os, subprocess, time
from questions import MARKS, PARTIES

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded.jsonl")
MOMENTS = ("+3", "+10", "+25", "+60", "commands", "incidents", "tasks", "recovery")
HEAD = """# How often is it right?

`make exam` builds {count} broken networks in network namespaces, asks `explain` and a sidecar what is wrong, and
marks each answer. [Tests/Exam](../Tests/Exam/README.md) has the networks, and says how to add one.

Commit {commits}, {date}; right · unhelpful · wrong:

| kind | scenarios | `explain` | sidecar, +10 s | sidecar, +25 s |
|---|---|---|---|---|
{table}

- **right**: a right party at the right rung, with the words that help and with advice; or that it works.
- **unhelpful**: it is not known although it can be known, or the words that help are missing.
- **wrong**: an innocent party is named, a working target is called broken, or two answers contradict each other.

A sidecar ran for 30 s before each fault, with one of twelve settings. A row has the mark of its worst answer: page,
status, targets, guard and metrics at one moment. The same sidecars at other moments, beside the commands, their
incidents, the parties of failed tasks, and recovery: {others}.
"""

def marks_of(found):
    """{scenario: {column: [mark, why, said]}}: the worst mark of each column; `why` only if it is not right."""
    table = {}
    for (mode, name), rows in found.items():
        columns = table.setdefault(name, {})
        for row in rows:
            column = row.get("moment") or mode
            entry = [row["mark"]] if row["mark"] == "right" else [row["mark"], row["why"], row["said"]]
            if MARKS.index(entry[0]) >= MARKS.index(columns.get(column, ["right"])[0]): columns[column] = entry
        # A sidecar that was not sound before the fault has the same mark at each moment.
        if start := columns.pop("start", None):
            columns.update(dict.fromkeys(MOMENTS if mode == "follow" else ["order"], start))
    return table

def recorded():
    if not os.path.exists(PATH): return {}
    with open(PATH) as file: return {row["scenario"]: row for row in map(json.loads, file)}

def worse(found):
    """Prints the rows that are worse than they were recorded; a new row has to be right."""
    old, count = recorded(), 0
    for name, columns in marks_of(found).items():
        for column in {"explain", "order"} & set(columns):
            (mark, *why), before = columns[column], old.get(name, {}).get(column, ["right"])[0]
            if MARKS.index(mark) > MARKS.index(before):
                count += 1
                print(f"worse: {name} ({column}) was {before} and is {mark}: {': '.join(why)}")
    return count

def write(root, scenarios, found):
    """Replaces the rows that were asked now, and writes the page anew."""
    commit = os.environ.get("TIDEGATE_REVISION") or subprocess.run(
        ["git", "-C", root, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True).stdout.strip()
    rows, made = recorded(), marks_of(found)
    for name, columns in made.items():
        old = rows.get(name, {})
        if old.get("commit") == commit:  # an answer that changes from run to run is as good as its worst
            columns = {**old, **{c: max(e, old.get(c, e), key=lambda e: MARKS.index(e[0])) for c, e in columns.items()}}
        rows[name] = {**columns, "scenario": name, "commit": commit}
    rows = {s.name: rows[s.name] for s in scenarios if s.name in rows}
    with open(PATH, "w") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows.values())
    with open(os.path.join(root, "docs/accuracy.md"), "w") as file: file.write(page(scenarios, rows))

def count(rows, scenarios, column):
    marks = [rows[s.name][column][0] for s in scenarios if column in rows.get(s.name, {})]
    return " · ".join(str(marks.count(mark)) for mark in MARKS[:3]) if marks else "-"

def page(scenarios, rows):
    def cell(text): return " ".join(str(text).split()).replace("|", "/")
    kinds = {**{s.kind: [o for o in scenarios if o.kind == s.kind] for s in scenarios}, "**all**": scenarios}
    table = [f"| {kind} | {len(of)} | " + " | ".join(count(rows, of, c) for c in ("explain", "+10", "+25")) + " |"
             for kind, of in kinds.items()]
    others = ", ".join(f"{c} {count(rows, scenarios, c)}" for c in MOMENTS if c not in ("+10", "+25"))
    text = HEAD.format(count=len(scenarios), commits=", ".join(sorted({r["commit"] for r in rows.values()})),
                       date=time.strftime("%Y-%m-%d"), table="\n".join(table), others=others)
    for title, columns in (("`explain`", ["explain"]), ("the sidecar", ["+10", "+25"])):
        text += f"\n## Not right: {title}\n\n| scenario | at | mark | right | the answer |\n|---|---|---|---|---|\n"
        for s in scenarios:
            for c in columns:
                mark, *why = rows.get(s.name, {}).get(c, ["right"])
                if mark != "right":
                    right = ", ".join(PARTIES[p] for p in s.host.right)
                    text += f"| {s.kind}: {s.name} | {c} | {mark} | {right} | {cell(why[1])} — {cell(why[0])} |\n"
    return text
