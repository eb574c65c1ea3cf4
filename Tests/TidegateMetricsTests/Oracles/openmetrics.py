"""Reads an OpenMetrics exposition with Prometheus's own reference parser; fails where the parser or the shape does."""

import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families


def main(path):
    with open(path, encoding="utf-8", newline="") as file:
        body = file.read()
    seen = set()
    samples = 0
    for family in text_string_to_metric_families(body):
        for sample in family.samples:
            samples += 1
            key = (sample.name, tuple(sorted(sample.labels.items())))
            if key in seen:
                sys.exit(f"{key} stands twice")
            seen.add(key)
    print(samples)


main(sys.argv[1])
