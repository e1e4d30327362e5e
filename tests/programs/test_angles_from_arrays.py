"""Long circuits whose angles are elements of arrays: a table instead of operations for each."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from jax import lax

from diastase import for_loop, grad, qjit
from diastase_mlir.gate_runs import LEAST, MOST

WIRES = 3
PATTERN = np.arange(30).reshape(5, 6) % 3 == 0
ANGLES = np.sin(np.arange(4 * 5 * 6.0)).reshape(4, 5, 6)


def circuit_of(read, count=2 * LEAST):
    """Rotations by the angles that `read` gives for each number."""

    def circuit(*arguments):
        qml.Hadamard(0)
        for number in range(count):
            gate = (qml.RX, qml.RY, qml.RZ)[number % 3]
            gate(read(number, *arguments), wires=number % WIRES)
            qml.CNOT([number % WIRES, (number + 1) % WIRES])
        return qml.probs(wires=range(WIRES))

    return circuit


def compiled(circuit, **options):
    return qjit(qml.QNode(circuit, qml.device("lightning.qubit", wires=WIRES)), **options)


def by_pennylane(circuit, *arguments):
    """In numpy: with arrays of JAX, each gate of each circuit would be compiled for itself."""
    tape = qml.tape.make_qscript(circuit)(*arguments)
    (tape,), _ = qml.transforms.convert_to_numpy_parameters(tape)
    (results,) = qml.execute([tape], qml.device("default.qubit", wires=WIRES))
    return results


def by_pennylanes_adjoint(circuit, wires):
    """Value or, with `jax.grad`, derivative; in numpy, too."""
    return qml.QNode(circuit, qml.device("default.qubit", wires=wires), diff_method="adjoint")


def check(circuit, *arguments, atol=1e-12, **options):
    ours = compiled(circuit, **options)(*arguments)
    np.testing.assert_allclose(ours, by_pennylane(circuit, *arguments), atol=atol)


def numbered(number):
    """A position in `ANGLES`, another one for each number."""
    return np.unravel_index(7 * number % ANGLES.size, ANGLES.shape)


READS = {
    "positions": lambda n, a: a[tuple(map(int, numbered(n)))],
    "numpy integers": lambda n, a: a[numbered(n)],
    "negative": lambda n, a: a[-1 - n % 4, n % 5, -1 - n % 6],
    "one axis after another": lambda n, a: a[n % 4][n % 5][-1 - n % 6],
    "an ellipsis": lambda n, a: a[n % 4, ..., n % 6][n % 5],
    "slices with steps": lambda n, a: a[1:4:2, ::3][n % 2, :, 1:][n % 2, n % 5],
    "reshaped": lambda n, a: a.reshape(20, 6)[n % 20, n % 6],
    "transposed": lambda n, a: a.T[n % 6, n % 5, n % 4],
    "reversed": lambda n, a: a[::-1, 0, ::-1][n % 4, n % 6],
    "arrays computed before": lambda n, a: (jnp.sin(a) + a[0, 0, 0])[n % 4, 1, n % 6],
    "arithmetic": lambda n, a: -2 * a[n % 4, 0, 1] + 0.1 * n,
    "products of elements": lambda n, a: a[n % 4, 0, 1] * a[0, n % 5, n % 6] / (1 + n),
    "elements of several forms": lambda n, a: a[0, 0, n % 6] if n % 3 else jnp.cos(a[n % 4, 1, 2]),
    "the same element again": lambda n, a: a[1, 2, 3] * (1 + n % 2),
    "few that differ": lambda n, a: a[0, 0, 0] ** n if n < 3 else a[1, 1, n % 6],
    "an array for each layer": lambda n, a: (a[n % 4] + 0.5)[n % 5, n % 6],
    "arrays of arrays": lambda n, a: (jnp.sin(2 * a[n % 4]) * a[0] - a[1:2, n % 5])[n % 5, n % 6],
    "a scalar and an array": lambda n, a: (a[1, 1, 1] * a[n % 4] / (a[0, 0, 1] + 2))[n % 5, 3],
    "broadcast": lambda n, a: (a[0, :, None, 0] * a[1, 0])[n % 5, n % 6],
    "broadcast scalars": lambda n, a: (
        jnp.full((3, 2), 0.5) + jnp.broadcast_to(a[1, 2, 3], (3, 2))
    )[n % 3, n % 2],
    "reshaped, transposed, turned": lambda n, a: (
        (1 + a).transpose(2, 0, 1)[::-1].reshape(8, -1)[n % 8, -1 - n % 15]
    ),
    "joined": lambda n, a: jnp.concatenate([a[0], 2 * a[1, 1:3], a[2]])[n % 12, n % 6],
    "stacked": lambda n, a: jnp.stack([a[0], -a[1], a[2] ** 3], axis=1)[n % 5, n % 3, n % 6],
    "numbered": lambda n, a: (jnp.arange(5) * a[0, 0, :5] + jnp.arange(5.0) ** 2)[n % 5],
    "chosen": lambda n, a: lax.select(a[0] > a[1], a[2], a[3] - 1)[n % 5, n % 6],
    "chosen by a constant": lambda n, a: jnp.where(PATTERN, a[0], 0.25)[n % 5, n % 6],
    "constants": lambda n, a: (np.abs(ANGLES[1]) + a[0])[n % 5, n % 6],
    "one of one": lambda n, a: (
        (jnp.array([0.5]) + a[0, 0, :1])[0] + (a[1:2, 1:2, 2:3] * 2)[0, 0, 0]
    ),
    "squares of squares": lambda n, a: (a[0, 0, n % 6] ** 2 + 0.5) ** 2 * a[0, 0, n % 6],
}


@pytest.mark.sample(12)
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_elements_read_in_many_ways(read):
    check(circuit_of(read), jnp.array(ANGLES))


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "dtype", ["float32", "int8", "int32", "int64", "uint32", "float16", "bool"]
)
def test_arrays_of_other_types(dtype):
    array = jnp.array(10 * ANGLES if dtype != "uint32" else abs(10 * ANGLES)).astype(dtype)
    atol = 1e-12 if "int" in dtype or dtype == "bool" else 1e-6
    check(circuit_of(lambda n, a: a[n % 4, n % 5, n % 6] * 0.25), array, atol=atol)
    check(circuit_of(READS["positions"]), array, atol=atol)
    if dtype != "bool":
        check(circuit_of(lambda n, a: (a[n % 4] * 7 + a[0])[n % 5, n % 6] / 4), array, atol=atol)
        check(circuit_of(lambda n, a: (-a * 5 * a).astype("int8")[n % 4, 1, n % 6]), array)
        check(circuit_of(lambda n, a: (a[n % 4] > 1)[n % 5, n % 6] * 1.5), array)


def test_arrays_that_others_read_too():
    def circuit(a, wire):
        first, second = jnp.sin(a[0]) + 1, a[1] * 2
        for number in range(LEAST):
            qml.RX(first[number % 5, number % 6], wires=number % WIRES)
            qml.RY((second + 1)[number % 5, number % 6] - second[0, 0], wires=number % WIRES)
        qml.RY(jnp.sum(first) + second[wire, wire], wires=wire)
        return qml.probs(wires=range(WIRES))

    check(circuit, jnp.array(ANGLES), 1)


def test_equal_parameters_are_computed_once_and_zeros_of_either_sign_are_not_equal():
    def circuit(a):
        for number in range(LEAST):
            zero = jnp.copysign(1.0, (a * (-0.0, 0.0)[number % 2])[number % 2])
            qml.RX(zero + (2 * a)[1] + number % 2, wires=0)
            qml.RX(a[2] - 1, wires=0)
        return qml.expval(qml.Y(0))

    check(circuit, jnp.array([1.0, 2.0, 3.0]))
    lowered = compiled(circuit_of(lambda n, a: (2 * a)[n % 3])).lower(jnp.ones(3))
    text = lowered.as_text(generic=True)
    assert re.findall(r"quantum\.run.*tensor<(\d+)xf64>", text) == ["3"]


def test_positions_known_at_run_time_only():
    def read(number, a, layer):
        return a[layer, number % 5, 1] if number % 2 else a[number % 4, layer, -1]

    for layer in (0, 3, -2, 7, -9):
        ours = compiled(circuit_of(read))(jnp.array(ANGLES), layer)
        clipped = jnp.array(ANGLES)  # jax's rule for a position that is not there
        plain = jax.jit(lambda a, k: [read(n, a, k) for n in range(2 * LEAST)])(clipped, layer)
        expected = by_pennylane(circuit_of(lambda n, angles: angles[n]), [float(x) for x in plain])
        np.testing.assert_allclose(ours, expected, atol=1e-12)


def test_layers_in_a_loop():
    def circuit(a, loop):
        @loop
        def body(layer):
            for number in range(LEAST):
                qml.RY(a[layer, number % 5, number % 6], wires=number % WIRES)
                qml.RZ(a[layer][number % 5, 0] * 2, wires=number % WIRES)
                qml.CNOT([number % WIRES, (number + 1) % WIRES])

        body()
        return qml.probs(wires=range(WIRES))

    def in_python(function):
        return lambda: [function(layer) for layer in range(4)]

    ours = compiled(lambda a: circuit(a, for_loop(0, 4, 1)))(jnp.array(ANGLES))
    plain = by_pennylane(lambda a: circuit(a, in_python), jnp.array(ANGLES))
    np.testing.assert_allclose(ours, plain, atol=1e-12)


@pytest.mark.sample(2)
@pytest.mark.parametrize("shape", [(4, 5, 6), (1, 1, 1), (2, 1, 9)])
def test_arrays_of_any_size(shape):
    reads = {
        "constant": lambda n, a: a[-1, 0, n % 2 - 1],
        "last": lambda n, a: 2 * a[0, -1, a.shape[2] - 1] * n,
    }
    for read in reads.values():
        program = compiled(circuit_of(read), abstracted_axes=({0: "n", 1: "m", 2: "k"},))
        array = jnp.array(ANGLES.ravel()[: np.prod(shape)].reshape(shape))
        clipped = jax.jit(lambda a, read=read: [read(n, a) for n in range(2 * LEAST)])(array)
        expected = by_pennylane(circuit_of(lambda n, x: x[n]), [float(x) for x in clipped])
        np.testing.assert_allclose(program(array), expected, atol=1e-12)


def test_angles_that_change_between_gates():
    def circuit(a, factor):
        for number in range(2 * LEAST):
            qml.RX(a[number % 4], wires=number % WIRES)
            a = a * factor if number % 16 == 0 else a.at[number % 4].add(0.1)
        return qml.probs(wires=range(WIRES))

    check(circuit, jnp.arange(4.0), 1.25)


def test_several_runs_share_elements_that_others_need_too():
    def circuit(a, wire):
        angles = [2 * a[k] for k in range(2 * LEAST)]
        for run in range(3):
            for number, angle in enumerate(angles):
                qml.RX(angle, wires=(number + run) % WIRES)
                qml.Rot(angle, a[run], angles[number - 3], wires=number % WIRES)
            qml.RY(angles[run], wires=wire)
        return qml.probs(wires=range(WIRES)), qml.expval(qml.Z(0))

    @qjit
    def ours(a, wire):
        qnode = qml.QNode(circuit, qml.device("lightning.qubit", wires=WIRES))
        return *qnode(a, wire), a[5] + a[7]

    angles = jnp.sin(jnp.arange(2.0 * LEAST))
    probabilities, value, total = ours(angles, 1)
    expected = by_pennylane(circuit, angles, 1)
    np.testing.assert_allclose(probabilities, expected[0], atol=1e-12)
    np.testing.assert_allclose(value, expected[1], atol=1e-12)
    np.testing.assert_allclose(total, angles[5] + angles[7])


def test_a_slice_that_is_read_in_several_ways():
    def read(number, a, k):
        part = a[1:4, 0]
        return part[k, number % 6] + part[number % 3, 1] if number % 2 else part[k % 3, 2]

    check(circuit_of(read), jnp.array(ANGLES), 1)


def test_long_chains_of_arithmetic_and_slices():
    def circuit(a):
        total = a[0]
        for number in range(600):
            total = total + a[number % 4] * 1e-3
        for number in range(2 * LEAST):
            total = total + a[number % 4]
            qml.RX(total, wires=number % WIRES)
        for _ in range(150):
            a = a[:-1]
        for number in range(LEAST):
            qml.RY(a[number % 3] * total, wires=number % WIRES)
        return qml.probs(wires=range(WIRES))

    angles = np.sin(np.arange(153.0))
    ours = compiled(circuit)(jnp.array(angles))
    np.testing.assert_allclose(ours, by_pennylane(circuit, angles), atol=1e-9)


def test_special_numbers_in_arithmetic_stay_apart():
    """Literals of equal value and other bits are other literals."""

    def circuit(a):
        for number in range(LEAST):
            qml.RX(jnp.copysign(1.0, a[number % 4] * (-0.0, 0.0)[number % 2]), wires=0)
        return qml.expval(qml.Y(0))

    zeros = [np.copysign(1.0, (-0.0, 0.0)[number % 2]) for number in range(LEAST)]
    expected = np.sin(-sum(zeros))
    np.testing.assert_allclose(compiled(circuit)(jnp.ones(4)), expected, atol=1e-12)


def test_an_angle_that_is_a_size_keeps_its_value():
    @qjit
    def ours(counts):
        sizes = [counts[k] for k in range(4)]

        @qml.qnode(qml.device("lightning.qubit", wires=WIRES))
        def circuit():
            for number in range(LEAST):
                qml.RX(0.1 * sizes[number % 4], wires=number % WIRES)
            return qml.expval(qml.Z(0))

        return circuit(), jnp.ones(sizes[1]).sum(), jnp.arange(sizes[2])

    value, total, numbers = ours(jnp.array([1, 5, 2, 0]))
    turns = [0.1 * [1, 5, 2, 0][k % 4] for k in range(0, LEAST, WIRES)]
    np.testing.assert_allclose(value, np.cos(sum(turns)), atol=1e-12)
    assert total == 5
    assert numbers.tolist() == [0, 1]


# --- structure -----------------------------------------------------------------------------------


def operations(text):
    """How many operations a module has."""
    return len(re.findall(r"^ +(?:%|\"|[a-z]+\.)", text, re.MULTILINE))


SAME_SIZE = [
    "an array for each layer",
    "arrays of arrays",
    "joined",
    "stacked",
    "positions",
    "one axis after another",
    "arithmetic",
    "products of elements",
]


@pytest.mark.sample(2)
@pytest.mark.parametrize("read", SAME_SIZE)
def test_a_module_does_not_grow_with_the_number_of_angles(read):
    counts = 600, 1800  # of both, vectors are too large for the stack
    lowered = [
        compiled(circuit_of(READS[read], count)).lower(jnp.array(ANGLES)) for count in counts
    ]
    for stage in (None, "llvm_dialect"):
        short, long = (part.as_text(stage) if stage else part.as_text() for part in lowered)
        assert operations(short) == operations(long)
    assert lowered[1].as_text().count("quantum.run") == 1


def test_a_module_does_not_grow_where_sizes_are_known_at_run_time_only():
    def read(number, a, layer):
        return a[layer, number % 5, -1]

    axes = ({0: "n", 1: "m", 2: "k"}, {})
    short, long = (
        compiled(circuit_of(read, count), abstracted_axes=axes).lower(jnp.array(ANGLES), 1)
        for count in (80, 400)
    )
    assert operations(short.as_text()) == operations(long.as_text())


def test_each_run_has_a_vector_of_its_own():
    lowered = compiled(circuit_of(lambda n, a: a[n], MOST)).lower(jnp.ones(MOST))
    runs = re.findall(r"quantum\.run.*", lowered.as_text(generic=True))
    assert len(runs) == 2
    assert runs[0].endswith(f"tensor<{MOST // 2}xf64>) -> !quantum.register")


@pytest.mark.parametrize("differentiated", [False, True])
def test_angles_of_undone_and_controlled_circuits(differentiated):
    """What `adjoint` undoes is a table of rows, too; its parameters stand among all others."""

    def program(count):
        def circuit(angles):
            def part():
                for number in range(count):
                    qml.RX(angles[number], number % WIRES)
                    qml.IsingXX(0.3 * angles[number], [number % WIRES, (number + 1) % WIRES])

            qml.Hadamard(0)
            qml.adjoint(part)()
            qml.RY(0.4, 1)
            qml.ctrl(qml.adjoint(part), control=3)()
            return qml.expval(qml.Z(0) @ qml.Y(1))

        return circuit

    texts = []
    for count in (LEAST, 2 * LEAST):
        angles = jnp.linspace(-1.0, 2.0, count)
        own = qml.QNode(program(count), qml.device("lightning.qubit", wires=4))
        reference = by_pennylanes_adjoint(program(count), 4)
        ours = qjit(grad(own) if differentiated else own)
        wanted = (jax.grad(reference) if differentiated else reference)(angles)
        np.testing.assert_allclose(ours(angles), wanted, atol=1e-11)
        texts.append(ours.lower(angles).as_text(generic=True))
    assert texts[0].count("\n") == texts[1].count("\n")


@pytest.mark.parametrize("differentiated", [False, True])
def test_coefficients_of_exponents(differentiated):
    """PennyLane computes them as complex numbers, of which the imaginary part is the angle."""

    def program(count):
        def circuit(times):
            for number in range(count):
                word = (qml.Y(0) @ qml.X(1), qml.Z(1) @ qml.Y(2), qml.X(2) @ qml.X(0))[number % 3]
                qml.evolve(word, (0.2 + times)[number])
                qml.RX(0.4, number % WIRES)
            return qml.expval(qml.Z(0) @ qml.Y(1))

        return circuit

    texts = []
    for count in (24, 48):
        times = jnp.linspace(-1.0, 2.0, count)
        own = qml.QNode(program(count), qml.device("lightning.qubit", wires=WIRES))
        reference = by_pennylanes_adjoint(program(count), WIRES)
        ours = qjit(grad(own) if differentiated else own)
        wanted = (jax.grad(reference) if differentiated else reference)(times)
        np.testing.assert_allclose(ours(times), wanted, atol=1e-11)
        texts.append(ours.lower(times).as_text(generic=True))
    assert texts[0].count("\n") == texts[1].count("\n")
