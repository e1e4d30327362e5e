"""`make canary`: the suite with versions that are not out yet, or that we have not tried; a table.

For each Python that is found, and each set of versions, an environment of its own (kept in
`.venv-canary`, made anew where its packages are out of date), the sample of the suite, and a row:
the versions, the features that are off (`diastase_toolchain.private_api`), what failed. Bounds in
`pyproject.toml` do not hold here: that is what this is for.

    python tests/canary.py                  # all
    python tests/canary.py 3.13 pre -- tests/mlir   # of these rows, these tests
"""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pythons import pythons

ROOT = Path(__file__).parents[1]
ENVIRONMENTS = ROOT / ".venv-canary"
PYTHONS = ("3.12", "3.13", "3.14", "3.15")
VERSIONS = {"newest": ["--upgrade"], "pre": ["--upgrade", "--pre"]}
"""Options of pip for JAX and PennyLane: the newest releases, and release candidates as well."""
WATCHED = ("jax", "jaxlib", "pennylane")

VERSION_OF_EACH = f"""
from importlib.metadata import version
print(*[version(package) for package in {WATCHED!r}])
"""
DISABLED = """
import diastase.tracing.trace
from diastase_toolchain.private_api import libraries
for library in libraries:
    for error in library.disabled.values():
        print(f"{error.feature}: {error.name} {error.reason}")
"""
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?)(?:\[.*\])?(?: - (.*))?$", re.M)
CLOSING = re.compile(r"\d+ (?:passed|failed|errors?|skipped).* in [\d.]+s")


@dataclass(frozen=True)
class Row:
    """What one set of versions gave."""

    python: str
    versions: Sequence[str]
    disabled: Sequence[str]
    closing: str
    failed: Sequence[tuple[str, str]]
    """Each test function that failed, and why."""


def environment(python: str, command: str, kind: str) -> Path | str:
    """The interpreter of an environment with these versions; or why there is none."""
    folder = ENVIRONMENTS / f"{python}-{kind}"
    interpreter = folder / "bin" / "python"
    if not interpreter.exists():
        subprocess.run([command, "-m", "venv", str(folder)], check=True)
    pip = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for packages in (["--editable", ".[test]"], [*VERSIONS[kind], *WATCHED]):
        run = subprocess.run([*pip, *packages], cwd=ROOT, capture_output=True, text=True)
        if run.returncode:
            return run.stderr.strip().splitlines()[-1]
    return interpreter


def output(interpreter: Path, program: str) -> str:
    """What a program prints; its last line of an error where it fails."""
    command = [str(interpreter), "-W", "ignore", "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    return run.stdout if run.returncode == 0 else f"{run.stderr.strip().splitlines()[-1]}\n"


def row(python: str, interpreter: Path, tests: Sequence[str]) -> Row:
    """Run the suite in one environment."""
    pytest = ["-m", "pytest", "--numprocesses", "2", "--dist", "worksteal", "--quiet", "-rfE"]
    # A cache of its own, and JAX's warnings of what will go are no failures here.
    cache = interpreter.parents[1] / "cache"
    cache.mkdir(mode=0o700, exist_ok=True)
    settings = {"DIASTASE_CACHE_DIR": str(cache), "DIASTASE_TESTS": "sample"}
    run = subprocess.run(
        [str(interpreter), *pytest, "--tb=no", "-W", "default", *tests],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **settings},
    )
    closing = CLOSING.findall(run.stdout)
    return Row(
        python,
        output(interpreter, VERSION_OF_EACH).split(),
        output(interpreter, DISABLED).splitlines(),
        closing[-1] if closing else (run.stdout + run.stderr).strip()[-300:],
        FAILED.findall(run.stdout),
    )


def main(arguments: Sequence[str]) -> int:
    """Print a row for each environment as it comes, and what failed in it."""
    wanted = [word for word in arguments if word in PYTHONS or word in VERSIONS]
    tests = list(arguments[arguments.index("--") + 1 :]) if "--" in arguments else []
    print("| Python | " + " | ".join(WATCHED) + " | features off | tests |")
    print("|---" * (len(WATCHED) + 3) + "|")
    broken = 0
    for python, command in pythons(PYTHONS):
        for kind in VERSIONS:
            if any(word not in (python, kind) for word in wanted):
                continue
            made = environment(python, command, kind)
            if isinstance(made, str):
                print(f"| {python} | {kind}: not installed: {made} |", flush=True)
                continue
            found = row(python, made, tests)
            cells = [python, *found.versions, str(len(found.disabled)), found.closing]
            print(f"| {' | '.join(cells)} |", flush=True)
            for line in found.disabled:
                print(f"    off: {line}")
            for (test, reason), number in Counter(found.failed).most_common():
                print(f"    {number} x {test}: {reason}")
            broken += bool(found.failed or found.disabled)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
