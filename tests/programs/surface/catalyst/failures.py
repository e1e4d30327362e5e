"""Programs that Catalyst refuses with an exception of its own, a function of the module each.

The module is `catalyst` in `record.py` and `diastase` in the tests. What Catalyst refuses only
because it cannot do it, and we can, is not here.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax.numpy as jnp
import pennylane as qml

Program = Callable[[ModuleType], Any]
PROGRAMS: dict[str, Program] = {}


def _refused(program: Program) -> Program:
    PROGRAMS[program.__name__] = program
    return program


def _circuit(body: Callable[[Any], Any], **options: Any) -> Any:
    def circuit(x):
        qml.RX(x, 0)
        return body(x)

    return qml.qnode(qml.device("lightning.qubit", wires=2), **options)(circuit)


class Unknown(qml.operation.Operation):
    num_wires = 1


@_refused
def operator_without_decomposition(catalyst):
    return catalyst.qjit(_circuit(lambda x: (Unknown(wires=0), qml.state())[1]))(0.1)


@_refused
def noise(catalyst):
    return catalyst.qjit(_circuit(lambda x: (qml.BitFlip(0.1, 0), qml.state())[1]))(0.1)


@_refused
def measure_outside_of_a_program(catalyst):
    return catalyst.measure(0)


@_refused
def measure_outside_of_a_qnode(catalyst):
    return catalyst.qjit(lambda: catalyst.measure(0))()


@_refused
def state_with_shots(catalyst):
    return catalyst.qjit(_circuit(lambda x: qml.state(), shots=10))(0.1)


@_refused
def sample_without_shots(catalyst):
    return catalyst.qjit(_circuit(lambda x: qml.sample()))(0.1)


@_refused
def gradient_of_an_integer(catalyst):
    return catalyst.qjit(lambda x: catalyst.grad(lambda y: y * 2)(x))(1)


@_refused
def gradient_of_an_integer_result(catalyst):
    return catalyst.qjit(lambda x: catalyst.grad(lambda y: jnp.round(y).astype(int))(x))(1.0)


@_refused
def gradient_of_a_vector(catalyst):
    return catalyst.qjit(lambda x: catalyst.grad(lambda y: y * jnp.ones(2))(x))(1.0)


@_refused
def gradient_without_a_method(catalyst):
    circuit = _circuit(lambda x: qml.expval(qml.Z(0)), diff_method=None)
    return catalyst.qjit(catalyst.grad(circuit))(0.1)


@_refused
def jacobian_of_a_state(catalyst):
    circuit = _circuit(lambda x: qml.state(), diff_method="parameter-shift")
    return catalyst.qjit(catalyst.jacobian(circuit))(0.1)


@_refused
def jacobian_of_samples(catalyst):
    circuit = _circuit(lambda x: qml.sample(), diff_method="parameter-shift", shots=5)
    return catalyst.qjit(catalyst.jacobian(circuit))(0.1)


@_refused
def gradient_through_a_measurement(catalyst):
    def body(x):
        catalyst.measure(0)
        return qml.expval(qml.Z(0))

    return catalyst.qjit(catalyst.grad(_circuit(body, diff_method="parameter-shift")))(0.1)


@_refused
def jvp_of_an_integer(catalyst):
    return catalyst.qjit(lambda x: catalyst.jvp(lambda y: y, (x,), (x,)))(1)


@_refused
def vjp_of_an_integer(catalyst):
    return catalyst.qjit(lambda x: catalyst.vjp(lambda y: y, (x,), (x,)))(1)


@_refused
def condition_of_a_loop_is_an_array(catalyst):
    return catalyst.qjit(catalyst.while_loop(lambda i: jnp.ones(3) > i)(lambda i: i + 1))(1)


@_refused
def bound_of_a_loop_is_no_integer(catalyst):
    return catalyst.qjit(catalyst.for_loop(0, 3.5, 1)(lambda i, x: x))(1)


@_refused
def static_argument_out_of_range(catalyst):
    return catalyst.qjit(lambda x, y: x, static_argnums=(0, 7))(1, 2)


@_refused
def static_argument_far_below_zero(catalyst):
    return catalyst.qjit(lambda x, y: x, static_argnums=-5)(1, 2)


@_refused
def unknown_pass(catalyst):
    circuit = _circuit(lambda x: qml.expval(qml.Z(0)))
    return catalyst.qjit(circuit, circuit_transform_pipeline={"no-such-pass": {}})(0.1)
