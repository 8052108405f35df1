#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""First come, first served: the jobs in the order given, each on one row of slots after the other.

    python3 fifo.py --testbed testbed-1 sort crawl wordcount
"""
from esi import Esi
from once import arguments, run_once


def queue_of(jobs, slots):
    """Every job gets the same share of the slots, at least one."""
    width = max(1, slots // max(1, len(jobs)))
    return [job for job in jobs for _ in range(width)]


if __name__ == "__main__":
    asked = arguments(__doc__)
    run_once(Esi.from_environment(), asked, lambda jobs, slots, _: queue_of(jobs, slots))
