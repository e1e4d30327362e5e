"""The environment of each subject: its interpreter, made at the first run where it is missing.

Peers pin their own versions of JAX and of each other, so each has an environment of its own in
`benchmarks/.environments`. A peer that cannot be installed is reported as missing, with the reason.
`DIASTASE_BENCH_<NAME>_PYTHON` names an interpreter to use instead (`…_CATALYST_PYTHON`).
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[1] / ".environments"
_PENNYLANE = ("pennylane==0.45.*", "pennylane-lightning==0.45.*")


@dataclass(frozen=True)
class Subject:
    name: str
    module: str
    """In `subjects/`."""
    packages: tuple = ()
    """What pip installs in its environment; none: it runs in this one."""
    package: str = ""
    """What a user imports; for the time of importing."""
    colour: str = "gray"


SUBJECTS = {
    subject.name: subject
    for subject in (
        Subject("diastase", "diastase", package="diastase", colour="tab:blue"),
        Subject("jax.jit", "jax_jit", package="jax", colour="tab:green"),
        Subject(
            "catalyst",
            "catalyst",
            ("pennylane-catalyst==0.15.*", *_PENNYLANE),
            package="catalyst",
            colour="tab:red",
        ),
        Subject("qulacs", "qulacs_simulator", ("qulacs", "numpy"), colour="tab:purple"),
        Subject("qsim", "qsim_simulator", ("qsimcirq", "numpy"), colour="tab:orange"),
        Subject("qiskit-aer", "qiskit_aer", ("qiskit-aer", "qiskit"), colour="tab:brown"),
        Subject("stim", "stim_by_hand", ("stim", "numpy"), colour="tab:olive"),
        Subject("pennylane", "pennylane_alone", _PENNYLANE, colour="tab:pink"),
    )
}


class Missing(Exception):
    """A subject that cannot run here; the message says why."""


_REASONS = {}
"""By subject: why it is missing, so that installing it is tried once."""


def interpreter(name):
    """The Python of a subject's environment, which is made if there is none."""
    if name in _REASONS:
        raise Missing(_REASONS[name])
    try:
        return _interpreter(name)
    except Missing as error:
        _REASONS[name] = str(error)
        raise


def _interpreter(name):
    subject = SUBJECTS[name]
    if not subject.packages:
        return sys.executable
    if named := os.environ.get(f"DIASTASE_BENCH_{name.upper().replace('-', '_')}_PYTHON"):
        if not os.access(named, os.X_OK):
            raise Missing(f"there is no interpreter {named}")
        return named
    folder = FOLDER / name
    finished = folder / "installed"
    python = folder / "bin" / "python"
    if not finished.exists():
        _install(name, folder, python, subject.packages)
        finished.write_text("\n".join(subject.packages) + "\n")
    return str(python)


def _install(name, folder, python, packages):
    print(f"installing {name}: {' '.join(packages)}", file=sys.stderr)
    pip = (str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    for command in ((sys.executable, "-m", "venv", str(folder)), (*pip, *packages)):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise Missing(f"cannot be installed: {last}")
