"""{grad, jacobian, jvp, vjp, hessian, vmap, vmap of grad, grad of vmap} of all kinds of programs.

One compiled program for each subject has all transformations. What they must be comes from finite
differences in extended precision (`extended`), and for circuits from PennyLane's backprop, too.
`REFUSED` says which are errors; of what; the rest is right to 1e-8.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import measure, qjit
from diastase.dynamic_shapes.errors import MappedSizeError
from diastase.primitives.errors import NotTransformableError
from diastase_mlir.errors import LoweringError
from frontend.autodiff.transformed import classical, extended
from frontend.autodiff.transformed.circuits import (
    CONTROL_FLOW,
    DEVICE,
    MEASUREMENTS,
    OBSERVABLES,
    OPERANDS,
    by_pennylane,
    exactly,
    few,
    gates,
    real_vector,
)
from frontend.autodiff.transformed.transformations import NAMES, all_of, batch_of, expected

X = np.array([0.37, 0.71, -0.43])
N = 3


def _measured(name):
    measured, read = MEASUREMENTS[name]
    body = few if name in ("state", "density matrix", "probs") else gates
    return (
        by_pennylane(body, measured),
        exactly(body, read, N),
        by_pennylane(body, measured, "backprop"),
    )


def _with_control_flow(body, measurement="expval of a sum"):
    measured, read = MEASUREMENTS[measurement]
    return (
        by_pennylane(body, measured),
        exactly(body, read, N),
        by_pennylane(body, measured, "backprop"),
    )


def _with_operand(body):
    measured, read = MEASUREMENTS["expval of a sum"]
    compiled = by_pennylane(lambda q, x, n: body(q, x, n, jnp), measured)
    backprop = by_pennylane(lambda q, x, n: body(q, x, n, jnp), measured, "backprop")
    exact = exactly(lambda q, x, n: body(q, x, n, extended), read, N)
    return compiled, exact, backprop


def _with_observable(name):
    observable, matrix = OBSERVABLES[name]

    def node_by(diff_method):
        @qml.qnode(DEVICE, diff_method=diff_method)
        def node(x):
            few(qml, x, N)
            return qml.expval(observable(x))

        return lambda x, n: real_vector(node(x))

    def exact(x):
        state = extended.Circuit()
        few(state, x, N)
        return [extended.expectation(state.state, matrix(x))]

    return node_by("best"), exact, node_by("backprop")


def _by_method(diff_method):
    measured, read = MEASUREMENTS["averages" if diff_method == "hadamard" else "several"]
    return by_pennylane(gates, measured, diff_method), exactly(gates, read, N), None


QUANTUM = {
    **{name: lambda name=name: _measured(name) for name in MEASUREMENTS if name != "averages"},
    **{name: lambda body=body: _with_control_flow(body) for name, body in CONTROL_FLOW.items()},
    "probs after a for_loop": lambda: _with_control_flow(CONTROL_FLOW["for_loop"], "probs"),
    **{name: lambda body=body: _with_operand(body) for name, body in OPERANDS.items()},
    **{name: lambda name=name: _with_observable(name) for name in OBSERVABLES},
    **{
        f"diff_method={method}": lambda method=method: _by_method(method)
        for method in ("adjoint", "backprop", "parameter-shift", "hadamard")
    },
}

REFUSED = {
    "callback with VJP": (
        ("jvp", "hessian"),
        (NotTransformableError, LoweringError),
        "custom_vjp",
    ),
    "mask": (("vmap", "vmap of grad", "grad of vmap"), MappedSizeError, "differs between"),
    "eigvals": (("hessian",), NotImplementedError, "eigenvectors"),
}
"""By subject: transformations that are refused, by JAX or by us, and how."""


def names_of(subject):
    left_out = REFUSED.get(subject, ((),))[0]
    return tuple(name for name in NAMES if name not in left_out)


def check(subject, function, exact, backprop=None):
    names = names_of(subject)
    found = qjit(all_of(function, names))(jnp.asarray(X), N, jnp.asarray(batch_of(X)))
    wanted = expected(exact, X)
    assert found.keys() == set(names)
    for name in names:
        np.testing.assert_allclose(found[name], wanted[name], atol=1e-8, rtol=1e-8, err_msg=name)
    if backprop is not None:
        both = lambda x: all_of(backprop, ("jacobian", "hessian"))(x, N, None)  # noqa: E731
        reference = (both if subject in CONTROL_FLOW else jax.jit(both))(jnp.asarray(X))
        for name in {"jacobian", "hessian"} & set(names):
            np.testing.assert_allclose(found[name], reference[name], atol=1e-10, err_msg=name)


@pytest.mark.sample(2)
@pytest.mark.parametrize("subject", classical.SUBJECTS)
def test_classical_programs(subject):
    function, exact = classical.SUBJECTS[subject]
    check(subject, function, lambda x: exact(x, N))


@pytest.mark.sample(2)
@pytest.mark.parametrize("subject", QUANTUM)
def test_circuits(subject):
    check(subject, *QUANTUM[subject]())


@pytest.mark.parametrize(
    ("subject", "name"), [(subject, name) for subject in REFUSED for name in REFUSED[subject][0]]
)
def test_refused_transformations(subject, name):
    function = classical.SUBJECTS[subject][0]
    _, error, text = REFUSED[subject]
    with pytest.raises(error, match=text):
        qjit(all_of(function, [name]))(jnp.asarray(X), N, jnp.asarray(batch_of(X)))


def _outcome(x):
    qml.RX(x, 0)
    outcome = measure(0)
    return qml.expval(qml.Z(0)), outcome


def _samples(x):
    qml.RX(x, 0)
    return qml.sample(wires=[0])


@pytest.mark.parametrize("transform", [jax.grad, jax.jacfwd, jax.jacrev, jax.hessian])
def test_measured_outcomes_have_no_derivative(transform):
    node = qml.QNode(_outcome, DEVICE, diff_method="adjoint")
    with pytest.raises(NotTransformableError, match="measure has no"):
        qjit(transform(lambda x: node(x)[0]))(0.4)


def test_samples_have_no_derivative():
    node = qml.set_shots(qml.QNode(_samples, DEVICE), 10)
    with pytest.raises(NotTransformableError):
        qjit(jax.grad(lambda x: jnp.sum(node(x) * 1.0)))(0.4)
