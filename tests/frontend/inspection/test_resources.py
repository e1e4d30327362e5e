"""`qml.specs` of compiled functions: what PennyLane counts of the same circuits with numbers."""

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
import sympy
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from diastase import cond, for_loop, measure, qjit, while_loop
from diastase.inspection.levels import UnknownLevelError
from diastase.inspection.resources.errors import SymbolValueError

WIRES = 4
device = qml.device("lightning.qubit", wires=WIRES)
n, m = sympy.symbols("n m")


def compiled(function):
    return qjit(qml.qnode(device)(function))


def resources(function, *args, **options):
    return qml.specs(compiled(function), **options)(*args).resources


def expected(function, *args):
    return qml.specs(qml.qnode(device)(function), level="top")(*args).resources


# --- drawn circuits -------------------------------------------------------------------------------

GATES = (
    (qml.Hadamard, 1), (qml.S, 1), (qml.CNOT, 2), (qml.Toffoli, 3),
    (lambda wires: qml.RX(0.3, wires), 1),
    (lambda wires: qml.ctrl(qml.RY(0.1, wires[0]), list(wires[1:]), [1, 0]), 3),
    (lambda wires: qml.ctrl(qml.adjoint(qml.S(wires[0])), wires[1]), 2),
    (lambda wires: qml.MultiControlledX(list(wires)), 4),
)  # fmt: skip

gate = st.tuples(
    st.just("gate"), st.sampled_from(GATES), st.integers(0, 3), st.sampled_from([0, 0, 1])
)
bound = st.sampled_from(
    ["0", "1", "3", "n", "n + 1", "2*n", "n // 2", "n - 3", "index", "n - index"]
)


def looping(body):
    step = st.sampled_from([1, 1, 2, -1, -2])
    return st.one_of(
        st.tuples(st.just("for"), bound, bound, step, st.lists(body, min_size=1, max_size=3)),
        st.tuples(
            st.just("if"), st.integers(0, 2), st.lists(body, max_size=2), st.lists(body, max_size=2)
        ),
    )


items = st.lists(st.recursive(gate, looping, max_leaves=6), min_size=1, max_size=4)


def perform(circuit, number, index):
    """Apply a drawn circuit; `index` is that of the innermost loop."""
    values = {"n": number, "index": index}
    for kind, *rest in circuit:
        if kind == "gate":
            (operator, size), offset, moves = rest
            operator([(offset + place + moves * index) % WIRES for place in range(size)])
        elif kind == "for":
            lower, upper, step, body = rest
            bounds = eval(lower, values), eval(upper, values), step
            for_loop(*bounds)(lambda i, body=body: perform(body, number, i))()
        else:
            remainder, yes, no = rest
            branch = cond(index % 3 == remainder)(lambda yes=yes: perform(yes, number, index))
            branch.otherwise(lambda no=no: perform(no, number, index))
            branch()


@given(items, st.integers(-1, 5))
@settings(max_examples=25, deadline=None, derandomize=True, phases=[Phase.generate])
def test_drawn_circuits(circuit, number):
    def function(n):
        perform(circuit, n, 0)
        return qml.expval(qml.Z(0))

    found, wanted = resources(function, number), expected(function, number)
    exact = found.subs(n=number)
    assert exact.gate_types == wanted.gate_types
    assert exact.gate_sizes == wanted.gate_sizes
    assert exact.num_gates == wanted.num_gates
    assert (exact.depth, exact.depth_is_bound) == (wanted.depth, False)
    assert all(isinstance(count, int) for count in (*exact.gate_types.values(), exact.depth))
    if number < 0:
        return
    lower = found.lower
    for name in found.gate_types:
        least, most = (at(each.gate_types.get(name, 0), number) for each in (lower, found))
        assert least <= wanted.gate_types.get(name, 0) <= most
    assert wanted.depth <= at(found.depth, number)
    assert lower.depth is None or at(lower.depth, number) <= wanted.depth


def at(count, number):
    """A count where `n` is a number."""
    return sympy.sympify(count).subs(n, number).doit()


# --- loops ----------------------------------------------------------------------------------------


def test_a_billion_gates():
    """They are multiplied: whoever counted them one by one would not be through today."""

    @compiled
    def circuit(x):
        @for_loop(0, 1000, 1)
        def outer(i):
            @for_loop(0, 1000, 1)
            def middle(j):
                @for_loop(0, 1000, 1)
                def inner(k):
                    qml.RX(x, 0)

                inner()
                qml.CNOT([0, 1])

            middle()
            qml.Hadamard(i % 3)

        outer()
        return qml.expval(qml.Z(0))

    found = qml.specs(circuit)(0.3).resources
    assert found.gate_types == {"RX": 10**9, "CNOT": 10**6, "Hadamard": 1000}
    assert found.depth == 10**9 + 10**6 + 334
    assert not found.depth_is_bound


