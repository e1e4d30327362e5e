"""What an equation `program` stands for, and the programs that are derived from it.

In: a flat function, the types of its arguments and the options of its `QJIT`. It is traced and
compiled when it is needed first; what is derived from it (derivatives, transposes, batches) is the
function, transformed by JAX within a trace of ours: the same program that `qjit(jax.grad(f))` is.

The trap: JAX knows equations by the identity of their parameters. So one program gives the same
derived one each time, or JAX would compile the same again and again.
"""

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import ShapedArray

from diastase.jit.options.options import QjitOptions
from diastase.jit.stages.stages import Compiled, Traced
from diastase.jit.stages.trace_call import Arguments, trace_call
from diastase.tracing.signatures import Call, Signature
from diastase_mlir.jax_compat import of_type

FlatFunction = Callable[..., Sequence[Any]]
Axes = tuple[int | None, ...]


def is_inexact(aval: Any) -> bool:
    """Whether values of a type have derivatives."""
    return jnp.issubdtype(aval.dtype, jnp.inexact)


def unsharded(aval: Any) -> ShapedArray:
    """A type as such, of no sharding. What is weak stays so, as do JAX's tangents and batches."""
    return ShapedArray(aval.shape, aval.dtype, weak_type=aval.weak_type)


@dataclass(eq=False)
class EmbeddedProgram:
    """A program as plain JAX sees it; compared and hashed by identity."""

    name: str
    function: FlatFunction
    in_avals: tuple[ShapedArray, ...]
    out_avals: tuple[ShapedArray, ...]
    argument_names: tuple[str, ...]
    options: QjitOptions
    linear: int = 0
    """In how many of the last operands the results are linear."""
    transpose: Callable[["EmbeddedProgram"], "EmbeddedProgram"] | None = None
    """Makes the transpose by these operands."""
    plan: int | None = None
    """What XLA knows it by, once it was lowered."""
    given: Traced | None = None
    """Where it was traced already."""
    _derived: dict[Hashable, "EmbeddedProgram"] = field(default_factory=dict)
    _lock: Any = field(default_factory=threading.RLock)

    def __repr__(self) -> str:
        return self.name

    @cached_property
    def traced(self) -> Traced:
        """The traced program."""
        with self._lock:
            return self.given or traced_flat(
                self.function, self.name, self.in_avals, self.argument_names, self.options
            )

    @cached_property
    def compiled(self) -> Compiled:
        """The compiled program, of flat operands and results."""
        with self._lock:
            return self.traced.compile()

    @property
    def is_pure(self) -> bool:
        """Whether equal operands give equal results."""
        return self.compiled.prepared.executable.artifact.is_pure

    # --- derived programs ------------------------------------------------------------------------

    def tangent(self, along: tuple[int, ...]) -> "EmbeddedProgram":
        """The derivative by operands at these positions along a direction, given after them."""
        return self._once(("tangent", along), lambda: self._tangent(along))

    def with_gradient(self, along: tuple[int, ...]) -> "EmbeddedProgram":
        """The program with the gradient of its one real result by operands at these positions."""
        return self._once(("gradient", along), lambda: self._with_gradient(along))

    @property
    def has_gradient(self) -> bool:
        """Whether there is one result that has derivatives, a real number."""
        results = list(filter(is_inexact, self.out_avals))
        real = len(results) == 1 and jnp.issubdtype(results[0].dtype, jnp.floating)
        return real and not self.linear and not results[0].shape

    def transposed(self) -> "EmbeddedProgram":
        """The transpose by the operands that the program is linear in."""
        make = self.transpose
        assert make is not None, f"{self.name} is linear in nothing"
        return self._once("transpose", lambda: make(self))

    def batched(self, axes: Axes, size: int, name: Hashable) -> "EmbeddedProgram":
        """The program for each element of a batch, which lies along these axes of the operands.

        `name`: what the program may call the batch, for `jax.lax.psum` and the like.
        """
        key = ("batch", axes, size, name)
        return self._once(key, lambda: self._batched(axes, size, name))

    def _once(self, key: Hashable, make: Callable[[], "EmbeddedProgram"]) -> "EmbeddedProgram":
        with self._lock:
            if key not in self._derived:
                self._derived[key] = make()
            return self._derived[key]

    def _like(
        self,
        function: FlatFunction,
        inputs: Sequence[ShapedArray],
        outputs: Sequence[ShapedArray],
        linear: int,
        transpose: Callable[["EmbeddedProgram"], "EmbeddedProgram"] | None,
    ) -> "EmbeddedProgram":
        extra = [f"operand {number}" for number in range(len(inputs))][len(self.argument_names) :]
        names = (*self.argument_names, *extra)[: len(inputs)]
        outputs = tuple(map(unsharded, outputs))

        def typed(*operands: Any) -> Sequence[Any]:
            """The function, whose results are as weak as the equation says, run by whomever."""
            results = zip(function(*operands), outputs, strict=True)
            return [
                result if jax.typeof(result).weak_type == aval.weak_type else of_type(result, aval)
                for result, aval in results
            ]

        return EmbeddedProgram(
            self.name, typed, tuple(inputs), outputs, names, self.options, linear, transpose
        )

    def _tangent(self, along: tuple[int, ...]) -> "EmbeddedProgram":
        count = len(self.in_avals)

        def function(*operands: Any) -> Sequence[Any]:
            values, entries = operands[:count], operands[count:]
            moved = [values[position] for position in along]
            return jax.jvp(self._inexact_results(values, along), moved, list(entries))[1]

        inputs = [*self.in_avals, *(unsharded(self.in_avals[position]) for position in along)]
        outputs = list(filter(is_inexact, self.out_avals))
        return self._like(
            function, inputs, outputs, len(along), lambda tangent: self._cotangent(along, tangent)
        )

    def _cotangent(self, along: tuple[int, ...], tangent: "EmbeddedProgram") -> "EmbeddedProgram":
        count = len(self.in_avals)

        def function(*operands: Any) -> Sequence[Any]:
            values, weights = operands[:count], operands[count:]
            moved = [values[position] for position in along]
            _, pull_back = jax.vjp(self._inexact_results(values, along), *moved)
            return pull_back(list(weights))

        weights = [unsharded(aval) for aval in self.out_avals if is_inexact(aval)]
        outputs = [self.in_avals[position] for position in along]
        inputs = [*self.in_avals, *weights]
        return self._like(function, inputs, outputs, len(weights), lambda _: tangent)

    def _with_gradient(self, along: tuple[int, ...]) -> "EmbeddedProgram":
        (place,) = (place for place, aval in enumerate(self.out_avals) if is_inexact(aval))

        def function(*operands: Any) -> Sequence[Any]:
            def value(*moved: Any) -> tuple[Any, Sequence[Any]]:
                given = list(operands)
                for position, entry in zip(along, moved, strict=True):
                    given[position] = entry
                results = self.function(*given)
                return results[place], results

            moved = [operands[position] for position in along]
            _, pull_back, results = jax.vjp(value, *moved, has_aux=True)
            return [*results, *pull_back(jnp.ones((), self.out_avals[place].dtype))]

        gradient = [self.in_avals[position] for position in along]
        return self._like(function, self.in_avals, [*self.out_avals, *gradient], 0, None)

    def _inexact_results(self, values: Sequence[Any], along: tuple[int, ...]) -> FlatFunction:
        """The inexact results as a function of the operands at these positions."""

        def function(*moved: Any) -> Sequence[Any]:
            operands = list(values)
            for position, value in zip(along, moved, strict=True):
                operands[position] = value
            results = zip(self.function(*operands), self.out_avals, strict=True)
            return [result for result, aval in results if is_inexact(aval)]

        return function

    def _batched(self, axes: Axes, size: int, name: Any) -> "EmbeddedProgram":
        def function(*operands: Any) -> Sequence[Any]:
            each = jax.vmap(
                lambda *each: list(self.function(*each)), axes, axis_size=size, axis_name=name
            )
            return each(*operands)

        inputs = [
            aval if axis is None else _with_axis(aval, axis, size)
            for aval, axis in zip(self.in_avals, axes, strict=True)
        ]
        outputs = [_with_axis(aval, 0, size) for aval in self.out_avals]
        transpose = None
        if self.linear:
            transpose = lambda batch: self._batched_transpose(axes, size, name, batch)  # noqa: E731
        return self._like(function, inputs, outputs, self.linear, transpose)

    def _batched_transpose(
        self, axes: Axes, size: int, name: Hashable, batch: "EmbeddedProgram"
    ) -> "EmbeddedProgram":
        """The transpose of a batch: what all of it shares gets the sum."""
        each = self.transposed()
        others = len(axes) - self.linear
        linear_axes = axes[others:]

        def function(*operands: Any) -> Sequence[Any]:
            inner = each.batched((*axes[:others], *[0] * each.linear), size, name)
            return [
                jnp.sum(result, axis=0) if axis is None else jnp.moveaxis(result, 0, axis)
                for result, axis in zip(inner.function(*operands), linear_axes, strict=True)
            ]

        weights = batch.out_avals
        inputs = [*batch.in_avals[:others], *weights]
        return self._like(function, inputs, batch.in_avals[others:], len(weights), lambda _: batch)


def flat(traced: Traced) -> Traced:
    """The same program with a list of results."""
    tree = jax.tree_util.tree_structure([0] * len(traced.traced.out_avals))
    return replace(traced, interface=replace(traced.interface, out_tree=tree))


def _with_axis(aval: ShapedArray, axis: int, size: int) -> ShapedArray:
    shape = list(aval.shape)
    shape.insert(axis, size)
    return ShapedArray(tuple(shape), aval.dtype, weak_type=aval.weak_type)


def traced_flat(
    function: FlatFunction,
    name: str,
    avals: Sequence[ShapedArray],
    names: Sequence[str],
    options: QjitOptions,
) -> Traced:
    """Trace a flat function for arguments of these types."""
    leaves: list[Any] = [
        jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type) for aval in avals
    ]
    tree = jax.tree_util.tree_structure((tuple(range(len(leaves))), {}))
    call = Call(tuple(leaves), {})
    arguments = Arguments(call, leaves, tree, tuple(avals), tuple(names))
    return trace_call(function, Signature(name, None), arguments, options)
