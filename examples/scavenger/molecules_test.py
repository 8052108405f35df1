# SPDX-License-Identifier: Apache-2.0
"""The example program as a process of its own: interrupted in every way there is, it ends with the same result."""
import argparse
import http.server
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import molecules

PROGRAM = pathlib.Path(__file__).with_name("molecules.py")
STEPS, ATOMS, EVERY = 240, 12, 20


class Run:
    """One start of the program, read line by line: nothing here depends on how fast it is."""

    def __init__(self, folder, *more, steps=STEPS, every=EVERY, **environment):
        self.folder = pathlib.Path(folder)
        self.log = self.folder / "termination-log"
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("SJ_", "JOB_"))}
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(PROGRAM), "--steps", str(steps), "--atoms", str(ATOMS), "--every", "1h", "--every-steps",
             str(every), "--verbose", "--state", str(self.folder / "state"), "--termination-log", str(self.log), *more],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**clean, **environment})
        self.lines = []

    def until(self, step):
        """Reads up to that step; False if it ended before."""
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if self.lines[-1] == f"step {step}":
                return True
        return False

    def end(self, number=None):
        """Signals it, reads what is left, and gives its exit code."""
        if number:
            self.process.send_signal(number)
        rest, self.errors = self.process.communicate(timeout=60)
        self.lines += rest.splitlines()
        return self.process.returncode

    def steps(self):
        return [int(line.split()[1]) for line in self.lines if line.startswith("step ")]

    def first(self):
        return int(re.match(r"(?:starting|resuming) at step (\d+)", self.lines[0]).group(1))

    def result(self):
        return json.loads(self.lines[-1])


def whole(**given):
    with tempfile.TemporaryDirectory() as folder:
        run = Run(folder, **given)
        assert run.end() == 0
        return run.result()


class Interrupted(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_R50_R52_interrupted_at_random_it_ends_with_the_same_result_and_repeats_little(self):
        expected = whole()
        for seed in range(4):
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as folder:
                draw, computed, interruptions, last_checkpoint = random.Random(seed), 0, 0, 0
                while True:
                    run = Run(folder)
                    there = run.until(draw.randrange(last_checkpoint + 1, STEPS + 60))
                    how = draw.choice((signal.SIGKILL, signal.SIGTERM)) if there else None
                    code = run.end(how)
                    computed += len(run.steps())
                    self.assertEqual(run.first(), last_checkpoint, "it goes on where its last checkpoint is")
                    if code == 0:
                        break
                    self.assertIn(code, (-signal.SIGKILL, molecules.CHECKPOINTED))
                    interruptions += 1
                    # Read from the volume, not from what it says: killed between the two it says less.
                    state = pathlib.Path(folder, "state.json")
                    last_checkpoint = json.loads(state.read_text())["step"] if state.exists() else 0
                    if code == molecules.CHECKPOINTED:
                        self.assertEqual(last_checkpoint, run.steps()[-1], "nothing is lost where it was asked")
                self.assertEqual(run.result(), expected)
                self.assertGreater(interruptions, 0)
                self.assertLessEqual(computed - STEPS, interruptions * EVERY)

    def test_a_kill_in_the_middle_of_a_write_leaves_a_whole_checkpoint(self):
        expected, draw, reached = whole(steps=60), random.Random(11), 0
        state = pathlib.Path(self.folder, "state.json")
        for _ in range(8):
            run = Run(self.folder, steps=60, every=1)  # it does little but write
            run.until(reached + draw.randrange(1, 6))
            run.end(signal.SIGKILL)
            reached = json.loads(state.read_text())["step"]
            self.assertGreaterEqual(reached, run.steps()[-1] - 1)
        run = Run(self.folder, steps=60, every=1)
        self.assertEqual(run.end(), 0)
        self.assertEqual(run.result(), expected)

    def test_the_annotation_asks_as_a_signal_does(self):
        annotations = pathlib.Path(self.folder, "annotations")
        annotations.write_text('berth.dev/checkpoint="x"\n')
        run = Run(self.folder, "--pause", "10ms", SJ_ANNOTATIONS=str(annotations))
        self.assertTrue(run.until(3))
        annotations.write_text('berth.dev/checkpoint="x"\nberth.dev/checkpoint-requested="2026-01-01T00:00:30Z"\n')
        self.assertEqual(run.end(), molecules.CHECKPOINTED)
        self.assertIn("asked for by berth.dev/checkpoint-requested", run.lines[-1])
        self.assertRegex(run.log.read_text(), rf"^checkpoint 2\S+Z at step {run.steps()[-1]}$")
        again = Run(self.folder)
        self.assertEqual(again.end(), 0)
        self.assertEqual(again.first(), run.steps()[-1])

    def test_it_says_done_and_says_it_again_without_computing(self):
        first = Run(self.folder)
        self.assertEqual(first.end(), 0)
        self.assertEqual(first.log.read_text(), "done")
        second = Run(self.folder)
        self.assertEqual(second.end(), 0)
        self.assertEqual(second.steps(), [])
        self.assertEqual(second.result(), first.result())

    def test_members_keep_files_of_their_own(self):
        for member in ("0", "1"):
            run = Run(self.folder, JOB_COMPLETION_INDEX=member)
            self.assertTrue(run.until(5))
            self.assertEqual(run.end(signal.SIGTERM), molecules.CHECKPOINTED)
        self.assertTrue(pathlib.Path(self.folder, "state-0.json").exists())
        self.assertTrue(pathlib.Path(self.folder, "state-1.json").exists())

    def test_it_refuses_what_is_not_its_own(self):
        state = pathlib.Path(self.folder, "state.json")
        for text, words in (("{", "is no checkpoint"), ('{"atoms": 5, "step": 1}', "of 5 atoms, not of 12"),
                            ('{"atoms": 12, "step": 999}', "has come to step 999 already")):
            state.write_text(text)
            run = Run(self.folder)
            self.assertEqual(run.end(), 1)
            self.assertIn(words, run.errors)
            self.assertEqual(state.read_text(), text)


class Reported(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def serve(self, status):
        heard = []

        class Gateway(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                heard.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Gateway)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}/checkpoints", heard

    def test_a_checkpoint_is_reported_once_in_ten_seconds(self):
        url, heard = self.serve(202)
        run = Run(self.folder.name, SJ_CHECKPOINT_URL=url)
        self.assertEqual(run.end(), 0)
        self.assertEqual([path for path, _ in heard], ["/checkpoints"])
        self.assertEqual(heard[0][1]["step"], EVERY)
        self.assertRegex(heard[0][1]["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
        self.assertGreaterEqual(heard[0][1]["seconds"], 0)

    def test_who_does_not_listen_or_refuses_does_no_harm(self):
        refusing, _ = self.serve(403)
        for url in (refusing, "http://127.0.0.1:1/", "no address"):
            with tempfile.TemporaryDirectory() as folder:
                run = Run(folder, SJ_CHECKPOINT_URL=url)
                self.assertEqual(run.end(), 0)
                self.assertIn("was not reported", run.errors)


class Durations(unittest.TestCase):
    def test_are_read_as_go_writes_them(self):
        for text, expected in (("90s", 90), ("6m19s", 379), ("1h30m", 5400), ("500ms", 0.5), ("2", 2)):
            self.assertEqual(molecules.seconds(text), expected)
        for text in ("", "soon", "5m!", "-1s"):
            self.assertRaises(argparse.ArgumentTypeError, molecules.seconds, text)


if __name__ == "__main__":
    unittest.main()
