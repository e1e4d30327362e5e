"""Whole programs: as eager JAX and PennyLane compute them, and as said differently."""

import jax
import jax.numpy as jnp
from hypothesis import strategies as st

import diastase
from diastase import qjit
from fuzz import grammar
from fuzz.judging import SEED, Wrong, must_equal, oracle
from fuzz.programs import PLAIN, State, Style, random_state, run

LAX = Style(loops="lax")
LOOPS = st.sampled_from(["ours", "ours", "lax"])
"""Whose loops and branches."""


@oracle(program=grammar.PROGRAM, seed=SEED, size=st.sampled_from([4, 50, 7, 4, 50]), loops=LOOPS)
def eager_jax_and_default_qubit(program, seed, size=4, loops="ours"):
    """Arrays that fit into registers, and larger ones."""
    state = random_state(seed, size)
    found = qjit(lambda s: run(program, s, Style(loops=loops)))(state)
    for one, given in zip(found, state, strict=True):
        if (one.dtype, one.weak_type) != (given.dtype, False):
            raise Wrong(f"{one.dtype}, weak: {one.weak_type}")
    must_equal(found, lambda s: run(program, s, PLAIN), state)


@oracle(program=grammar.ARRAYS, seed=SEED, size=st.sampled_from([4, 50, 7, 4, 50]), loops=LOOPS)
def eager_jax(program, seed, size, loops):
    """Programs without circuits."""
    state = random_state(seed, size)
    found = qjit(lambda s: run(program, s, Style(loops=loops)))(state)
    must_equal(found, lambda s: run(program, s, PLAIN), state)


@oracle(program=grammar.PROGRAM, seed=SEED)
def loops_unrolled(program, seed):
    """Branches stay, as they need a number that is known at run time only."""
    said = qjit(lambda s: run(program, s, Style()))(random_state(seed))
    must_equal(said, qjit(lambda s: run(program, s, LAX)), random_state(seed))


@oracle(program=grammar.PROGRAM, seed=SEED)
def literal(program, seed):
    state = random_state(seed)
    compiled = qjit(lambda: run(program, state, Style()))
    must_equal(compiled(), qjit(lambda s: run(program, s, Style())), state)


@oracle(program=grammar.PROGRAM, seed=SEED, sizes=st.lists(st.integers(4, 9), max_size=2))
def dynamic_size(program, seed, sizes):
    axes = ({0: "n"}, {0: "n", 1: "n"}, {0: "n"}, {}, {0: "n"})
    dynamic = qjit(lambda *s: tuple(run(program, State(*s), Style())), abstracted_axes=axes)
    for size in (*sizes, 4):
        state = random_state(seed, size)
        must_equal(State(*dynamic(*state)), qjit(lambda s: run(program, s, Style())), state)


@oracle(program=grammar.PROGRAM, seed=SEED, count=st.integers(2, 4), loops=LOOPS)
def mapped(program, seed, count, loops="ours"):
    style = Style(loops=loops)
    states = [random_state(seed + number) for number in range(count)]
    batch = jax.tree.map(lambda *parts: jnp.stack(parts), *states)
    found = qjit(jax.vmap(lambda s: run(program, s, style)))(batch)
    of_one = qjit(lambda s: run(program, s, Style()))
    for number, state in enumerate(states):
        must_equal(jax.tree.map(lambda part, n=number: part[n], found), of_one, state)


@oracle(program=grammar.PROGRAM, seed=SEED)
def inside_of_jit(program, seed):
    compiled = qjit(lambda s: run(program, s, Style()))
    must_equal(jax.jit(lambda s: compiled(s))(random_state(seed)), compiled, random_state(seed))


@oracle(program=grammar.PROGRAM, seed=SEED)
def split(program, seed):
    middle = len(program) // 2
    first, second = program[:middle], program[middle:]
    state = random_state(seed)
    half = qjit(lambda s: run(first, s, Style()))(state)
    found = qjit(lambda s: run(second, s, Style()))(half)
    must_equal(found, qjit(lambda s: run(program, s, Style())), state)


@oracle(program=grammar.PROGRAM, seed=SEED)
def dead_code(program, seed):
    """What is computed and not returned, and branches that are not taken, change nothing."""

    def burdened(s):
        unused = run(program[::-1], s, Style())
        taken = s.k > 100
        result = run(program, s, Style())
        never = diastase.cond(taken)(lambda: tuple(unused))
        never.otherwise(lambda: tuple(result))
        return State(*never())

    found = qjit(burdened)(random_state(seed))
    must_equal(found, qjit(lambda s: run(program, s, Style())), random_state(seed))


SINGLE = (jnp.float32, jnp.float32, jnp.complex64, jnp.int32, jnp.float32)


@oracle(program=grammar.PROGRAM, seed=SEED)
def single_numbers(program, seed):
    """Of float32, complex64 and int32 beside 64 bits."""
    state = random_state(seed)
    narrow = State(*(part.astype(kind) for part, kind in zip(state, SINGLE, strict=True)))
    exact = State(*(part.astype(old.dtype) for part, old in zip(narrow, state, strict=True)))
    found = qjit(lambda s: run(program, s, Style()))(narrow)
    if [part.dtype for part in found] != list(SINGLE):
        raise Wrong(f"{[part.dtype for part in found]}")
    wide = qjit(lambda s: run(program, s, Style()))
    must_equal(found, wide, exact, 1e-3, beside=(-1e-6, 1e-6, 3e-6))
