"""Registers side by side in vectors: each lane is what a state of its own would be."""

import ctypes
import functools
import shutil
from collections.abc import Callable, Sequence

import numpy as np
import pennylane as qml
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diastase_engine import GATES, threads_library
from diastase_engine.libraries.build import lanes_in_parts
from diastase_runtime.abi import CallContext, ErrorCode, library_symbol
from diastase_runtime.gate_table import run_row
from lane_registers import SITE, LaneRegister

NAMES = [name for name, row in GATES.items() if row.entry == "wires"]
ADJOINTS = {"S": qml.S, "T": qml.T, "SX": qml.SX, "SISWAP": qml.SISWAP, "ISWAP": qml.ISWAP}
RENAMING = ("SWAP", "PSWAP", "ISWAP", "Adjoint(ISWAP)")
WORD = 2**32 - 1
LETTERS = {
    "X": np.array([[0, 1], [1, 0]]),
    "Y": np.array([[0, -1j], [1j, 0]]),
    "Z": np.diag([1, -1]),
}


@pytest.fixture(scope="session")
def precision():
    return "double"


def matrix_of(name: str, *parameters: float) -> np.ndarray:
    wires = range(GATES[name].wires)
    if name.startswith("Adjoint("):
        return qml.matrix(qml.adjoint(ADJOINTS[name[8:-1]](wires=wires)))
    return qml.matrix(getattr(qml, name)(*parameters, wires=wires))


def matrices_of(name: str, parameters: Sequence[np.ndarray], lanes: int) -> np.ndarray:
    """Of each lane."""
    if len(parameters) == 0:
        return np.broadcast_to(matrix_of(name), (lanes, *matrix_of(name).shape))
    return np.array([matrix_of(name, *each) for each in np.transpose(parameters)])


def controlled(matrices: np.ndarray, values: Sequence[int]) -> np.ndarray:
    lanes, size = matrices.shape[:2]
    result = np.tile(np.eye(size << len(values), dtype=complex), (lanes, 1, 1))
    start = size * int("".join(map(str, values)) or "0", 2)
    result[:, start : start + size, start : start + size] = matrices
    return result


def applied(matrices: np.ndarray, wires: Sequence[int], states: np.ndarray) -> np.ndarray:
    """What a matrix for each lane on some wires makes of the states."""
    lanes, size = states.shape
    n, k = size.bit_length() - 1, len(wires)
    front = np.moveaxis(states.reshape(lanes, *[2] * n), [1 + w for w in wires], range(1, k + 1))
    after = matrices @ front.reshape(lanes, 2**k, -1)
    after = after.reshape(lanes, *[2] * n)
    return np.moveaxis(after, range(1, k + 1), [1 + w for w in wires]).reshape(lanes, size)


def random_complex(generator: np.random.Generator, *shape: int) -> np.ndarray:
    return generator.normal(size=shape) + 1j * generator.normal(size=shape)


def random_unitaries(generator: np.random.Generator, lanes: int, size: int) -> np.ndarray:
    return np.linalg.qr(random_complex(generator, lanes, size, size))[0]


def filled(lanes: Callable, generator: np.random.Generator, wires: int, count: int, **options):
    """A register with a random state in each lane, and these."""
    register = lanes(wires, count, **options)
    if wires == 0:
        return register, np.ones((count, 1), complex)
    unitaries = random_unitaries(generator, count, 2**wires)
    register.unitary(unitaries, range(wires))
    return register, unitaries[:, :, 0].copy()


def assert_states(register: LaneRegister, expected: np.ndarray) -> None:
    assert register.error[0] == ErrorCode.NONE
    np.testing.assert_allclose(register.amplitudes, expected, atol=1e-13)


