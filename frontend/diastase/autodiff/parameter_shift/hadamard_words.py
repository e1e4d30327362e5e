"""The generators of operations as sums of Pauli words: what Hadamard tests control.

For U(p) = exp(i p G), G = sum of c P, the derivative of an average <O> is the sum of -2 c <Y x O>
after the test of P (`hadamard_tests`). A generator under controls is that times a projector, which
is a product of (1 + Z)/2 and (1 - Z)/2; a word is one letter for each wire, targets and controls.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product

import numpy as np

from diastase.autodiff.parameter_shift.matrix_parameters import Words
from diastase.autodiff.parameter_shift.shift_rules import Rule
from diastase.autodiff.tangents.gate_rules import generator

Word = tuple[int, ...]
"""For each wire a letter, by its place in `LETTERS`."""
LETTERS = "IXYZ"
_ROUNDING = 1e-12


@cache
def tests_of_gate(
    name: str, wires: int, controls: tuple[bool, ...]
) -> tuple[Rule, tuple[Word, ...]]:
    """The rule of a gate with a generator, and the words of its runs."""
    if name == "MultiRZ":
        return _tests([(-0.5, (3,) * wires)], controls)
    matrix, words = generator(name, wires), Words("unitary", wires, True)
    columns = np.arange(2**wires)
    found = [
        (np.real(np.sum(factors * matrix[sources, columns])) / 2**wires, _letters(bits, wires))
        for bits, sources, factors in zip(words.bits, words.sources, words.factors, strict=True)
    ]
    return _tests([term for term in found if abs(term[0]) > _ROUNDING], controls)


@cache
def tests_of_angles(
    words: Words, controls: tuple[bool, ...]
) -> tuple[tuple[Rule, ...], tuple[Word, ...]]:
    """The rules of an array's angles, and the words of their runs."""
    found = [_tests([(1.0, _letters(bits, words.wires))], controls) for bits in words.bits]
    return tuple(rule for rule, _ in found), tuple(word for _, tests in found for word in tests)


def _tests(
    terms: Sequence[tuple[float, Word]], controls: Sequence[bool]
) -> tuple[Rule, tuple[Word, ...]]:
    every = [
        (coefficient * factor, (*word, *more))
        for coefficient, word in terms
        for factor, more in _projector(controls)
        if any(word) or any(more)
    ]
    rule = Rule(tuple((-2 * coefficient, 0.0) for coefficient, _ in every))
    return rule, tuple(word for _, word in every)


def _projector(controls: Sequence[bool]) -> Iterator[tuple[float, Word]]:
    """The projector on the values of some controls as words."""
    for letters in product((0, 3), repeat=len(controls)):
        signs = [
            -1.0 if letter and value else 1.0
            for letter, value in zip(letters, controls, strict=True)
        ]
        yield float(np.prod(signs)) / 2 ** len(controls), letters


def _letters(bits: tuple[int, int], wires: int) -> Word:
    flips, signs = bits
    found = list[int]()
    for place in reversed(range(wires)):
        flip, sign = flips >> place & 1, signs >> place & 1
        found.append(LETTERS.index("IXZY"[flip + 2 * sign]))
    return tuple(found)
