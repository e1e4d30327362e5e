"""Measurements at the end of a circuit: one `measure` of each wire that is read, in one basis.

Bit k of `c` is what wire k gives. Expectation values and variances are in the text as what they
are means of: their wires are turned into the basis of their Pauli words, and a comment says which
bits make them up. Whatever cannot be read off the same shots is refused.

The trap: gates after the last measurement turn a basis back for results that come later; they are
left out, and say in which basis shots are.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jax.extend.core import Literal

from diastase.inspection.circuit_texts.expressions import NotSayableError, Scalar, number
from diastase.inspection.circuit_texts.gates import steps_of
from diastase.inspection.circuit_texts.languages import refusal
from diastase.inspection.circuit_texts.reading.reader import Reader
from diastase.inspection.circuit_texts.statements import (
    Gate,
    Measure,
    Read,
    Statement,
    walk,
    wires_of,
)
from diastase.inspection.circuit_texts.values import Unsayable, Value, scalars_of
from diastase.primitives.quantum import is_register
from diastase_runtime.gate_table import into_z

_TURNS_BACK = {"h": "X", f"rx {-math.pi / 2!r}": "Y"}
_WHAT = {"sample": "shots", "probs": "probs", "expval_pauli": "expval", "var_pauli": "var"}


@dataclass(frozen=True)
class Output:
    """What a circuit gives: bits of its wires, or values that outcomes in the middle decide."""

    what: str
    wires: Sequence[int] = ()
    values: Sequence[Scalar] = ()
    words: str = ""
    """The sum of Pauli words whose mean or variance it is; of shots, the letter of each wire."""
    unsayable: str = ""
    """Why there is no expression for what is returned."""


OF_SHOTS = Unsayable("depends on results of shots")
"""What is measured at the end, and all that is computed from it."""


class Results:
    """What is measured at the end, as it is found out."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._outputs = dict[Any, Output]()
        """By the variable that they are the value of."""
        self._bases = dict[int, str]()
        """The letter in which each wire is measured."""
        self._end = 0
        """Where the lines before the latest measurement end."""
        self._turned = dict[int, str]()
        """Letters of the wires that gates have turned, of shots."""

    def read(self, equation: Any) -> None:
        """Note what an equation reads of the register."""
        name, params = equation.primitive.name, equation.params
        what = _WHAT.get(name)
        if what is None:
            language = self.reader.language
            reason = f"is no operation of {language.name}, and nothing that shots give"
            hint = "return qml.probs, counts, sample, or expval of Pauli words"
            raise refusal(language, equation, reason, hint)
        self._require_untouched()
        self._end = len(self.reader.statements)
        self.reader.values.let(equation.outvars[0], OF_SHOTS)
        if "words" in params:
            self._outputs[equation.outvars[0]] = self._words(what, equation)
            return
        wires = self._known(equation, params["wires"]) or list(range(self.reader.size))
        for wire in wires:
            self._in_basis(wire, "Z")
        self._outputs[equation.outvars[0]] = Output(what, wires)

    def _words(self, what: str, equation: Any) -> Output:
        words = equation.params["words"]
        given = [wire for word in words for _, wire in word]
        wires = iter(self._known(equation, given))
        terms, measured = list[str](), dict[int, None]()
        for word, coefficient in zip(words, self._coefficients(equation, len(words)), strict=True):
            placed = [(letter, next(wires)) for letter, _ in word]
            for letter, wire in placed:
                self._in_basis(wire, letter)
            factors = "".join(f" {letter}[{wire}]" for letter, wire in placed)
            terms.append(f"{coefficient}{factors}")
            measured |= dict.fromkeys(wire for _, wire in placed)
        return Output(what, tuple(measured), words=" + ".join(terms))

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
        for statement in walk(self.reader.statements[self._end :]) if self._bases else ():
            for wire in wires_of(statement):
                if not isinstance(wire, np.generic) or int(wire) in self._bases:
                    label = wire if isinstance(wire, np.generic) else wire.text
                    reason = f"reads wire {label} in two bases, which no shot gives"
                    raise NotSayableError(reason)

    def write(self) -> None:
        """Write the measurements."""
        if not self._bases:
            return
        reader = self.reader
        after = walk(reader.statements[self._end :])
        if any(isinstance(statement, Measure) for statement in after):
            raise reader.language.refusal(
                construct="measure", reason="comes after results that are of an earlier state",
                hint="leave out what is read before it: a qml.Snapshot, perhaps",
            )  # fmt: skip
        self._note_turned(reader.statements[self._end :])
        del reader.statements[self._end :]
        for wire, letter in sorted(self._bases.items()):
            forth, _ = into_z(letter, [wire])
            for name, places in forth:
                reader.gate(steps_of(name, 1), [np.int64(place) for place in places], ())
        for wire in sorted(self._bases):
            reader.write(Read(wire))

    def _note_turned(self, turns_back: Sequence[Statement]) -> None:
        """What comes after shots turns their basis back, and so says which one it is."""
        for gate in turns_back:
            if not isinstance(gate, Gate):
                continue
            is_alone = len(gate.wires) == 1
            turn = " ".join([gate.name, *(angle.text for angle in gate.angles)])
            for wire in gate.wires:
                if isinstance(wire, np.generic):
                    is_first = int(wire) not in self._turned
                    letter = _TURNS_BACK.get(turn, "") if is_alone and is_first else ""
                    self._turned[int(wire)] = letter

    def _basis(self, wires: Sequence[int]) -> str:
        """`X[0] Z[1]`; nothing where all wires are read as they are, or in another basis."""
        letters = [self._turned.get(wire, "Z") for wire in wires]
        if not all(letters) or set(letters) == {"Z"}:
            return ""
        return " ".join(f"{letter}[{wire}]" for letter, wire in zip(letters, wires, strict=True))

    def outputs(self, variables: Sequence[Any], values: Sequence[Value]) -> Mapping[int, Output]:
        """What a circuit gives, by place, then what has been measured for a computed result."""
        outputs = {
            variable: replace(each, words=self._basis(each.wires)) if each.what == "shots" else each
            for variable, each in self._outputs.items()
        }
        found = dict[int, Output]()
        for place, (variable, value) in enumerate(zip(variables, values, strict=True)):
            if not isinstance(variable, Literal) and variable in self._outputs:
                found[place] = outputs[variable]
            elif isinstance(value, Unsayable):
                if value is not OF_SHOTS:
                    found[place] = Output("value", unsayable=value.reason)
            elif not is_register(variable):
                found[place] = Output("value", values=scalars_of(value))
        direct = list(found.values())
        others = [each for each in outputs.values() if each not in direct]
        return found | dict(enumerate(others, len(variables)))
