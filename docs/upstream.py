"""Whether what `upstream.md` says of other projects is still so: `python docs/upstream.py [words]`.

Blocks marked `py` are programs, the first of each section (`##`) the beginning of all others. Each
runs in a process of its own, as some end it; the comments at its end are in what it prints, or it
`(does not end)`. Prints what is otherwise: mended, or changed.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).with_name("upstream.md")
PYTHONS = {"Catalyst": os.environ.get("DIASTASE_BENCH_CATALYST_PYTHON")}
"""Who runs a section, if it is not the Python that runs this; None if it is not installed."""

ENDLESS = "(does not end)"
SECONDS = {True: 300.0, False: 20.0}
"""For programs that end, and those that do not."""

_PART = re.compile(
    r"^(?:## (?P<section>.*)|### (?P<title>.*)|```py\n(?P<code>[\s\S]*?)^```)$", re.M
)
_END = re.compile(r"(?:^# .*\n)+\Z", re.MULTILINE)


@dataclass(frozen=True)
class Reproducer:
    """A program, and lines that it prints."""

    section: str
    title: str
    code: str
    says: list[str]

    def found(self, python: str) -> str:
        """`as said`, or what is printed instead."""
        ends = ENDLESS not in self.says
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:  # AutoGraph reads the source
            file.write(self.code)
            file.flush()
            command = [python, "-W", "ignore", "-X", "faulthandler", file.name]
            try:
                ended = subprocess.run(
                    command, capture_output=True, text=True, timeout=SECONDS[ends]
                )
            except subprocess.TimeoutExpired:
                return "it does not end" if ends else "as said"
        printed = ended.stdout + ended.stderr
        said = ends and all(line in printed for line in self.says)
        return "as said" if said else f"otherwise:\n{printed[-1000:]}"


def reproducers(text: str) -> Iterator[Reproducer]:
    """The programs of a page."""
    section = title = beginning = ""
    for part in _PART.finditer(text):
        if part["section"]:
            section, beginning = part["section"], ""
        elif part["title"]:
            title = part["title"]
        elif not beginning:
            beginning = part["code"]
        else:
            says = _END.search(part["code"])
            assert says, f"{title}: what is printed?"
            lines = [line.removeprefix("# ").strip() for line in says[0].splitlines()]
            yield Reproducer(section, title, beginning + part["code"], lines)


def main(words: list[str]) -> None:
    """Run those with one of the words in their titles, or all."""
    for each in reproducers(PAGE.read_text()):
        python = PYTHONS.get(each.section, sys.executable)
        if python and (not words or any(word in each.title for word in words)):
            print(f"{each.section}: {each.title}: {each.found(python)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
