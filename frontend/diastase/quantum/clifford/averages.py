"""Exact averages of a stabilizer circuit: Pauli words taken back to its start, while compiling.

    <P> after a step  =  <P'> before it, times a factor

A gate turns the word into another one. Noise leaves it, times 1 - 2q, where q is how likely a word
that anticommutes with it is applied. A measurement leaves a word that commutes with what is
measured, and makes others vanish; a sign that is a measured bit makes the measured word part of it,
and feedback that anticommutes makes the bit part of the sign. At the start, in |0...0>, words of Z
are 1 and others vanish. So every average is a number, or a product over traced probabilities that
JAX differentiates.

`Averages` are what the measurements of a body without shots give. Averages over outcomes are taken
of whole results only (`_mean_of`): an expectation value that is conditional on outcomes is a
`Mean`, with which nothing may be computed.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from diastase.capture.device_errors import NotCliffordError
from diastase.quantum.clifford.circuit import (
    Feedback,
    Gates,
    Measured,
    Noise,
    StabilizerCircuit,
    Step,
)
from diastase.quantum.clifford.classical import Classical, Mean, PerShot, construct_of
from diastase.quantum.clifford.reading import Reader, bits_of
from diastase.quantum.clifford.values import Bits, is_known
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    import stim
else:
    stim = LazyModule("stim")

LARGEST = 10
"""Wires, or bits, of which all probabilities are computed."""
MOST_PRODUCTS = 1 << 12
"""Words that the square of an observable has at most."""
MOST_STEPS = 1 << 23
"""Words times steps."""

Word = tuple[tuple[str, int], ...]


class Averages:
    """The measurements of a body without shots."""

    def __init__(self) -> None:
        self._work = 0

    def measure(self, equation: Any, operands: Sequence[Any], reader: Reader) -> Sequence[Any]:
        """The exact result of a measurement."""
        rule = _RULES.get(equation.primitive.name)
        if rule is None:
            of_matrix = len(operands) > 1 and np.ndim(operands[1]) == 2
            what = "of a matrix is a property" if of_matrix else "is a property"
            reason = f"{what} of the state that stabilizers do not give"
            hint = "return expectation values or variances of Pauli words, or probabilities"
            raise NotCliffordError(construct=construct_of(equation), reason=reason, hint=hint)
        value, is_average = rule(self, equation, operands, reader)
        if not reader.circuit.num_bits:
            return [value]
        if not is_average:
            reason = "of a circuit with outcomes is no average over them"
            raise NotCliffordError(construct="a variance", reason=reason)
        return [Mean(value)]

    def mean(self, circuit: StabilizerCircuit, word: Word, bits: Sequence[int] = ()) -> Any:
        """The average of a word, times -1 for each of these bits that is 1."""
        self._work += len(circuit.steps)
        if self._work > MOST_STEPS:
            raise NotCliffordError(
                construct="the circuit", reason="is too long for so many words of observables"
            )
        taken = _TakenBack(circuit.num_wires, word, set(bits))
        for step in reversed(circuit.steps):
            taken.step(step)
            if taken.vanishes:
                break
        return taken.value()


class _TakenBack:
    """A word, with a sign that bits decide, on its way back through a circuit."""

    def __init__(self, count: int, word: Word, bits: set[int]) -> None:
        self._count = count
        self._bits = bits
        self._word = _string("".join(letter for letter, _ in word), [q for _, q in word], count)
        self._factors: dict[tuple[Any, ...], list[Any]] = {}
        self.vanishes = False

    def step(self, step: Step) -> None:
        """Take it from after a step to before it."""
        match step:
            case Gates(gates):
                self._word = self._word.before(gates)
            case Noise():
                self._shrink(step)
            case Feedback(letters, wires, bit):
                if not _commute(letters, wires, self._word):
                    self._bits ^= {bit}
            case Measured():
                self._measure(step)

    def value(self) -> Any:
        """Its average in |0...0>."""
        if self.vanishes or self._word.pauli_indices("XY"):
            return 0.0
        total: Any = float(np.real(self._word.sign))
        for probabilities, count in self._factors.values():
            total = total * (1 - 2 * sum(probabilities)) ** count
        return total

    def _measure(self, step: Measured) -> None:
        if step.reset:
            self.vanishes = self._word[step.wires[0]] not in (_I, _Z)
            self._word[step.wires[0]] = _I
        else:
            self.vanishes = not _commute(step.word, step.wires, self._word)
        if step.bit in self._bits and not self.vanishes:
            self._bits ^= {step.bit}
            self._word = self._word * _string(step.word, step.wires, self._count)

    def _shrink(self, step: Noise) -> None:
        """Equal factors are counted."""
        given = zip(step.words, step.probabilities, strict=True)
        flipped = [p for word, p in given if not _commute(word, step.wires, self._word)]
        if flipped:
            key = tuple((float(p),) if is_known(p) else id(p) for p in flipped)
            self._factors.setdefault(key, [flipped, 0])[1] += 1


_I, _Z = 0, 3
"""Letters, as stim numbers them."""


def _string(letters: str, wires: Sequence[int], count: int) -> Any:
    string = stim.PauliString(count)
    for letter, wire in zip(letters, wires, strict=True):
        string[wire] = letter
    return string


def _commute(letters: str, wires: Sequence[int], current: Any) -> bool:
    differ = 0
    for letter, wire in zip(letters, wires, strict=True):
        other = "IXYZ"[current[wire]]
        differ += letter != other and "I" not in (letter, other)
    return differ % 2 == 0


# --- measurements -----------------------------------------------------------------------------


def _words(equation: Any, operands: Sequence[Any], reader: Reader) -> tuple[list[Word], Any]:
    """The words of an observable, on known wires, and their coefficients."""
    remaining, words = iter(operands[2:]), list[Word]()
    for word in equation.params["words"]:
        placed = [(letter, next(remaining) if w is None else w) for letter, w in word]
        if not all(is_known(wire) for _, wire in placed):
            raise NotCliffordError(construct="an observable", reason="is on a traced wire")
        known = [(letter, int(wire)) for letter, wire in placed]
        in_range = all(0 <= wire < reader.circuit.num_wires for _, wire in known)
        if not in_range or len({wire for _, wire in known}) < len(known):
            reason = "has wires that repeat, or that there are not"
            raise NotCliffordError(construct="an observable", reason=reason)
        words.append(tuple(pair for pair in known if pair[0] != "I"))
    return words, operands[1]


def _expval(
    averages: Averages, equation: Any, operands: Sequence[Any], reader: Reader
) -> tuple[Any, bool]:
    words, coefficients = _words(equation, operands, reader)
    means = [averages.mean(reader.circuit, word) for word in words]
    return _sum(coefficients, means), True


def _variance(
    averages: Averages, equation: Any, operands: Sequence[Any], reader: Reader
) -> tuple[Any, bool]:
    words, coefficients = _words(equation, operands, reader)
    if len(words) ** 2 > MOST_PRODUCTS:
        raise NotCliffordError(construct="a variance", reason="of so many words has too many terms")
    mean = _sum(coefficients, [averages.mean(reader.circuit, word) for word in words])
    square: Any = 0.0
    for (i, one), (j, other) in itertools.product(enumerate(words), repeat=2):
        product = _product(one, other, reader.circuit.num_wires)
        if product is not None:
            word, sign = product
            value = sign * averages.mean(reader.circuit, word)
            square = square + coefficients[i] * coefficients[j] * value
    return jnp.asarray(square - mean * mean, jnp.float64), False


def _product(one: Word, other: Word, count: int) -> tuple[Word, float] | None:
    """The product of two words; None where they anticommute, so that the sum has none."""
    strings = [
        _string("".join(letter for letter, _ in word), [wire for _, wire in word], count)
        for word in (one, other)
    ]
    if not strings[0].commutes(strings[1]):
        return None
    found = strings[0] * strings[1]
    word = tuple(("IXYZ"[found[wire]], wire) for wire in found.pauli_indices())
    return word, float(np.real(found.sign))


def _sum(coefficients: Any, means: Sequence[Any]) -> Any:
    if not means:
        return jnp.zeros((), jnp.float64)
    if all(map(is_known, means)):
        return jnp.asarray(jnp.dot(coefficients, np.array(means, np.float64)), jnp.float64)
    return jnp.dot(coefficients, jnp.stack([jnp.asarray(mean, jnp.float64) for mean in means]))


def _probabilities(
    averages: Averages, equation: Any, operands: Sequence[Any], reader: Reader
) -> tuple[Any, bool]:
    wires: Sequence[int] = range(reader.circuit.num_wires)
    if equation.params["wires"]:
        wires = reader.wires(equation, operands[1:])
    means = [
        averages.mean(reader.circuit, tuple(("Z", wire) for wire in chosen))
        for chosen in _subsets(wires, "probs", "of fewer wires")
    ]
    return _transformed(means), True


def _subsets(members: Sequence[int], construct: str, instead: str) -> list[tuple[int, ...]]:
    """All subsets; the first member is the most significant bit of their numbers."""
    if len(members) > LARGEST:
        reason = f"has 2**{len(members)} elements, more than stabilizers compute"
        raise NotCliffordError(construct=construct, reason=reason, hint=f"ask {instead}")
    choices = itertools.product((False, True), repeat=len(members))
    return [tuple(itertools.compress(members, choice)) for choice in choices]


def _transformed(means: Sequence[Any]) -> Any:
    """From the means of all parities to the probabilities of all outcomes."""
    numbers = np.arange(len(means))
    signs = 1.0 - 2.0 * (np.bitwise_count(numbers[:, None] & numbers[None, :]) % 2)
    if all(map(is_known, means)):
        return jnp.asarray(signs @ np.array(means, np.float64) / len(means))
    stacked = jnp.stack([jnp.asarray(mean, jnp.float64) for mean in means])
    return jnp.dot(jnp.asarray(signs), stacked) / len(means)


_RULES: Mapping[str, Callable[..., tuple[Any, bool]]] = {
    "expval_pauli": _expval,
    "probs": _probabilities,
    "var_pauli": _variance,
}


# --- averages over outcomes ---------------------------------------------------------------------


def averaged(traced: Any, count: int) -> list[Any]:
    """Record the body's results: of the first `count` the averages over all outcomes."""
    averages, classical = Averages(), Classical()
    reader = Reader(traced.num_wires, classical, averages)
    results = reader.read(traced.jaxpr, traced.captured)
    if reader.postselected:
        reason = "is conditional on an outcome that is asked for, which averages over all are not"
        raise NotCliffordError(construct="postselect", reason=reason, hint="use shots")
    found = [
        _mean_of(value, averages, reader) if place < count else value
        for place, value in enumerate(results)
    ]
    if any(isinstance(value, Bits | PerShot | Mean) for value in found):
        raise NotCliffordError(
            construct="a result", reason="depends on outcomes, and is no average"
        )
    avals = traced.jaxpr.out_avals
    return [
        jnp.asarray(value, aval.dtype).reshape(aval.shape)
        for value, aval in zip(found, avals, strict=True)
    ]


