"""What Catalyst's AutoGraph guide documents, with the results that it documents.

Where the guide has an error for what works here (sizes that differ, `break`, `x and True`), the
result is Python's.
"""

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

import diastase
from diastase import AutoGraphError, autograph_source, disable_autograph, measure, qjit

LINE = [0.1, 0.2, 0.3]


def device(wires):
    return qml.device("lightning.qubit", wires=wires)


def test_layers_of_a_circuit():
    @qjit(autograph=True)
    @qml.qnode(device(4))
    def cost(weights, data):
        qml.AngleEmbedding(data, wires=range(4))
        for x in weights:
            for j, p in enumerate(x):
                if p > 0:
                    qml.RX(p, wires=j)
                elif p < 0:
                    qml.RY(p, wires=j)
            for j in range(4):
                qml.CNOT(wires=[j, jnp.mod((j + 1), 4)])
        return qml.expval(qml.PauliZ(0) + qml.PauliZ(3))

    found = cost(jnp.linspace(-1, 1, 20).reshape([5, 4]), jnp.ones([4]))
    assert found == pytest.approx(0.30455313)
    text = str(cost.jaxpr)
    assert (text.count("for_loop["), text.count("switch[")) == (3, 2)


def cubed_or_squared(x):
    if x > 5:
        y = x**2
    else:
        y = x**3
    return y


def test_functions_that_are_called():
    @qjit(autograph=True)
    def g(x, n):
        for _ in range(n):
            x = x + cubed_or_squared(x)
        return x

    assert g(0.4, 6) == pytest.approx(22.14135448)
    assert "ag__.if_stmt" in autograph_source(cubed_or_squared)


def assigns_a_dictionary(x):
    if x > 1:
        y = {"a": jnp.array([0.1, 0.2, 0.3]), "b": 6}
    else:
        y = {"a": jnp.array([0.5, 0.0, -0.2]), "b": -1}
    return y["a"].sum() + y["b"]


def promotes(x):
    if x > 5:
        y = 5.0
    else:
        y = 4
    return y


def changes_one(x):
    y = 0.1
    if x > 5:
        y = 0.4
    return y


def assigns_what_nobody_reads(x):
    if x > 5:
        y = 0.4  # noqa: F841
    return x


def arrays_of_different_sizes(x):
    if x > 1:
        y = jnp.array([0.1, 0.2])
    else:
        y = jnp.array([0.4, 0.5, -0.1])
    return jnp.sum(y)


def unpacks(weights):
    z = 0.0
    for i, (x, y) in enumerate(weights):
        z = i * x + i**2 * y
    return z


def harmonic(n):
    x = -jnp.log(n)
    for k in range(1, n + 1):
        x = x + 1 / k
    return x


def adds_elements(x):
    for y in [0, 4, 5]:
        c = 2
        x = x + y * c
    return x


def stops(x):
    for _ in range(10):
        x = x + x**2
        if x > 5:
            break
    return x


def counts_factors(param):
    n = 0.0
    while param < 0.5:
        param *= 1.2
        n += 1
    return n


def adds_lengths(x):
    while x < 5:
        c = "hi"
        x = x + 2 * len(c)
    return x


def both_or_neither(x, y):
    a = x >= 0.0 and x <= 1.0
    b = not y >= 1.0
    return a or b


WEIGHTS = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]]).T


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (assigns_a_dictionary, (1.5,), 6.6),
        (promotes, (0.5,), 4.0),
        (changes_one, (0.5,), 0.1),
        (assigns_what_nobody_reads, (0.5,), 0.5),
        (arrays_of_different_sizes, (0.5,), 0.8),
        (unpacks, (WEIGHTS,), 8.4),
        (unpacks, ([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]],), 3.4),
        (harmonic, (100000,), 0.57722066),
        (adds_elements, (4,), 22),
        (stops, (0.5,), 12.24732971191406),
        (counts_factors, (0.1,), 9.0),
        (adds_lengths, (4.4,), 8.4),
        (both_or_neither, (0.5, 1.1), True),
        (both_or_neither, (1.5, 1.6), False),
        (lambda x: x and True, (True,), True),
    ],
)
def test_statements(function, arguments, expected):
    assert qjit(autograph=True)(function)(*arguments) == pytest.approx(expected)


