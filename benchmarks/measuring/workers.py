"""Processes that measure: `Worker` is one of them, `Workers` those of one number of threads.

A worker is bound to as many cores as it may use threads, and told the number in the way of each
library: that is what "1 thread" means in the results, for every subject alike.
"""

import json
import os
import select
import subprocess
import tempfile
from pathlib import Path

from measuring.environments import SUBJECTS, Missing, interpreter

HERE = Path(__file__).parents[1]
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "DIASTASE_NUM_THREADS",
    "BENCH_THREADS",
)
_PATIENCE = 300.0


class Failed(Exception):
    """A subject that could not do what it was asked; the message says why."""


class Worker:
    """One process, of a module that serves requests; one that takes too long ends it."""

    def __init__(self, name, threads, cache=None, module="worker"):
        cores = sorted(os.sched_getaffinity(0))
        if threads > len(cores):
            raise Missing(f"only {len(cores)} cores")
        environment = os.environ | dict.fromkeys(_THREAD_VARIABLES, str(threads))
        environment |= {
            "BENCH_CORES": ",".join(map(str, cores[:threads])),
            "JAX_PLATFORMS": "cpu",
            # Ours alone: a peer must not find the packages of this process's environment.
            "PYTHONPATH": os.environ.get("PYTHONPATH", "") if not SUBJECTS[name].packages else "",
        }
        # Installed packages have their bytecode; a checkout's is written, and found, if it may be.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        if cache is not None:
            environment["DIASTASE_CACHE_DIR"] = str(cache)
        self._log = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [interpreter(name), "-m", module, SUBJECTS[name].module],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
            text=True, cwd=HERE,
        )  # fmt: skip

    def ask(self, do, patience=_PATIENCE, **request):
        """Send one request, wait for its answer."""
        try:
            self._process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise Failed(self._last_words()) from None
        if not select.select([self._process.stdout], [], [], patience)[0]:
            self.close()
            raise Failed(f"> {patience:.0f} s")
        line = self._process.stdout.readline()
        if not line:
            raise Failed(self._last_words())
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    @property
    def alive(self):
        return self._process.poll() is None

    def _last_words(self):
        code = self._process.wait()
        self._log.seek(0)
        last = (self._log.read().strip().splitlines() or ["no message"])[-1]
        return f"the process ended with code {code}: {last}"

    def close(self):
        self._process.kill()
        self._process.wait()


class Workers:
    """Workers that stay: one for each subject, started when it is first needed."""

    def __init__(self, threads, cache):
        self._threads, self._cache = threads, cache
        self._running = {}

    def get(self, name):
        worker = self._running.get(name)
        if worker is None or not worker.alive:
            worker = self._running[name] = Worker(name, self._threads, self._cache)
        return worker

    def close(self):
        for worker in self._running.values():
            worker.close()
