"""`small_loops`: bounds on the turns of loops are right, or there are none."""

import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit
from diastase_toolchain.machine_code import Level, level_for, optimised
from diastase_toolchain.trip_counts import bounded_loops, not_worth_it


def _loop(end="4", step="1", first="0", name="i", body="", compare="slt", swapped=False):
    """A loop of MLIR's, with blocks named after its index."""
    body = body or f"  br label %{name}latch\n"
    phi = [f"[ %{name}next, %{name}latch ]", f"[ {first}, %{name}before ]"]
    targets = [f"label %{name}body", f"label %{name}after"]
    if swapped:
        phi, targets = phi[::-1], targets[::-1]
    return (
        f"  br label %{name}before\n{name}before:\n  br label %{name}\n{name}:    ; preds = %x\n"
        f"  %{name}index = phi i64 {', '.join(phi)}\n"
        f"  %{name}more = icmp {compare} i64 %{name}index, {end}\n"
        f"  br i1 %{name}more, {', '.join(targets)}\n"
        f"{name}body:\n{body}{name}latch:\n  %{name}next = add nuw nsw i64 %{name}index, {step}\n"
        f"  br label %{name}\n{name}after:\n"
    )


def _function(*loops, name="f"):
    return f"define void @{name}(i64 %n, i1 %c) {{\n{''.join(loops)}  ret void\n}}\n"


def _call(name):
    return f"  call void @{name}(i64 %n, i1 %c)\n"


def _nested(outer, inner):
    inside = _loop(end=inner, name="j") + "  br label %ilatch\n"
    return _loop(end=outer, body=inside)


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        (_function(_loop("4"), _call("g.part0")) + _function(_loop("3"), name="g.part0"), 7),
        (
            _function(_loop(body=_call("g") + "  br label %ilatch\n"))
            + _function(_loop("3"), name="g"),
            4 + 12,
        ),
        (
            _function(_loop("3"), name="g")
            + _function(_call("g"), name="h")
            + _function(_call("h"), _call("elsewhere")),
            3,
        ),
        (_function(), 0),
        (_function(_loop()), 4),
        (_function(_loop(first="1", end="8", step="3")), 3),
        (_function(_loop(first="5", end="2")), 1),
        (_function(_loop(name="i"), _loop(name="j", end="6")), 10),
        (_function(_nested("3", "5")), 3 + 15),
        (_function(_loop(), name="f") + _function(_loop(end="5"), name="g"), 20),
        (_function(_loop()) + _function(name="g"), 4),
    ],
)
def test_turns_are_counted(text, turns):
    loops = bounded_loops(text)
    assert loops is not None
    assert (loops.number, loops.turns) == (text.count("latch:"), turns)


def test_a_function_counts_for_each_call():
    text = _function(_loop("2"), *[_call("g")] * 3) + _function(_loop(), name="g")
    loops = bounded_loops(text)
    assert loops is not None
    assert (loops.number, loops.turns) == (1 + 3, 2 + 3 * 4)


@pytest.mark.parametrize(
    "text",
    [
        _function(_loop(end="%n")),
        _function(_loop(step="%n")),
        _function(_loop(step="0")),
        _function(_loop(step="-1")),
        _function(_loop(first="%n")),
        _function(_loop(first="-5")),
        _function(_loop(compare="ne")),
        _function(_loop(compare="sgt")),
        _function(_loop(swapped=True)),  # goes on where the index is too large
        _function(_loop().replace("add", "sub")),
        _function(_loop().replace("add nuw nsw i64 %iindex", "add i64 %n")),
        _function(_loop(body="  br i1 %c, label %i, label %ilatch\n")),  # a second way back
        _function(_nested("3", "%n")),
        _function(_nested("%n", "3")),
        _function(_loop(), _loop(name="j", end="%n")),
        _function(_loop(), name="f") + _function(_loop(end="%n"), name="g"),
        _function(_loop(), _call("g")) + _function(_call("f"), name="g"),
    ],
)
def test_what_is_not_known_has_no_bound(text):
    assert bounded_loops(text) is None
    assert level_for(text) is Level.WITH_LOOPS


