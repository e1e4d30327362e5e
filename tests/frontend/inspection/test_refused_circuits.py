"""Circuits that OpenQASM or QIR cannot say: errors at the user's line, with what to do."""

import jax
import jax.numpy as jnp
import pennylane as qml
import pytest

from diastase import cond, for_loop, grad, measure, qjit, while_loop
from diastase.inspection.circuit_texts.errors import NotInQirError


def device(wires):
    return qml.device("lightning.qubit", wires=wires)


def _tanh(x):
    qml.RX(jnp.tanh(x), wires=0)
    return qml.probs()


def _matrix(x):
    qml.QubitUnitary(jnp.diag(jnp.exp(1j * jnp.array([x, 2 * x]))), wires=0)
    return qml.probs()


def _state(x):
    return qml.state()


def _prepared(x):
    qml.StatePrep(jnp.array([0.6, 0.8]), wires=0)
    return qml.probs()


def _postselected(x):
    measure(0, postselect=1)
    return qml.probs()


def _two_bases(x):
    return qml.expval(qml.X(0)), qml.expval(qml.Z(0))


def _argument(x):
    qml.RX(2 * x, wires=0)
    return qml.probs()


def _long(x):
    for_loop(0, 20_000, 1)(lambda i: qml.X(0))()
    return qml.probs()


def _sine_of_a_carry(x):
    @while_loop(lambda angle: angle < 3.0)
    def turned(angle):
        qml.RX(jnp.sin(angle), wires=0)
        return angle + measure(0)

    turned(0.0)
    return qml.probs()


def _channel(x):
    qml.BitFlip(0.1, wires=0)
    return qml.probs()


@pytest.mark.parametrize(
    ("language", "circuit", "words", "line"),
    [
        ("qasm", _tanh, "RX depends on tanh", "qml.RX(jnp.tanh(x)"),
        ("qasm", _matrix, "QubitUnitary is an array that is not known", "qml.QubitUnitary"),
        ("qasm", _prepared, "StatePrep", "qml.StatePrep"),
        ("qasm", _state, "state is no operation of OpenQASM", "return qml.state()"),
        ("qir", _state, "state is no operation of QIR", "return qml.state()"),
        *(
            (language, circuit, words, line)
            for language in ("qasm", "qir")
            for circuit, words, line in (
                (_postselected, "measure keeps what has one outcome", "measure(0, postselect=1)"),
                (_two_bases, "reads wire 0 in two bases, X and Z", "return qml.expval"),
                (_channel, "a channel", "qml.BitFlip"),
            )
        ),
        ("qir", _argument, "RX uses x, and QIR takes no arguments", "qml.RX(2 * x"),
        ("qir", _long, "has more than 10000 turns", "for_loop(0, 20_000"),
        ("qir", _sine_of_a_carry, "RX needs sin of a number that outcomes decide", "jnp.sin"),
    ],
)
def test_what_a_language_cannot_say_is_an_error_at_its_line(language, circuit, words, line):
    on = qml.device("default.mixed", wires=1) if circuit is _channel else device(1)
    traced = qjit(qml.QNode(circuit, on)).trace(0.3)
    with pytest.raises(NotImplementedError) as error:
        getattr(traced, language)
    assert words in str(error.value)
    assert line in str(error.value)
    assert "help: " in str(error.value)


@qml.qnode(device(1))
def _energy(x):
    qml.RX(x, wires=0)
    return qml.expval(qml.Z(0))


@pytest.mark.parametrize("language", ["qasm", "qir"])
def test_a_text_is_of_one_circuit(language):
    for function, what in (
        (lambda: 1.0, "none"),
        (lambda: _energy(0.3) + _energy(0.4), "2: _energy, _energy"),
    ):
        traced = qjit(function).trace()
        with pytest.raises(ValueError, match=what):
            getattr(traced, language)
    traced = qjit(lambda: grad(_energy)(0.3)).trace()
    with pytest.raises(NotImplementedError, match="a derivative is no operation of"):
        getattr(traced, language)
    assert "0.3" in getattr(qjit(lambda: _energy(0.3)).trace(), language)


@pytest.mark.parametrize("language", ["qasm", "qir"])
@pytest.mark.parametrize(
    "loop",
    [
        lambda: while_loop(lambda x: x < 1)(lambda x: x + _energy(x) ** 2)(0.3),
        lambda: for_loop(0, 3, 1)(lambda i, x: x + _energy(x))(0.3),
        lambda: jax.lax.while_loop(lambda x: x < 1, lambda x: x + _energy(x) ** 2, 0.3),
        lambda: jax.lax.while_loop(lambda x: _energy(x) > 0, lambda x: x + 0.1, 0.3),
        lambda: jax.lax.fori_loop(0, 3, lambda i, x: x + _energy(x), 0.3),
        lambda: jax.lax.scan(lambda s, x: (s, _energy(x)), 0.0, jnp.array([0.1, 0.2])),
    ],
)
def test_a_circuit_that_a_loop_changes_is_an_error(loop, language):
    traced = qjit(loop).trace()
    with pytest.raises(NotImplementedError, match="what a loop around the circuit changes"):
        getattr(traced, language)


def test_a_circuit_in_a_loop_that_changes_nothing_of_it_has_a_text():
    for loop in (
        lambda y: while_loop(lambda x: x < 1)(lambda x: x + _energy(y) ** 2)(0.3),
        lambda y: jax.lax.scan(lambda s, x: (s, _energy(y)), 0.0, jnp.array([0.1, 0.2])),
    ):
        assert "rx(y_) q[0];" in qjit(loop).trace(0.3).qasm


def test_a_wire_that_is_none_is_an_error():
    def circuit():
        for_loop(0, 3, 1)(lambda i: qml.X(i))()
        return qml.probs()

    traced = qjit(qml.QNode(circuit, device(2))).trace()
    with pytest.raises(NotInQirError, match="on wire 2 of a device with 2 wires"):
        traced.qir  # noqa: B018


def _counted(start, step, bound, dtype):
    """A loop that outcomes end, whose count decides about a gate."""

    @while_loop(lambda number, outcome: ~outcome)
    def tried(number, outcome):
        qml.Hadamard(0)
        return number + dtype(step), measure(0)

    number, _ = tried(dtype(start), False)
    cond(number > dtype(bound))(lambda: qml.X(1))()
    return qml.probs(wires=[1])


def _narrowed(dtype):
    @while_loop(lambda number, outcome: ~outcome)
    def tried(number, outcome):
        qml.Hadamard(0)
        return number + 3, measure(0)

    number, _ = tried(jnp.asarray(0, "float64" if "float" in dtype.__name__ else "int64"), False)
    cond(number.astype(dtype) > dtype(5))(lambda: qml.X(1))()
    return qml.probs(wires=[1])


@pytest.mark.parametrize("language", ["qir", "qasm"])
@pytest.mark.parametrize("name", ["uint8", "int8", "int32", "uint64", "float32", "float16"])
def test_numbers_that_outcomes_decide_have_64_bits(name, language):
    dtype = getattr(jnp, name)
    circuits = [lambda: _counted(1, 1, 3, dtype)]
    if name not in ("uint64",):
        circuits.append(lambda: _narrowed(dtype))
    for circuit in circuits:
        traced = qjit(qml.QNode(circuit, device(2))).trace()
        with pytest.raises(NotImplementedError, match=f"{name} numbers that outcomes decide") as e:
            getattr(traced, language)
        assert "int64 or float64" in str(e.value)
