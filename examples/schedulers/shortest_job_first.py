#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shortest job first, by the mean of each job's own past runs. A job that never ran goes first: that is how
its length is learnt.

    python3 shortest_job_first.py --testbed testbed-1 sort crawl wordcount
"""
from datetime import datetime

from esi import Esi
from fifo import queue_of
from once import arguments, run_once


def seconds(run):
    began, ended = (datetime.fromisoformat(run[end].replace("Z", "+00:00")) for end in ("start", "stop"))
    return (ended - began).total_seconds()


def mean_runtime(job):
    runs = [seconds(run) for run in job.get("scheduledEvents") or [] if run.get("successful")]
    return sum(runs) / len(runs) if runs else 0.0


def shortest_first(names, known):
    return sorted(names, key=lambda name: (mean_runtime(known.get(name, {})), name))


if __name__ == "__main__":
    asked = arguments(__doc__)
    run_once(Esi.from_environment(), asked, lambda jobs, slots, known: queue_of(shortest_first(jobs, known), slots))
