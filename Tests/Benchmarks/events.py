"""What observing costs: events on the bus, increments of counters, observations of histograms, and expositions."""

import json

import harness

EVENTS = 4_000_000


def run(rows):
    events = json.loads(harness.Measured([str(harness.BENCH), "publish", str(EVENTS)]).text)
    add(rows, "an event to the metrics and the history (ns)", events["sinks"], 100)
    add(rows, "the same with four subscribers (ns)", events["subscribers"], 300)
    costs = json.loads(harness.Measured([str(harness.BENCH), "metrics"]).text)
    add(rows, "an increment of a counter (ns)", costs["add"], 8)
    add(rows, "an observation of a histogram, native too (ns)", costs["observe"], 15)
    add(rows, "an increment while another thread makes one, too (ns)", costs["contended"], 40)
    add(rows, "10,000 extra counters in an exposition (ms)", costs["encodeCounters"], 0.4)
    lines = f"{costs['histogramLines']:,.0f} lines of histograms in an exposition (ms)"
    add(rows, lines, costs["encodeHistograms"], 0.7)
    rows.note("a series of a counter (bytes)", f"{costs['bytesPerSeries']:.0f}")


def add(rows, what, value, goal):
    rows.add(what, f"{value:.2f}" if value < 10 else f"{value:.0f}", "", "", f"<= {goal}", value <= goal)
