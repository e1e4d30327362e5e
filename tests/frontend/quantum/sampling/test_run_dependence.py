"""Which classical results of a QNode that is run for each shot are arrays over the shots."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import cond, for_loop, measure, qjit, while_loop

SHOTS = 7
DEVICE = qml.device("default.qubit", wires=2)
X = 0.5


def in_a_row(x):
    """`late` meets an outcome two rounds after it was found, `apart` never does."""

    @for_loop(0, 4, 1)
    def loop(k, found, early, late, apart, factor):
        qml.RX(x, 0)
        return measure(0) + 0 * found, found + k, early, apart * factor, factor + x

    found, early, late, apart, factor = loop(0, 0, 0, 1.0, 1.0)
    return {"found": found, "early": early, "late": late}, {"apart": apart, "factor": factor}


def until_found(x):
    """How often a loop runs depends on outcomes, so all that it counts does."""

    @while_loop(lambda found, count, value: (found == 0) & (count < 5))
    def loop(found, count, value):
        qml.RX(x, 0)
        return measure(0) + 0 * found, count + 1, value * x

    found, count, value = loop(0, 0, 1.0)
    return {"found": found, "count": count, "value": value}, {}


def until_counted(x):
    """How often it runs does not; the test alone needs the count."""

    @while_loop(lambda found, count, value: count < 3)
    def loop(found, count, value):
        qml.RX(x, 0)
        return measure(0) + found, count + 1, value * x

    found, count, value = loop(0, 0, 1.0)
    return {"found": found}, {"count": count, "value": value}


def one_of_two(x):
    """Results of branches, of which the program or an outcome chooses one."""

    @cond(x > 0.2)
    def known():
        qml.RX(x, 0)
        return measure(0) + 0, 2.0 * x

    @known.otherwise
    def known():
        return 3, x

    @cond(measure(0))
    def chosen():
        return 1.0, 2.0

    @chosen.otherwise
    def chosen():
        return 3.0, x

    known, chosen = known(), chosen()
    return {"inside": known[0], "chosen": chosen}, {"beside": known[1], "before": x + 1}


def told_to_go_on(x):
    """A test asks Python; what is measured has no part in it."""
    measure(0)
    shape = jax.ShapeDtypeStruct((), jnp.bool_)

    @while_loop(
        lambda count: jax.experimental.io_callback(lambda k: np.asarray(k < 3), shape, count)
    )
    def loop(count):
        return count + 1

    return {"count": loop(0)}, {"given": x}


def asked(x):
    """A callback may find something else each time."""
    shape = jax.ShapeDtypeStruct((), jnp.float64)
    told = jax.experimental.io_callback(lambda value: np.asarray(value + 1.0), shape, x)
    measure(0)
    return {"told": told, "twice": 2 * told}, {"pure": 2 * x}


def sized(x):
    """Sizes are values, too."""
    n, found = jnp.asarray(x * 4, int), measure(0) + 2
    return {"by_size": jnp.arange(found).sum()}, {"summed": (jnp.arange(n) + 1).sum()}


EXPECTED = {
    "in_a_row": {"apart": 1.0 * 1.5 * 2.0 * 2.5, "factor": 3.0},
    "until_found": {},
    "until_counted": {"count": 3, "value": 0.125},
    "one_of_two": {"beside": 1.0, "before": 1.5},
    "told_to_go_on": {"given": 0.5},
    "asked": {"pure": 1.0},
    "sized": {"summed": 3},
}
BODIES = [in_a_row, until_found, until_counted, one_of_two, told_to_go_on, asked, sized]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_what_depends_on_outcomes_is_an_array_over_shots(body):
    def function(x):
        qml.RY(x, 1)
        differing, same = body(x)
        return qml.sample(wires=[1]), differing, same

    node = qml.set_shots(qml.QNode(function, DEVICE, mcm_method="one-shot"), SHOTS)
    _, differing, same = qjit(node)(X)
    assert {leaf.shape[0] for leaf in jax.tree.leaves(differing)} == {SHOTS}
    assert same == pytest.approx(EXPECTED[body.__name__])