@pytest.mark.sample(60)
@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize("n_controls", [0, 1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_gates_are_pennylanes(lanes, name: str, n_controls: int, is_masked: bool):
    generator = np.random.default_rng([GATES[name].code, n_controls, is_masked])
    width = GATES[name].wires
    for wires, count in ((width + n_controls, 8), (5, 24), (4, 64)):
        register, states = filled(lanes, generator, wires, count)
        active = np.ones(count, bool)
        for _ in range(4):
            if is_masked:
                active = generator.integers(0, 2, count).astype(bool)
                register.activate(active * 7)
            order = [int(w) for w in generator.permutation(wires)[: width + n_controls]]
            values = [int(v) for v in generator.integers(0, 2, n_controls)]
            parameters = 5 * generator.normal(size=(GATES[name].parameters, count))
            register.gate(name, order[:width], *parameters, controls=order[width:], values=values)
            both = controlled(matrices_of(name, parameters, count), values)
            after = applied(both, [*order[width:], *order[:width]], states)
            states = np.where(active[:, None], after, states)
        assert_states(register, states)


@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize("count", [8, 24, 64])
@pytest.mark.parametrize("wires", [1, 3, 5])
def test_a_run_is_its_gates_one_by_one(lanes, wires: int, count: int, is_masked: bool):
    """Constants and rows of parameters in any order, some used again, some large or no numbers."""
    generator = np.random.default_rng([wires, count])
    both = [filled(lanes, np.random.default_rng(1), wires, count)[0] for _ in range(2)]
    register, single = both
    if is_masked:
        for each in both:
            each.activate(np.arange(count) % 3)
    constants = np.array([0.3, -1e7, 0.0, 2.0])
    rows = 5 * generator.normal(size=(6, count))
    rows[2, 1], rows[3, 5] = 1e8, np.nan
    table: list[int] = []
    fitting = [name for name in NAMES if GATES[name].wires <= wires]
    for name in (names := generator.permutation(np.resize(fitting, 60))):
        row = GATES[str(name)]
        order = [int(w) for w in generator.permutation(wires)]
        controls = [(w, bool(generator.integers(2))) for w in order[row.wires :][:2]]
        references = [int(r) for r in generator.integers(-len(rows), 4, row.parameters)]
        targets = order[: row.wires]
        table += run_row(row, SITE, targets, controls, references)
        values = [rows[-1 - r] if r < 0 else np.full(count, constants[r]) for r in references]
        on, flags = [w for w, _ in controls], [int(value) for _, value in controls]
        single.gate(str(name), targets, *values, controls=on, values=flags)
    register.gate_run(len(names), table, constants, rows)
    assert register.error[0] == ErrorCode.NONE
    np.testing.assert_array_equal(register.amplitudes, single.amplitudes)


def test_a_run_ends_at_a_gate_that_fails(lanes):
    register = lanes(2, 8)
    rows = np.full((1, 8), np.pi)
    gates = [("RX", 3, [0]), ("CNOT", 4, [0, 2]), ("RX", 5, [1])]
    table = [
        n
        for name, site, on in gates
        for n in run_row(GATES[name], site, on, [], [-1] * GATES[name].parameters)
    ]
    register.gate_run(3, table, [], rows)
    assert register.error[:2] == (ErrorCode.WIRE_OUT_OF_RANGE, 4)


@pytest.mark.parametrize("name", ["RX", "U3", "CRot", "IsingXY"])
def test_angles_of_every_size(lanes, name: str):
    """Beyond the range of vectors' sines, too, and exactly as large as the numbers are."""
    width, count = GATES[name].wires, 16
    angles = np.array([0.0, -0.0, 1e-300, 2.0**18, -(2.0**18), 1e5, -3e5, 1e12, 1e22, 2.0**60])
    angles = np.resize(np.concatenate([angles, [np.pi, 2 * np.pi, 0.5]]), count)
    parameters = [angles, *[np.linspace(0, 1, count)] * (GATES[name].parameters - 1)]
    register, states = filled(lanes, np.random.default_rng(1), width, count)
    register.gate(name, range(width), *parameters)
    large = np.abs(angles) > 1e6
    expected = applied(matrices_of(name, parameters, count), range(width), states)
    if name in ("RX", "IsingXY"):  # of one angle, which is not rounded in a sum
        large[:] = False
    np.testing.assert_allclose(register.amplitudes[~large], expected[~large], atol=1e-13)
    assert np.allclose(np.linalg.norm(register.amplitudes, axis=1), 1)


@pytest.mark.sample(12)
@pytest.mark.parametrize("is_mapped", [False, True])
@pytest.mark.parametrize("n_controls", [0, 1, 2])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_unitaries(lanes, width: int, n_controls: int, is_mapped: bool):
    generator = np.random.default_rng(width)
    for wires, count in ((width + n_controls, 8), (5, 16)):
        register, states = filled(lanes, generator, wires, count)
        for is_masked in (False, True, False):
            active = generator.integers(0, 1 + is_masked, count) == 0
            register.activate(active)
            order = [int(w) for w in generator.permutation(wires)[: width + n_controls]]
            values = [int(v) for v in generator.integers(0, 2, n_controls)]
            matrices = random_complex(generator, count, 2**width, 2**width)
            if not is_mapped:
                matrices[:] = matrices[0]
            given = matrices if is_mapped else matrices[0]
            register.unitary(given, order[:width], order[width:], values)
            after = applied(controlled(matrices, values), [*order[width:], *order[:width]], states)
            states = np.where(active[:, None], after, states)
        np.testing.assert_allclose(register.amplitudes, states, rtol=1e-12, atol=1e-12)


def philox(counter: int, key: int) -> list[int]:
    """Philox4x32-10 as its authors define it, in plain Python."""
    c = [counter >> (32 * k) & WORD for k in range(4)]
    k0, k1 = key & WORD, key >> 32
    for _ in range(10):
        p0, p1 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(p1 >> 32) ^ c[1] ^ k0, p1 & WORD, (p0 >> 32) ^ c[3] ^ k1, p0 & WORD]
        k0, k1 = (k0 + 0x9E3779B9) & WORD, (k1 + 0xBB67AE85) & WORD
    return c


def seed_of_element(seed: int, position: int, number: int) -> int:
    """The key of an element's random numbers."""
    words = philox(position | number << 64 | 1 << 126, seed)
    return words[0] | words[1] << 32


class Alone:
    """The same circuit on states of the state-vector engine, one for each lane."""

    def __init__(self, register: Callable, wires: int, count: int, seed: int) -> None:
        keys = [seed_of_element(seed, 0, number) for number in range(count)]
        self.states = [register(wires, seed=key) for key in keys]
        self.active = np.ones(count, bool)
        self.in_order = True
        """No state has renamed a bit: they walk over the outcomes in this order."""

    def each(self, act: Callable) -> list:
        """What a function of a state and its lane gives, 0 where a lane is not active."""
        return [act(s, k) if self.active[k] else 0 for k, s in enumerate(self.states)]


def random_operation(generator: np.random.Generator, both: tuple, wires: int, count: int) -> None:
    """One thing done to both, and what it gives compared."""
    register, alone = both
    kind = generator.choice(["gate", "gate", "gate", "measure", "activate", "unitary", "sample"])
    if kind == "activate":
        alone.active = generator.integers(0, 3, count) > 0
        register.activate(alone.active)
    elif kind == "measure":
        wire, reset = int(generator.integers(wires)), bool(generator.integers(2))
        outcomes = register.measure(wire, reset)
        assert (outcomes == alone.each(lambda s, _: s.measure(wire, reset))).all()
    elif kind == "sample":
        chosen = [int(w) for w in generator.integers(0, wires, generator.integers(0, 3))]
        shots = int(generator.choice([1, 7]))
        found = register.sample(chosen, shots)
        expected = alone.each(lambda s, _: s.sample(chosen, shots))
        for k in range(count if alone.in_order else 0):
            assert (found[k] == expected[k]).all()
    elif kind == "unitary":
        wire = int(generator.integers(wires))
        matrices = random_unitaries(generator, count, 2)
        register.unitary(matrices, [wire])
        alone.each(lambda s, k: s.unitary(matrices[k], [wire]) or 0)
    else:
        fitting = [name for name in NAMES if GATES[name].wires <= wires]
        name = str(generator.choice(fitting))
        alone.in_order &= name not in RENAMING
        order = [int(w) for w in generator.permutation(wires)]
        width = GATES[name].wires
        controls = order[width : width + int(generator.integers(0, 2))]
        values = [int(v) for v in generator.integers(0, 2, len(controls))]
        parameters = generator.normal(size=(GATES[name].parameters, count))
        targets = order[:width]
        register.gate(name, targets, *parameters, controls=controls, values=values)
        alone.each(
            lambda s, k: s.controlled(name, controls, values, targets, *parameters[:, k]) or 0
        )


@pytest.mark.parametrize("count", [8, 16, 64])
@pytest.mark.parametrize("wires", [1, 2, 3, 4, 6, 8])
def test_each_lane_is_an_element_alone(lanes, register, wires: int, count: int):
    """Random circuits with measurements: outcomes, samples and states are those of elements."""
    for seed in range(8 if count * 2**wires < 2048 else 2):
        generator = np.random.default_rng([seed, wires, count])
        both = lanes(wires, count, seed=seed), Alone(register, wires, count, seed)
        for _ in range(40):
            random_operation(generator, both, wires, count)
        states, alone = both[0], both[1].states
        np.testing.assert_allclose(states.amplitudes, [s.amplitudes for s in alone], atol=1e-10)
        some = [int(w) for w in generator.permutation(wires)[: 1 + wires // 2]]
        for chosen in ([], some):
            found = states.probabilities(chosen)
            np.testing.assert_allclose(found, [s.probabilities(chosen) for s in alone], atol=1e-10)


@settings(max_examples=30, deadline=None)
@given(data=st.data(), wires=st.integers(1, 8), count=st.sampled_from([8, 16, 40]))
def test_pauli_values(lanes_engine, data, wires: int, count: int):
    register = LaneRegister(lanes_engine, wires, count)
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    unitaries = random_unitaries(generator, count, 2**wires)
    register.unitary(unitaries, range(wires))
    psi = unitaries[:, :, 0]
    words = []
    for _ in range(data.draw(st.integers(0, 4))):
        where = data.draw(st.lists(st.integers(0, wires - 1), unique=True, max_size=wires))
        words.append(("".join(generator.choice(list("XYZ"), len(where))), where))
    expected = []
    for word, where in words:
        factors = [np.eye(2)] * wires
        for letter, wire in zip(word, where, strict=True):
            factors[wire] = LETTERS[letter]
        operator = functools.reduce(np.kron, factors)
        expected.append(np.einsum("ki,ij,kj->k", psi.conj(), operator, psi).real)
    found = register.pauli_values(words)
    np.testing.assert_allclose(found, np.reshape(expected, found.shape), atol=1e-12)
    register.release()


def test_statistics_of_measurements(lanes):
    angles, rounds = np.repeat([0.0, 0.7, 1.5, np.pi], 16), 400
    register = lanes(2, 64, seed=3)
    total = np.zeros(64)
    for _ in range(rounds):
        register.gate("RX", [0], angles)
        register.gate("CNOT", [0, 1])
        outcomes = register.measure(1, reset=True)
        assert (register.measure(0, reset=True) == outcomes).all()
        total += outcomes
    found, shots = total.reshape(4, 16).sum(axis=1), 16 * rounds
    expected = np.sin(angles[::16] / 2) ** 2
    spread = np.sqrt(expected * (1 - expected) / shots)
    assert (np.abs(found / shots - expected) <= 5 * spread + 1e-12).all()


def test_unlikely_outcomes_leave_a_norm_of_one(lanes):
    """The weight of one after another is no difference of large numbers."""
    count = 2**17
    register = lanes(2, count, seed=11)
    register.gate("Hadamard", [0])
    register.gate("SX", [0])
    register.gate("Adjoint(SX)", [0])
    register.gate("RY", [0], np.full(count, -np.pi / 2 + 0.015))
    register.gate("RY", [1], np.full(count, 0.3))
    outcomes = register.measure(0)
    assert 0 < outcomes.sum() < 20
    np.testing.assert_allclose(np.linalg.norm(register.amplitudes, axis=1), 1, atol=1e-11)


def in_batch(position: int, seed: int, counter: int = 0):
    """The contexts of an element and of the call that it is a part of."""
    outer = CallContext()
    outer.seed = seed
    context = CallContext()
    context.outer = ctypes.addressof(outer)
    context.position, context.counter = position, counter
    return context, outer


@pytest.mark.parametrize("position", [0, 5, 2**40 + 3])
def test_streams_do_not_depend_on_grouping(lanes, position: int):
    def outcomes(count: int) -> np.ndarray:
        found = []
        for group in range(64 // count):
            context, outer = in_batch(position, seed=99)
            register = lanes(1, count, context=context, first=group * count)
            first = register.measure(0)
            register.activate(np.arange(group * count, (group + 1) * count) % 3)
            half = np.full(count, np.pi / 2)
            register.gate("RX", [0], half)
            second = register.measure(0)
            register.activate(np.ones(count))
            register.gate("RY", [0], half)
            found.append(np.stack([first, second, register.measure(0), *register.sample([0], 2).T]))
            assert context.counter == 1
            assert outer.counter == 0
        return np.concatenate(found, axis=1)

    expected = outcomes(64)
    assert len(np.unique(expected, axis=1).T) > 3
    for count in (8, 16, 32):
        assert (outcomes(count) == expected).all()


def test_streams_in_an_element_are_those_of_its_members(lanes, register):
    """The keys are what `batch_elements` gives to elements."""
    context, _outer = in_batch(6, seed=2**63 + 5)
    group = lanes(1, 16, context=context, first=48)
    group.gate("Hadamard", [0])
    expected = []
    for lane in range(16):
        alone = register(1, seed=seed_of_element(2**63 + 5, 6, 48 + lane))
        alone.gate("Hadamard", [0])
        expected.append([alone.measure(0), *alone.sample([0], 5)])
    assert (np.column_stack([group.measure(0), group.sample([0], 5)]) == expected).all()


def test_a_batch_of_groups_draws_as_a_batch_of_elements(lanes_engine, register, tmp_path):
    """Contexts of elements say what the keys of their lanes are made of."""
    pool = ctypes.CDLL(str(shutil.copy(threads_library(), tmp_path / "threads.so")))
    pool[library_symbol("threads", "configure")](ctypes.c_int64(1))
    run = pool[library_symbol("threads", "for_each_element")]
    entry_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)

    def of_elements(count: int, act: Callable) -> list:
        context, found = CallContext(), {}
        context.seed, context.counter = 77, 5

        def enter(address: int, _memory: object, number: int) -> None:
            found[number] = act(CallContext.from_address(address), number)

        entry = entry_type(enter)
        run(
            ctypes.c_void_p(ctypes.addressof(context)), entry, None,
            ctypes.c_int64(count), ctypes.c_int64(1),
        )  # fmt: skip
        assert (context.code, context.counter) == (ErrorCode.NONE, 6)
        return [found[number] for number in range(count)]

    def outcomes(context: CallContext, number: int) -> np.ndarray:
        group = LaneRegister(lanes_engine, 1, 8, context=context, first=8 * number)
        group.gate("Hadamard", [0])
        found = group.measure(0)
        group.release()
        return found

    expected = []
    for seed in of_elements(24, lambda context, _: context.seed):
        alone = register(1, seed=seed)
        alone.gate("Hadamard", [0])
        expected.append(alone.measure(0))
    assert np.concatenate(of_elements(3, outcomes)).tolist() == expected


def test_registers_of_one_element_draw_other_numbers(lanes):
    context, _outer = in_batch(0, seed=1)
    found = []
    for _ in range(3):
        register = lanes(1, 64, context=context)
        register.gate("Hadamard", [0])
        found.append(register.measure(0))
    assert len(np.unique(found, axis=0)) == 3


@pytest.mark.parametrize("wires", [0, 1, 4])
def test_what_is_no_number_spoils_its_lane(lanes, wires: int):
    register, states = filled(lanes, np.random.default_rng(4), wires, 16)
    if wires == 0:
        np.testing.assert_allclose(register.amplitudes, states)
        np.testing.assert_allclose(register.probabilities(), 1)
        assert (register.sample([], 3) == 0).all()
        return
    angles = np.zeros(16)
    angles[3], angles[12] = np.nan, -np.inf
    control = [] if wires == 1 else [1]
    values = [1] * len(control)
    register.activate(np.arange(16) != 12)
    register.gate("RX", [0], angles, controls=control, values=values)
    register.activate(np.ones(16))
    bad = np.arange(16) == 3
    assert np.isnan(register.amplitudes[bad]).all()
    np.testing.assert_allclose(register.amplitudes[~bad], states[~bad], atol=1e-13)
    matrices = np.tile(np.eye(2), (16, 1, 1))
    matrices[5, 0, 1] = np.nan
    register.unitary(matrices, [0], control, values)
    bad[5] = True
    assert (np.isnan(register.probabilities()).all(axis=1) == bad).all()
    assert np.isfinite(register.probabilities()[~bad]).all()
    register.activate(~bad)
    outcomes = register.measure(0)
    assert register.error[0] == ErrorCode.NONE
    assert (register.sample([], 2)[bad] == 0).all()
    assert (outcomes[bad] == 0).all()
    register.activate(np.ones(16))
    register.measure(0)
    assert register.error[:2] == (ErrorCode.NOT_A_NUMBER, SITE)


def test_nothing_is_done_where_no_lane_is_active(lanes):
    register, states = filled(lanes, np.random.default_rng(5), 3, 8)
    register.activate(np.zeros(8))
    register.gate("RX", [0], np.full(8, np.nan))
    register.gate("SWAP", [0, 2])
    register.gate("CNOT", [0, 2])
    register.unitary(np.full((4, 4), np.nan), [0, 1])
    assert (register.measure(1, reset=True) == 0).all()
    assert (register.sample([], 4) == 0).all()
    assert_states(register, states)


@pytest.mark.parametrize(
    ("act", "code"),
    [
        (lambda r: r.gate("RX", [3], np.zeros(8)), ErrorCode.WIRE_OUT_OF_RANGE),
        (lambda r: r.gate("CNOT", [0, -1]), ErrorCode.WIRE_OUT_OF_RANGE),
        (lambda r: r.gate("CNOT", [1, 1]), ErrorCode.OVERLAPPING_WIRES),
        (
            lambda r: r.gate("PauliX", [1], controls=[1], values=[1]),
            ErrorCode.OVERLAPPING_WIRES,
        ),
        (
            lambda r: r.gate("SWAP", [0, 1], controls=[2, 2], values=[1, 1]),
            ErrorCode.OVERLAPPING_WIRES,
        ),
        (lambda r: r.unitary(np.eye(4), [0, 3]), ErrorCode.WIRE_OUT_OF_RANGE),
        (lambda r: r.unitary(np.eye(4), [2, 2]), ErrorCode.OVERLAPPING_WIRES),
        (lambda r: r.unitary(np.eye(2), [2], [2], [0]), ErrorCode.OVERLAPPING_WIRES),
        (lambda r: r.measure(2**62), ErrorCode.WIRE_OUT_OF_RANGE),
        (lambda r: r.sample([5], 2), ErrorCode.WIRE_OUT_OF_RANGE),
        (lambda r: r.sample([], 0), ErrorCode.INVALID_SHOTS),
        (lambda r: r.probabilities([0, 0]), ErrorCode.OVERLAPPING_WIRES),
        (lambda r: r.probabilities([-(2**63)]), ErrorCode.WIRE_OUT_OF_RANGE),
        (lambda r: r.pauli_values([("X", [0]), ("XZ", [1, 7])]), ErrorCode.WIRE_OUT_OF_RANGE),
        (lambda r: r.pauli_values([("XY", [1, 1])]), ErrorCode.OVERLAPPING_WIRES),
    ],
)
@pytest.mark.parametrize("is_active", [True, False])
def test_errors(lanes, act: Callable, code: ErrorCode, is_active: bool):
    register = lanes(3, 8)
    register.activate(np.full(8, is_active))
    act(register)
    assert register.error[:2] == (code, SITE)
    assert (register.measure(0) == 0).all()
    assert (register.sample([], 3) == 0).all()
    register.gate("PauliX", [0])
    register.context.code = 0
    assert_states(register, np.eye(8)[np.zeros(8, int)])


@pytest.mark.parametrize(
    ("wires", "count", "code"),
    [
        (-1, 8, ErrorCode.NEGATIVE_QUBITS),
        (2, 0, ErrorCode.SIZE_MISMATCH),
        (2, -8, ErrorCode.SIZE_MISMATCH),
        (2, 12, ErrorCode.SIZE_MISMATCH),
        (2, 2**62, ErrorCode.SIZE_MISMATCH),
        (39, 8, ErrorCode.TOO_MANY_QUBITS),
        (2**62, 8, ErrorCode.TOO_MANY_QUBITS),
        (36, 8, ErrorCode.OUT_OF_MEMORY),
    ],
)
def test_registers_that_cannot_be(lanes, wires: int, count: int, code: ErrorCode):
    register = lanes(wires, count)
    assert register.state is None
    assert register.error[:2] == (code, SITE)
    register.gate("PauliX", [0])


def test_states_are_linked_to_the_call(lanes, lanes_engine):
    """As those of other engines are: an abandoned call's are found and released."""
    register = lanes(2, 8)
    context = register.context
    other = LaneRegister(lanes_engine, 3, 16, context=context)
    assert context.states == other.state
    other.release()
    assert context.states == register.state
    register.release()
    assert context.states is None


def test_a_part_of_the_engine_is_enough(lanes, lanes_engine, tmp_path):
    functions = {"state_create", "state_release", "gate", "measure", "amplitudes"}
    lanes_in_parts().build(functions, tmp_path / "part.so")
    register = LaneRegister(ctypes.CDLL(str(tmp_path / "part.so")), 3, 16, seed=4)
    whole = lanes(3, 16, seed=4)
    angles = np.linspace(0, 3, 16)
    for each in (register, whole):
        each.gate("RY", [2], angles)
        each.gate("IsingXX", [2, 0], angles)
        each.gate("Rot", [1], angles, angles * 1e6, angles)
    assert (register.measure(2) == whole.measure(2)).all()
    np.testing.assert_allclose(register.amplitudes, whole.amplitudes, atol=1e-14)
    register.release()
