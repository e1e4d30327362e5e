"""Shots of a stabilizer circuit: sampled by stim when the program runs, all of them at once.

In: the body of a circuit, traced for one shot. Out, recorded in the trace that is current: the
body's results, those that differ with a row for each shot; and which shots count, where outcomes
are postselected. The program calls Python once: stim gives a row of bits for each shot, in the
order in which they were measured, and everything after that is compiled code.

Each group of measurements that share their shots (`Requests`) is measured at the end of a circuit
of its own; the outcomes in the middle are those of the first. So shots of two groups are
independent, as in PennyLane, noise included.

A call takes its seed from the program's random numbers. Stim's circuit, and a noiseless shot of it
that stim needs, are kept for the probabilities of the last calls.
"""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray

from diastase.capture.device_errors import NotCliffordError
from diastase.primitives.host import DeviceStep, device_step_p
from diastase.primitives.sampling import uniform_p
from diastase.quantum.clifford.circuit import StabilizerCircuit
from diastase.quantum.clifford.classical import Classical, PerShot, construct_of
from diastase.quantum.clifford.instructions import Stim
from diastase.quantum.clifford.reading import Reader, bits_of
from diastase.quantum.clifford.values import Bits
from diastase_runtime.abi import MAX_SAMPLED_WIRES

_BITS_AT_ONCE = 1 << 26
"""Bits of one call of stim, during which Ctrl-C waits: well below a second."""
_KEPT = 8
"""Circuits with probabilities filled in that one QNode keeps."""


class Samples:
    """The measurements of a body with shots: each group of them ends a circuit."""

    def __init__(self) -> None:
        self.circuits: list[StabilizerCircuit] = []
        self.firsts: list[int] = []
        """The numbers of the first bits that are taken from each circuit."""
        self.widths: list[int] = []
        """How many they are."""
        self._middle = 0
        """How many bits are measured before."""

    def measure(self, equation: Any, operands: Sequence[Any], reader: Reader) -> Sequence[Any]:
        """Measure wires at the end: their bits, packed."""
        if equation.primitive.name != "sample":
            raise NotCliffordError(
                construct=construct_of(equation),
                reason="is a property of the state that stabilizers with shots do not give",
            )
        wires = reader.wires(equation, operands[1:])
        if len(wires) > MAX_SAMPLED_WIRES:
            raise NotCliffordError(
                construct=construct_of(equation),
                reason=f"has {len(wires)} wires, more than {MAX_SAMPLED_WIRES}",
                hint="measure wires one by one, and return the outcomes",
            )
        first = self.firsts[-1] + self.widths[-1] if self.circuits else reader.circuit.num_bits
        self._middle = reader.circuit.num_bits
        ended = reader.circuit.copy()
        for wire in wires:
            ended.measure("Z", [wire])
        self._add(ended, first if self.circuits else 0)
        parities = _as_row([2 << (first + place) for place in range(len(wires))]).parities
        shifts = np.arange(len(wires) - 1, -1, -1)

        def packed(values: Sequence[Any]) -> Sequence[Any]:
            return [jnp.sum(values[0] << shifts, dtype=jnp.int64)[None]]

        bits = Bits(parities, np.dtype(np.int64))
        return reader.classical.defer(packed, [bits], [equation.outvars[0].aval])

    def finish(self, reader: Reader) -> None:
        """A circuit whose wires are not measured at the end gives the bits of its middle."""
        if not self.circuits and reader.circuit.num_bits:
            self._middle = reader.circuit.num_bits
            self._add(reader.circuit.copy(), 0)
        if self._middle != reader.circuit.num_bits and self.circuits:
            raise NotCliffordError(construct="measure", reason="comes after shots are drawn")

    def _add(self, circuit: StabilizerCircuit, first: int) -> None:
        """Take the last bits of a circuit: of the first one, all."""
        middle = 0 if not self.circuits else self._middle
        self.circuits.append(circuit)
        self.firsts.append(first)
        self.widths.append(circuit.num_bits - middle)


def sampled(traced: Any, differing: Sequence[bool], num_drawn: int, number: Any) -> list[Any]:
    """Record all shots: results, and at the end which shots count.

    The first `num_drawn` results are vectors of one shot.
    """
    samples, classical = Samples(), Classical()
    reader = Reader(traced.num_wires, classical, samples)
    results = reader.read(traced.jaxpr, traced.captured)
    samples.finish(reader)
    batched = [value for value in results if isinstance(value, PerShot)]
    wanted = [value for value in results if isinstance(value, Bits)]
    wanted += [bits for value in batched for bits in classical.bits_of(value)]
    valid = _as_row(reader.postselected)
    shots = _Shots([*wanted, valid], samples, traced.settings, number)
    found = dict(zip(map(id, batched), classical.for_all_shots(batched, shots.rows), strict=True))
    arrays: list[Any] = []
    for place, (value, differs) in enumerate(zip(results, differing, strict=True)):
        shape = traced.jaxpr.out_avals[place].shape
        if isinstance(value, Bits):
            value = shots.rows(value)
        elif isinstance(value, PerShot):
            value = found[id(value)]
        elif differs:
            value = jnp.broadcast_to(jnp.asarray(value), (number, *shape))
        if place < num_drawn:
            value = value.reshape((number,))
        arrays.append(value)
    return [*arrays, jnp.all(shots.rows(valid), axis=1)]


def _as_row(parities: Sequence[int]) -> Bits:
    row = np.empty(len(parities), object)
    row[:] = parities
    return Bits(row, np.dtype(np.bool_))


