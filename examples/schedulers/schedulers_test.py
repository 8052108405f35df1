# SPDX-License-Identifier: Apache-2.0
"""What the example schedulers decide, without a cluster. tests/examples runs them on one."""
import itertools
import pathlib
import random
import types
import unittest
import unittest.mock

import colocation
import esi
import fifo
import once
import shortest_job_first
from colocation import Matrix


def known(matrix_of, jobs):
    """A matrix with one sample of every pair."""
    matrix = Matrix()
    for job, other in itertools.permutations(jobs, 2):
        matrix.add(job, other, matrix_of(job, other))
    return matrix


class TheMatrix(unittest.TestCase):
    def test_ESI_106_keeps_the_cumulative_mean_as_a_double(self):
        matrix = Matrix()
        for runtime in (24, 25, 25):
            matrix.add("a", "b", runtime)
        self.assertAlmostEqual(matrix.runtime("a", "b"), 74 / 3)
        self.assertEqual(matrix.row("a"), {"b": "24.6667 (3)"})

    def test_reads_what_the_thesis_writes(self):
        matrix = Matrix.of_jobs({"crawler": {"externalScheduler": {"profiler": [{"wordcount": "24 (16)", "pi": "27 (16)"}]}}})
        self.assertEqual(matrix.cells, {("crawler", "wordcount"): (24.0, 16), ("crawler", "pi"): (27.0, 16)})

    def test_is_not_symmetric(self):
        matrix = Matrix()
        matrix.add("a", "b", 10)
        self.assertEqual(matrix.samples("b", "a"), 0)

    def test_survives_text_that_is_no_cell(self):
        self.assertEqual(Matrix.of_jobs({"a": {"externalScheduler": {"profiler": [{"b": "soon"}]}}, "b": {}}).cells, {})


class ThePairs(unittest.TestCase):
    def test_ESI_106_the_least_known_is_next_until_all_are_known_alike(self):
        matrix, jobs = Matrix(), ["c", "a", "b"]
        for _ in range(12):
            a, b = colocation.next_pair(matrix, jobs)
            matrix.add(a, b, 1)
            matrix.add(b, a, 1)
        counts = [matrix.samples(a, b) for a, b in itertools.permutations(jobs, 2)]
        self.assertLessEqual(max(counts) - min(counts), 1)

    def test_one_job_has_no_pair(self):
        self.assertIsNone(colocation.next_pair(Matrix(), ["a"]))

    def test_every_job_is_host_once_and_guest_once_and_never_its_own(self):
        draw = random.Random(7)
        for size in range(2, 9):
            jobs = [f"job-{i}" for i in range(size)]
            for _ in range(50):
                beside = colocation.partners(known(lambda *_: draw.uniform(10, 60), jobs), jobs)
                self.assertEqual(sorted(beside), jobs)
                self.assertEqual(sorted(beside.values()), jobs)
                self.assertTrue(all(host != guest for host, guest in beside.items()))


