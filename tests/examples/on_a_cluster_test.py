# SPDX-License-Identifier: Apache-2.0
"""The example schedulers on a cluster in virtual time, unchanged and over HTTP: `berth up --speed max`, whose stand-in
for Spark's operator slows jobs beside each other as their annotations say.

    on_a_cluster_test.py BERTH [TEST...]        BERTH_CYCLES and BERTH_SCHEDULINGS say how much; the night says 500 and 100
"""
import itertools
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
SCHEDULERS = HERE.parent.parent / "examples" / "schedulers"
sys.path.insert(0, str(SCHEDULERS))

import fifo  # noqa: E402
import profiler  # noqa: E402
from colocation import Matrix  # noqa: E402
from esi import Esi  # noqa: E402
from once import slot_count  # noqa: E402
from shortest_job_first import seconds  # noqa: E402

CYCLES = int(os.environ.get("BERTH_CYCLES", 6))
SCHEDULINGS = int(os.environ.get("BERTH_SCHEDULINGS", 3))
PATIENCE = 7200  # seconds; bounds a hang, says nothing about speed
BERTH = ""


def node(name, labels):
    room = '{cpu: "4", memory: 16Gi, pods: "110"}'
    return f"apiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{{labels}}}}}\nstatus: {{capacity: {room}, allocatable: {room}}}\n"


def testbed(name, label, namespace="default"):
    return (f"apiVersion: batchjob.gcr.io/v1alpha1\nkind: Testbed\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
            f"spec: {{slotsPerNode: 2, nodeLabel: {label}, resourcesPerSlot: {{cpu: 750m, memory: 6Gi}}}}\n")


def job(name, length, slowed_by, namespace="default", exit_code=0):
    slow = " ".join(f"{other}={factor:.3f}" for other, factor in slowed_by.items())
    notes = f'berth.dev/duration: {length}s, berth.dev/slowed-by: "{slow}", berth.dev/exit-code: "{exit_code}"'
    return (f"apiVersion: batchjob.gcr.io/v1alpha1\nkind: BatchJob\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
            f"spec: {{sparkSpec: {{type: Scala, driver: {{annotations: {{{notes}}}}}}}}}\n")


class Cluster:
    """A testbed of `nodes` nodes with two slots each, one to profile on, and a node for drivers."""

    def __init__(self, nodes, jobs):
        self.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self.folder.name)
        there = [node(f"node-{i}", f'tb: "{i}"') for i in range(nodes)] + [node("profiling", 'prof: "0"'), node("management", 'other: "0"')]
        (folder / "nodes.yaml").write_text("---\n".join(there))
        (folder / "objects.yaml").write_text("---\n".join([testbed("testbed", "tb"), testbed("profiler-testbed", "prof"), *jobs]))
        self.others = []
        self.log = open(folder / "log", "w+")
        self.process = subprocess.Popen(
            [BERTH, "up", "--ephemeral", "--port", "0", "--speed", "max", "--nodes", folder / "nodes.yaml", "--apply", folder / "objects.yaml",
             "--kubeconfig-out", folder / "kubeconfig"], stdout=self.log, stderr=subprocess.STDOUT)
        try:
            found = self._until(lambda: re.search(r"(http://\S+)/ui/#token=(\S+)", self.said()))
            self.environment = {"BERTH_URL": found[1], "BERTH_TOKEN": found[2]}
            self.esi = Esi(found[1], found[2])
            self._until(lambda: all(self.free(name) == (2 * size, 2 * size) for name, size in (("testbed", nodes), ("profiler-testbed", 1))))
        except BaseException:
            self.stop()
            raise

    def said(self):
        self.log.flush()
        return pathlib.Path(self.log.name).read_text()

    def _until(self, holds):
        for _ in range(PATIENCE * 10):
            try:
                if found := holds():
                    return found
            except OSError:
                pass  # it does not listen yet
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise AssertionError("it never came to be:\n" + self.said())

    def free(self, name):
        slots = [slot for slots in self.esi.testbed(name)["slotsByNode"].values() for slot in slots]
        return len(slots), sum(slot["state"] == "FREE" for slot in slots)

    def stop(self):
        for process in (*self.others, self.process):
            process.terminate()
            process.wait()
        self.log.close()
        self.folder.cleanup()

    def gateway(self):
        """Another program, in front of this cluster as of any: its address."""
        folder = pathlib.Path(self.folder.name)
        with open(folder / "gateway", "w") as log:
            self.others.append(subprocess.Popen([BERTH, "gateway", "--kubeconfig", folder / "kubeconfig", "--port", "0"], stdout=log, stderr=log))
        return self._until(lambda: re.search(r"listens on (http://\S+)", (folder / "gateway").read_text()))[1]

    def nothing_is_stuck(self, test):
        self._until(lambda: not self.esi.schedulings())
        self._until(lambda: all(told["state"] == "Ready" for told in self.esi.jobs().values()))
        self._until(lambda: all(len(set(self.free(name))) == 1 for name in ("testbed", "profiler-testbed")))
        for name, told in self.esi.jobs().items():
            test.assertTrue(all(run["successful"] for run in told["scheduledEvents"]), name)


