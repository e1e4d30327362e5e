"""Signals that are held while work is done that cannot be left at any place."""

import os
import signal
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import for_loop, qjit
from diastase_mlir.jax_compat import ir
from diastase_toolchain.lazy_import import LazyModule
from diastase_toolchain.signals import deliver_signals, signals_held


@pytest.fixture(autouse=True)
def raising_handler():
    """What is started in the background by a shell ignores SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def test_a_signal_is_handled_at_the_end_or_where_it_is_asked_for():
    done = []

    @signals_held()
    def work(*, can_be_left):
        interrupt()
        done.append("before")
        if can_be_left:
            deliver_signals()
        done.append("after")

    with pytest.raises(KeyboardInterrupt):
        work(can_be_left=True)
    assert done == ["before"]
    with pytest.raises(KeyboardInterrupt):
        work(can_be_left=False)
    assert done == ["before", "before", "after"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_each_signal_goes_to_its_handler_also_where_one_raises():
    seen = []

    @signals_held()
    @signals_held()
    def work():
        interrupt()
        os.kill(os.getpid(), signal.SIGUSR1)
        assert not seen

    before = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(frame.f_code.co_name))
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen == ["work"]


def test_a_handler_that_is_set_meanwhile_stays():
    seen = []

    def handler(number, frame):
        seen.append(number)

    with signals_held():
        signal.signal(signal.SIGINT, handler)
    interrupt()
    assert seen == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is handler


def test_an_import_on_first_use_is_finished(tmp_path, monkeypatch):
    text = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nvalue = 7\n"
    (tmp_path / "imported_and_interrupted.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    module = LazyModule("imported_and_interrupted")
    with pytest.raises(KeyboardInterrupt):
        _ = module.value
    assert sys.modules["imported_and_interrupted"].value == 7
    assert module.value == 7


def test_lowering_is_left_between_equations_with_nothing_entered():
    """Each time after another number of lines, at many of which a context was just entered."""

    def body(i, s):
        return jnp.sin(s) + jax.lax.cond(i < 2, jnp.cos, jnp.exp, s)

    traced = qjit(lambda x: for_loop(0, 3, 1)(body)(x)).trace(1.0)
    right = traced.lower().compile()(1.0)
    lines = 0

    def count(frame, event, argument):
        nonlocal lines
        lines += 1
        if lines == wanted:
            interrupt()
        return count

    for wanted in (*range(200, 2000, 150), *range(500, 520)):
        lines = 0
        sys.settrace(count)
        try:
            with pytest.raises(KeyboardInterrupt):
                traced.lower()
        finally:
            sys.settrace(None)
        assert lines >= wanted
        assert ir.Context.current is None
    assert np.allclose(traced.lower().compile()(1.0), right)