_Column = tuple[int, int]
"""A circuit, and the number of one of its bits; (0, -1) is no bit."""
_NOTHING = (0, -1)


class _Shots:
    """The bits of all shots, as the program has them when it runs.

    Each layer of some parities, one bit of each of them, is a matrix that the call of stim gives.
    """

    def __init__(
        self, wanted: Sequence[Bits], samples: Samples, settings: Any, number: Any
    ) -> None:
        self._number = number
        self._samples = samples
        layers = [layer for bits in wanted for layer in self._layers(bits)]
        chosen = list(dict.fromkeys(layers))
        found = _drawn(chosen, samples, settings, number) if chosen else []
        self._matrices = dict(zip(chosen, found, strict=True))

    def rows(self, bits: Bits) -> Any:
        """An array of bits for each shot; one of those that were wanted."""
        ones = np.array([parity & 1 for parity in bits.parities.flat], bool)
        total: Any = None
        for layer in self._layers(bits):
            part = self._matrices[layer]
            if _NOTHING in layer:
                part = part & np.array([column != _NOTHING for column in layer])
            total = part if total is None else total ^ part
        if total is None:
            total = jnp.broadcast_to(jnp.asarray(ones), (self._number, len(ones)))
        elif ones.any():
            total = total ^ ones
        return total.reshape((self._number, *bits.shape)).astype(bits.dtype)

    def _layers(self, bits: Bits) -> list[tuple[_Column, ...]]:
        members = [list(map(self._column, bits_of(parity))) for parity in bits.parities.flat]
        return [
            tuple(one[turn] if turn < len(one) else _NOTHING for one in members)
            for turn in range(max(map(len, members), default=0))
        ]

    def _column(self, number: int) -> _Column:
        """Where a bit is."""
        firsts = self._samples.firsts
        circuit = max(k for k, first in enumerate(firsts) if first <= number)
        return circuit, number - firsts[circuit]


def _drawn(
    chosen: Sequence[Sequence[_Column]], samples: Samples, settings: Any, number: Any
) -> list[Any]:
    """Record the call of stim: a matrix for each choice of bits."""
    programs = [Stim(circuit) for circuit in samples.circuits]
    probabilities = [jnp.asarray(p, jnp.float64) for each in programs for p in each.traced]
    choices = [_Choice(columns, samples.widths) for columns in chosen]
    sampler = _Sampler(programs, samples.widths, choices)
    step = DeviceStep(f"stim samples {settings.qnode}", sampler, draws=True)
    avals = tuple(ShapedArray((number, len(columns)), np.dtype(np.bool_)) for columns in chosen)
    total = jnp.asarray(settings.total_shots, jnp.int64)
    return list(
        device_step_p.bind(total, uniform_p.bind(), *probabilities, step=step, result_avals=avals)
    )


class _Choice:
    """Some bits of those of all circuits: a part of one circuit's, in order, or any."""

    def __init__(self, columns: Sequence[_Column], widths: Sequence[int]) -> None:
        (self._circuit, first), count = columns[0], len(columns)
        self._part = None
        if list(columns) == [(self._circuit, first + k) for k in range(count)] and first >= 0:
            self._part = slice(first, first + count)
        before = np.cumsum([0, *widths])
        self._places = np.array([before[circuit] + max(bit, 0) for circuit, bit in columns])

    def of(self, rows: Sequence[np.ndarray]) -> np.ndarray:
        """The chosen bits of all shots."""
        if self._part is not None:
            return rows[self._circuit][:, self._part]
        return np.take(rows[0] if len(rows) == 1 else np.concatenate(rows, 1), self._places, 1)


def _parts_of(total: int, width: int) -> list[int]:
    """Shots of each call of stim, which Ctrl-C is not heard in."""
    most = max(_BITS_AT_ONCE // max(width, 1), 1)
    full, rest = divmod(total, most)
    return [most] * full + [rest] * (rest > 0 or full == 0)


class _Sampler:
    """What Python does in a call: the chosen bits of all shots."""

    def __init__(
        self, programs: Sequence[Stim], widths: Sequence[int], choices: Sequence[_Choice]
    ) -> None:
        self._programs = programs
        self._widths = widths
        self._choices = choices
        self._made: dict[tuple[float, ...], list[Any]] = {}

    def __call__(self, total: Any, seed: Any, *values: Any) -> list[np.ndarray]:
        circuits = self._circuits(tuple(map(float, values)))
        first = int(float(seed) * 2**53) * len(circuits)
        rows: list[np.ndarray] = []
        for number, (circuit, reference) in enumerate(circuits):
            sampler = circuit.compile_sampler(reference_sample=reference, seed=first + number)
            width = self._widths[number]
            parts = [
                sampler.sample(count)[:, circuit.num_measurements - width :]
                for count in _parts_of(int(total), circuit.num_measurements)
            ]
            rows.append(parts[0] if len(parts) == 1 else np.concatenate(parts))
        return [choice.of(rows) for choice in self._choices]

    def _circuits(self, values: tuple[float, ...]) -> list[Any]:
        """Each circuit with these probabilities, and a noiseless shot of it."""
        made = self._made.get(values)
        if made is None:
            made, rest = [], list(values)
            for program in self._programs:
                own, rest = rest[: len(program.traced)], rest[len(program.traced) :]
                circuit = program.filled(own)
                made.append((circuit, circuit.reference_sample()))
            while len(self._made) >= _KEPT:
                self._made.pop(next(iter(self._made)), None)
            self._made[values] = made
        return made
