#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that can be interrupted at any time: argon atoms in a box, step by step, with checkpoints.

It is a real, if small, computation (Lennard-Jones forces, velocity Verlet), and its result depends on every step: the same
number of steps gives the same energy and digest to the last bit, however often it was interrupted in between. What a scavenger
job asks of a program is all in class Checkpoints and in main(); docs/checkpointing.md explains it.

    python3 molecules.py --steps 2000 --state /tmp/molecules       # interrupt it with Ctrl-C, start it again, and it goes on

Environment, as the operator sets it for the pods of a ScavengerJob; all of it may be absent:
    SJ_CHECKPOINT_INTERVAL   how often to write a checkpoint ("6m19s"): advised, or of the spec
    SJ_CHECKPOINT_URL        where to report one
    SJ_ANNOTATIONS           the pod's annotations as a file; berth.dev/checkpoint-requested in it asks for one
    JOB_COMPLETION_INDEX     which member of several this is

Exit codes: 0 finished (and the termination message says "done"), 85 checkpointed and ready to be started again, 1 failed.
"""
import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import signal
import ssl
import sys
import time
import urllib.request

CHECKPOINTED = 85
ACCOUNT = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")
REPORT_AT_MOST_EVERY = 10  # seconds; more would not be counted


def seconds(text):
    """Of a Go duration such as 90s, 6m19s or 1h30m, or of a plain number."""
    units = {"h": 3600, "m": 60, "s": 1, "ms": 0.001}
    if re.fullmatch(r"[0-9.]+", text):
        return float(text)
    if not re.fullmatch(r"([0-9.]+(h|ms|m|s))+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no duration; write it like 90s or 1h30m")
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([0-9.]+)(h|ms|m|s)", text))


def now():
    """In RFC 3339, as Kubernetes writes it."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")