def test_loops_with_traced_bounds():
    def circuit(n, m):
        qml.X(0)
        for_loop(0, 3 * n, 1)(lambda i: qml.X(0) and None)()

        @for_loop(0, n, 1)
        def triangle(i):
            for_loop(i, n, 1)(lambda j: qml.CNOT([0, 1]) and None)()

        triangle()
        for_loop(m, 0, -2)(lambda i: qml.Y(2) and None)()
        for_loop(2, m, 1)(lambda i: qml.S(3) and None)()
        grown = for_loop(0, n, 1)(lambda i, k: [qml.Z(2), k + 2][1])(1)
        for_loop(0, grown, 1)(lambda i: qml.T(3) and None)()
        return qml.probs()

    found = resources(circuit, 4, 5)
    assert found.gate_counts == {
        "PauliX": 3 * n + 1, "CNOT": n**2 / 2 + n / 2, "PauliY": sympy.ceiling(m / 2),
        "S": sympy.Max(0, m - 2), "PauliZ": n, "T": 2 * n + 1,
    }  # fmt: skip
    assert found.measurements == {"probs(all wires)": 1}
    assert "- PauliX: 3*n + 1\n" in str(found)
    assert found.unknown == ()
    for values in ((4, 5), (0, 1), (-3, -2)):
        exact = found.subs(n=values[0], m=values[1])
        assert exact.gate_types == expected(circuit, *values).gate_types
        assert exact.depth == expected(circuit, *values).depth
    assert type(found.subs({n: 2, "m": 1})) is type(found)
    assert found.subs(n=2).gate_types["S"] == sympy.Max(0, m - 2)


def test_depth_in_symbols():
    def circuit(n, m):
        qml.Hadamard(0)
        qml.Hadamard(2)

        @for_loop(0, n, 1)
        def loop(i):
            qml.RX(0.1, 0)
            qml.CNOT([0, 1])

        loop()
        for_loop(0, m, 1)(lambda i: qml.T(2) and None)()
        qml.CNOT([1, 2])
        return qml.state()

    found = resources(circuit, 1, 1)
    assert found.depth == sympy.Max(m + 2, 2 * n + 2)
    assert not found.depth_is_bound
    for values in ((3, 2), (0, 4), (0, 0)):
        assert found.depth.subs({n: values[0], m: values[1]}) == expected(circuit, *values).depth
    assert resources(circuit, 1, 1, compute_depth=False).depth is None


def test_what_a_run_alone_knows():
    def circuit(x, limits):
        while_loop(lambda k: k < 6)(lambda k: [qml.S(0), k + 2][1])(0)
        while_loop(lambda y: y < 3)(lambda y: [qml.T(0), y * 2][1])(x)
        for_loop(0, limits[1], 1)(lambda i: qml.X(1) and None)()
        return qml.expval(qml.Z(0) @ qml.X(1))

    found = resources(circuit, 0.3, jnp.array([1, 2]))
    trips = sympy.symbols("trips_1 trips_2")
    assert found.gate_types == {"S": 3, "T": trips[0], "PauliX": trips[1]}
    assert f"trips_1: turns of a while_loop at {__file__.rpartition('/')[2]}:" in str(found)
    assert (
        found.subs(trips_1=4, trips_2=2).gate_types
        == expected(circuit, 0.3, jnp.array([1, 2])).gate_types
    )
    assert found.measurements == {"expval(Prod(num_wires=2, num_terms=2))": 1}


def test_sizes_of_arguments():
    @qml.qnode(device)
    def circuit(x):
        for_loop(0, x.shape[0], 1)(lambda i: qml.RX(x[i], 0) and None)()
        return qml.expval(qml.Z(0))

    found = qml.specs(qjit(circuit, abstracted_axes=("n",)))(jnp.ones(3)).resources
    assert found.gate_types == {"RX": n}
    made = qml.specs(qjit(lambda n: circuit(jnp.ones(n))))(3).resources
    assert made.gate_types == {"RX": n}
    assert made.subs(n=3).gate_types == {"RX": 3}


# --- branches -------------------------------------------------------------------------------------


def branching(x, k):
    cond(True)(lambda: qml.Hadamard(0) and None)()

    @cond(x > 0)
    def either():
        qml.X(0)
        qml.X(1)
        qml.CNOT([0, 1])

    @either.otherwise
    def either():
        qml.X(0)
        qml.Y(0)

    either()
    cond(measure(2))(lambda: qml.Z(3) and None)()
    return qml.expval(qml.Z(0))


def test_bounds_of_branches():
    found = resources(branching, 0.3, 2)
    once = {"Hadamard": 1, "MidMeasureMP": 1}
    assert found.gate_types == {**once, "PauliX": 2, "CNOT": 1, "PauliY": 1, "PauliZ": 1}
    assert found.lower.gate_types == {**once, "PauliX": 1, "CNOT": 0, "PauliY": 0, "PauliZ": 0}
    assert (found.lower.num_gates, found.num_gates) == (4, 6)
    text = str(found)
    assert "Total gates: 4 to 6" in text
    assert "- CNOT: 0 to 1\n" in text
    assert "- cond_2: which of 2 branches at " in text
    assert found.subs(cond_1=False, cond_2=True).gate_types == {
        **once, "PauliX": 1, "PauliY": 1, "PauliZ": 1,
    }  # fmt: skip
    average = found.expected(cond_1=0.25, cond_2=1)
    assert average.gate_types == {**once, "PauliX": 1.25, "CNOT": 0.25, "PauliY": 0.75, "PauliZ": 1}
    assert found.expected().gate_types["PauliX"] == 1.5


