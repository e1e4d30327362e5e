"""Random programs as data: what hypothesis draws, shrinks, and what a file of the corpus holds.

A program is a list of statements on a state of five arrays: two vectors, a matrix, a complex vector
and an integer. A statement replaces one of them by another of its type, or is a circuit, or control
flow around statements, so that every list is a program and a body, and all features meet.
Statements are lists of strings, numbers and lists, as JSON has them; `programs` says what they do.

Passes look for gates that have to do with each other, which gates that are drawn independently
rarely have: some stand in a stretch of gates on the same wires, each drawn for the one before, and
some circuits keep to gates that leave wires in states that are known.
"""

from hypothesis import strategies as st

from fuzz.gates import CHANNELS, CONTROLLED, FIXED, GATES, MEASUREMENTS, PLAIN
from fuzz.steps import DISCONTINUOUS, LINKED, STEPS

WIRES = 4
PLACES = 4
"""Elements of the vector that a circuit reads; the vector may have more."""


def is_body(part):
    """Whether a part of a block is a list of blocks."""
    return isinstance(part, list) and bool(part) and isinstance(part[0], list)


places = st.integers(0, PLACES - 1)
wires = st.integers(0, WIRES - 1)
trips = st.sampled_from([2, 3, 2, 3, 1, 0])


def _lists(kind, *parts):
    kind = st.just(kind) if isinstance(kind, str) else kind
    return st.tuples(kind, *parts).map(list)


def mostly(common, rare, one_in=4):
    """The rare one once in so many times; for `one_of`, what is named thrice is there once."""
    last = one_in - 1
    return st.integers(0, last).flatmap(lambda number: rare if number == last else common)


def _some_wires(count):
    return st.permutations(range(WIRES)).map(lambda order: list(order)[:count])


def _named(name, on=None):
    """A gate by name, on wires that are given or any; sometimes they are known at run time only."""
    count, number = GATES[name]
    return _lists(
        "gate",
        st.just(name),
        st.lists(places, min_size=count, max_size=count),
        _some_wires(number) if on is None else st.just(on),
        mostly(st.just(False), st.booleans()),
    )


def _gate(names):
    return st.sampled_from(names).flatmap(_named)


GATE = _gate(list(GATES))
FIXED_GATE = _gate(FIXED).map(lambda gate: [*gate[:-1], False])
PLAIN_GATE = _gate(PLAIN)
MATRIX = st.integers(1, 2).flatmap(lambda count: _lists("matrix", places, _some_wires(count)))
DIAGONAL = st.integers(1, WIRES).flatmap(
    lambda count: _lists("diagonal", places, _some_wires(count))
)
CHANNEL = st.sampled_from(sorted(CHANNELS)).flatmap(
    lambda name: _lists(
        "channel",
        st.just(name),
        st.lists(places, min_size=CHANNELS[name], max_size=CHANNELS[name]),
        wires,
    )
)


def _after(gate):
    """What a gate may have to do with the one before: its kind, its wires, its inverse."""
    _, name, given, on, _ = gate
    alike = [other for other in GATES if GATES[other][1] == len(on)]
    return st.one_of(
        st.just(["gate", name, given, on, False]),
        st.just(["adjoint", [gate]]),
        _named(name, on),
        st.permutations(on).flatmap(lambda order: _named(name, order)),
        st.sampled_from(alike).flatmap(lambda other: _named(other, on)),
        _under_control(name, given, on),
    )


def _under_control(name, given, on):
    """The gate as one that is controlled, at either value; or under one control more."""
    if name in CONTROLLED:
        inner = ["gate", CONTROLLED[name], given, on[1:], False]
        return st.booleans().map(lambda value: ["controlled", on[0], [inner], value])
    inner = ["gate", name, given, on, False]
    return _lists("controlled", wires, st.just([inner]), st.booleans())


def stretch(gate):
    """Two or three gates, each drawn for the first one."""
    return gate.flatmap(
        lambda first: st.lists(_after(first), min_size=1, max_size=2).map(
            lambda others: [first, *others]
        )
    )


def bodies(block, gate=GATE, least=0, most=3):
    """Lists of blocks, and stretches of gates in between."""
    parts = mostly(block.map(lambda one: [one]), stretch(gate))
    return st.lists(parts, min_size=least, max_size=most).map(
        lambda found: [one for part in found for one in part]
    )


def control_flow(inner, gate=GATE):
    """Loops and branches of gates; loops end with what they may have begun with."""

    def closed(body):
        return _after(body[0]).map(lambda last: [*body, last])

    framed = st.tuples(gate, bodies(inner, gate, most=1)).map(lambda two: [two[0], *two[1]])
    body = mostly(bodies(inner, gate), framed.flatmap(closed), one_in=2)
    return st.one_of(
        _lists("repeat", trips, st.booleans(), body, st.booleans()),
        _lists("choose", places, bodies(inner, gate, most=2), bodies(inner, gate, most=2)),
    )


def circuit_blocks(leaf, gate=GATE):
    """Gates, and adjoints, controls, loops and branches of gates."""
    return st.recursive(
        leaf,
        lambda inner: mostly(
            inner,
            st.one_of(
                _lists("adjoint", bodies(inner, gate, least=1)),
                _lists("controlled", wires, bodies(inner, gate, least=1, most=2), st.booleans()),
                control_flow(inner, gate),
            ),
            one_in=2,
        ),
        max_leaves=6,
    )


