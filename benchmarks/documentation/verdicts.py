"""What became of a block here beside what became of it with Catalyst, and the page that says so."""

import doctest
import re
from collections import Counter, defaultdict
from dataclasses import dataclass

_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")
_NOISE = re.compile(r"0x[0-9a-f]+|,?\s*(?:dtype|weak_type)=\w+|\bnp\.\w+\(|\s+")
_FOLDERS = re.compile(r"(?:/[\w.-]+)+/(?=line_\d+_\d+\.py|diastase/)")
"""Where this run was."""
KINDS = ("same", "more", "random", "differs", "fails", "later", "nowhere")
"""Runs in both alike; here only; in both, with results that differ between two runs here, too; in
both, with other results; there only; there only, as it names what is Catalyst's own; in neither.
Where Catalyst does not run, or prints something else, what the page shows is right, too."""

LATER = re.compile(r"decomposition_rule")
"""Names of `catalyst.jax_primitives`, which belong to Catalyst's own frontend.
A block that fails after one of these on its page fails for the same reason."""


@dataclass(frozen=True)
class Verdict:
    page: str
    line: int
    kind: str
    reason: str
    source: str
    warnings: tuple = ()
    """Names of the warnings that it gave here."""

    @property
    def counts(self):
        return self.kind != "nowhere"

    @property
    def runs(self):
        return self.kind in ("same", "more", "random", "differs")


def verdicts_of(ours, theirs, again=None):
    """A verdict on each block, in the order of the pages; `again`: another run of some, here."""
    return [verdict for page in ours for verdict in _of_page(page, ours, theirs, again or {})]


def _of_page(page, ours, theirs, again):
    mine = ours[page]
    others = theirs.get(page) or [None] * len(mine)
    repeated = again.get(page) or mine
    waits = False
    for one, other, second in zip(mine, others, repeated, strict=True):
        kind, reason = _kind(one, other)
        if kind == "differs" and _difference(one, second):
            kind = "random"
        if kind == "fails":
            waits = waits or bool(LATER.search(one["source"] + one["error"].partition("help:")[0]))
            kind = "later" if waits else kind
        yield Verdict(page, one["line"], kind, reason, one["source"], tuple(one["warnings"]))


def _kind(mine, other):
    if mine["error"]:
        there = other and not other["error"]
        return ("fails" if there or other is None else "nowhere"), mine["error"]
    as_shown = _is_as_shown(mine["printed"], mine["shown"])
    if other is None or other["error"]:
        if as_shown or not mine["shown"].strip():
            return "more", ""
        return "differs", f"prints {mine['printed'].strip()!r}, the page {mine['shown'].strip()!r}"
    if difference := _difference(mine, other):
        return ("same", "") if as_shown else ("differs", difference)
    return "same", ""


def _difference(mine, other):
    """Say in what results differ; nothing, if they do not."""
    if not _alike(mine["printed"], other["printed"]):
        return f"prints {mine['printed'].strip()!r}, Catalyst {other['printed'].strip()!r}"
    for name in mine["values"].keys() & other["values"].keys():
        if not _alike(mine["values"][name], other["values"][name]):
            return f"{name} is {mine['values'][name]!r}, with Catalyst {other['values'][name]!r}"
    return ""


def _is_as_shown(printed, shown):
    """Whether a block prints what its page says, which may leave parts out by three dots."""
    if not shown.strip():
        return False
    leaving_out = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    if doctest.OutputChecker().check_output(shown, printed, leaving_out):
        return True
    return _alike(printed, shown.replace("<BLANKLINE>", ""))


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
    built = [verdict for verdict in counted if verdict.kind != "later"]
    anywhere = " that run anywhere" if has_peer else ""
    lines = [
        "# Documented programs, with the import changed and nothing else",
        "",
        f"{_share(counted)} of all blocks{anywhere} run here; {_share(built)} of those that do not",
        "name what belongs to Catalyst's own frontend (`catalyst.jax_primitives`).",
        "",
        *_totals(verdicts),
        "",
        *_by_page(counted),
        *_each(verdicts, "fails", "Blocks that do not run here"),
        *_each(verdicts, "later", "Blocks that name Catalyst's own frontend"),
        *_each(verdicts, "differs", "Blocks with other results"),
        *_each(verdicts, "random", "Blocks whose results are random"),
    ]
    return "\n".join(lines) + "\n"


def _share(verdicts):
    runs = sum(verdict.runs for verdict in verdicts)
    return f"{runs} of {len(verdicts)} ({100 * runs / max(1, len(verdicts)):.1f} %)"


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
    reasons = [" ".join(_FOLDERS.sub("", verdict.reason).split())[:300] for verdict in chosen]
    entries = [
        f"- {verdict.page}:{verdict.line}: {reason}{_said(verdict)}"
        for verdict, reason in zip(chosen, reasons, strict=True)
    ]
    return [f"## {title}", "", *entries, ""] if chosen else []


def _said(verdict):
    ours = [name for name in verdict.warnings if name != "DeprecationWarning"]
    return f" (warns: {', '.join(ours)})" if ours else ""
