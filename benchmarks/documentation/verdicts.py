"""What became of a block here beside what became of it with Catalyst, and the page that says so."""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass

_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")
_NOISE = re.compile(r"0x[0-9a-f]+|,?\s*(?:dtype|weak_type)=\w+|\bnp\.\w+\(|\s+")
KINDS = ("same", "more", "differs", "fails", "nowhere")
"""Runs in both alike; here only; in both, with other results; there only; in neither."""


@dataclass(frozen=True)
class Verdict:
    page: str
    line: int
    kind: str
    reason: str
    source: str

    @property
    def counts(self):
        return self.kind != "nowhere"

    @property
    def runs(self):
        return self.kind in ("same", "more", "differs")


def verdicts_of(ours, theirs):
    """A verdict on each block, in the order of the pages."""
    return [
        _verdict(page, mine, other)
        for page, blocks in ours.items()
        for mine, other in zip(blocks, theirs.get(page) or [None] * len(blocks), strict=True)
    ]


def _verdict(page, mine, other):
    kind, reason = _kind(mine, other)
    return Verdict(page, mine["line"], kind, reason, mine["source"])


def _kind(mine, other):
    if mine["error"]:
        there = other and not other["error"]
        return ("fails" if there or other is None else "nowhere"), mine["error"]
    if other is None or other["error"]:
        return "more", ""
    if difference := _difference(mine, other):
        return "differs", difference
    return "same", ""


def _difference(mine, other):
    """Say in what results differ; nothing, if they do not."""
    if not _alike(mine["printed"], other["printed"]):
        return f"prints {mine['printed'].strip()!r}, Catalyst {other['printed'].strip()!r}"
    for name in mine["values"].keys() & other["values"].keys():
        if not _alike(mine["values"][name], other["values"][name]):
            return f"{name} is {mine['values'][name]!r}, with Catalyst {other['values'][name]!r}"
    return ""


def _alike(left, right):
    """Whether two texts have the same words and, to four digits, the same numbers."""
    left, right = _NOISE.sub("", left), _NOISE.sub("", right)
    if _NUMBER.sub("#", left) != _NUMBER.sub("#", right):
        return False
    pairs = zip(_NUMBER.findall(left), _NUMBER.findall(right), strict=True)
    return all(abs(float(a) - float(b)) <= 1e-4 * max(1.0, abs(float(b))) for a, b in pairs)


def report(verdicts, has_peer):
    """The page: totals, shares by page, and each block that fails or differs, with its reason."""
    counted = [verdict for verdict in verdicts if verdict.counts]
    runs = sum(verdict.runs for verdict in counted)
    share = 100 * runs / max(1, len(counted))
    lines = [
        "# Documented programs, with the import changed and nothing else",
        "",
        f"{runs} of {len(counted)} blocks{' that run anywhere' if has_peer else ''} run here: "
        f"{share:.1f} %.",
        "",
        *_totals(verdicts),
        "",
        *_by_page(counted),
        *_each(verdicts, "fails", "Blocks that do not run here"),
        *_each(verdicts, "differs", "Blocks with other results"),
    ]
    return "\n".join(lines) + "\n"


def _totals(verdicts):
    totals = Counter(verdict.kind for verdict in verdicts)
    return [" · ".join(f"{kind}: {totals[kind]}" for kind in KINDS)]


def _by_page(counted):
    pages = defaultdict(list)
    for verdict in counted:
        pages[verdict.page].append(verdict)
    rows = [
        f"| {page} | {sum(v.runs for v in found)} of {len(found)} |"
        for page, found in pages.items()
    ]
    return ["| page | run here |", "|---|---|", *rows, ""]


def _each(verdicts, kind, title):
    chosen = [verdict for verdict in verdicts if verdict.kind == kind]
    entries = [f"- {v.page}:{v.line}: {' '.join(v.reason.split())[:300]}" for v in chosen]
    return [f"## {title}", "", *entries, ""] if chosen else []