def test_only_few_turns_are_left_to_the_fast_code_generator():
    assert level_for(_function(_loop(end="128"))) is Level.WITHOUT_LOOPS
    assert level_for(_function(_loop(end="129"))) is Level.WITH_LOOPS
    assert level_for(_function(_nested("12", "12"))) is Level.WITH_LOOPS


def test_many_loops_may_take_a_few_turns_each():
    loops = [_loop(name=f"i{number}", end="32") for number in range(200)]
    assert level_for(_function(*loops)) is Level.WITHOUT_LOOPS
    assert level_for(_function(*loops, _loop(end="64"))) is Level.WITH_LOOPS
    assert level_for(_function(*loops, _loop(end="%n"))) is Level.WITH_LOOPS


def test_loops_of_long_programs_may_take_as_long_as_the_rest():
    straight = "  call void @g()\n" * 6000
    assert level_for(_function(_loop(end="6000"), straight)) is Level.WITHOUT_LOOPS
    assert level_for(_function(_loop(end="60000"), straight)) is Level.WITH_LOOPS
    assert level_for(_function(_loop(end="%n"), straight)) is Level.WITH_LOOPS
    half = straight[: len(straight) // 2]
    assert level_for(_function(_loop(end="4000"), half)) is Level.WITH_LOOPS


def test_long_loops_are_optimised():
    """What is long is the loop itself: each of its turns takes as long as all of the program."""
    body = "  call void @g()\n" * 6000 + "  br label %ilatch\n"
    assert level_for(_function(_loop(end="6000", body=body))) is Level.WITH_LOOPS


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "complex128", "bool"])
@pytest.mark.parametrize("shape", [(0,), (1,), (2, 3), (5,), (4, 4), (3, 2, 4)])
def test_small_programs_give_what_jax_gives(dtype, shape):
    def program(x):
        y = x + x.T.reshape(x.shape) * 3
        return y, y.sum(), jnp.cumsum(y.ravel()), jnp.sort(jnp.real(y).ravel()), jnp.abs(y) > 2

    numbers = np.random.default_rng(7).normal(size=shape) * 4
    argument = jnp.asarray(numbers * (1 + 2j) if dtype == "complex128" else numbers).astype(dtype)
    found = qjit(program)(argument)
    for ours, theirs in zip(found, program(argument), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=2e-6 if dtype == "float32" else 1e-14)


def test_functions_that_take_no_time():
    alone = {
        "e": [_call("once"), _call("often"), _call("loop"), _call("twice"), _call("twice")],
        "once": [_call("below"), "  call void @parallel(ptr @address)\n", _call("address")],
        "below": ["  br label %ahead\nahead:\n", _call('"with quotes"')],
        '"with quotes"': [],
        "twice": [],
        "often": [],
        "loop": [_loop(body=_call("often") + "  br label %ilatch\n"), _call("below")],
        "address": [],
        "recursive": [_call("recursive")],
    }
    text = "".join(_function(*inside, name=name) for name, inside in alone.items())
    assert not_worth_it(text, "e") == ["e", "once", "below", "with quotes", "twice"]
    others = text + _function(_call("below"), name="unknown")
    assert not_worth_it(others, "e") == ["e", "once", "twice"]
    assert not_worth_it(text, "elsewhere") == []


def test_cold_functions_take_no_time():
    text = "".join(
        f"define internal void @{name}(i64 %n) {attributes} {{\n{_loop()}  ret void\n}}\n"
        for name, attributes in [
            ("a", "noinline cold"),
            ("b", "noinline"),
            ("cold", ""),
        ]
    )
    assert not_worth_it(text, "elsewhere") == ["a"]


def test_what_takes_no_time_is_left_as_it_is():
    name = "_mlir_ciface_diastase_entry"
    straight = "  %a = add i64 %n, 1\n  %b = add i64 %a, 1\n"
    text = _function(straight, _call("loop"), name=name)
    text += _function(_loop(end="%n"), straight, name="loop")
    text = text.replace("{", f"{{\n{_call('inlined')}", 1)
    text += _function(straight, name="inlined").replace(") {", ") alwaysinline cold {")
    with optimised(text, [name, "loop", "inlined"]) as module:
        module.module.verify()  # attributes that exclude one another
        left = {f.name: str(f) for f in module.module.functions}
    assert "%a = add" in left[name]
    assert "%a = add" not in left["loop"]
    assert "@inlined" not in left[name]
