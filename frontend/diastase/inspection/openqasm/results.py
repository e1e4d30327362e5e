"""Measurements at the end of a circuit: one `measure` of each wire that is read, in one basis.

Bit k of `c` is what wire k gives. Expectation values and variances are in the text as what they
are means of: their wires are turned into the basis of their Pauli words, and a comment says which
bits make them up. Whatever cannot be read off the same shots is refused.

The trap: gates after the last measurement turn a basis back for results that come later; they are
left out.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from diastase.inspection.openqasm.errors import NotInOpenqasmError
from diastase.inspection.openqasm.expressions import NotSayableError, number
from diastase.inspection.openqasm.gates import steps_of
from diastase.inspection.openqasm.reader import Reader, construct_of
from diastase_mlir import span_of
from diastase_runtime.gate_table import into_z

_QUBITS = re.compile(r"q\[([^]]*)\]")
_WHAT = {"sample": "shots", "probs": "probs", "expval_pauli": "expval", "var_pauli": "var"}


class Results:
    """What is measured at the end, as it is found out."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.comments = list[str]()
        self._bases = dict[int, str]()
        """The letter in which each wire is measured."""
        self._end = 0
        """Where the lines before the latest measurement end."""

    def read(self, equation: Any) -> None:
        """Note what an equation reads of the register."""
        name, params = equation.primitive.name, equation.params
        what = _WHAT.get(name)
        if what is None:
            raise NotInOpenqasmError(
                construct=construct_of(equation),
                reason="is no operation of OpenQASM, and nothing that shots give",
                hint="return qml.probs, counts, sample, or expval of Pauli words",
                span=span_of(equation.source_info),
            )  # fmt: skip
        self._require_untouched()
        self._end = len(self.reader.lines)
        if "words" in params:
            self._words(what, equation)
            return
        wires = self._known(equation, params["wires"]) or list(range(self.reader.size))
        for wire in wires:
            self._in_basis(wire, "Z")
        self.comments.append(f"{what} of {', '.join(f'c[{wire}]' for wire in wires)}")

    def _words(self, what: str, equation: Any) -> None:
        words = equation.params["words"]
        given = [wire for word in words for _, wire in word]
        wires = iter(self._known(equation, given))
        terms = list[str]()
        for word, coefficient in zip(words, self._coefficients(equation, len(words)), strict=True):
            placed = [(letter, next(wires)) for letter, _ in word]
            for letter, wire in placed:
                self._in_basis(wire, letter)
            factors = "".join(f" {letter}[{wire}]" for letter, wire in placed)
            terms.append(f"{coefficient}{factors}")
        self.comments.append(f"{what} of {' + '.join(terms)}")

    def _coefficients(self, equation: Any, count: int) -> Sequence[str]:
        value = self.reader.values.of(equation.invars[1])
        known = isinstance(value, np.ndarray)
        return [number(each) for each in value] if known else [f"a{k}" for k in range(count)]

    def _known(self, equation: Any, wires: Sequence[int | None]) -> list[int]:
        found = self.reader.wires(equation, wires)
        if not all(isinstance(wire, np.generic) for wire in found):
            raise NotSayableError("measures a traced wire at the end")
        return [int(wire) for wire in found if isinstance(wire, np.generic)]

    def _in_basis(self, wire: int, letter: str) -> None:
        if self._bases.setdefault(wire, letter) != letter:
            reason = f"reads wire {wire} in two bases, {self._bases[wire]} and {letter}"
            raise NotSayableError(f"{reason}, which no shot gives")

    def _require_untouched(self) -> None:
        for line in self.reader.lines[self._end :] if self._bases else ():
            for inside in _QUBITS.findall(line.text):
                if not inside.isdigit() or int(inside) in self._bases:
                    reason = f"reads wire {inside} in two bases, which no shot gives"
                    raise NotSayableError(reason)

    def write(self) -> None:
        """Write the measurements."""
        if not self._bases:
            return
        reader = self.reader
        if any("measure " in line.text for line in reader.lines[self._end :]):
            raise NotInOpenqasmError(
                construct="measure", reason="comes after results that are of an earlier state",
                hint="leave out what is read before it: a qml.Snapshot, perhaps",
            )  # fmt: skip
        del reader.lines[self._end :]
        for wire, letter in sorted(self._bases.items()):
            forth, _ = into_z(letter, [wire])
            for name, places in forth:
                reader.gate(steps_of(name, 1), [np.int64(place) for place in places], ())
        for wire in sorted(self._bases):
            reader.line(f"c[{wire}] = measure q[{wire}];")

    @property
    def bits(self) -> Mapping[int, str]:
        """The wires that are measured, each in a basis."""
        return self._bases
