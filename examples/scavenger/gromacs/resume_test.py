# SPDX-License-Identifier: Apache-2.0
"""The resume script around a gmx that behaves as mdrun does: 0 at its end, and 0 when it was told to stop."""
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).with_name("resume.sh")

GMX = """#!/bin/bash
echo "gmx $*" >> "$GMX_CALLS"
trap 'echo stopped > md.cpt; echo "stopping" ; exit "${GMX_STOPS_WITH:-0}"' TERM
echo "computing"
if [ -n "${GMX_RUNS:-}" ]; then while :; do sleep 0.05 & wait $!; done; fi
exit "${GMX_ENDS_WITH:-0}"
"""


class Resume(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        gmx = self.folder / "gmx"
        gmx.write_text(GMX)
        gmx.chmod(0o755)

    def start(self, *options, **environment):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("SJ_")}
        return subprocess.Popen(
            ["bash", str(SCRIPT), "md", *(options or ("-ntomp", "8"))], cwd=self.folder, text=True, stdout=subprocess.PIPE,
            env={**clean, "PATH": f"{self.folder}:{os.environ['PATH']}", "GMX_CALLS": str(self.folder / "calls"),
                 "TERMINATION_LOG": str(self.folder / "termination-log"), "RESUME_LOOKS_EVERY": "0.05", **environment})

    def end(self, process):
        output, _ = process.communicate(timeout=60)
        return process.returncode, output

    def started(self, process):
        for line in process.stdout:
            if line == "computing\n":
                return
        self.fail("mdrun was not started")

    def calls(self):
        return (self.folder / "calls").read_text().splitlines()

    def message(self):
        log = self.folder / "termination-log"
        return log.read_text().strip() if log.exists() else None

    def test_the_first_run_starts_from_the_beginning_and_says_done(self):
        code, _ = self.end(self.start(SJ_CHECKPOINT_INTERVAL="6m30s"))
        self.assertEqual(code, 0)
        self.assertEqual(self.calls(), ["gmx mdrun -deffnm md -cpo md.cpt -cpt 6.50 -ntomp 8"])
        self.assertEqual(self.message(), "done")

    def test_R51_a_signal_ends_it_with_a_checkpoint_that_the_next_run_takes_up(self):
        process = self.start(GMX_RUNS="1")
        self.started(process)
        process.send_signal(signal.SIGTERM)
        code, output = self.end(process)
        self.assertEqual(code, 85)
        self.assertIn("checkpoint in md.cpt, asked for by signal", output)
        self.assertIsNone(self.message(), "mdrun ended with 0, but it is not done")
        code, output = self.end(self.start())
        self.assertEqual(code, 0)
        self.assertIn("resuming from md.cpt", output)
        self.assertEqual(self.calls()[1], "gmx mdrun -deffnm md -cpi md.cpt -cpo md.cpt -cpt 5.00 -ntomp 8")

    def test_the_annotation_asks_as_a_signal_does(self):
        annotations = self.folder / "annotations"
        annotations.write_text("")
        process = self.start(GMX_RUNS="1", SJ_ANNOTATIONS=str(annotations))
        self.started(process)
        annotations.write_text('berth.dev/checkpoint-requested="2026-01-01T00:00:00Z"\n')
        code, output = self.end(process)
        self.assertEqual(code, 85)
        self.assertIn("asked for by annotation", output)

    def test_a_failure_stays_a_failure(self):
        code, _ = self.end(self.start(GMX_ENDS_WITH="2"))
        self.assertEqual(code, 2)
        self.assertIsNone(self.message())

    def test_without_a_checkpoint_nobody_claims_one(self):
        process = self.start(GMX_RUNS="1", GMX_STOPS_WITH="139")
        self.started(process)
        process.send_signal(signal.SIGTERM)
        code, _ = self.end(process)
        self.assertEqual(code, 139)

    def test_it_takes_as_many_threads_as_the_container_may_use(self):
        for text, expected in (("600000 100000", "6"), ("50000 100000", "1"), ("max 100000", str(len(os.sched_getaffinity(0))))):
            (self.folder / "cpu.max").write_text(text + "\n")
            self.end(self.start("-pin", "off", CGROUP=str(self.folder)))
            self.assertIn(f" -pin off -ntomp {expected}", self.calls()[-1])

    def test_an_interval_that_is_none_counts_as_five_minutes(self):
        for text, expected in (("soon", "5.00"), ("0s", "5.00"), ("1h", "60.00"), ("90s", "1.50"), ("500ms", "0.10")):
            self.end(self.start(SJ_CHECKPOINT_INTERVAL=text))
            self.assertIn(f"-cpt {expected} ", self.calls()[-1])


if __name__ == "__main__":
    unittest.main()
