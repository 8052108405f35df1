# SPDX-License-Identifier: Apache-2.0
"""How cases are written down: a base manifest and what is different about it."""
import copy

GONE = object()  # as a value: remove the field


def changed(base, changes):
    """`base` with {"spec.containers.0.image": "x"} applied; numbers are places in lists, a key with dots is in [brackets]."""
    out = copy.deepcopy(base)
    for path, value in changes.items():
        steps, rest = [], path
        while rest:
            if rest.startswith("["):
                end = rest.index("]")
                steps.append(rest[1:end])
                rest = rest[end + 1:].lstrip(".")
            else:
                word, _, rest = rest.partition(".")
                if "[" in word and not word.startswith("["):
                    head, _, tail = word.partition("[")
                    rest = "[" + tail + ("." + rest if rest else "")
                    word = head
                steps.append(int(word) if word.isdigit() else word)
        at = out
        for step, following in zip(steps, steps[1:]):
            if isinstance(step, int):
                while len(at) <= step:
                    at.append({})
                at = at[step]
            else:
                at = at.setdefault(step, [] if isinstance(following, int) else {})
        last = steps[-1]
        if value is GONE:
            del at[last]
        elif isinstance(last, int):
            while len(at) <= last:
                at.append(None)
            at[last] = copy.deepcopy(value)
        else:
            at[last] = copy.deepcopy(value)
    return out


class Corpus:
    def __init__(self):
        self.cases = []

    def add(self, base, name, changes=None, status=None, update=None):
        """status: written by the status subresource afterwards; update: changes for a PUT of what was created."""
        self.cases.append({"name": name, "manifest": changed(base, changes or {}), "status": status, "update": update})

    def each(self, base, table):
        for name, changes in table.items():
            self.add(base, name, changes)
