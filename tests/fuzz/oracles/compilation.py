"""How a program was compiled must not show: by which passes, from which cache, elsewhere."""

import numpy as np
from hypothesis import strategies as st

from diastase import qjit
from diastase.pipelines import default_pipeline
from diastase_mlir import PIPELINE
from fuzz import grammar
from fuzz.children import Child
from fuzz.judging import SEED, Wrong, difference, must_equal, oracle
from fuzz.programs import State, Style, random_state, run


@oracle(
    program=grammar.PROGRAM,
    seed=SEED,
    left_out=st.lists(st.sampled_from(PIPELINE.optional()), max_size=6),
)
def fewer_passes(program, seed, left_out):
    """Unfused, without lanes, without threads: whatever was drawn."""
    stages = [
        (name, [step for step in passes if step not in left_out])
        for name, passes in default_pipeline()
    ]
    found = qjit(lambda s: run(program, s, Style()), pipelines=stages)(random_state(seed))
    must_equal(found, qjit(lambda s: run(program, s, Style())), random_state(seed))


@oracle(program=grammar.PROGRAM, seed=SEED)
def compiled_again(program, seed):
    """To the last bit: from the cache on disk, and of another function object."""
    one, other = (qjit(lambda s: run(program, s, Style()))(random_state(seed)) for _ in range(2))
    if difference(one, other) != 0.0:
        raise Wrong(f"{one}\nis not\n{other}")


ELSEWHERE = Child(("-m", "fuzz.elsewhere"), DIASTASE_NUM_THREADS="1", PYTHONHASHSEED="7")
NO_CACHE = Child(("-m", "fuzz.elsewhere"), DIASTASE_CACHE="0", DIASTASE_NUM_THREADS="3")


@oracle(
    program=grammar.PROGRAM,
    seed=SEED,
    size=st.sampled_from([4, 4, 4, 70]),
    child=st.sampled_from(["one thread, from the cache", "three threads, compiled there"]),
)
def another_process(program, seed, size, child):
    """With other threads, another order of sets, and what the cache holds or does not."""
    here = qjit(lambda s: run(program, s, Style()))
    here(random_state(seed, size))  # what is refused is refused here, not there
    other = ELSEWHERE if child.startswith("one") else NO_CACHE
    there = other.ask({"program": program, "seed": seed, "size": size})
    found = State(*(np.array(part["re"]) + 1j * np.array(part["im"]) for part in there))
    # Products of large matrices are summed by BLAS as threads share them.
    must_equal(found, here, random_state(seed, size), 1e-12 if size == 4 else 1e-9)
