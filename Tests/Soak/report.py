"""The report: figures as text, samples as CSV, and a plot as SVG."""

import csv
import shutil

WIDTH, HEIGHT, LEFT, RIGHT, GAP = 1000, 110, 90, 20, 34
COLUMNS = ("seconds", "private memory (MiB)", "used heap (MiB)", "descriptors", "threads", "journal (KiB)", "unfinished tasks",
           "observed connections", "CPU (s)", "life")
COLOURS = {"path": "#c0392b", "dns": "#8e44ad", "tls": "#2980b9", "server": "#d68910", "daemon": "#555555"}


def write(folder, samples, faults, lines, logs):
    """Replaces the report of the run before."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for log in logs:
        shutil.copy(log, folder)
    with open(folder / "samples.csv", "w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *samples])
    (folder / "plot.svg").write_text(plot(samples, faults))
    (folder / "report.txt").write_text("\n".join(lines) + "\n")


def table(rows):
    """Columns of text, as wide as they have to be."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def plot(samples, faults):
    """One chart for each size over the same time; above them the faults of each group."""
    end = max([sample[0] for sample in samples] or [1])
    def across(seconds): return LEFT + seconds / end * (WIDTH - LEFT - RIGHT)
    parts, top = [], 20
    for group, colour in COLOURS.items():
        parts.append(text(LEFT - 6, top + 8, group, "end"))
        for fault in faults:
            if fault.group == group:
                parts.append(f'<rect x="{across(fault.start):.1f}" y="{top}" height="9" fill="{colour}" '
                             f'width="{max(1, across(fault.end) - across(fault.start)):.1f}">'
                             f"<title>{fault} {fault.start:.0f}–{fault.end:.0f} s</title></rect>")
        top += 14
    for column, name in enumerate(COLUMNS[1:8], 1):
        top += GAP
        parts += chart(samples, column, name, top, across)
        top += HEIGHT
    for minute in range(0, int(end) + 1, max(60, round(end / 600) * 60)):
        parts.append(text(across(minute), top + 16, f"{minute // 60} min", "middle"))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top + 30}" font-family="sans-serif" '
            'font-size="11"><rect width="100%" height="100%" fill="white"/>' + "\n".join(parts) + "</svg>\n")


def chart(samples, column, name, top, across):
    sizes = [sample[column] for sample in samples] or [0]
    low, high = min(sizes), max(max(sizes), min(sizes) + 1)
    def up(size): return top + HEIGHT - (size - low) / (high - low) * HEIGHT
    parts = [text(LEFT, top - 5, name, "start"), text(LEFT - 6, top + 10, f"{high:,.1f}", "end"),
             text(LEFT - 6, top + HEIGHT, f"{low:,.1f}", "end"),
             f'<rect x="{LEFT}" y="{top}" width="{WIDTH - LEFT - RIGHT}" height="{HEIGHT}" fill="none" stroke="#ccc"/>']
    # A line for each life of the process.
    for life in dict.fromkeys(sample[-1] for sample in samples):
        points = " ".join(f"{across(sample[0]):.1f},{up(sample[column]):.1f}" for sample in samples if sample[-1] == life)
        parts.append(f'<polyline points="{points}" fill="none" stroke="#1f77b4"/>')
    return parts


def text(x, y, words, anchor):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'
