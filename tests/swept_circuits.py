"""Circuits whose derivatives are swept back by the engine, and what these are to be compared with.

The loss is `Re <A|S>` for a fixed vector A, so that A itself is the adjoint of the state.
"""

import ctypes
from collections.abc import Callable, Sequence

import numpy as np

from diastase_engine import GATES

I64 = ctypes.c_int64
SITE = 7
Operation = tuple[str, tuple[int, ...], tuple[int, ...], tuple[int, ...], np.ndarray]
"""Name, wires, controls, control values, numbers."""

STEP = 1e-5


def apply(state, operation: Operation) -> None:
    name, wires, controls, values, numbers = operation
    if name in ("unitary", "diagonal"):
        if state.differentiates:
            state.call("tape_differentiated")
        array = numbers.view(complex)
        size = 2 ** len(wires)
        array = array.reshape(size, size) if name == "unitary" else array
        getattr(state, name)(array, wires, controls, values)
    elif name == "fixed":
        size = 2 ** len(wires)
        state.unitary(numbers.view(complex).reshape(size, size), wires, controls, values)
    elif name == "prepare":
        if state.differentiates:
            state.call("tape_differentiated")
        state.prepare_wires(numbers.view(complex), wires)
    elif name == "phase":
        state.global_phase(*numbers)
    elif controls:
        state.controlled(name, controls, values, wires, *numbers)
    else:
        state.gate(name, wires, *numbers)


def run(make: Callable, qubits: int, circuit: Sequence[Operation], record: bool = False):
    state = make(qubits)
    state.differentiates = record
    if record:
        state.call("tape_record", I64(SITE))
    for operation in circuit:
        apply(state, operation)
    return state


def swept(make: Callable, qubits: int, circuit: Sequence[Operation], vector, chunk: int = 0):
    state = run(make, qubits, circuit, record=True)
    assert state.error[0] == 0
    if chunk:
        state.set_chunk_bits(chunk)
    adjoint = state.copy()
    adjoint.call("state_zero")
    fresh = make(qubits)
    fresh.prepare_wires(vector, range(qubits))
    adjoint.scale_add(fresh, 1)
    size = state.call("tape_length", result=I64)
    out = np.full(size + 3, np.nan)
    state.call(
        "tape_sweep",
        ctypes.c_void_p(adjoint.state),
        I64(SITE),
        I64(size + 3),
        ctypes.c_void_p(out.ctypes.data),
    )
    assert state.error[0] == 0
    assert np.all(out[size:] == 0)
    at_start = state.amplitudes
    # Both registers may be left with a phase, the same one: nothing depends on it.
    at_start = at_start * np.exp(-1j * np.angle(at_start[0]))
    adjoint.release()
    return out[:size], at_start


def differences(make: Callable, qubits: int, circuit: Sequence[Operation], vector) -> np.ndarray:
    found = []
    for place, (name, wires, controls, values, numbers) in enumerate(circuit):
        if name == "fixed":
            continue
        for k in range(len(numbers)):
            losses = []
            for sign in (1, -1):
                moved = numbers.copy()
                moved[k] += sign * STEP
                changed = [*circuit]
                changed[place] = (name, wires, controls, values, moved)
                state = run(make, qubits, changed)
                losses.append(np.vdot(vector, state.amplitudes).real)
            found.append((losses[0] - losses[1]) / (2 * STEP))
    return np.array(found)


def random_gate(generator: np.random.Generator, qubits: int, name: str) -> Operation:
    count = GATES[name].wires or int(generator.integers(1, qubits + 1))
    order = [int(wire) for wire in generator.permutation(qubits)]
    controls = int(generator.integers(0, qubits - count + 1)) if generator.random() < 0.4 else 0
    values = tuple(int(value) for value in generator.integers(0, 2, controls))
    special = generator.choice([0.0, np.pi, np.pi / 2, 2 * np.pi])
    numbers = generator.normal(size=GATES[name].parameters) * 2
    if generator.random() < 0.3:
        numbers[:] = special
    return name, tuple(order[:count]), tuple(order[count : count + controls]), values, numbers


def random_circuit(seed: int, qubits: int, length: int) -> list[Operation]:
    generator = np.random.default_rng(seed)
    names = [name for name in GATES if GATES[name].wires <= qubits]
    common = ["RX", "RY", "RZ", "CNOT", "CRX", "Hadamard", "SWAP", "ISWAP", "CRZ", "IsingZZ"]
    common = [name for name in common if GATES[name].wires <= qubits]
    return [
        random_gate(
            generator, qubits, str(generator.choice(names if generator.random() < 0.4 else common))
        )
        for _ in range(length)
    ]
