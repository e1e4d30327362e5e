"""`make release-check`: what would be published is built, read, installed and tried; a table.

Both distributions (`diastase`, `diastase-runtime`), each as a source distribution and the wheel
that is built from it. Metadata, licences, `py.typed`, the README as PyPI shows it. Then, for each
Python that is found, in new environments (`build/release/`), away from the checkout:

- the wheel: the demo; a function that is saved by it, and called where there is only NumPy and
  the wheel of `diastase-runtime`; every tenth test of the suite, as in the source distribution;
- the source distribution: it installs, and `tests/test_tiny.py` passes.

    python tests/release_check.py [3.12 …]
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from pathlib import Path

from pythons import pythons

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
WORK = ROOT / "build" / "release"
VERSIONS = ("3.11", "3.12", "3.13")
CLOSING = re.compile(r"\d+ (?:passed|failed|errors?|skipped).* in [\d.]+s")

SAVE = """
import jax.numpy as jnp, pennylane as qml
from diastase import qjit
@qjit
@qml.qnode(qml.device("lightning.qubit", wires=2))
def f(x):
    qml.RY(x, 0), qml.CNOT([0, 1])
    return qml.expval(qml.Z(1)), qml.probs()
f.save("f.diastase", types="f64")
print([value.tolist() for value in f(jnp.float64(0.3))])
"""
LOAD = """
import sys, numpy as np, diastase_runtime
f = diastase_runtime.load("f.diastase")
print([value.tolist() for value in f(np.float64(0.3))])
assert not {"jax", "pennylane", "llvmlite", "scipy"} & set(sys.modules)
"""


class NotReleasable(Exception):
    """What is wrong with what would be published."""


@dataclass(frozen=True)
class Distribution:
    """What is built of one `pyproject.toml`."""

    name: str
    folder: Path
    packages: tuple[str, ...]
    """The import packages that its wheel has, and nothing besides."""


DISTRIBUTIONS = (
    Distribution(
        "diastase",
        ROOT,
        ("diastase", "diastase_engine", "diastase_mlir", "diastase_runtime", "diastase_toolchain"),
    ),
    Distribution("diastase-runtime", ROOT / "runtime", ("diastase_runtime",)),
)


def run(command: Sequence[str | Path], folder: Path, **environment: str) -> str:
    """What a command prints; `NotReleasable` with the end of it where it fails."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ended = subprocess.run(
        [str(word) for word in command],
        cwd=folder, env={**inherited, **environment}, capture_output=True, text=True,
    )  # fmt: skip
    if ended.returncode:
        told = (ended.stdout + ended.stderr).strip()[-3000:]
        raise NotReleasable(f"{' '.join(map(str, command))}: exit {ended.returncode}\n{told}")
    return ended.stdout


def build(distribution: Distribution) -> tuple[Path, Path]:
    """Its source distribution, and the wheel that is made of that."""
    run([sys.executable, "-m", "build", "--outdir", DIST, distribution.folder], ROOT)
    stem = distribution.name.replace("-", "_")
    (source,) = DIST.glob(f"{stem}-[0-9]*.tar.gz")
    (wheel,) = DIST.glob(f"{stem}-[0-9]*.whl")
    return source, wheel


