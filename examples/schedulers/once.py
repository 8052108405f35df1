# SPDX-License-Identifier: Apache-2.0
"""What schedulers that plan once have in common: ask what there is, submit the plan, wait, say how it went."""
import argparse

from esi import Refused


def arguments(about):
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--testbed", required=True, help="whose slots are used")
    parser.add_argument("--name", default="planned-once", help="of the Scheduling")
    parser.add_argument("jobs", nargs="*", help="names of BatchJobs; all of them unless told")
    return parser.parse_args()


def slot_count(testbed):
    return sum(len(slots) for slots in testbed["slotsByNode"].values())


def run_once(esi, asked, plan):
    """plan(jobs, slots, known) gives the queue; known is what the interface tells of every job, by name."""
    known = esi.jobs()
    jobs = asked.jobs or sorted(known)
    unknown = [job for job in jobs if job not in known]
    if unknown:
        raise SystemExit(f"there is no BatchJob {', '.join(unknown)}; there are: {', '.join(sorted(known)) or 'none'}")
    queue = plan(jobs, slot_count(esi.testbed(asked.testbed)), known)
    esi.submit(asked.name, asked.testbed, queue=queue)
    print(f"submitted {asked.name}: {' '.join(queue)}", flush=True)
    try:
        esi.wait_for(asked.name)
        for job in sorted(set(queue)):
            last = (esi.job(job).get("scheduledEvents") or [{}])[-1]
            print(f"  {job}: {last.get('start')} to {last.get('stop')}, {'ok' if last.get('successful') else 'failed'}")
    except Refused as refused:
        raise SystemExit(f"{asked.name}: {refused}") from None
    finally:
        esi.delete(asked.name)  # it would keep its jobs for ever
