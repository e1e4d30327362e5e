"""The process in which a subject is measured: requests and answers are lines of JSON.

    python -m worker MODULE        (started by `measuring/workers.py`, in the subject's environment)

`{"do": "prepare", "kind": …, "program": …, "arguments": {…}}` makes the program and runs it once;
the answer has its `value`. `{"do": "run", "seconds": s}` measures it for about s seconds; the
answer has `seconds` of one call. `first` measures in a process that did nothing before: until the
first result. `imported` measures how long a package takes to import, after JAX and PennyLane.

The trap: libraries print. What they print goes to stderr; the answers go to a copy of stdout.
"""

import importlib
import json
import os
import statistics
import sys
import time
import traceback

_SHORTEST_BATCH = 2e-4
"""Seconds; calls shorter than this are measured together."""
_SAMPLED = 64
"""So many elements of each result are compared."""


class Subject:
    def __init__(self, module):
        self.module_name = module
        self.call = None
        self.kind = None
        self.number = int(time.time() * 1000) % 10**9

    @property
    def module(self):
        return importlib.import_module(f"subjects.{self.module_name}")

    def versions(self, request):
        return {"python": sys.version.split()[0]} | self.module.versions()

    def build(self, request):
        return {"libraries": [str(path) for path in self.module.build_once()]}

    def prepare(self, request):
        make = self.module  # before the program, which finds JAX as the subject wants it
        program = importlib.import_module(f"programs.{request['program']}")
        self.kind = request["kind"]
        options = request.get("options", {})
        if self.kind == "compile":
            self.call = make.compiler(program, request["arguments"])
            once = self.call(1)
            start, result = time.perf_counter(), once()
        else:
            self.call = make.prepare(program, request["arguments"], **options)
            start, result = time.perf_counter(), self.call()
        seconds = time.perf_counter() - start
        return {"value": numbers(getattr(program, "value", lambda r: r)(result)), "first": seconds}

    def run(self, request):
        if self.kind != "compile":
            return {"seconds": seconds_per_call(self.call, request["seconds"])}
        # Another program each time, which no cache has: its number has never been used before.
        self.number += 1
        once = self.call(self.number)
        start = time.perf_counter()
        once()
        return {"seconds": time.perf_counter() - start}

    def first(self, request):
        make = self.module
        program = importlib.import_module(f"programs.{request['program']}")
        importlib.import_module("jax").devices()  # what JAX does once is not the compiler's time
        once = make.compiler(program, request["arguments"])(1)
        start = time.perf_counter()
        result = once()
        return {"seconds": time.perf_counter() - start, "value": numbers(result)}

    def imported(self, request):
        importlib.import_module("jax.numpy")
        importlib.import_module("pennylane")
        start = time.perf_counter()
        importlib.import_module(request["package"])
        return {"seconds": time.perf_counter() - start, "value": []}

    def grow(self, request):
        return importlib.import_module("growing").measured(request["family"], request["k"])

    def families(self, request):
        every = importlib.import_module("families").all_families()
        return {"sizes": {name: family.smallest for name, family in every.items()}}

    def release(self, request):
        self.call = None
        return {}


def seconds_per_call(call, seconds):
    """The median of batches of calls, after one that counts only if it takes long itself."""
    start = time.perf_counter()
    call()
    once = max(time.perf_counter() - start, 1e-9)
    if once > seconds:
        return once
    number = max(1, int(_SHORTEST_BATCH / once))
    batches = []
    end = start + seconds
    while not batches or time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(number):
            call()
        batches.append((time.perf_counter() - start) / number)
    return statistics.median(batches)


def numbers(result):
    """Some numbers of each array of a result, as a flat list; complex ones as two numbers."""
    import numpy as np

    found = []
    for leaf in leaves(result):
        flat = np.asarray(leaf).ravel()
        flat = flat[:: max(1, flat.size // _SAMPLED)][:_SAMPLED]
        parts = (flat.real, flat.imag) if np.iscomplexobj(flat) else (flat,)
        found += [float(x) for part in parts for x in part]
    return found


def leaves(result):
    if isinstance(result, dict):
        return [leaf for key in sorted(result) for leaf in leaves(result[key])]
    if isinstance(result, tuple | list):
        return [leaf for part in result for leaf in leaves(part)]
    return [result]


def serve(subject):
    """Bind this process to its cores; answer requests by the methods of their names."""
    if cores := os.environ.get("BENCH_CORES"):
        os.sched_setaffinity(0, {int(core) for core in cores.split(",")})
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        for line in sys.stdin:
            request = json.loads(line)
            try:
                answer = getattr(subject, request["do"])(request)
            except Exception as error:
                traceback.print_exc()
                text = (str(error).strip().splitlines() or [""])[0]
                answer = {"error": f"{type(error).__name__}: {text}"}
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    serve(Subject(sys.argv[1]))