def check_wheel(wheel: Path, distribution: Distribution) -> Message:
    """Raise `NotReleasable` where something is missing in a wheel, or too much; its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (place,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(place).decode())
    folders = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    if folders != set(distribution.packages):
        raise NotReleasable(f"{wheel.name} has the packages {sorted(folders)}")
    for package in distribution.packages:
        if f"{package}/py.typed" not in names:
            raise NotReleasable(f"{wheel.name} has no {package}/py.typed")
    for licence in metadata.get_all("License-File") or [""]:
        if not licence or not any(
            name.endswith(f".dist-info/licenses/{licence}") for name in names
        ):
            raise NotReleasable(f"{wheel.name} has no licence file")
    for field in ("Summary", "License-Expression", "Requires-Python", "Description-Content-Type"):
        if not metadata[field]:
            raise NotReleasable(f"{wheel.name}: its metadata have no {field}")
    if links := relative_links(str(metadata.get_payload())):
        raise NotReleasable(f"{wheel.name}: links of its README lead nowhere on PyPI: {links}")
    return metadata


def relative_links(text: str) -> list[str]:
    """Targets of links in Markdown that are files beside the README."""
    return re.findall(r"\]\((?![a-z]+:|#)([^)\s]+)\)", text)


def check_source(source: Path) -> Path:
    """Unpack a source distribution that has its licence and no traces of this checkout; where."""
    with tarfile.open(source) as archive:
        names = archive.getnames()
        archive.extractall(WORK, filter="data")
    top = names[0].partition("/")[0]
    if f"{top}/LICENSE" not in names:
        raise NotReleasable(f"{source.name} has no LICENSE")
    if left := [name for name in names if re.search(r"__pycache__|/\.venv|/build/|/dist/", name)]:
        raise NotReleasable(f"{source.name} has files of this checkout: {left[:3]}")
    return WORK / top


def check_version(metadata: Sequence[Message]) -> str:
    """The version of all, for which there is a section of the CHANGELOG, newer ones first."""
    (version,) = {str(each["Version"]) for each in metadata}
    sections = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    if version not in sections or sections.index(version) > sections.index("Unreleased") + 1:
        raise NotReleasable(f"CHANGELOG.md has no section {version} right after Unreleased")
    return version


def environment(name: str, command: str, *packages: str | Path) -> Path:
    """The interpreter of a new environment with these packages."""
    folder = WORK / name
    run([command, "-m", "venv", folder], WORK)
    python = folder / "bin" / "python"
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], WORK)
    return python


def trials(
    version: str, command: str, wheels: Sequence[Path], sources: Sequence[Path], unpacked: Path
) -> Iterator[str]:
    """One cell of the table after another, for one Python; `NotReleasable` ends it."""
    wheel, of_runtime = wheels
    folder = WORK / f"work-{version}"
    folder.mkdir()
    cache = folder / "cache"
    cache.mkdir(mode=0o700)
    settings = {"DIASTASE_CACHE_DIR": str(cache)}
    python = environment(f"wheel-{version}", command, f"{wheel}[demo,test]")
    yield "installs"
    told = run([python, unpacked / "examples" / "h2_vqe.py"], folder, **settings)
    yield told.strip().splitlines()[-1]
    saved = run([python, "-c", SAVE], folder, **settings)
    bare = environment(f"runtime-{version}", command, of_runtime)
    if run([bare, "-c", LOAD], folder) != saved:
        raise NotReleasable("a saved function gives something else where there is NumPy alone")
    yield "equal"
    tests = ["-m", "pytest", "--numprocesses", "2", "--dist", "worksteal", "--quiet", "--tb=short"]
    told = run([python, *tests], unpacked, DIASTASE_TESTS="tenth", **settings)
    yield CLOSING.findall(told)[-1]
    of_source = environment(f"source-{version}", command, *sources, "pytest", "pytest-xdist")
    told = run([of_source, "-m", "pytest", "-q", "tests/test_tiny.py"], unpacked, **settings)
    yield CLOSING.findall(told)[-1]


def main(wanted: Sequence[str]) -> int:
    """Build, check, and print a row for each Python; what is wrong ends up on stderr."""
    for folder in (DIST, WORK):
        shutil.rmtree(folder, ignore_errors=True)
    WORK.mkdir(parents=True)
    try:
        built = [build(each) for each in DISTRIBUTIONS]
        run([sys.executable, "-m", "twine", "check", "--strict", *DIST.iterdir()], ROOT)
        wheels = [wheel for _, wheel in built]
        metadata = [check_wheel(*each) for each in zip(wheels, DISTRIBUTIONS, strict=True)]
        version = check_version(metadata)
        unpacked, _ = [check_source(source) for source, _ in built]
    except NotReleasable as error:
        print(error, file=sys.stderr)
        return 1
    for path in sorted(DIST.iterdir()):
        print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")
    print(f"\nversion {version}\n")
    print("| Python | wheel | demo | saved function, NumPy alone | a tenth of the suite | sdist |")
    print("|---|---|---|---|---|---|", flush=True)
    failed = 0
    for python, command in pythons(VERSIONS):
        if wanted and python not in wanted:
            continue
        cells = [python]
        try:
            cells += trials(python, command, wheels, built[0][:1], unpacked)
        except NotReleasable as error:
            failed += 1
            print(error, file=sys.stderr, flush=True)
            cells.append("FAILED")
        print(f"| {' | '.join(cells)} |", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
