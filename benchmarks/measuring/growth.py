"""How one family of programs grows: figures by size, exponents, and what they look like in a table.

An exponent is that of the last doubling: 1 means that twice the size takes twice as much. It is
marked where it exceeds `HIGHEST` and there is enough to tell; below, what is the same for all
sizes rules, and chance.
"""

import math
from dataclasses import dataclass, field

HIGHEST = 1.2
"""The exponent that no family is to exceed."""
_TELLING_SECONDS, _TELLING_BYTES = 0.3, 64 << 20
_SHARE = 0.1
"""Of the time of the largest size; steps that take less are not named."""

HEADER = (
    "| family | k | seconds | exponent | MB | exponent | steps that grow faster |\n"
    "|---|---|---|---|---|---|---|"
)
STEPS_HEADER = "| family | k | seconds by the clock | share of the steps |\n|---|---|---|---|"


@dataclass
class Growth:
    """One family at its sizes; figures are what `growing.measured` gives."""

    name: str
    sizes: list = field(default_factory=list)
    figures: list = field(default_factory=list)
    problem: str = ""
    """Why sizes are missing."""

    def of(self, what):
        return [figure[what] for figure in self.figures]

    @property
    def too_slow(self):
        return _exceeds(self.of("processor"), _TELLING_SECONDS)

    @property
    def too_large(self):
        return _exceeds(self.of("bytes"), _TELLING_BYTES)

    def least(self, other):
        """The figures of each size with the least seconds, of two runs."""
        pairs = list(zip(self.figures, other.figures, strict=False))
        least = [min(pair, key=lambda figure: figure["processor"]) for pair in pairs]
        missing = self.problem or other.problem
        return Growth(self.name, self.sizes[: len(pairs)], least, missing)

    @property
    def steps_that_grow(self):
        """Name, exponent, seconds of steps that grow too fast and take long; the longest first."""
        if len(self.figures) < 2:
            return []
        before, last = (figure["steps"] for figure in self.figures[-2:])
        least = _SHARE * self.figures[-1]["processor"]
        powers = {name: exponent([before.get(name, 0.0), last[name]]) for name in last}
        found = [name for name in powers if last[name] > least and powers[name] > HIGHEST]
        return [(name, powers[name], last[name]) for name in sorted(found, key=last.get)[::-1]]

    @property
    def line(self):
        """The line of the table."""
        steps = "; ".join(
            f"{name} {power:.1f} ({s:.2g} s)" for name, power, s in self.steps_that_grow
        )
        return _line(
            self.name,
            ", ".join(map(str, self.sizes)),
            ", ".join(f"{seconds:.2f}" for seconds in self.of("processor")),
            _cell(self.of("processor"), self.too_slow),
            ", ".join(f"{held / 1e6:.0f}" for held in self.of("bytes")),
            _cell(self.of("bytes"), self.too_large),
            "; ".join(filter(None, [steps, self.problem])),
        )

    @property
    def steps_line(self):
        """The line of the table of steps, at the largest size."""
        last = self.figures[-1]
        longest = sorted(last["steps"].items(), key=lambda step: -step[1])
        shares = ", ".join(f"{name} {100 * s / last['processor']:.0f} %" for name, s in longest[:6])
        return _line(self.name, str(self.sizes[-1]), f"{last['seconds']:.2f}", shares)


def exponent(values):
    """How the last of values grows from the one before, which is at half the size."""
    if len(values) < 2 or values[-2] <= 0 or values[-1] <= 0:
        return math.nan
    return math.log2(values[-1] / values[-2])


def expected(values):
    """What the next of values may be, at twice the size."""
    power = exponent(values)
    return values[-1] * 2 ** (1.0 if math.isnan(power) else max(1.0, power)) if values else 0.0


def _exceeds(values, telling):
    return len(values) > 1 and values[-1] >= telling and exponent(values) > HIGHEST


def _cell(values, marked):
    power = exponent(values)
    return "" if math.isnan(power) else f"{power:.1f}" + " **!**" * marked


def _line(*cells):
    return "| " + " | ".join(cells) + " |"
