"""Parts of pages that are made from sources, between comments that name them and their maker."""

from pathlib import Path


def with_part(page: Path, what: str, maker: str, made: str) -> str:
    """The page, with what is made in place of what was between the comments."""
    begin, end = f"<!-- {what}: begin (docs/{maker}) -->\n", f"<!-- {what}: end -->\n"
    before, rest = page.read_text().split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}\n{made}\n{end}{after}"
