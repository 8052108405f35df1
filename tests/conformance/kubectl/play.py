#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Types the commands of commands.txt at two clusters and compares what kubectl prints.

  play.py record --kubeconfig FILE --kubectl PROGRAM --out FILE   types them all and keeps the output
  play.py compare REAL OURS                                       tells the differences, command by command
  play.py both --berth PROGRAM [--kubectl PROGRAM ...]            all of it, on clusters of its own

What differs from run to run (ages, uids, addresses, revisions, times, random names) is replaced first."""
import argparse
import difflib
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import real_cluster

HERE = pathlib.Path(__file__).resolve().parent
RANDOM = "[bcdfghjklmnpqrstvwxz2456789]"
# Served by one of the two only, on purpose: aggregation, policies in CEL and the addresses of services are not simulated;
# usage is, and that takes another program on a real cluster. The kinds of external schedulers are there from the beginning.
ELSEWHERE = (r"metrics\.k8s\.io|apiregistration\.k8s\.io|(validating|mutating)admissionpolic|ipaddresses|servicecidrs|"
             r"scavengerpolicies|(batchjob\.gcr\.io|berth\.dev|core\.cerit\.cz|esi\.tu-berlin\.de|flink\.apache\.org|(flink|spark)operator\.k8s\.io)/v1")
# What kwok and our nodes word each in their own way, as two container runtimes would; kwok tells no events.
KUBELET = (r"Container ID:|Image ID:|PodReadyToStartContainers|HolderIdentity|(Memory|Disk|PID)Pressure|  Ready  True |"
           r"  (Normal|Warning)  (Pulling|Pulled|Created|Started|Killing|BackOff)  ")
# Only what two runs on the same server do not share either: chance, time, and where it runs.
REPLACED = [
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),  # chance
    (r"\b[0-9a-f]{64}\b", "<sha256>"),  # of a container's id: chance
    (r"eyJ[\w-]+\.[\w-]+\.[\w-]+", "<token>"),  # signed with the cluster's own key
    (r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", "<certificate>"),  # the cluster's own
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
    (r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+\w]+", "<time>"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}", "<time>"),  # of a file that `diff` reads
    (r"https://[\w.]+:\d+", "<server>"),  # a free port
    (r"(resourceVersion\"?: \"?|Resource Version: +)\d+", r"\1<rv>"),  # counts everybody's writes
    (r"v1\.36\.\d+[\w.+-]*", "<version>"),  # how each is built, like the next
    (r'\b(GitCommit|GitTreeState|BuildDate|GoVersion|Compiler|Platform):"[^"]*"', r'\1:"<build>"'),
    (r"\b10\.\d+\.\d+\.\d+\b", "<ip>"),  # the next free one
    (rf"(kube-api-access|generated)-{RANDOM}{{5}}\b", r"\1-<random>"),
    (rf"-([0-9a-f]{{6,10}}|{RANDOM}{{6,10}})-{RANDOM}{{5}}\b", "-<hash>-<random>"),  # pods of a ReplicaSet
    (rf"\b(once|from-often)-{RANDOM}{{5}}\b", r"\1-<random>"),  # pods of a Job
    (r"/tmp/[\w./-]+", "<path>"),  # this script's own folders
    (r"\b\d+[smhd](\d+[smh])?\b(?! ago)", "<age>"),
    (r"\b\d+[smhd](\d+[smh])? ago", "<age> ago"),
    (r"<age> \(x\d+ over <age>\)", "<age>"),  # how often an event came meanwhile
    (r" {2,}|\t", "  "),  # columns are as wide as the above
    (r" +$", ""),
]


def normal(text, how):
    for pattern, with_what in REPLACED:
        text = re.sub(pattern, with_what, text, flags=re.M | re.S if "BEGIN" in pattern else re.M)
    lines = text.splitlines()
    # Versions of the server that no cluster shares with another.
    lines = [re.sub(r'("?(gitCommit|buildDate|goVersion|compiler|platform|gitTreeState)"?: ?).*', r"\1<build>", l)
             for l in lines]
    lines = [l for l in lines if not re.search(ELSEWHERE, l)]
    if "fields" in how:
        lines = [l for l in lines if re.match(r"(GROUP|KIND|VERSION|FIELD|\s+\S+\s+<)", l)]
    if "placed" in how:
        lines = [re.sub(r"\bn[12]\b", "<node>", l) for l in lines]
    if "hashed" in how:
        lines = [re.sub(rf"(-|hash=)([0-9a-f]{{8,10}}|{RANDOM}{{8,10}})\b", r"\1<hash>", l) for l in lines]
    if "kubelet" in how:
        lines = [l for l in lines if not re.search(KUBELET, l)]
    if "spec" in how:
        lines = list(itertools.takewhile(lambda l: l != "status:", lines))
    if "calm" in how:
        lines = list(itertools.takewhile(lambda l: not l.startswith("Events:"), lines))
    if "last" in how:
        lines = lines[-1:]
    if "sort" in how:
        lines = sorted(lines)
    return lines


def commands():
    for line in (HERE / "commands.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        how, text = re.match(r"(?:\[([\w .+]+)\] )?(.*)", line).groups()
        yield (how or "").split(), text


def arguments(text):
    # No shell: words end at blanks, but JSON and schedules hold some; the last option takes the rest then.
    for option in ("--schedule=", "-o go-template="):
        if option in text:
            before, rest = text.split(option)
            return before.split() + ((["-o", "go-template=" + rest]) if " " in option else [option + rest])
    return text.split()


class Typist:
    def __init__(self, kubectl, kubeconfig):
        self.temporary = tempfile.TemporaryDirectory(prefix="berth-kubectl-")
        self.folder = pathlib.Path(self.temporary.name)
        self.kubeconfig = self.folder / "kubeconfig"
        shutil.copy(kubeconfig, self.kubeconfig)
        self.kubectl = kubectl
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.folder), "KUBECONFIG": str(self.kubeconfig),
            "KUBE_EDITOR": "sed -i -e s/red/green/", "KUBECTL_EXTERNAL_DIFF": "diff -u -N", "TERM": "dumb",
        }

        version = json.loads(self.run(["version", "--client", "-o", "json"])[1])
        self.minor = int(version["clientVersion"]["minor"].rstrip("+"))

    def start(self, args):
        return subprocess.Popen([self.kubectl, "--cache-dir", str(self.folder / "cache"), *args],
                                cwd=HERE / "manifests", env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, args, limit=120):
        child = self.start(args)
        try:
            out, error = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            child.kill()
            out, error = child.communicate()
            return 124, out, error + f"\nno end after {limit} s"
        return child.returncode, out, error

    def watch(self, text):
        watched, meanwhile = text.split(" :: ")
        child = self.start(arguments(watched))
        time.sleep(2)
        self.run(arguments(meanwhile))
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        out, error = child.communicate(timeout=10)
        return 0, out, ""

    def type(self, how, text):
        code, out, error = self.watch(text) if "watch" in how else self.run(arguments(text))
        tries = 0
        while code and "until" in how and tries < 60:
            time.sleep(0.5)
            code, out, error = self.run(arguments(text))
            tries += 1
        return {"how": how, "command": text, "code": code, "out": normal(out, how), "error": normal(error, how)}


def record(kubectl, kubeconfig, report=None):
    typist = Typist(kubectl, kubeconfig)
    answers = []
    for how, text in commands():
        if any(typist.minor < int(word[2:-1]) for word in how if word.endswith("+")):
            continue
        answers.append(typist.type(how, text))
        if report:
            report(answers[-1])
    return answers


def unexpected(answer):
    """Did it end as commands.txt says it does?"""
    how = answer["how"]
    return ("fails" in how) != (answer["code"] != 0)


def told_of(answer):
    return (f"$ kubectl {answer['command']}\n  exit code {answer['code']}: "
            + "\n  ".join(answer["error"][:10] or answer["out"][:5]))


def differences(real, ours):
    """One text for each command whose outputs differ, or that does not end as it should."""
    for theirs, mine in zip(real, ours):
        how, name = theirs["how"], theirs["command"]
        if "up" in how:
            if mine["code"] != 0:
                yield f"$ kubectl {name}\n  fails: " + "\n".join(mine["error"])
            continue
        if theirs["code"] != mine["code"]:
            yield (f"$ kubectl {name}\n  exit code {mine['code']} instead of {theirs['code']}\n  "
                   + "\n  ".join(mine["error"][:10] or mine["out"][:10]))
            continue
        # Both may fail alike where neither should, or succeed where commands.txt says that they fail.
        if unexpected(mine):
            yield told_of(mine)
            continue
        if {"quiet", "until", "exit"} & set(how):
            continue
        changed = []
        for part in ("out", "error"):
            changed += list(difflib.unified_diff(theirs[part], mine[part], "real", "berth", n=1, lineterm=""))[2:]
        if changed:
            yield f"$ kubectl {name}\n  " + "\n  ".join(changed)


def kubectls(options):
    if options.kubectl:
        return options.kubectl
    found = [real_cluster.where() + "/kubectl"]
    if options.only_real:
        return found
    for folder in os.environ["PATH"].split(":") + ["/usr/lib/google-cloud-sdk/bin"]:
        for program in sorted(pathlib.Path(folder).glob("kubectl*")):
            name = program.resolve()
            if re.fullmatch(r"kubectl(\.\d+\.\d+)?", program.name) and str(name) not in found:
                found.append(str(name))
    return found


class BerthUp:
    def __init__(self, berth):
        self.berth = berth

    def __enter__(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="berth-up-")
        folder = pathlib.Path(self.temporary.name)
        self.kubeconfig = folder / "kubeconfig"
        self.log = open(folder / "log", "wb")
        self.child = subprocess.Popen([self.berth, "up", "--ephemeral", "--port", "0", "--nodes", "0",
                                       "--kubeconfig-out", str(self.kubeconfig)], stdout=self.log, stderr=self.log)
        for _ in range(300):
            if self.kubeconfig.exists():
                return self
            if self.child.poll() is not None:
                break
            time.sleep(0.1)
        text = (folder / "log").read_text()
        self.__exit__()
        raise SystemExit("berth up does not start:\n" + text[-3000:])

    def __exit__(self, *_):
        self.child.terminate()
        try:
            self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.child.kill()
        self.temporary.cleanup()


def both(options):
    failed = 0
    for kubectl in kubectls(options):
        with real_cluster.RealCluster() as cluster:
            real = record(kubectl, cluster.kubeconfig)
        with BerthUp(options.berth) as cluster:
            ours = record(kubectl, cluster.kubeconfig)
        told = list(differences(real, ours))
        for text in told:
            print(text)
        print(f"{kubectl}: {len(real)} commands, {len(told)} differ or end unexpectedly")
        failed += len(told)
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    does = parser.add_subparsers(dest="does", required=True)
    recording = does.add_parser("record")
    recording.add_argument("--kubeconfig", required=True)
    recording.add_argument("--kubectl", required=True)
    recording.add_argument("--out", required=True)
    comparing = does.add_parser("compare")
    comparing.add_argument("real")
    comparing.add_argument("ours")
    everything = does.add_parser("both")
    everything.add_argument("--berth", required=True)
    everything.add_argument("--kubectl", action="append")
    everything.add_argument("--only-real", action="store_true", help="with the kubectl of `make real` alone")
    options = parser.parse_args()
    if options.does == "both":
        return both(options)
    if options.does == "compare":
        told = list(differences(json.loads(pathlib.Path(options.real).read_text()),
                                json.loads(pathlib.Path(options.ours).read_text())))
        print("\n".join(told) if told else "no differences")
        return 1 if told else 0

    def report(answer):
        if unexpected(answer) and "up" not in answer["how"]:
            print(told_of(answer))
    answers = record(options.kubectl, options.kubeconfig, report)
    pathlib.Path(options.out).write_text(json.dumps(answers, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
