"""A few random programs of each kind, and every program that was once a finding."""

from pathlib import Path

import pytest

from source_fuzz.oracle import Verdict, check_file
from source_fuzz.programs import KINDS, write_program
from source_fuzz.shrink import shrunk

_FOUND = sorted((Path(__file__).parent / "found").glob("*.py"))


@pytest.mark.parametrize("kind", KINDS)
def test_random_programs_agree(kind, tmp_path):
    for number in range(2):
        _, text = write_program(18, number, [kind])
        assert write_program(18, number, [kind]) == (kind, text)
        file = tmp_path / f"program_{number}.py"
        file.write_text(text)
        verdict = check_file(file)
        assert verdict.kind in ("equal", "both refuse", "lenient", "refused", "unsure"), f"{verdict}\n{text}"


@pytest.mark.parametrize("file", _FOUND, ids=lambda file: file.stem)
def test_what_was_found_stays_mended(file):
    assert check_file(file).kind in ("equal", "both refuse", "lenient")


def test_a_difference_is_found_and_made_small(tmp_path):
    """The reference has another `for_loop` (`stand_ins`): what is compiled adds 1."""
    text = """\
import jax
import jax.numpy as jnp
import numpy as np

def for_loop(*bounds):
    return lambda body: lambda x: x + 1.0

def program(x):
    unused = jnp.cos(x)
    y = for_loop(0, 3, 1)(lambda i, x: x * 2.0)(x)
    return y, unused

def build(jit):
    return jit(program)

def calls():
    return [((np.array([1.0, 3.0]),), {})]

REFERENCE = "jit"
"""

    def verdict_on(text: str) -> Verdict:
        file = tmp_path / "program.py"
        file.write_text(text)
        return check_file(file)

    wrong = verdict_on(text)
    assert wrong.kind == "FINDING value"
    small = shrunk(text, lambda one: verdict_on(one).kind == wrong.kind, seconds=5)
    assert "jnp.cos" not in small
    assert "for_loop(0, 3, 1)" in small
