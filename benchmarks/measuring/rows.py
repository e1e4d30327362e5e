"""From figures to rows: one for each case and number of threads, with ratios and targets.

A ratio is a peer's median over ours: above 1 we are faster. A suite (a group with a target for its
geometric mean) gets a row of its own at the end.
"""

import math
import statistics
from dataclasses import dataclass, field

from measuring.cases import AtMost, Beside
from measuring.rounds import OURS


@dataclass
class Row:
    case: object
    threads: int
    figures: dict
    """By subject."""
    all_rows: dict = field(default_factory=dict, repr=False)
    """By case's name and number of threads; for targets that name another case."""

    @property
    def title(self):
        return f"{self.case.title}, {self.threads} thread{'s' * (self.threads > 1)}"

    def median(self, subject):
        """The median time of a subject; None where it has none that counts."""
        figure = self.figures.get(subject)
        if figure is None or figure.problem or not figure.seconds:
            return None
        return statistics.median(figure.seconds)

    def ratio(self, subject):
        peer, ours = self.median(subject), self.median(OURS)
        return peer / ours if peer and ours else None

    @property
    def targets(self):
        return [t for t in self.case.targets if t.threads in (None, self.threads)]

    def verdict(self, target):
        """How many times better than the target we are; None where that is unknown."""
        if isinstance(target, AtMost):
            ours = self.median(OURS)
            return target.seconds / ours if ours else None
        if isinstance(target, Beside):
            return self._verdict_beside(target)
        ratio = self.ratio(target.peer)
        return ratio / target.factor if ratio else None

    def _verdict_beside(self, target):
        other = self.all_rows.get((target.case, target.of_threads or self.threads))
        ours, allowed = self.median(OURS), other.median(OURS) if other else None
        return (target.factor * allowed + target.more) / ours if ours and allowed else None


def rows_of(cases, figures):
    """All rows, in the order of the cases."""
    rows, by_case = [], {}
    for case in cases:
        for threads in case.threads:
            mine = {f.subject: f for f in figures if (f.case, f.threads) == (case.name, threads)}
            if mine:
                row = Row(case, threads, mine, by_case)
                by_case[case.name, threads] = row
                rows.append(row)
    return rows


def geometric_mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else None
