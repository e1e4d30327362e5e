"""The drawings of `docs/pictures.md` are what its programs print."""

import linecache
import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "pictures.md"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


def printed_by(page: str, capsys) -> list[tuple[str, str]]:
    """What each program prints, and what the page says that it prints."""
    names: dict = {"__name__": "pictures"}
    pairs = []
    for number, (source, expected) in enumerate(BLOCK.findall(page)):
        file = f"<pictures, block {number}>"
        lines = source.splitlines(keepends=True)
        linecache.cache[file] = (len(source), None, lines, file)  # for AutoGraph
        exec(compile(source, file, "exec"), names)
        found = "".join(f"{line.rstrip()}\n" for line in capsys.readouterr().out.splitlines())
        pairs.append((found, expected))
    return pairs


def test_drawings(capsys):
    pairs = printed_by(PAGE.read_text(), capsys)
    assert len(pairs) >= 9
    for found, expected in pairs:
        assert found == expected
