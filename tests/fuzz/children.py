"""Processes beside a worker, which answer questions: in another environment, or of another kind.

A question and its answer are a line of JSON each. A child begins with the first question and ends
with the worker. Of an exception in it the text comes back, as `Refused`; one that dies is started
again for the next question.
"""

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

TESTS = str(Path(__file__).parents[1])
MARK = "answer: "
"""Begins a line that is an answer: libraries print, too."""


class Refused(Exception):
    """What the other side said instead of an answer."""


class Child:
    """One process, by the module or the file that it runs."""

    def __init__(
        self, program: Sequence[str], python: str = sys.executable, **environment: str
    ) -> None:
        self.command = [python, *program]
        self.environment = environment
        self.process: subprocess.Popen | None = None

    def ask(self, question: Any) -> Any:
        if self.process is None or self.process.poll() is not None:
            self.process = self._started()
        talk_in, talk_out = self.process.stdin, self.process.stdout
        assert talk_in is not None
        assert talk_out is not None
        talk_in.write(json.dumps(question) + "\n")
        talk_in.flush()
        for line in talk_out:
            if line.startswith(MARK):
                told = json.loads(line.removeprefix(MARK))
                if "error" in told:
                    raise Refused(told["error"])
                return told["answer"]
        raise Refused(f"it ended with {self.process.wait()}")

    def _started(self) -> subprocess.Popen:
        paths = os.pathsep.join([TESTS, os.environ.get("PYTHONPATH", "")])
        return subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": paths, **self.environment},
        )


def serve(answer: Callable[[Any], Any]) -> None:
    """Answer until nobody asks any more."""
    for line in sys.stdin:
        try:
            told = {"answer": answer(json.loads(line))}
        except Exception as error:
            told = {"error": "".join(traceback.format_exception_only(error))}
        print(MARK + json.dumps(told), flush=True)
