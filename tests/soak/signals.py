"""A signal every 50 ms, whose handler does something or raises, during calls short and long."""

import gc
import itertools
import random
import signal
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

import jax.numpy as jnp
import numpy as np
import pennylane as qml

from diastase import for_loop, qjit
from soak.compilations import KINDS
from soak.programs import Call, device, everything
from soak.scenarios import OF_ARENAS, OF_THREADS, Steps, scenario
from soak.threads import at_once, calling

PERIOD = 0.05


class Alarm(Exception):
    """What the handler raises."""


class Handler:
    """Counts signals, and raises in one of two while it may."""

    def __init__(self) -> None:
        self.chance = random.Random(1)
        self.seen = self.raised = 0
        self.may_raise = False

    def __call__(self, number: int, frame: object) -> None:
        self.seen += 1
        if self.may_raise and self.chance.random() < 0.5:
            self.raised += 1
            raise Alarm

    def during(self, call: Callable[[], object]) -> bool:
        """Whether a call was finished; else its handler has raised."""
        try:
            self.may_raise = True
            try:
                call()
            finally:
                self.may_raise = False
        except Alarm:
            self.may_raise = False
            return False
        return True


@contextmanager
def alarms() -> Generator[Handler]:
    """Signals until the end.

    JAX has Python call a function after each collection of garbage, and what a handler raises in
    there Python drops: so there are none but those asked for.
    """
    handler = Handler()
    before = signal.signal(signal.SIGALRM, handler)
    gc.disable()
    signal.setitimer(signal.ITIMER_REAL, PERIOD, PERIOD)
    try:
        yield handler
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()


def long_calls() -> list[Call]:
    """Of some tens of milliseconds, with arrays and states that are given back where it is left."""

    @qjit
    @qml.qnode(device(10))
    def circuit(n):
        for_loop(0, n, 1)(lambda i: qml.RX(0.25, i % 10))()
        return qml.expval(qml.Z(9))

    summed = qjit(lambda n: for_loop(0, n, 1)(lambda i, a: a + 1.0)(jnp.zeros(50_000)))
    return [
        Call(circuit, (10_000,), np.cos(250.0)),
        Call(summed, (1000,), np.full(50_000, 1000.0)),
    ]


@scenario("signals during short calls", 200_000)
def during_short_calls(calls: int) -> Steps:
    """The next call is right whether or not the last one was left."""
    all_calls = everything()
    for call in all_calls:
        call.check()
    with alarms() as handler:
        for number in itertools.count():
            call = all_calls[number % len(all_calls)]
            handler.during(call.check) or call.check()
            if number % 1000 == 999:
                gc.collect()
                yield number + 1
            if number + 1 >= calls and handler.raised:
                break
    yield number + 1


@scenario("signals during long calls", 2000, least=8)
def during_long_calls(calls: int) -> Steps:
    long = long_calls()
    for call in long:
        call.check()
    with alarms() as handler:
        for number in itertools.count():
            call = long[number % len(long)]
            handler.during(call.check) or call.check()
            if number % 20 == 19:
                gc.collect()
                yield number + 1
            if number + 1 >= calls and handler.raised:
                break
    yield number + 1


@scenario("signals while 8 threads call", 40_000, least=80, slack=OF_ARENAS)
def beside_threads(calls: int) -> Steps:
    """They are handled in the main thread alone, where a call goes on, too."""
    all_calls, (long, _) = everything(), long_calls()
    long.check()
    each = max(1, calls // 10)
    for round_number in range(10):
        works = [calling(all_calls, each // 8 + 1, thread) for thread in range(8)]
        with alarms() as handler, at_once(*works):
            until = time.monotonic() + 0.2
            while time.monotonic() < until:
                handler.during(long.check) or long.check()
        yield (round_number + 1) * each


@scenario("signals while programs are compiled", 500, least=3, slack=OF_THREADS)
def while_compiling(calls: int) -> Steps:
    """Compilations that were left are made again."""
    for kind in KINDS:
        kind(4.0).check()
    with alarms() as handler:
        for number in range(calls):
            constant = 5 + number * 1e-3
            handler.during(lambda: KINDS[number % len(KINDS)](constant).check())  # noqa: B023
            KINDS[number % len(KINDS)](constant).check()
            if number % 20 == 19:
                gc.collect()
            yield number + 1
    assert handler.seen > 0
