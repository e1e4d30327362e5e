"""The rooms of the house: a picture in `architecture.md`, tables in `rooms.md`, from the sources.

`python docs/rooms.py` (`make docs`) writes them into the pages; a test compares. The picture has an
arrow from each room to those that it imports from, but for those that it reaches by other arrows;
the table has the first line of what each folder, and each module beside folders, says of itself.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import grimp
from generated import with_part

ROOT = Path(__file__).parents[1]
PICTURE, TABLE = ROOT / "docs" / "architecture.md", ROOT / "docs" / "rooms.md"
PACKAGES = {
    "diastase": "frontend",
    "diastase_mlir": "mlir",
    "diastase_engine": "runtime",
    "diastase_toolchain": "runtime",
    "diastase_runtime": "runtime",
}
"""The layer that each is in, from the top down."""

Arrows = Mapping[str, set[str]]


def folder_of(package: str) -> Path:
    """Where the sources of a package, or of a folder in one, are."""
    top = package.partition(".")[0]
    return ROOT / PACKAGES[top] / package.replace(".", "/")


def imports(graph: grimp.ImportGraph, names: Iterable[str]) -> dict[str, set[str]]:
    """Which of these packages import which of them, one way or another."""
    names = set(names)
    return {
        name: {other for other in names - {name} if _imports(graph, name, other)} for name in names
    }


def _imports(graph: grimp.ImportGraph, importer: str, imported: str) -> bool:
    return graph.direct_import_exists(importer=importer, imported=imported, as_packages=True)


def reduced(arrows: Arrows) -> Iterator[tuple[str, str]]:
    """The arrows that no way over others leads beside."""
    for start, ends in sorted(arrows.items()):
        for end in sorted(ends):
            if not any(_reaches(arrows, other, end) for other in ends - {end}):
                yield start, end


def _reaches(arrows: Arrows, start: str, end: str) -> bool:
    return end in arrows[start] or any(_reaches(arrows, other, end) for other in arrows[start])


def picture() -> str:
    """The packages and their rooms, with arrows, as Mermaid draws them."""
    graph = grimp.build_graph(*PACKAGES)
    lines = ["```mermaid", "flowchart TD"]
    for package in PACKAGES:
        rooms = [room for room in graph.find_children(package) if graph.find_children(room)]
        lines.append(f"  subgraph {package}")
        lines += [f"    {_node(room)}[{room.rpartition('.')[2]}]" for room in sorted(rooms)]
        lines += [f"    {_node(a)} --> {_node(b)}" for a, b in reduced(imports(graph, rooms))]
        lines.append("  end")
    lines += [f"  {a} ==> {b}" for a, b in reduced(imports(graph, PACKAGES))]
    return "\n".join([*lines, "```", ""])


def _node(room: str) -> str:
    return room.replace(".", "_")


def table() -> str:
    """One section for each package, one row for each of its folders and for what is beside them."""
    lines: list[str] = []
    for package, layer in PACKAGES.items():
        top = folder_of(package)
        lines += [f"### `{layer}/{package}/`: {purpose(top / '__init__.py')}", ""]
        lines += ["| folder | what it is for |", "|---|---|"]
        folders = sorted(set(top.rglob("__init__.py")) - {top / "__init__.py"})
        modules = sorted(set(top.glob("*.py")) - {top / "__init__.py"})
        rows = [(f"{file.parent.relative_to(top).as_posix()}/", file) for file in folders]
        rows += [(file.name, file) for file in modules]
        lines += [f"| `{name}` | {purpose(file)} |" for name, file in rows]
        lines.append("")
    return "\n".join(lines)


def purpose(file: Path) -> str:
    """The first line of what a module says of itself, without its stop."""
    text = ast.get_docstring(ast.parse(file.read_text())) or ""
    return text.splitlines()[0].rstrip(".").replace("|", r"\|")


def pages() -> dict[Path, str]:
    """The pages with a fresh picture and fresh tables."""
    return {
        PICTURE: with_part(PICTURE, "picture", "rooms.py", picture()),
        TABLE: with_part(TABLE, "rooms", "rooms.py", table()),
    }


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text)
