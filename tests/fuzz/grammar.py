"""Random programs as data: what hypothesis draws, shrinks, and what a file of the corpus holds.

A program is a list of statements on a state of four arrays: a vector, a matrix, a complex vector
and an integer. A statement replaces one of them by another of its type, or is a circuit, or control
flow around statements, so that every list is a program and a body, and all features meet.
Statements are lists of strings, numbers and lists, as JSON has them; `programs` says what they do.
"""

from hypothesis import strategies as st

from fuzz.gates import CHANNELS, FIXED, GATES, MEASUREMENTS
from fuzz.steps import DISCONTINUOUS, STEPS

WIRES = 3
PLACES = 4
"""Elements of the vector that a circuit reads; the vector may have more."""

places = st.integers(0, PLACES - 1)
wires = st.integers(0, WIRES - 1)
trips = st.integers(0, 3)


def _lists(kind, *parts):
    return st.tuples(st.just(kind), *parts).map(list)


def mostly(common, rare):
    """Three of the one for one of the other; for `one_of`, what is named thrice is there once."""
    return st.integers(0, 3).flatmap(lambda number: rare if number == 3 else common)


def _gate(names):
    return st.sampled_from(names).flatmap(
        lambda name: _lists(
            "gate",
            st.just(name),
            st.lists(places, min_size=GATES[name][0], max_size=GATES[name][0]),
            st.permutations(range(WIRES)).map(lambda order: list(order)[: GATES[name][1]]),
            st.booleans(),
        )
    )


GATE = _gate(sorted(GATES))
FIXED_GATE = _gate(FIXED).map(lambda gate: [*gate[:-1], False])
MATRIX = _lists("matrix", places, wires)
CHANNEL = st.sampled_from(sorted(CHANNELS)).flatmap(
    lambda name: _lists(
        "channel",
        st.just(name),
        st.lists(places, min_size=CHANNELS[name], max_size=CHANNELS[name]),
        wires,
    )
)


def control_flow(inner):
    """Loops and branches of gates."""
    return st.one_of(
        _lists("repeat", trips, st.booleans(), st.lists(inner, max_size=3)),
        _lists("choose", places, st.lists(inner, max_size=2), st.lists(inner, max_size=2)),
    )


def circuit_blocks(leaf):
    """Gates, and adjoints, controls, loops and branches of gates."""
    return st.recursive(
        leaf,
        lambda inner: mostly(
            inner,
            st.one_of(
                _lists("adjoint", st.lists(inner, min_size=1, max_size=3)),
                _lists("controlled", wires, st.lists(inner, min_size=1, max_size=2)),
                control_flow(inner),
            ),
        ),
        max_leaves=6,
    )


UNITARY = st.lists(circuit_blocks(mostly(GATE, MATRIX)), min_size=1, max_size=5)
"""Circuits without measurements in the middle."""

FEEDBACK = st.lists(
    st.recursive(
        mostly(
            circuit_blocks(GATE),
            _lists("measure", wires, st.booleans(), st.lists(GATE, max_size=2)),
        ),
        lambda inner: mostly(inner, control_flow(inner)),
        max_leaves=6,
    ),
    min_size=1,
    max_size=4,
)
"""Circuits that measure, reset, and act on outcomes."""

NOISY = st.lists(
    st.recursive(
        mostly(circuit_blocks(GATE), CHANNEL),
        lambda inner: mostly(inner, control_flow(inner)),
        max_leaves=6,
    ),
    min_size=1,
    max_size=5,
)
"""Circuits with channels between gates, also in loops and branches."""

CLIFFORD = st.lists(
    st.one_of(FIXED_GATE, _lists("adjoint", st.lists(FIXED_GATE, min_size=1, max_size=3))),
    min_size=1,
    max_size=12,
)

PASSES = [
    "cancel-inverses", "combine-global-phases", "disentangle-cnot", "disentangle-swap",
    "loop-boundary", "merge-rotations", "parity-synth",
]  # fmt: skip
"""Passes that any circuit without measurements in the middle goes through."""

_PASSES = st.lists(st.sampled_from(PASSES), max_size=2)
_MEASURED = st.sampled_from(sorted(MEASUREMENTS))
CIRCUIT = _lists("circuit", UNITARY, _MEASURED, _PASSES)
ANY_CIRCUIT = st.one_of(
    CIRCUIT,
    _lists("circuit", NOISY, _MEASURED),
    # Of a state that branches, there is no variance of an observable and no purity.
    _lists("circuit", FEEDBACK, st.sampled_from(["word", "sum", "matrix", "probabilities"])),
)


def statements(names, circuit):
    """Statements with these steps: single ones, circuits, and control flow around statements."""
    step = st.sampled_from(names).map(lambda name: ["step", name])
    return st.recursive(
        mostly(step, circuit),
        lambda inner: mostly(
            inner,
            st.one_of(
                _lists("for", st.one_of(st.none(), trips), st.lists(inner, max_size=3)),
                _lists("while", trips, st.lists(inner, max_size=3)),
                _lists("if", st.lists(inner, max_size=2), st.lists(inner, max_size=2)),
                _lists("switch", st.lists(st.lists(inner, max_size=2), min_size=2, max_size=3)),
                _lists("map", st.lists(inner, min_size=1, max_size=2)),
                _lists("jit", st.lists(inner, min_size=1, max_size=3)),
            ),
        ),
        max_leaves=6,
    )


ALL = sorted(STEPS)
SMOOTH = sorted(STEPS.keys() - DISCONTINUOUS)

# Hypothesis draws short lists: of statements that begin a list of one, most would be alone.
PROGRAM = st.lists(statements(ALL, ANY_CIRCUIT), min_size=3, max_size=8)
DIFFERENTIABLE = st.lists(statements(SMOOTH, CIRCUIT), min_size=3, max_size=6)
