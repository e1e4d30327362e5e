"""Runs every program of documents with Catalyst and here, and says what differs.

`python benchmarks/documented_programs.py [FOLDER …]`: pages (`.rst`, `.md`, `.txt`) below these
folders; without one, the docstrings that Catalyst's and PennyLane's wheels carry. Here,
`import diastase.as_catalyst` comes before, and nothing else is changed. A block counts if it runs
with Catalyst or here. What it prints and the numbers that it binds are compared with Catalyst's,
and with what the page shows; pages that differ are run here a second time, as they may be random.
Written to `results/documentation.md`: shares by page, and each block that fails here or prints
something else, with the reason.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from documentation.verdicts import report, verdicts_of
from measuring.environments import Missing, interpreter

HERE = Path(__file__).parent
WORKER = HERE / "documentation" / "worker.py"
DOCSTRINGS = HERE / "documentation" / "docstrings.py"
WHEELS = (("catalyst", ""), ("pennylane", r"qjit|catalyst"))
"""Packages of the peer's environment, and what a docstring must mention."""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0, help="of a block, at most")
    parser.add_argument("--only", default="", help="a pattern for the names of pages")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "documentation.md")
    parser.add_argument("--peer-records", type=Path, help="keep or reuse the peer's records")
    return parser.parse_args()


def pages(folders, only):
    found = [
        p for folder in folders for p in folder.rglob("*") if p.suffix in (".rst", ".md", ".txt")
    ]
    return sorted(str(page) for page in found if re.search(only, page.name))


def docstrings(python, folder):
    """Write the docstrings that the wheels of the peer's environment carry."""
    for package, pattern in WHEELS:
        subprocess.run(
            (python, DOCSTRINGS, package, folder, pattern), check=True, stderr=subprocess.DEVNULL
        )


def records(python, package, seconds, files):
    """What became of each block of each page, by the page's name."""
    command = (python, WORKER, package, str(seconds), *files)
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return {page["page"]: page["blocks"] for page in map(json.loads, done.stdout.splitlines())}


def peer_records(given, python, files):
    kept = given.peer_records
    if kept and kept.exists():
        return json.loads(kept.read_text())
    found = records(python, "catalyst", given.seconds, files) if python else {}
    if kept:
        kept.write_text(json.dumps(found))
    return found


def main():
    given = arguments()
    try:
        peer = interpreter("catalyst")
    except Missing as missing:
        print(f"catalyst: {missing}", file=sys.stderr)
        peer = None
    with tempfile.TemporaryDirectory() as scratch:
        if not given.folders:
            docstrings(peer or sys.executable, scratch)
        files = pages(given.folders or [Path(scratch)], given.only)
        theirs = peer_records(given, peer, files)
        ours = records(sys.executable, "diastase", given.seconds, files)
        differ = {
            verdict.page for verdict in verdicts_of(ours, theirs) if verdict.kind == "differs"
        }
        again = [file for file in files if Path(file).name in differ]
        repeated = records(sys.executable, "diastase", given.seconds, again) if again else {}
    verdicts = verdicts_of(ours, theirs, repeated)
    given.results.write_text(report(verdicts, bool(theirs)))
    print(dict(Counter(verdict.kind for verdict in verdicts)), "written to", given.results)


if __name__ == "__main__":
    main()
