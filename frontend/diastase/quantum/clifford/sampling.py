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
from diastase.quantum.clifford.circuit import StabilizerCircuit, Stim
from diastase.quantum.clifford.classical import Classical, PerShot
from diastase.quantum.clifford.reading import Reader, bits_of
from diastase.quantum.clifford.values import Bits

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
                construct=equation.primitive.name,
                reason="is a property of the state that stabilizers with shots do not give",
            )
        wires = reader.wires(equation, operands[1:])
        first = self.firsts[-1] + self.widths[-1] if self.circuits else reader.circuit.num_bits
        self._middle = reader.circuit.num_bits
        ended = reader.circuit.copy()
        for wire in wires:
            ended.measure("Z", [wire])
        self._add(ended, first if self.circuits else 0)
        parities = np.empty(len(wires), object)
        parities[:] = [2 << (first + place) for place in range(len(wires))]
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


def sampled(
    traced: Any, differing: Sequence[bool], num_drawn: int, number: Any
) -> list[Any]:
    """Record all shots: results, and at the end which shots count.

    The first `num_drawn` results are vectors of one shot.
    """
    samples, classical = Samples(), Classical()
    reader = Reader(traced.num_wires, classical, samples)
    results = reader.read(traced.jaxpr, traced.captured)
    samples.finish(reader)
    shots = _Shots(samples, traced, number)
    batched = [value for value in results if isinstance(value, PerShot)]
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
    return [*arrays, _valid(reader, shots, number)]


def _valid(reader: Reader, shots: "_Shots", number: Any) -> Any:
    if not reader.postselected:
        return jnp.ones((number,), bool)
    parities = np.empty(len(reader.postselected), object)
    parities[:] = reader.postselected
    return jnp.all(shots.rows(Bits(parities, np.dtype(np.bool_))), axis=1)


class _Shots:
    """The bits of all shots, as the program has them when it runs."""

    def __init__(self, samples: Samples, traced: Any, number: Any) -> None:
        self._number = number
        self._firsts = samples.firsts
        self._matrices: list[Any] = []
        if samples.circuits:
            self._matrices = _drawn(samples, traced.settings, number)

    def rows(self, bits: Bits) -> Any:
        """An array of bits for each shot."""
        members = [bits_of(parity) for parity in bits.parities.flat]
        ones = np.array([parity & 1 for parity in bits.parities.flat], bool)
        shape = (self._number, *bits.shape)
        if not any(members):
            row = jnp.asarray(ones.reshape(bits.shape).astype(bits.dtype))
            return jnp.broadcast_to(row, shape)
        matrix, offset = self._matrix_of(members)
        total: Any = None
        for turn in range(max(map(len, members))):
            columns = [m[turn] - offset if turn < len(m) else -1 for m in members]
            part = _columns(matrix, columns)
            total = part if total is None else total ^ part
        if ones.any():
            total = total ^ ones
        return total.reshape(shape).astype(bits.dtype)

    def _matrix_of(self, members: Sequence[Sequence[int]]) -> tuple[Any, int]:
        """A matrix that has all these bits, and the number of its first one."""
        numbers = [number for one in members for number in one]
        for matrix, first in zip(self._matrices, self._firsts, strict=True):
            if first <= min(numbers) and max(numbers) < first + matrix.shape[1]:
                return matrix, first
        return jnp.concatenate(self._matrices, axis=1), 0


def _columns(matrix: Any, columns: Sequence[int]) -> Any:
    """Some columns of a matrix of bits; zeros where the number is negative."""
    first, count = columns[0], len(columns)
    if list(columns) == list(range(first, first + count)) and first >= 0:
        return matrix if count == matrix.shape[1] else matrix[:, first : first + count]
    chosen = matrix[:, np.maximum(columns, 0)]
    return chosen if min(columns) >= 0 else chosen & (np.array(columns) >= 0)


def _drawn(samples: Samples, settings: Any, number: Any) -> list[Any]:
    """Record the call of stim: a matrix for each circuit."""
    programs = [Stim(circuit) for circuit in samples.circuits]
    probabilities = [jnp.asarray(p, jnp.float64) for each in programs for p in each.traced]
    sampler = _Sampler(programs, samples.widths)
    step = DeviceStep(f"stim samples {settings.qnode}", sampler, draws=True)
    avals = tuple(ShapedArray((number, width), np.dtype(np.bool_)) for width in samples.widths)
    total = jnp.asarray(settings.total_shots, jnp.int64)
    return list(
        device_step_p.bind(total, uniform_p.bind(), *probabilities, step=step, result_avals=avals)
    )


class _Sampler:
    """What Python does in a call: the rows of bits of each circuit."""

    def __init__(self, programs: Sequence[Stim], widths: Sequence[int]) -> None:
        self._programs = programs
        self._widths = widths
        self._made: dict[tuple[float, ...], list[Any]] = {}

    def __call__(self, total: Any, seed: Any, *values: Any) -> list[np.ndarray]:
        circuits = self._circuits(tuple(map(float, values)))
        first = int(float(seed) * 2**53) * len(circuits)
        rows: list[np.ndarray] = []
        for number, (circuit, reference) in enumerate(circuits):
            sampler = circuit.compile_sampler(reference_sample=reference, seed=first + number)
            found = sampler.sample(int(total))
            rows.append(found[:, found.shape[1] - self._widths[number] :])
        return rows

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
