#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The thesis' profiler-scheduler. One thread runs pairs of jobs beside each other on a testbed of its own, the
least known pair first, and keeps what it learns with the jobs. The other schedules on request, on another
testbed, so that jobs share nodes with those they suit. Both use the same jobs and wait for each other where
they must; neither has to know of it.

    python3 profiler.py --profiling profiler-testbed --testbed testbed-1 [--cycles 500]

Then a line of job names on stdin is scheduled; an empty line means all jobs.
"""
import argparse
import sys
import threading

from colocation import Matrix, next_pair, queue_of
from esi import Esi, Refused
from once import slot_count
from shortest_job_first import seconds


def last_runtime(job):
    runs = [run for run in job.get("scheduledEvents") or [] if run.get("successful")]
    return seconds(runs[-1]) if runs else None


def profile_once(esi, testbed, name, jobs=None):
    """Runs the least known pair and adds what it took to what the two jobs carry. The pair, or None without two jobs."""
    known = esi.jobs()
    pair = next_pair(Matrix.of_jobs(known), jobs or known)
    if pair is None:
        return None
    esi.submit(name, testbed, queue=pair)
    try:
        esi.wait_for(name)
        # The claims last until the Scheduling goes, so that nobody runs the jobs before they are read.
        for job, beside in (pair, pair[::-1]):
            told = esi.job(job)
            runtime = last_runtime(told)
            if runtime is None:
                continue
            matrix = Matrix.of_jobs({job: told})
            matrix.add(job, beside, runtime)
            esi.remember(job, {**(told.get("externalScheduler") or {}), "profiler": [matrix.row(job)]})
    finally:
        esi.delete(name)
    return pair


def schedule_once(esi, testbed, name, jobs):
    known = esi.jobs()
    target = esi.testbed(testbed)
    queue = queue_of(Matrix.of_jobs(known), jobs or sorted(known), len(target["slotsByNode"]), slot_count(target))
    esi.submit(name, testbed, queue=queue)
    try:
        return queue, esi.wait_for(name)
    finally:
        esi.delete(name)  # it would keep its jobs for ever


def keep_profiling(esi, testbed, cycles, stopped):
    cycle = 0
    while not stopped.is_set() and (cycles == 0 or cycle < cycles):
        try:
            pair = profile_once(esi, testbed, f"profiling-{cycle}")
        except Refused as refused:
            print(f"profiling-{cycle}: {refused}", file=sys.stderr, flush=True)
            stopped.wait(5)
            continue
        if pair is None:
            print("profiling needs at least two BatchJobs", file=sys.stderr, flush=True)
            stopped.wait(5)
            continue
        cycle += 1
        print(f"profiled {pair[0]} beside {pair[1]} ({cycle})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profiling", required=True, help="the testbed to profile on, with two slots on a node")
    parser.add_argument("--testbed", required=True, help="the testbed to schedule on")
    parser.add_argument("--cycles", type=int, default=0, help="so many profiling runs; 0: without end")
    asked = parser.parse_args()
    stopped = threading.Event()
    profiler = threading.Thread(target=keep_profiling, args=(Esi.from_environment(), asked.profiling, asked.cycles, stopped), daemon=True)
    profiler.start()
    esi = Esi.from_environment()
    for number, line in enumerate(sys.stdin):
        try:
            queue, _ = schedule_once(esi, asked.testbed, f"scheduled-{number}", line.split())
            print(f"completed scheduled-{number}: {' '.join(queue)}", flush=True)
        except Refused as refused:
            print(f"scheduled-{number}: {refused}", file=sys.stderr, flush=True)
    profiler.join() if asked.cycles else stopped.set()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