def test_and_of_arrays_is_for_each_element():
    found = qjit(autograph=True)(lambda x, y: x and y)(jnp.array([0, 1]), jnp.array([1, 1]))
    assert found.tolist() == [False, True]


def test_outcomes_decide():
    @qjit(autograph=True)
    @qml.qnode(device(2))
    def circuit():
        qml.RX(0.1, wires=0)
        qml.RY(0.5, wires=1)
        m1 = measure(0)
        m2 = measure(1)
        if m1 and not m2:
            qml.Hadamard(wires=1)
        elif m1 and m2:
            qml.RX(0.5, wires=1)
        else:
            qml.RY(0.5, wires=1)
        return qml.expval(qml.PauliZ(1))

    # Of |0>: RY(0.5); of |1>: the same, or rotated by RX: the sign differs.
    assert abs(circuit()) == pytest.approx(0.87758256)


# --- what is left to Python ----------------------------------------------------------------------


def rotations_by(element, angles):
    @qml.qnode(device(3))
    def circuit():
        for i in range(3):
            qml.RX(element(angles[i]), wires=i)
        return qml.expval(qml.PauliZ(0))

    return circuit


@pytest.mark.parametrize("element", [lambda x: x, lambda x: float(str(x))], ids=["list", "text"])
def test_a_list_that_is_indexed_is_unrolled_with_a_warning(element):
    with pytest.warns(UserWarning, match="Tracing of an AutoGraph converted for loop failed") as w:
        found = qjit(autograph=True)(rotations_by(element, LINE))()
    assert found == pytest.approx(0.99500417)
    warning = w[0]
    with open(__file__, encoding="utf-8") as file:
        assert "for i in range(3)" in file.readlines()[warning.lineno - 1]
    assert warning.filename == __file__


def text_angles():
    for x in ["0", "1", "2"]:
        qml.RY(int(x) * jnp.pi / 4, wires=0)
    return qml.expval(qml.PauliZ(0))


def test_the_switches(monkeypatch):
    circuit = qml.QNode(text_angles, device(1))
    assert qjit(autograph=True)(circuit)() == pytest.approx(-0.70710678)
    monkeypatch.setattr(diastase, "autograph_ignore_fallbacks", True)
    assert qjit(autograph=True)(rotations_by(lambda x: x, LINE))() == pytest.approx(0.99500417)
    monkeypatch.setattr(diastase, "autograph_strict_conversion", True)
    with pytest.raises(AutoGraphError, match=r"Could not convert the iteration target \['0', '1'"):
        qjit(autograph=True)(circuit)
    with pytest.raises(AutoGraphError, match="converted for loop failed"):
        qjit(autograph=True)(rotations_by(lambda x: x, LINE))


def test_a_list_indexed_in_a_loop_of_unknown_length_is_an_error():
    @qjit(autograph=True)
    def f(n):
        total = 0.0
        for i in range(n):
            total += LINE[i]
        return total

    with pytest.raises(diastase.errors.TracedIndexError, match=r"total \+= LINE\[i\]"):
        f(2)


def test_disabled():
    plain = disable_autograph(cubed_or_squared)

    @qjit(autograph=True)
    def decorated(x: float, n: int):
        for _ in range(n):
            x = x + plain(6)
        return x

    @qjit(autograph=True)
    def within():
        x = 0.4
        with disable_autograph:
            x += cubed_or_squared(6)
        return x

    assert decorated(0.4, 6) == pytest.approx(216.4)
    assert within() == pytest.approx(36.4)
    with pytest.raises(diastase.errors.TracedConditionError):
        qjit(autograph=True)(plain)(1.0)
