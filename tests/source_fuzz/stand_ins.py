"""What stands for diastase's control flow in the reference: `jax.lax`'s, or Python's.

Written from the documentation of the public functions, as a second opinion of what they mean.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def _packed(values: tuple[Any, ...]) -> Any:
    return values[0] if len(values) == 1 else values


def _for_loop(lower: Any, upper: Any, step: Any) -> Callable[..., Any]:
    def decorate(body: Callable[..., Any]) -> Callable[..., Any]:
        def loop(*carry: Any) -> Any:
            turns = jnp.maximum(0, -((lower - upper) // step) if step > 0 else (lower - upper - step - 1) // -step)

            def turn(count: Any, values: tuple[Any, ...]) -> tuple[Any, ...]:
                index = jnp.asarray(lower + count * step)
                given = body(index if index.weak_type else index.astype(int), *values)
                return given if len(carry) > 1 else (given,)

            return _packed(lax.fori_loop(0, turns, turn, carry))

        return loop

    return decorate


def _while_loop(condition: Callable[..., Any]) -> Callable[..., Any]:
    def decorate(body: Callable[..., Any]) -> Callable[..., Any]:
        def loop(*carry: Any) -> Any:
            def turn(values: tuple[Any, ...]) -> tuple[Any, ...]:
                given = body(*values)
                return given if len(carry) > 1 else (given,)

            return _packed(lax.while_loop(lambda values: condition(*values), turn, carry))

        return loop

    return decorate


class _Cond:
    def __init__(self, condition: Any, branch: Callable[..., Any]):
        self.conditions, self.branches = [condition], [branch]

    def else_if(self, condition: Any) -> Callable[..., Any]:
        def decorate(branch: Callable[..., Any]) -> "_Cond":
            self.conditions.append(condition)
            self.branches.append(branch)
            return self

        return decorate

    def otherwise(self, branch: Callable[..., Any]) -> "_Cond":
        self.branches.append(branch)
        return self

    def __call__(self, *operands: Any) -> Any:
        conditions = jnp.stack([jnp.asarray(one, bool) for one in [*self.conditions, True]])
        return lax.switch(jnp.argmax(conditions), self.branches, *operands)


def _cond(condition: Any) -> Callable[..., _Cond]:
    return lambda branch: _Cond(condition, branch)


JAX_STAND_INS: dict[str, Any] = {
    "for_loop": _for_loop,
    "while_loop": _while_loop,
    "cond": _cond,
    "grad": jax.grad,
    "value_and_grad": jax.value_and_grad,
    "vmap": jax.vmap,
}
"""For array code: under `jax.jit`, and to find types."""


def _python_for(lower: int, upper: int, step: int) -> Callable[..., Any]:
    def decorate(body: Callable[..., Any]) -> Callable[..., Any]:
        def loop(*carry: Any) -> Any:
            values = carry
            for index in range(lower, upper, step):
                given = body(index, *values)
                values = given if len(carry) > 1 else (given,)[: len(carry)]
            return _packed(values) if carry else None

        return loop

    return decorate


def _python_while(condition: Callable[..., Any]) -> Callable[..., Any]:
    def decorate(body: Callable[..., Any]) -> Callable[..., Any]:
        def loop(*carry: Any) -> Any:
            values = carry
            while condition(*values):
                given = body(*values)
                values = given if len(carry) > 1 else (given,)
            return _packed(values)

        return loop

    return decorate


class _PythonCond(_Cond):
    def __call__(self, *operands: Any) -> Any:
        for condition, branch in zip([*self.conditions, True], self.branches, strict=False):
            if condition:
                return branch(*operands)
        return None


def _python_vmap(function: Callable[..., Any], in_axes: tuple[int | None, ...]) -> Callable[..., Any]:
    def mapped(*values: Any) -> Any:
        (size,) = {len(one) for one, axis in zip(values, in_axes, strict=True) if axis == 0}
        rows = [function(*(one if axis is None else one[k] for one, axis in zip(values, in_axes, strict=True))) for k in range(size)]
        return jax.tree.map(lambda *elements: np.stack(elements), *rows)

    return mapped


PYTHON_STAND_INS: dict[str, Any] = {
    "for_loop": _python_for,
    "while_loop": _python_while,
    "cond": lambda condition: lambda branch: _PythonCond(condition, branch),
    "vmap": _python_vmap,
    "jnp": np,
    "SHOTS": None,
}
"""For circuits on `default.qubit`."""
