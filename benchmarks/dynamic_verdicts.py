"""Judge the programs of `dynamic_programs.py` in one system; prints one JSON object a program.

    python dynamic_verdicts.py (diastase | catalyst) [name ...]

Runs in the environment of that system, so it imports nothing of ours but what the system is. Each
program runs in a process of its own: some crash. A program *works* if all calls give what the
reference gives, is *wrong* if one gives anything else without an exception, and an *error* if one
raises or takes the process down.
"""

import json
import subprocess
import sys
import warnings
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np

SECONDS = 120
"""After which a program counts as one that never ends."""


def system(name):
    """What a program may use of a system."""
    if name == "diastase":
        import diastase as module
    else:
        import catalyst as module
    names = ("qjit", "for_loop", "while_loop", "cond", "switch")
    return SimpleNamespace(device="lightning.qubit", **{key: getattr(module, key) for key in names})


def judge(make, api):
    """`(verdict, what happened)` of one program, in this process."""
    try:
        compiled, calls, reference = make(api)
    except Exception as error:
        return "error", f"{_in_one_line(error)}"
    for arguments in calls:
        shown = ", ".join(str(getattr(value, "shape", value)) for value in arguments)
        given = [jnp.asarray(v) if isinstance(v, np.ndarray) else v for v in arguments]
        try:
            found = [np.asarray(leaf) for leaf in jax.tree.leaves(compiled(*given))]
        except Exception as error:
            return "error", f"at {shown}: {_in_one_line(error)}"
        expected = [np.asarray(leaf) for leaf in jax.tree.leaves(reference(*given))]
        difference = _difference(found, expected)
        if difference:
            return "wrong", f"at {shown}: {difference}"
    return "works", ""


def _in_one_line(error):
    text = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {text}"


def _difference(found, expected):
    """What is wrong with the results, or nothing."""
    if len(found) != len(expected):
        return f"{len(found)} results instead of {len(expected)}"
    for one, other in zip(found, expected, strict=True):
        if one.shape != other.shape:
            return f"shape {one.shape} instead of {other.shape}"
        if not np.allclose(one, other, rtol=1e-8, atol=1e-10, equal_nan=True):
            return f"{one.ravel()[:3]} instead of {other.ravel()[:3]}"
    return ""


def judge_apart(system_name, program_name):
    """`judge` in a process of its own."""
    command = [sys.executable, __file__, system_name, program_name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "error", f"no end after {SECONDS} s"
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return "error", f"the process ended with code {done.returncode}: {last}"
    return json.loads(done.stdout.splitlines()[-1])["verdict"]


def main(system_name, *names):
    """Judge one program here, or each of several in a process of its own."""
    from dynamic_programs import PROGRAMS

    jax.config.update("jax_enable_x64", True)
    if len(names) == 1:
        warnings.simplefilter("ignore")
        verdict = judge(PROGRAMS[names[0]], system(system_name))
        print(json.dumps({"name": names[0], "verdict": verdict}))
        return
    for name in names or PROGRAMS:
        print(json.dumps({"name": name, "verdict": judge_apart(system_name, name)}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
