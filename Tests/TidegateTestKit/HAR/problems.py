#!/usr/bin/env python3
"""Checks HTTP archives by a JSON Schema, and prints a JSON list of problems on a line for each.

Usage: problems.py SCHEMA ARCHIVE...
"""

import datetime
import json
import sys

import jsonschema

CHECKER = jsonschema.FormatChecker()


# jsonschema checks moments only with a further package.
@CHECKER.checks("date-time", raises=ValueError)
def is_moment(value):
    if isinstance(value, str):
        datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
    return True


def strict(text):
    """JSON without what Python reads beyond RFC 8259, and without a member that is there twice."""
    def members(pairs):
        names = [name for name, _ in pairs]
        if len(names) != len(set(names)):
            raise ValueError("a member is there twice: %s" % names)
        return dict(pairs)

    def refuse(constant):
        raise ValueError("%s is no number" % constant)
    return json.loads(text, object_pairs_hook=members, parse_constant=refuse)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft6Validator.check_schema(schema)
    validator = jsonschema.Draft6Validator(schema, format_checker=CHECKER)
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        try:
            problems = [
                "%s: %s" % ("/".join(map(str, error.absolute_path)), error.message[:200])
                for error in validator.iter_errors(strict(text))]
        except ValueError as error:
            problems = [str(error)]
        print(json.dumps(problems))


main()
