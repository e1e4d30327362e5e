"""Sixty programs whose array sizes are known only at run time, for Catalyst and for diastase.

Each is `program(api) -> (compiled function, calls, reference)`: `api` is the namespace of the
system (`qjit`, `for_loop`, `while_loop`, `cond`, `switch`), `calls` the argument tuples of the
calls made in this order, `reference` the same function in plain JAX, NumPy or PennyLane, with
concrete sizes. Nothing here knows which system it runs in; `dynamic_verdicts.py` does.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml

PROGRAMS = {}
SIZES = [(3,), (5,), (1,), (0,)]
"""Calls of most programs of one traced size."""


def program(make):
    """Note a program under its own name."""
    PROGRAMS[make.__name__.replace("_", " ")] = make
    return make


def _of_size(function, calls=None):
    """A program of a traced integer; plain JAX is the reference."""

    def make(api):
        return api.qjit(function), SIZES if calls is None else calls, function

    return make


def _of_array(function, axes, calls):
    """A program of arrays with abstracted axes; plain JAX is the reference."""

    def make(api):
        return api.qjit(function, abstracted_axes=axes), calls, function

    return make


def _add(name, make):
    make.__name__ = name.replace(" ", "_")
    PROGRAMS[name] = make


def _vector(n):
    return np.sin(np.arange(n) * 3.0 + 1)


VECTORS = [(_vector(3),), (_vector(5),), (_vector(1),), (_vector(0),)]

# --- arrays of a traced size ---------------------------------------------------------------------

for _name, _function in {
    "ones of a traced size": lambda n: jnp.ones(n),
    "full of two traced sizes": lambda n: jnp.full((n, n + 1), 2.5),
    "arange of a traced size": lambda n: jnp.arange(n),
    "linspace of a traced number": lambda n: jnp.linspace(0.0, 1.0, n),
    "identity matrix of a traced size": lambda n: jnp.eye(n),
    "random numbers of a traced shape": lambda n: jax.random.uniform(jax.random.key(3), (n,)),
    "equal sizes n + 1 and 1 + n": lambda n: jnp.ones(n + 1) + jnp.ones(1 + n),
    "equal sizes 2 n and n 2": lambda n: jnp.ones(2 * n) * jnp.ones(n * 2),
    "sizes of quotient and remainder": lambda n: jnp.ones(n // 2 + n % 2),
    "minimum of two sizes": lambda n: jnp.ones(jnp.minimum(n, 4)) * 2,
    "shape as a value": lambda n: jnp.ones(n).shape[0] * 2.0,
    "slice up to a traced bound": lambda n: jnp.arange(10.0)[:n],
    "slice from half the size": lambda n: jnp.arange(n)[n // 2 :],
    "reversed array": lambda n: jnp.arange(n)[::-1],
    "reshape to a matrix": lambda n: jnp.arange(n * 6).reshape(n, 6),
    "reshape and flatten": lambda n: jnp.ones((n, 3)).ravel() * 2,
    "concatenate": lambda n: jnp.concatenate([jnp.ones(n), jnp.zeros(2), jnp.ones(n + 1)]),
    "stack": lambda n: jnp.stack([jnp.ones(n), jnp.zeros(n)]),
    "tile": lambda n: jnp.tile(jnp.arange(2), n),
    "repeat": lambda n: jnp.repeat(jnp.arange(3), n),
    "roll": lambda n: jnp.roll(jnp.arange(n), 1),
    "pad": lambda n: jnp.pad(jnp.ones(n), (1, 2)),
    "cumulative sum": lambda n: jnp.cumsum(jnp.arange(n)),
    "sort": lambda n: jnp.sort(jnp.arange(n) * 7 % 5),
    "mean and variance": lambda n: (jnp.arange(n).mean(), jnp.var(jnp.ones(n))),
    "outer product": lambda n: jnp.outer(jnp.arange(n), jnp.arange(n + 1)),
    "matrix product": lambda n: jnp.ones((2, n)) @ jnp.ones((n, 3)),
    "update one element of a vector": lambda n: jnp.zeros(n + 1).at[0].set(7.0),
    "fast Fourier transform": lambda n: jnp.fft.fft(jnp.arange(n + 1.0)),
    "gradient of a sum of squares": lambda n: jax.grad(lambda x: (x**2).sum())(jnp.ones(n)),
}.items():
    _add(_name, _of_size(_function))

# --- arguments of any size -----------------------------------------------------------------------

for _name, _function, _axes, _calls in (
    ("argument with an abstracted axis", lambda x: (x * 2).sum(), ("n",), VECTORS),
    ("argument axes as a dictionary", lambda x: x + 1, {0: "n"}, VECTORS),
    (
        "two arguments that share an axis",
        lambda x, y: x * y,
        (("n",), ("n",)),
        [(_vector(k), _vector(k)) for k in (3, 5, 1, 0)],
    ),
    (
        "matrix product of abstracted axes",
        lambda a, b: a @ b,
        (("m", "n"), ("n", "k")),
        [(np.ones((2, k)), np.ones((k, 3))) for k in (3, 5, 1, 0)],
    ),
    ("argmax of an argument", lambda x: jnp.argmax(x), ("n",), VECTORS[:3]),
    ("reshape of an argument", lambda x: x.reshape(-1, 1), ("n",), VECTORS),
    ("indexed update of an argument", lambda x: x.at[0].set(2.0), ("n",), VECTORS[:3]),
    ("sorted argument", lambda x: jnp.sort(x), ("n",), VECTORS),
    (
        "linear system of an argument",
        lambda a: jnp.linalg.solve(a + 2 * jnp.eye(a.shape[0]), jnp.ones(a.shape[0])),
        ("n", "n"),
        [(np.ones((k, k)),) for k in (3, 5, 1)],
    ),
):
    _add(_name, _of_array(_function, _axes, _calls))

# --- sizes that depend on data -------------------------------------------------------------------

for _name, _function in {
    "boolean mask": lambda x: x[x > 0],
    "nonzero": lambda x: jnp.nonzero(x > 0)[0],
    "unique": lambda x: jnp.unique(jnp.round(x)),
    "sum of a masked array": lambda x: x[x > 0].sum(),
}.items():
    _add(_name, lambda api, f=_function: (api.qjit(f), VECTORS, f))

# --- control flow --------------------------------------------------------------------------------


@program
def loop_over_a_dynamic_array(api):
    @api.qjit
    def compiled(n: int):
        @api.for_loop(0, 10, 1)
        def loop(i, a):
            return a * n

        a = jnp.ones([n], dtype=float)
        return a + loop(a)

    return compiled, SIZES, lambda n: np.ones(n) + np.ones(n) * float(n) ** 10


@program
def loop_with_a_captured_array_of_the_same_size(api):
    @api.qjit
    def compiled(n: int):
        a0 = jnp.ones([n], dtype=float)

        @api.for_loop(0, 10, 1)
        def loop(i, a):
            return a + a0

        return loop(a0)

    return compiled, SIZES, lambda n: np.full(n, 11.0)


@program
def loop_bound_is_a_shape(api):
    @api.qjit
    def compiled(n: int):
        a = jnp.ones(n)

        @api.for_loop(0, a.shape[0], 1)
        def loop(i, total):
            return total + i

        return loop(0)

    return compiled, SIZES, lambda n: n * (n - 1) // 2


@program
def loop_that_changes_the_carried_size(api):
    @api.qjit
    def compiled(n: int):
        @api.for_loop(0, 3, 1)
        def loop(i, a, b):
            c = jnp.ones([n + i], dtype=float) * a.sum()
            return c, c

        a = jnp.ones([n], dtype=float)
        return loop(a, a)

    def reference(n):
        a = np.ones(n)
        for i in range(3):
            a = np.ones(n + i) * a.sum()
        return a, a

    return compiled, SIZES, reference


@program
def loop_that_grows_an_array(api):
    @api.qjit
    def compiled(n: int):
        @api.for_loop(0, n, 1, allow_array_resizing=True)
        def loop(i, a):
            return jnp.ones(a.shape[0] + 1) * (i + 1)

        return loop(jnp.zeros(n))

    return compiled, SIZES, lambda n: np.full(2 * n, float(n))


@program
def resizing_loop_with_a_captured_array(api):
    @api.qjit
    def compiled(n: int):
        weights = jnp.arange(1.0, n + 1.0)

        @api.for_loop(0, 2, 1, allow_array_resizing=True)
        def loop(i, a):
            return jnp.ones(a.shape[0] + 1) * weights.sum()

        return loop(weights)

    return compiled, SIZES, lambda n: np.full(n + 2, n * (n + 1) / 2)


@program
def loop_index_as_a_size(api):
    @api.qjit
    def compiled(n: int):
        @api.for_loop(0, n, 1)
        def loop(i, total):
            return total + jnp.ones([i]).sum()

        return loop(0.0)

    return compiled, SIZES, lambda n: float(n * (n - 1) // 2)


@program
def loop_down_by_a_traced_step(api):
    @api.qjit
    def compiled(n: int, step: int):
        @api.for_loop(n, 0, step)
        def loop(i, a):
            return a + i

        return loop(jnp.zeros(n))

    calls = [(3, -1), (5, -2), (0, -1)]
    return compiled, calls, lambda n, step: np.full(n, float(sum(range(n, 0, step))))


@program
def while_loop_over_a_dynamic_array(api):
    @api.qjit
    def compiled(n: int):
        @api.while_loop(lambda i, a: i < 3)
        def loop(i, a):
            return i + 1, a * 2

        return loop(0, jnp.ones(n))[1]

    return compiled, SIZES, lambda n: np.full(n, 8.0)


@program
def branches_with_arrays_of_one_size(api):
    @api.qjit
    def compiled(n: int):
        a = jnp.ones(n)

        @api.cond(n > 2)
        def choose():
            return a * 2

        @choose.otherwise
        def choose():
            return a * 3

        return choose()

    return compiled, SIZES, lambda n: np.full(n, 2.0 if n > 2 else 3.0)


@program
def branches_of_different_sizes(api):
    @api.qjit
    def compiled(n: int):
        @api.cond(n > 2)
        def choose():
            return jnp.ones(n)

        @choose.otherwise
        def choose():
            return jnp.zeros(n + 1)

        return choose()

    return compiled, SIZES, lambda n: np.ones(n) if n > 2 else np.zeros(n + 1)


for _name, _function in {
    "jax lax scan over a dynamic array": lambda n: jax.lax.scan(
        lambda total, x: (total + x, total * x), 0.0, jnp.arange(n, dtype=float)
    ),
    "jax lax fori loop": lambda n: jax.lax.fori_loop(0, n, lambda i, a: a + i, jnp.ones(n)),
    "vmap over a dynamic axis": lambda n: jax.vmap(lambda x: x**2 + 1)(jnp.arange(n)),
}.items():
    _add(_name, _of_size(_function))

# --- circuits ------------------------------------------------------------------------------------


def _rotations(api, loop):
    @qml.qnode(qml.device(api.device, wires=2))
    def circuit(angles):
        loop(angles)
        qml.CNOT(wires=[0, 1])
        return qml.expval(qml.PauliZ(1))

    return circuit


def _angle_by_angle(angles):
    for angle in angles:
        qml.RX(angle, wires=0)


@program
def circuit_with_an_angle_for_each_element(api):
    def loop(angles):
        @api.for_loop(0, angles.shape[0], 1)
        def apply(i):
            qml.RX(angles[i], wires=0)

        apply()

    compiled = api.qjit(_rotations(api, loop), abstracted_axes=("n",))
    return compiled, VECTORS, lambda x: _reference_circuit(_angle_by_angle)(x)


@program
def circuit_with_angles_of_a_traced_size(api):
    def loop(angles):
        @api.for_loop(0, angles.shape[0], 1)
        def apply(i):
            qml.RX(angles[i], wires=0)

        apply()

    circuit = _rotations(api, loop)
    compiled = api.qjit(lambda n: circuit(jnp.linspace(0.0, 1.0, n)))
    reference = _reference_circuit(_angle_by_angle)
    return compiled, SIZES, lambda n: reference(np.linspace(0.0, 1.0, n))


@program
def result_of_a_circuit_times_a_dynamic_array(api):
    circuit = _rotations(api, lambda angle: qml.RX(angle, wires=0))
    compiled = api.qjit(lambda n: jnp.ones(n) * circuit(0.3))
    return compiled, SIZES, lambda n: np.ones(n) * np.cos(0.3)


def _reference_circuit(body):
    @qml.qnode(qml.device("default.qubit", wires=2))
    def circuit(angles):
        body(angles)
        qml.CNOT(wires=[0, 1])
        return qml.expval(qml.PauliZ(1))

    return circuit