class Box:
    """Atoms in a periodic box. All of its state is in `step`, `position` and `velocity`."""
    DT, CUTOFF = 0.004, 2.5

    def __init__(self, atoms, state=None):
        self.atoms, self.side = atoms, max(2 * self.CUTOFF, (atoms / 0.4) ** (1 / 3))
        if state:
            self.step, self.position, self.velocity = state["step"], state["position"], state["velocity"]
        else:
            self.step, self.position, self.velocity = 0, self._lattice(), self._kick()
        self.force = self._forces()

    def _lattice(self):
        edge = 1
        while edge ** 3 < self.atoms:
            edge += 1
        gap = self.side / edge
        return [[gap * (i % edge), gap * (i // edge % edge), gap * (i // edge ** 2)] for i in range(self.atoms)]

    def _kick(self):
        number, kicks = 12345, []  # a generator of our own: the same on every machine and in every version
        for _ in range(self.atoms):
            row = []
            for _ in range(3):
                number = (number * 1103515245 + 12345) % 2 ** 31
                row.append(number / 2 ** 31 - 0.5)
            kicks.append(row)
        mean = [sum(row[k] for row in kicks) / self.atoms for k in range(3)]
        return [[row[k] - mean[k] for k in range(3)] for row in kicks]

    def _forces(self):
        self.potential = 0.0
        force = [[0.0, 0.0, 0.0] for _ in range(self.atoms)]
        side, near = self.side, self.CUTOFF ** 2
        for i in range(self.atoms):
            a, on_a = self.position[i], force[i]
            for j in range(i):
                b = self.position[j]
                x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
                x -= side * round(x / side)
                y -= side * round(y / side)
                z -= side * round(z / side)
                square = x * x + y * y + z * z
                if square >= near:
                    continue
                sixth = 1 / (square * square * square)
                self.potential += 4 * sixth * (sixth - 1)
                pull = 24 * sixth * (2 * sixth - 1) / square
                on_b = force[j]
                on_a[0] += pull * x
                on_a[1] += pull * y
                on_a[2] += pull * z
                on_b[0] -= pull * x
                on_b[1] -= pull * y
                on_b[2] -= pull * z
        return force

    def advance(self):
        half = self.DT / 2
        for velocity, force, position in zip(self.velocity, self.force, self.position):
            for k in range(3):
                velocity[k] += half * force[k]
                position[k] = (position[k] + self.DT * velocity[k]) % self.side
        self.force = self._forces()
        for velocity, force in zip(self.velocity, self.force):
            for k in range(3):
                velocity[k] += half * force[k]
        self.step += 1

    def state(self):
        return {"step": self.step, "position": self.position, "velocity": self.velocity}

    def result(self):
        kinetic = sum(v * v for row in self.velocity for v in row) / 2
        exact = repr((self.position, self.velocity)).encode()
        return {"steps": self.step, "atoms": self.atoms, "energy": kinetic + self.potential,
                "digest": hashlib.sha256(exact).hexdigest()[:16]}


class Checkpoints:
    """One file that is always whole, and who is told of it."""

    def __init__(self, path, url=None):
        self.path, self.url = pathlib.Path(path), url
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.reported = float("-inf")

    def load(self, atoms, steps):
        try:
            state = json.loads(self.path.read_text())
        except FileNotFoundError:
            return None
        except ValueError as error:  # never ours: we rename whole files only
            raise SystemExit(f"{self.path}: is no checkpoint: {error}")
        if state.get("atoms") != atoms:
            raise SystemExit(f"{self.path}: is a checkpoint of {state.get('atoms')} atoms, not of {atoms}")
        reached = state["result"]["steps"] if "result" in state else state["step"]
        if reached > steps or ("result" in state and reached != steps):
            raise SystemExit(f"{self.path}: has come to step {reached} already, and {steps} are asked for")
        return state

    def save(self, box):
        begin = time.monotonic()
        self._write(json.dumps({"atoms": box.atoms, **box.state()}))
        self._report(box.step, time.monotonic() - begin)

    def _write(self, text):
        # Beside it, to the disk, then in its place: whoever is killed here leaves the old one or the new one.
        beside = self.path.with_suffix(".new")
        with open(beside, "w", encoding="ascii") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        os.replace(beside, self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _report(self, step, took):
        if not self.url or time.monotonic() - self.reported < REPORT_AT_MOST_EVERY:
            return
        self.reported = time.monotonic()
        body = json.dumps({"time": now(), "seconds": round(took, 6), "step": step}).encode()
        headers = {"Content-Type": "application/json"}
        try:
            headers["Authorization"] = f"Bearer {(ACCOUNT / 'token').read_text().strip()}"
        except OSError:
            pass
        authority = os.environ.get("SJ_CHECKPOINT_CA", str(ACCOUNT / "ca.crt"))
        try:
            tls = ssl.create_default_context(cafile=authority) if self.url.startswith("https") else None
            request = urllib.request.Request(self.url, body, headers, method="POST")
            urllib.request.urlopen(request, timeout=2, context=tls).close()
        except (OSError, ValueError) as error:  # the checkpoint is there, whether or not anybody knows
            print(f"checkpoint at step {step} was not reported: {error}", file=sys.stderr)

    def finish(self, result):
        self._write(json.dumps({"atoms": result["atoms"], "result": result}))


class Requests:
    """Whether somebody wants a checkpoint now: SIGTERM or SIGINT, or the annotation."""
    KEY = "berth.dev/checkpoint-requested"

    def __init__(self, annotations=None):
        self.why, self.file, self.looked = None, annotations, 0.0
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._signal)

    def _signal(self, number, _frame):
        self.why = signal.Signals(number).name

    def pending(self):
        now = time.monotonic()
        if self.why is None and self.file and now - self.looked >= 0.5:
            self.looked = now
            try:
                with open(self.file, encoding="utf-8") as lines:
                    if any(line.startswith(self.KEY + "=") for line in lines):
                        self.why = self.KEY
            except OSError:
                pass
        return self.why


def say(path, text):
    """The termination message, where there is somebody to read it."""
    try:
        with open(path, "w", encoding="ascii") as out:
            out.write(text)
    except OSError:
        pass


def arguments():
    parser = argparse.ArgumentParser(description="Argon atoms in a box, with checkpoints.")
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--atoms", type=int, default=64)
    parser.add_argument("--state", default="/data/molecules", help="file of the checkpoint; a member's number is added")
    parser.add_argument("--every", type=seconds, default=seconds(os.environ.get("SJ_CHECKPOINT_INTERVAL") or "60s"),
                        help="time between checkpoints (default: SJ_CHECKPOINT_INTERVAL, else 60s)")
    parser.add_argument("--every-steps", type=int, default=0, help="steps between checkpoints, besides")
    parser.add_argument("--pause", type=seconds, default=0.0, help="after each step, to watch it")
    parser.add_argument("--verbose", action="store_true", help="print the number of each step")
    parser.add_argument("--termination-log", default="/dev/termination-log")
    options = parser.parse_args()
    if options.steps < 0 or options.atoms < 2 or options.every_steps < 0:
        parser.error("--steps and --every-steps are not negative, and --atoms is at least 2")
    return options


def main():
    options = arguments()
    requests = Requests(os.environ.get("SJ_ANNOTATIONS"))
    member = os.environ.get("JOB_COMPLETION_INDEX")
    checkpoints = Checkpoints(options.state + (f"-{member}" if member else "") + ".json", os.environ.get("SJ_CHECKPOINT_URL"))
    state = checkpoints.load(options.atoms, options.steps)
    if state and "result" in state:  # finished before: whoever asks again gets the same answer
        box, result = None, state["result"]
    else:
        box, result = Box(options.atoms, state), None
        print(f"{'resuming at' if state else 'starting at'} step {box.step} of {options.steps}", flush=True)
    written = time.monotonic()
    while box and box.step < options.steps:
        box.advance()
        if options.verbose:
            print(f"step {box.step}", flush=True)
        due = time.monotonic() - written >= options.every or (options.every_steps and box.step % options.every_steps == 0)
        if why := requests.pending():
            checkpoints.save(box)
            print(f"checkpoint at step {box.step}, asked for by {why}", flush=True)
            say(options.termination_log, f"checkpoint {now()} at step {box.step}")
            return CHECKPOINTED
        if due:
            checkpoints.save(box)
            written = time.monotonic()
            print(f"checkpoint at step {box.step}", flush=True)
        if options.pause:
            time.sleep(options.pause)
    if box:
        result = box.result()
        checkpoints.finish(result)
    print(json.dumps(result), flush=True)
    say(options.termination_log, "done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
