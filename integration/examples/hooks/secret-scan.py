#!/usr/bin/python3 -I
"""before-call: refuses a call whose arguments hold something that looks like a secret.

-I keeps Python from loading modules of the working folder or of the user. An exception ends with status 1, which refuses
the call: what could not be read was not checked.
"""
import json
import re
import sys

SECRETS = {
    "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    "an AWS access key": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "a GitHub token": re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,}\b"),
    "a key in an assignment": re.compile(r"(?i)\b(?:api_?key|secret|password)\b\s*[:=]\s*['\"][^'\"\s]{16,}['\"]"),
}


def strings(value):
    """Every string in a JSON value, keys included, however deep."""
    pending = [value]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            pending.extend(value)
        elif isinstance(value, dict):
            pending.extend(value.keys())
            pending.extend(value.values())


document = json.load(sys.stdin.buffer)
for text in strings(document["call"]["arguments"]):
    for what, pattern in SECRETS.items():
        if pattern.search(text):
            print(json.dumps({"reason": f"the arguments hold {what}; take it from the environment instead"}))
            sys.exit(2)
