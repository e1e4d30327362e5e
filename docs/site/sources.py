"""The pages as Sphinx reads them: copies of ours, with links that hold on the site.

The Markdown pages stay where GitHub shows them and tests run them. They are copied into one folder:
those of `docs/` at its top, those of `docs/site/pages/` beside them, all others as in the
repository. Links between pages are rewritten to their new places. A file of the repository that is
no page, but that a page links to, becomes one that shows its text; a folder, a list of its files.
"""

import os
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
PLACES = {
    "README.md": "readme.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "docs/index.md": "all-pages.md",
    "docs/tutorials": "tutorials.md",
}
"""Pages, and a folder, that have another name on the site than what their folder says."""
OTHER_PAGES = "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "benchmarks/README.md"

LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^ *(`{3,}|~{3,}|:{3,})")
SPANS = re.compile(r"(`+[^`]*`+)")
LANGUAGES = {
    ".py": "python", ".c": "c", ".rs": "rust", ".md": "markdown", ".json": "json",
    ".toml": "toml", ".yml": "yaml", ".sh": "bash", "Makefile": "make",
}  # fmt: skip


LEFT_THERE = "__pycache__", "partial"


class BrokenLinkError(Exception):
    """A page links to what the repository does not have."""


@dataclass
class Sources:
    """The folder that Sphinx reads, while it is being filled."""

    folder: Path
    shown: dict[str, str] = field(default_factory=dict)
    """Files and folders of the repository that pages show: their place on the site."""
    written: set[str] = field(default_factory=set)

    def write(self, place: str, text: str) -> None:
        """Write one page."""
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.written.add(place)

    def copy(self) -> None:
        """All pages of the repository, then what they link to."""
        for page in pages():
            self.write(place_of(page), self.with_links(page, (ROOT / page).read_text()))
        while waiting := {name for name, place in self.shown.items() if place not in self.written}:
            for name in sorted(waiting):
                self.write(self.shown[name], self._showing(name))

    def show(self, name: str) -> None:
        """Show a file of the repository that no page links to."""
        self.write(self._place_of_file(name), self._showing(name))

    def with_links(self, page: str, text: str) -> str:
        """The text of a page with the links that it needs on the site; code is left alone."""
        lines, fence = [], ""
        for number, line in enumerate(text.splitlines(keepends=True), start=1):
            if found := FENCE.match(line):
                mark = found[1]
                if not fence and mark[0] != ":":
                    fence = mark
                elif fence and line.strip() == fence:
                    fence = ""
            if not fence:
                parts = SPANS.split(line)
                parts[::2] = [
                    LINK.sub(lambda link: self._moved(page, number, link), part)  # noqa: B023
                    for part in parts[::2]
                ]
                line = "".join(parts)
            lines.append(line)
        return "".join(lines)

    def _moved(self, page: str, number: int, link: re.Match[str]) -> str:
        target, _, anchor = link[2].partition("#")
        if "://" in target or target.startswith("mailto:") or not target:
            return link[0]
        name = os.path.normpath(str(PurePosixPath(page).parent / target))
        if not (ROOT / name).exists():
            raise BrokenLinkError(f"{page}:{number}: there is no {name}")
        place = place_of(name) if name in pages() or name in PLACES else self._place_of_file(name)
        there = os.path.relpath(place, PurePosixPath(place_of(page)).parent)
        return f"{link[1]}{there}{'#' if anchor else ''}{anchor}{link[3]}"

    def _place_of_file(self, name: str) -> str:
        if f"{name}/README.md" in pages():
            return place_of(f"{name}/README.md")
        path = ROOT / name
        if path.suffix in (".png", ".svg"):
            place = f"pictures/{name.replace('/', '-')}"
            (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / place).write_bytes(path.read_bytes())
            return place
        self.shown[name] = f"files/{name}{'/index' if path.is_dir() else ''}.md"
        return self.shown[name]

    def _showing(self, name: str) -> str:
        """A page with the text of a file, or with links to the files of a folder."""
        head = f"---\norphan: true\nnosearch: true\n---\n\n# `{name}`\n\n"
        path = ROOT / name
        if path.is_dir():
            here = PurePosixPath(self.shown[name]).parent
            rows = []
            for child in sorted(files_of(name)):
                if (ROOT / child).suffix in (".png", ".svg", ".jsonl"):
                    continue
                place = place_of(child) if child in pages() else self._place_of_file(child)
                rows.append(f"- [{Path(child).name}]({os.path.relpath(place, here)})\n")
            return head + "".join(rows)
        language = LANGUAGES.get(path.suffix, LANGUAGES.get(path.name, "text"))
        return f"{head}`````{{code-block}} {language}\n:linenos:\n\n{path.read_text()}`````\n"


@cache
def pages() -> frozenset[str]:
    """All pages of the repository that the site has, by their names there."""
    found = files_of("docs") | files_of("benchmarks/results")
    return frozenset({name for name in found if name.endswith(".md")}.union(OTHER_PAGES))


def files_of(folder: str) -> set[str]:
    """The files of a folder, by their names in the repository; not what programs leave there."""
    found = set()
    for path in (ROOT / folder).rglob("*"):
        parts = path.relative_to(ROOT).parts
        if path.is_file() and not any(part[0] == "." or part in LEFT_THERE for part in parts):
            found.add("/".join(parts))
    return found


def place_of(page: str) -> str:
    """Where a page of the repository is on the site."""
    if page in PLACES:
        return PLACES[page]
    if page.startswith("docs/site/pages/"):
        return page.removeprefix("docs/site/pages/")
    place = page.removeprefix("docs/")
    return place.replace("README.md", "index.md")