def _mean_of(value: Any, averages: Averages, reader: Reader) -> Any:
    if isinstance(value, Mean):
        return value.value
    if isinstance(value, Bits):
        return _mean_of_bits(value, averages, reader)
    if not isinstance(value, PerShot):
        return value
    numbers = sorted(
        {
            number
            for bits in reader.classical.bits_of(value)
            for parity in bits.parities.flat
            for number in bits_of(parity)
        }
    )
    chosen = _subsets(numbers, "a function of outcomes", "for one of fewer outcomes")
    weights = _transformed([averages.mean(reader.circuit, (), subset) for subset in chosen])

    def rows(bits: Bits) -> Any:
        """The bits for each string of outcomes."""
        found = [[_value_of(p, subset) for p in bits.parities.flat] for subset in chosen]
        return jnp.asarray(np.array(found).reshape(len(chosen), *bits.shape).astype(bits.dtype))

    (values,) = reader.classical.for_all_shots([value], rows)
    return jnp.tensordot(weights, values, axes=1)


def _value_of(parity: int, ones: Sequence[int]) -> int:
    """A parity, where these bits are 1 and others are 0."""
    return (len(set(bits_of(parity)) & set(ones)) + parity) % 2


def _mean_of_bits(bits: Bits, averages: Averages, reader: Reader) -> Any:
    means: list[Any] = []
    for parity in bits.parities.flat:
        sign = averages.mean(reader.circuit, (), bits_of(parity))
        means.append((1 - (-sign if parity & 1 else sign)) / 2)
    if all(map(is_known, means)):
        return np.array(means, np.float64).reshape(bits.shape)
    return jnp.stack([jnp.asarray(mean, jnp.float64) for mean in means]).reshape(bits.shape)
