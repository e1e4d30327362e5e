"""What computes each equation of a program, for the report: native code, a library, Python.

Equations that rules make of others are not counted, nor are those that hold equations themselves.
"""

from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

from diastase_mlir.lowering.core.functions import Function
from diastase_mlir.lowering.core.lowered_module import EQUATION_KINDS, HostCallback
from diastase_runtime.abi import ImportedLibrary


class EquationCounts:
    """The kinds of the equations lowered so far, read off what was imported meanwhile."""

    def __init__(self, callbacks: Sequence[HostCallback], imports: Counter[ImportedLibrary]):
        self._callbacks = callbacks
        self._imports = imports
        self._kinds: dict[int, set[str]] = {}
        self._again: list[Function] = []
        self._of_the_program = True
        self._has_inner = False

    def __len__(self) -> int:
        return len(self._kinds)

    def since(self, count: int) -> list[set[str]]:
        """The kinds of the equations counted after the first `count`."""
        return list(self._kinds.values())[count:]

    @contextmanager
    def paused(self) -> Generator[None]:
        """Lower equations that a rule has made."""
        outer, self._of_the_program = self._of_the_program, False
        try:
            yield
        finally:
            self._of_the_program = outer

    @contextmanager
    def one(self, equation: Any) -> Generator[None]:
        """Note what is lowered inside as one equation, unless there are equations within it."""
        if not self._of_the_program:
            yield
            return
        callbacks, imports, self._has_inner = len(self._callbacks), self._imports.copy(), False
        yield
        if not self._has_inner:
            kinds = self._kinds.setdefault(id(equation), set())
            kinds.update(self._imports - imports)
            if len(self._callbacks) > callbacks:
                kinds.add("callback")
        self._has_inner = True

    def several(self, equations: Sequence[Any]) -> None:
        """Equations are lowered as one."""
        if self._of_the_program:
            self._kinds.update({id(equation): set() for equation in equations})
            self._has_inner = True

    def again(self, function: Function) -> None:
        """A function is called once more: as if what it consists of stood here."""
        if self._of_the_program:
            self._again.append(function)
            self._has_inner = True

    def by_kind(self) -> dict[str, int]:
        """How many equations the program has of each of `EQUATION_KINDS`."""
        counts: dict[str, int] = dict.fromkeys(EQUATION_KINDS, 0)
        again = (kinds for function in self._again for kinds in function.equations)
        for kinds in chain(self._kinds.values(), again):
            counts[next((kind for kind in EQUATION_KINDS if kind in kinds), "native")] += 1
        return counts