def test_what_waits_for_an_outcome():
    def circuit():
        qml.Hadamard(0)
        qml.S(0)
        outcome = measure(0)
        cond(outcome)(lambda: qml.X(1) and None)()
        return qml.expval(qml.Z(1))

    assert resources(circuit).depth == expected(circuit).depth == 4


# --- levels and QNodes ----------------------------------------------------------------------------


@qjit
@qml.transforms.merge_rotations
@qml.marker("cancelled")
@qml.transforms.cancel_inverses
@qml.qnode(device)
def optimised(x, n):
    for_loop(0, n, 1)(lambda i: [qml.X(0), qml.X(0), qml.RX(x, 0), qml.RX(x, 0), None][4])()
    return qml.expval(qml.Z(0))


def test_levels():
    counts = [{"PauliX": 2 * n, "RX": 2 * n}, {"RX": 2 * n}, {"RX": n}]
    for level, wanted in [
        ("top", counts[0]), (0, counts[0]), (1, counts[1]), ("cancelled", counts[1]),
        (2, counts[2]), ("user", counts[2]), ("gradient", counts[2]), ("device", counts[2]),
    ]:  # fmt: skip
        found = qml.specs(optimised, level=level)(0.3, 2)
        assert (found.level, found.resources.gate_types) == (level, wanted)
    names = ["Before transforms", "cancelled", "merge-rotations"]
    for level in ("all", "all-mlir", slice(0, 3), [0, "cancelled", 2]):
        found = qml.specs(optimised, level=level)(0.3, 2)
        assert found.level == dict(enumerate(names))
        assert [found.resources[name].gate_types for name in names] == counts
    assert "- RX             | 2*n | 2*n |   n" in str(found)
    ints = found.subs(n=3)
    assert ints.resources["merge-rotations"].gate_types == {"RX": 3}
    assert "- RX             |  6 |  6 |  3" in str(ints)


def test_a_function_of_several_qnodes():
    one = qml.qnode(device)(lambda: [qml.X(0), qml.expval(qml.Z(0))][1])

    @qml.qnode(device)
    def other(k):
        for_loop(0, k, 1)(lambda i: qml.Y(0) and None)()
        return qml.probs(wires=[0])

    found = qml.specs(qjit(lambda n: one() + other(2 * n)[0]))(3)
    assert list(found) == ["<lambda>", "other"]
    assert found["other"].resources.gate_types == {"PauliY": 2 * n}
    assert found["other"].resources.measurements == {"probs(1 wires)": 1}
    twice = qml.specs(qjit(lambda n: other(n)[0] + other(3)[1]))(3)
    assert [each.gate_types for each in twice.resources] == [{"PauliY": n}, {"PauliY": 3}]


@pytest.mark.filterwarnings("ignore:.*does not support actual runs")
def test_devices_in_python_are_pennylanes_to_count():
    @qml.qnode(qml.device("reference.qubit", wires=2))
    def circuit():
        qml.X(0)
        return qml.expval(qml.Z(0))

    assert str(qml.specs(qjit(circuit), level="top")()) == str(qml.specs(circuit, level="top")())


def test_channels_of_density_matrices():
    @qml.qnode(qml.device("default.mixed", wires=2))
    def circuit():
        qml.QubitDensityMatrix(np.eye(2) / 2, 1)
        qml.BitFlip(0.1, 0)
        qml.PauliError("XY", 0.1, [0, 1])
        return qml.expval(qml.Z(0))

    found, wanted = (qml.specs(f, level="top")().resources for f in (qjit(circuit), circuit))
    assert found.gate_types == wanted.gate_types
    assert found.depth == wanted.depth


@pytest.mark.parametrize("values", [{"n": 2.5}, {"n": "a"}, {"trips_1": -2}, {"cond_1": 9}])
def test_values_that_symbols_cannot_have(values):
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit(x: float, n: int):
        for_loop(0, n, 1)(lambda i: [qml.T(0), None][1])()
        while_loop(lambda k: k < x)(lambda k: [qml.T(0), k + 1][1])(0)
        cond(x > 2)(lambda: [qml.PauliRot(0.3, "X", [0]), None][1])()
        return qml.probs()

    found = qml.specs(circuit)(1.0, 2)
    assert "Pauli products: arbitrary: 0 to 1" in str(found)
    with pytest.raises(SymbolValueError, match="cannot be"):
        found.subs(**values)


@pytest.mark.parametrize("level", [slice(5, 9), [], 7, "nowhere", 1.5])
def test_levels_that_there_are_not(level):
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit():
        return qml.probs()

    with pytest.raises(UnknownLevelError, match="levels are 0 to 0, 'top'"):
        qml.specs(circuit, level=level)()