PREPARED = {"0": [], "1": ["PauliX"], "+": ["Hadamard"], "-": ["PauliX", "Hadamard"]}


def _prepared(letters):
    """Gates that put each wire into the state of its letter."""
    return [
        ["gate", name, [], [wire], False]
        for wire, letter in enumerate(letters)
        for name in PREPARED[letter]
    ]


SPREAD = st.just([["spread"]])
KNOWN_STATES = st.text("01+-", min_size=WIRES, max_size=WIRES).map(_prepared)
ANY_STATE = mostly(SPREAD, KNOWN_STATES)


def circuits(block, gate=GATE, most=8, start=ANY_STATE):
    """Circuits of such blocks: from a state in which all gates do something, or from known ones."""
    return st.tuples(start, bodies(block, gate, least=1, most=most)).map(
        lambda both: [*both[0], *both[1]]
    )


KNOWN = circuits(
    circuit_blocks(PLAIN_GATE, PLAIN_GATE), PLAIN_GATE, start=mostly(KNOWN_STATES, SPREAD)
)
"""Circuits of which it is known what they make of some wires."""

UNITARY = mostly(
    circuits(circuit_blocks(mostly(GATE, st.one_of(MATRIX, DIAGONAL)))),
    KNOWN,
)
"""Circuits without measurements in the middle."""


def _with(block, gate=GATE, start=ANY_STATE):
    """Circuits with these blocks among gates, also in loops and branches."""
    blocks = st.recursive(
        mostly(circuit_blocks(gate, gate), block, one_in=2),
        lambda inner: mostly(inner, control_flow(inner, gate)),
        max_leaves=6,
    )
    return circuits(blocks, gate, most=6, start=start)


def _measured(gate):
    return _lists("measure", wires, st.booleans(), st.lists(gate, max_size=2))


def outcomes(gates):
    """How many measurements are made."""
    return sum(
        (kind == "measure")
        + (parts[0] if kind == "repeat" else 1)
        * sum(outcomes(part) for part in parts if is_body(part))
        for kind, *parts in gates
    )


MOST_OUTCOMES = 5

FEEDBACK = mostly(
    _with(_measured(GATE)), _with(_measured(PLAIN_GATE), PLAIN_GATE, KNOWN_STATES)
).filter(lambda gates: outcomes(gates) <= MOST_OUTCOMES)
"""Circuits that measure, reset, and act on outcomes: a wire more each where they are deferred."""

BRANCH = st.lists(
    mostly(
        circuit_blocks(GATE), _lists("measure", wires, st.booleans(), st.lists(GATE, max_size=2)), 2
    ),
    min_size=2,
    max_size=6,
).map(lambda gates: [["spread"], *gates])
"""Circuits whose measurements are not in control flow."""

NOISY = _with(CHANNEL)
"""Circuits with channels."""

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


CARRIED = ["vmckw", "vk", "vkw", "mk", "vmk", "ckw", "mkw", "kw"]
"""What loops carry, by the names of arrays."""


def statements(names, circuit=None):
    """Statements with these steps: single ones, circuits, and control flow around statements."""
    step = st.sampled_from(names).map(lambda name: ["step", name] if name in STEPS else [name])
    trips_or_any = st.one_of(st.none(), trips)
    carried = mostly(st.sampled_from(CARRIED), st.just(CARRIED[0]))

    def control(inner):
        body = st.lists(inner, min_size=1, max_size=4)
        loop = _lists(st.sampled_from(["for", "while"]), trips_or_any, body, carried)
        other = st.one_of(
            _lists("if", st.lists(inner, max_size=2), st.lists(inner, max_size=2)),
            _lists("switch", st.lists(st.lists(inner, max_size=2), min_size=2, max_size=3)),
            _lists("map", st.lists(inner, min_size=1, max_size=2)),
            _lists("jit", st.lists(inner, min_size=1, max_size=3)),
        )
        return mostly(inner, mostly(loop, other, one_in=2), one_in=3)

    leaf = step if circuit is None else mostly(step, circuit)
    return st.recursive(leaf, control, max_leaves=6)


ALL = sorted(STEPS)
SMOOTH = sorted(STEPS.keys() - DISCONTINUOUS)


def programs(names, circuit=None, most=8):
    """Programs of a few of these steps each, so that the same ones meet in several ways."""
    linked = sorted({"exchange", *LINKED} & {"exchange", *names})
    few = st.tuples(
        st.lists(st.sampled_from(names), min_size=1, max_size=5),
        st.lists(st.sampled_from(linked), min_size=1, max_size=5),
    ).map(lambda both: sorted({*both[0], *both[1]}))
    # Hypothesis draws short lists: of statements that begin a list of one, most would be alone.
    return few.flatmap(
        lambda names: st.lists(statements(names, circuit), min_size=3, max_size=most)
    )


PROGRAM = programs(ALL, ANY_CIRCUIT)
DIFFERENTIABLE = programs(SMOOTH, CIRCUIT, most=5)

ARRAYS = programs(ALL)
SMOOTH_ARRAYS = programs(SMOOTH, most=5)
"""Programs without circuits, which take a third of the time."""