def run(script, *flags, lines="", **environment):
    return subprocess.run([sys.executable, "-B", SCHEDULERS / script, *flags], input=lines, text=True, capture_output=True, timeout=PATIENCE,
                          env={**os.environ, **environment})


class OnACluster(unittest.TestCase):
    def cluster(self, nodes, jobs):
        made = Cluster(nodes, jobs)
        self.addCleanup(made.stop)
        return made

    def test_a_job_that_fails_ends_the_script_and_the_jobs_are_free_again(self):
        cluster = self.cluster(1, [job("good", 10, {}), job("bad", 10, {}, exit_code=1)])
        ran = run("fifo.py", "--testbed", "testbed", "good", "bad", **cluster.environment)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("planned-once: 409: JobFailed: BatchJob default/bad has failed", ran.stderr)
        again = run("shortest_job_first.py", "--testbed", "testbed", "good", **cluster.environment)
        self.assertEqual((again.returncode, again.stderr), (0, ""))
        self.assertEqual([run["successful"] for run in cluster.esi.job("bad")["scheduledEvents"]], [False])

    def test_works_in_a_namespace_other_than_the_gateways(self):
        elsewhere = ["apiVersion: v1\nkind: Namespace\nmetadata: {name: team-a}\n", testbed("testbed", "other", "team-a"),
                     *(job(name, 10, {}, "team-a") for name in "ab")]
        cluster = self.cluster(1, elsewhere)
        ran = run("fifo.py", "--testbed", "testbed", **cluster.environment, BERTH_NAMESPACE="team-a")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(ran.stdout.count(", ok"), 2)
        self.assertEqual(cluster.esi.schedulings(), [])

    def test_the_gateway_of_any_cluster_serves_the_scripts_and_the_page(self):
        cluster = self.cluster(1, [job("a", 10, {})])
        url = cluster.gateway()
        ran = run("fifo.py", "--testbed", "testbed", "a", BERTH_URL=url, BERTH_TOKEN=cluster.environment["BERTH_TOKEN"])
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        with urllib.request.urlopen(url + "/ui/") as page:
            self.assertEqual(page.headers.get_content_type(), "text/html")

    def test_ESI_105_ESI_106_ESI_108_profiles_and_schedules_at_once_and_nothing_is_stuck(self):
        """The thesis' evaluation: three nodes with two slots, one to profile on, one for the rest, and its three jobs."""
        names = ["flink-wordcount", "spark-crawler", "spark-pi"]
        slow = {name: {other: 1.1 + 0.3 * i for i, other in enumerate(names) if other != name} for name in names}
        cluster = self.cluster(3, [job(name, 20 + 5 * i, slow[name]) for i, name in enumerate(names)])
        draw = random.Random(5)
        lines = [draw.choice(["", " ".join(draw.sample(names, 2)), draw.choice(names)]) for _ in range(SCHEDULINGS)]
        ran = run("profiler.py", "--profiling", "profiler-testbed", "--testbed", "testbed", "--cycles", str(CYCLES),
                  lines="\n".join(lines) + "\n", **cluster.environment)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(ran.stdout.count("profiled "), CYCLES)
        self.assertEqual(ran.stdout.count("completed scheduled-"), SCHEDULINGS)
        cluster.nothing_is_stuck(self)
        matrix = Matrix.of_jobs(cluster.esi.jobs())
        counts = [matrix.samples(*pair) for pair in itertools.permutations(names, 2)]
        self.assertEqual(sum(counts), 2 * CYCLES)
        self.assertLessEqual(max(counts) - min(counts), 1)

    def test_ESI_106_the_matrix_is_the_mean_of_the_history(self):
        names = ["a", "b", "c"]
        cluster = self.cluster(1, [job(name, 10 + 7 * i, {other: 1.5 for other in names}) for i, name in enumerate(names)])
        pairs = [profiler.profile_once(cluster.esi, "profiler-testbed", f"p-{i}") for i in range(6)]
        matrix, again = Matrix.of_jobs(cluster.esi.jobs()), Matrix()
        for name in names:
            for run in cluster.esi.job(name)["scheduledEvents"]:
                pair = pairs[int(run["scheduling"].removeprefix("p-"))]
                again.add(name, pair[1] if pair[0] == name else pair[0], seconds(run))
        self.assertEqual(set(matrix.cells), set(again.cells))
        for cell, (mean, count) in again.cells.items():
            self.assertEqual(matrix.samples(*cell), count)
            self.assertAlmostEqual(matrix.runtime(*cell), mean, places=2)

    def test_ESI_107_pairing_beats_arrival_order_and_comes_near_the_best(self):
        """Six jobs of three kinds; those of one kind compete for the same resource and slow each other most."""
        if SCHEDULINGS < 20:
            self.skipTest("takes some minutes: the night runs it; what it decides is tested without a cluster")
        names = [f"job-{i}" for i in range(6)]
        kind = dict(zip(names, (0, 0, 1, 1, 2, 2)))
        draw = random.Random(3)
        slow = {name: {other: draw.uniform(1.7, 2.0) if kind[name] == kind[other] else draw.uniform(1.05, 1.25)
                       for other in names if other != name} for name in names}
        cluster = self.cluster(6, [job(name, 30, slow[name]) for name in names])
        esi = cluster.esi
        for i in range(15):  # every pair once, in both directions
            profiler.profile_once(esi, "profiler-testbed", f"p-{i}")

        def mean_runtime(scheduling):
            runs = [run for told in esi.jobs().values() for run in told["scheduledEvents"] if run["scheduling"] == scheduling]
            self.assertEqual(len(runs), len(names))
            return sum(seconds(run) for run in runs) / len(runs)

        orders = [draw.sample(names, len(names)) for _ in range(SCHEDULINGS // 5)]
        ours, arrival = [], []
        for i, order in enumerate(orders):
            profiler.schedule_once(esi, "testbed", f"ours-{i}", order)
            ours.append(mean_runtime(f"ours-{i}"))
            esi.submit(f"fifo-{i}", "testbed", queue=fifo.queue_of(order, slot_count(esi.testbed("testbed"))))
            esi.wait_for(f"fifo-{i}")
            arrival.append(mean_runtime(f"fifo-{i}"))
            esi.delete(f"fifo-{i}")
        cluster.nothing_is_stuck(self)
        # Two executors each: a job is slowed by the worse of the two it sits beside.
        best = min(sum(30 * max(slow[name][host.get(name)], slow[name][guests[i]]) for i, name in enumerate(names)) / len(names)
                   for guests in itertools.permutations(names) if all(a != b for a, b in zip(names, guests))
                   for host in [dict(zip(guests, names))])
        mean = {"ours": sum(ours) / len(ours), "arrival": sum(arrival) / len(arrival), "best": best}
        print(f"mean runtime over {len(orders)} orders: ours {mean['ours']:.1f} s, arrival order {mean['arrival']:.1f} s, "
              f"the best pairing {best:.1f} s", flush=True)
        self.assertLess(mean["ours"], 0.92 * mean["arrival"])
        self.assertLess(mean["ours"], 1.05 * best)


if __name__ == "__main__":
    BERTH = sys.argv.pop(1)
    unittest.main()
