"""What an analysis cannot know of a program, by name: trips of loops, and branches.

A loop whose number of turns nothing tells has a symbol, `trips_1`; a branch whose condition nothing
decides has a name, `cond_1` or `switch_1`. A name belongs to an equation, and keeps to it in every
run of the analysis, so results of several runs (bounds, depths) speak of the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from diastase.inspection.resources.interpretation.exact import Number, symbol
from diastase_mlir import span_of
from diastase_runtime.errors import Span

Policy = Literal["upper", "lower", "expected"]


@dataclass(frozen=True)
class Unknown:
    """A loop or a branch that only a run of the program knows more of."""

    name: str
    kind: Literal["for_loop", "while_loop", "branch"]
    span: Span | None
    branches: int = 0

    def __str__(self) -> str:
        what = f"{self.branches} branches" if self.kind == "branch" else f"turns of a {self.kind}"
        place = "" if self.span is None else f" at {self.span.file}:{self.span.line}"
        return f"{self.name}: {what}{place}"


@dataclass
class Choices:
    """What is known of the unknown, and what is done where it is not."""

    given: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Values by name: of arguments and trips, numbers; of branches, which one, or their weights."""
    policy: Policy = "upper"
    unknown: dict[int, Unknown] = field(default_factory=dict[int, Unknown])
    """By the identity of the equation."""

    def but(
        self, given: Mapping[str, Any] | None = None, policy: Policy | None = None
    ) -> "Choices":
        """The same names, with other values or another policy."""
        return Choices({**self.given, **(given or {})}, policy or self.policy, self.unknown)

    def number(self, name: str) -> Number:
        """What is given for a name, or its symbol."""
        return self.given[name] if name in self.given else symbol(name)

    def trips(self, equation: Any) -> Number:
        """The turns of a loop that nothing tells."""
        return self.number(self._named(equation, "trips", equation.primitive.name).name)

    def branch(self, equation: Any, branches: int) -> Unknown:
        """The name of a branch that nothing decides."""
        word = "cond" if branches == 2 else "switch"
        return self._named(equation, word, "branch", branches)

    def chosen(self, branch: Unknown) -> int | None:
        """Which branch is given; of two, the first one is that of True."""
        given = self.given.get(branch.name)
        if self.policy == "expected" and not isinstance(given, bool):
            return None
        return given if branch.branches > 2 or given is None else int(not given)

    def weights(self, branch: Unknown) -> Sequence[Number]:
        """How probable the branches are: as given, all alike otherwise."""
        given = self.given.get(branch.name)
        if given is None:
            return [1 / branch.branches] * branch.branches
        return [given, 1 - given] if isinstance(given, int | float) else list(given)

    def _named(self, equation: Any, word: str, kind: Any, branches: int = 0) -> Unknown:
        found = self.unknown.get(id(equation))
        if found is None:
            number = 1 + sum(one.name.startswith(f"{word}_") for one in self.unknown.values())
            span = span_of(equation.source_info)
            found = Unknown(f"{word}_{number}", kind, span, branches)
            self.unknown[id(equation)] = found
        return found