class TheQueue(unittest.TestCase):
    def test_ESI_107_six_slots_and_three_jobs(self):
        runtimes = {("a", "b"): 60, ("a", "c"): 20, ("b", "a"): 20, ("b", "c"): 60, ("c", "a"): 60, ("c", "b"): 20}
        matrix = known(lambda job, other: runtimes[job, other], "abc")
        # All sums are 80, so names decide: a and b first choose each other; c, left with itself, takes a's guest.
        self.assertEqual(colocation.queue_of(matrix, "abc", 3, 6), ["a", "b", "c", "c", "a", "b"])

    def test_ESI_107_jobs_that_suit_share_nodes(self):
        friends = {frozenset("ab"), frozenset("cd")}
        matrix = known(lambda job, other: 10 if frozenset((job, other)) in friends else 50, "abcd")
        queue = colocation.queue_of(matrix, "abcd", 4, 8)
        self.assertEqual([frozenset(pair) for pair in zip(queue[:4], queue[4:])],
                         [frozenset("ab"), frozenset("ab"), frozenset("cd"), frozenset("cd")])

    def test_ESI_107_gives_every_job_its_share(self):
        for jobs, nodes, slots in itertools.product(range(1, 7), range(1, 6), range(1, 13)):
            names = [f"job-{i}" for i in range(jobs)]
            queue = colocation.queue_of(Matrix(), names, nodes, slots)
            self.assertEqual({name: queue.count(name) for name in names}, dict.fromkeys(names, max(1, slots // jobs)))

    def test_comes_near_the_best_pairing_and_beats_arrival_order(self):
        """Jobs of one kind compete for the same resource and slow each other most: the mean runtime, over many draws."""
        draw = random.Random(11)
        ours, best, arrival = 0.0, 0.0, 0.0
        for _ in range(200):
            jobs = [f"job-{i}" for i in range(6)]
            kind = dict(zip(jobs, (0, 0, 1, 1, 2, 2)))
            slow = [[draw.uniform(1.6, 2.0) if a == b else draw.uniform(1.0, 1.3) for a in range(3)] for b in range(3)]
            matrix = known(lambda job, other: 30 * slow[kind[job]][kind[other]], jobs)

            def cost(beside):
                return sum(matrix.together(host, guest) for host, guest in beside.items())

            ours += cost(colocation.partners(matrix, jobs))
            best += min(cost(dict(zip(jobs, guests))) for guests in itertools.permutations(jobs)
                        if all(host != guest for host, guest in zip(jobs, guests)))
            arrival += cost({job: jobs[(i + 1) % 6] for i, job in enumerate(jobs)})
        self.assertLess(ours, 1.05 * best)
        self.assertLess(ours, 0.92 * arrival)


class TheOthers(unittest.TestCase):
    def test_first_come_first_served_shares_the_slots_evenly(self):
        self.assertEqual(fifo.queue_of(["b", "a"], 5), ["b", "b", "a", "a"])
        self.assertEqual(fifo.queue_of(["a", "b", "c"], 2), ["a", "b", "c"])

    def test_the_shortest_goes_first_and_the_unknown_before_it(self):
        def ran(start, stop, successful=True):
            return {"start": f"2026-01-01T00:00:{start:02}Z", "stop": f"2026-01-01T00:00:{stop:02}Z", "successful": successful}

        told = {"long": {"scheduledEvents": [ran(0, 40)]}, "short": {"scheduledEvents": [ran(0, 5), ran(0, 50, False)]}, "new": {}}
        self.assertEqual(shortest_job_first.shortest_first(["long", "short", "new"], told), ["new", "short", "long"])


class TheStream(unittest.TestCase):
    def test_events_have_fields_and_joined_lines(self):
        lines = [b": alive\n", b"\n", b"id: t1.j2\n", b"event: schedulings\n", b"data: {\"a\":\r\n", b"data: 1}\n", b"\n", b"data: cut off\n"]
        self.assertEqual(list(esi.read_events(lines)), [{"id": "t1.j2", "event": "schedulings", "data": '{"a":\n1}'}])


class Told(esi.Esi):
    """A server that tells what a test says, and notes what it is asked."""

    def __init__(self, *told):
        super().__init__("http://server")
        self.told, self.asked = told, []

    def events(self, *kinds):
        return iter(("schedulings", "MODIFIED", {"name": "s", **each}) for each in self.told)

    def _call(self, method, path, body=None):
        self.asked.append(f"{method} {path}")
        return {"/jobs": {"a": {}}, "/testbeds/tb": {"slotsByNode": {"n": [{}]}}}.get(path, {})


def stuck(reason, status="False"):
    condition = {"type": "Progressing", "status": status, "reason": reason, "message": "BatchJob d/a has failed", "remedy": "Mend it."}
    return {"state": "AwaitingCompletion", "conditions": [condition]}


class Waiting(unittest.TestCase):
    def test_ends_with_what_the_scheduling_says_that_goes_no_further(self):
        for reason in ("JobFailed", "InvalidSlot", "DuplicateJob"):
            with self.assertRaisesRegex(esi.Refused, f"{reason}: BatchJob d/a has failed. Mend it."):
                Told({"state": "Submitting"}, stuck(reason)).wait_for("s")

    def test_goes_on_while_it_waits_for_others(self):
        waits = [stuck("WaitingForCapacity"), stuck("Stalled"), stuck("JobNotFound"), stuck("Running", "True")]
        self.assertEqual(Told(*waits, {"state": "Completed"}).wait_for("s")["state"], "Completed")

    def test_does_not_press_a_server_that_is_gone(self):
        server = esi.Esi("http://127.0.0.1:1")
        with unittest.mock.patch("esi.time.sleep", side_effect=InterruptedError) as slept, self.assertRaises(InterruptedError):
            server.wait_for("s")
        slept.assert_called_once_with(1)

    def test_for_a_deletion_ends_when_the_scheduling_is_gone(self):
        def change(action, name="s"):
            return "schedulings", action, {"name": name}

        synced, later = (None, "SYNCED", None), change("MODIFIED")
        for told in ([change("ADDED"), synced, change("MODIFIED"), change("DELETED")], [change("ADDED", "other"), synced],
                     [change("ADDED"), synced, (None, "RESET", None), synced]):
            server, events = Told(), iter([*told, later])
            server.events = lambda *kinds: events
            server.delete("s")
            self.assertEqual(list(events), [later])

    def test_gives_the_jobs_back_when_one_has_failed(self):
        server = Told(stuck("JobFailed"))
        with self.assertRaisesRegex(SystemExit, "s: 409: JobFailed: BatchJob d/a has failed"):
            once.run_once(server, types.SimpleNamespace(name="s", testbed="tb", jobs=[]), lambda jobs, slots, known: jobs)
        self.assertEqual(server.asked[-1], "DELETE /schedulings/s")


class TheDocumentation(unittest.TestCase):
    def test_shows_the_file_that_it_names(self):
        here = pathlib.Path(__file__).resolve().parent
        page = (here.parent.parent / "docs" / "external-scheduler.md").read_text()
        code = (here / "thirty_lines.py").read_text()
        self.assertIn(f"```python\n{code}```", page)
        self.assertLessEqual(len(code.splitlines()), 30)


if __name__ == "__main__":
    unittest.main()
