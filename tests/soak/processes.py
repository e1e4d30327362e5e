"""Processes that are forked or spawned while eight threads call, or compile.

A forked child calls what its parent has compiled, and compiles something new; a spawned one has
everything to import. JAX's own computations are not for forked children: it says so itself. They
make the arrays that callbacks are given, so a forked child calls no callbacks: it waited for a lock
of XLA's.
"""

import multiprocessing
import os
from collections.abc import Callable

import jax

from forks import forked
from soak.compilations import KINDS, callback
from soak.programs import FAMILIES, Call
from soak.scenarios import OF_THREADS, Steps, scenario
from soak.threads import THREADS, at_once, calling

BESIDE = 200
"""Calls by each thread while one child runs."""

WITHOUT_XLA = ("classical", "sizes", "circuits", "gradients", "shots")
NEW = [kind for kind in KINDS if kind is not callback]


def compile_new(number: int) -> None:
    NEW[number % len(NEW)](7 + number * 1e-3).check()


def spawned(number: int) -> None:
    """What a spawned child does; its exit status says how it ended."""
    jax.config.update("jax_enable_x64", True)
    compile_new(number)


def wait_for(child: int) -> None:
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 0, f"a forked child ended with {status}"


def known_calls() -> list[Call]:
    calls = [call for name in WITHOUT_XLA for call in FAMILIES[name]()[:12]]
    for call in calls:
        call.check()
    return calls


def with_children(calls: int, start: Callable[[int, list[Call]], Callable[[], None]]) -> Steps:
    """One child after another beside the threads; `start` gives what waits for it."""
    known = known_calls()
    for number in range(calls):
        with at_once(*(calling(known, BESIDE, thread) for thread in range(THREADS))):
            start(number, known)()
        yield number + 1


def forked_child(number: int, known: list[Call]) -> Callable[[], None]:
    def check() -> bool:
        for call in known:
            call.check()
        compile_new(number)
        return True

    child = forked(check)
    return lambda: wait_for(child)


@scenario("forks while 8 threads call", 100, least=1, slack=OF_THREADS)
def forks(calls: int) -> Steps:
    yield from with_children(calls, forked_child)


@scenario("forks while 2 threads compile", 100, least=1, slack=OF_THREADS)
def forks_beside_compilations(calls: int) -> Steps:
    known = known_calls()
    for number in range(calls):
        works = [lambda k=k: compile_new(1000 * (k + 1) + number) for k in range(2)]  # noqa: B023
        with at_once(*works):
            forked_child(number, known)()
        yield number + 1


@scenario("processes spawned while 8 threads call", 10, least=1, slack=OF_THREADS)
def spawns(calls: int) -> Steps:
    def start(number: int, known: list[Call]) -> Callable[[], None]:
        child = multiprocessing.get_context("spawn").Process(target=spawned, args=(number,))
        child.start()

        def wait() -> None:
            child.join(300)
            assert child.exitcode == 0, f"a spawned child ended with {child.exitcode}"
            child.close()

        return wait

    yield from with_children(calls, start)
