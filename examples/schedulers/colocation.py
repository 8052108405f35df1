# SPDX-License-Identifier: Apache-2.0
"""How long each job takes beside which other, learnt from runs, and the pairing that follows from it. Pure
functions over a matrix, so that they can be tested and replaced without a cluster."""
import re


class Matrix:
    """cell(job, beside): the mean of the job's runtimes beside the other, and of how many. Not symmetric."""

    def __init__(self):
        self.cells = {}

    @classmethod
    def of_jobs(cls, known):
        """As the jobs carry it: externalScheduler.profiler[0] = {other: "24.5 (16)"}."""
        matrix = cls()
        for job, told in known.items():
            rows = ((told.get("externalScheduler") or {}).get("profiler")) or [{}]
            for other, text in rows[0].items():
                parsed = re.fullmatch(r"\s*([0-9.]+)\s*\(([0-9]+)\)\s*", text)
                if parsed:
                    matrix.cells[job, other] = (float(parsed[1]), int(parsed[2]))
        return matrix

    def add(self, job, beside, runtime):
        mean, count = self.cells.get((job, beside), (0.0, 0))
        self.cells[job, beside] = ((mean * count + runtime) / (count + 1), count + 1)

    def row(self, job):
        """To be kept with the job."""
        return {other: f"{mean:.6g} ({count})" for (of, other), (mean, count) in sorted(self.cells.items()) if of == job}

    def samples(self, job, beside):
        return self.cells.get((job, beside), (0.0, 0))[1]

    def runtime(self, job, beside):
        """Unknown pairs are taken for the job's own mean, so that they are neither sought nor shunned."""
        if (job, beside) in self.cells:
            return self.cells[job, beside][0]
        own = [mean for (of, _), (mean, _) in self.cells.items() if of == job]
        return sum(own) / len(own) if own else 0.0

    def together(self, one, other):
        return self.runtime(one, other) + self.runtime(other, one)


def next_pair(matrix, jobs):
    """The ordered pair that is known least; the first by name of several."""
    pairs = [(a, b) for a in sorted(jobs) for b in sorted(jobs) if a != b]
    return min(pairs, key=lambda pair: (matrix.samples(*pair), pair), default=None)


def partners(matrix, jobs):
    """Who runs beside whom: every job is host once and guest once, never its own. Greedily, the pair that suits best
    first; then hosts exchange guests as long as that helps (greed alone came out 15 % above the best pairing)."""
    chosen, guests = {}, set()
    for host, guest in sorted(((a, b) for a in jobs for b in jobs if a != b), key=lambda pair: (matrix.together(*pair), pair)):
        if host not in chosen and guest not in guests:
            chosen[host] = guest
            guests.add(guest)
    for job in jobs:
        chosen.setdefault(job, job)  # at most one is left, with itself alone; the exchange below ends that

    def cost(host, guest):
        return matrix.together(host, guest) if host != guest else float("inf")

    improved = len(jobs) > 1
    while improved:
        improved = False
        for one in jobs:
            for other in jobs:
                before = cost(one, chosen[one]) + cost(other, chosen[other])
                if cost(one, chosen[other]) + cost(other, chosen[one]) < before - 1e-9:
                    chosen[one], chosen[other] = chosen[other], chosen[one]
                    improved = True
    return {host: guest for host, guest in chosen.items() if host != guest}


def queue_of(matrix, jobs, nodes, slots):
    """Replication = slots / jobs. Slots are numbered row by row over the nodes, so entry i and entry i + nodes share
    a node: a row of hosts is followed by the row of their guests."""
    jobs = list(jobs)
    if not jobs or nodes < 1:
        return []
    budget = {job: max(1, slots // len(jobs)) for job in jobs}
    beside = partners(matrix, jobs)
    queue = []
    while any(budget.values()):
        # The job with most left to place is the next host, so that all end together.
        hosts = []
        for _ in range(nodes):
            left = [job for job in jobs if budget[job] > 0]
            if not left:
                break
            host = max(left, key=lambda job: (budget[job], job not in hosts, -jobs.index(job)))
            budget[host] -= 1
            hosts.append(host)
        guests = []
        for host in hosts:
            left = [job for job in jobs if budget[job] > 0 and job != host]
            if not left:
                break
            guest = beside.get(host) if beside.get(host) in left else min(left, key=lambda job: (matrix.together(host, job), job))
            budget[guest] -= 1
            guests.append(guest)
        queue += hosts + guests
    return queue
