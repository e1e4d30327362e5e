"""Errors about sizes that are known only when the program runs."""

from typing import ClassVar

from jax.errors import InconclusiveDimensionOperation

from diastase_runtime.errors import AssumptionError, CompileError, DiastaseError


class UndecidableDimensionError(DiastaseError, InconclusiveDimensionOperation):
    """A comparison of sizes whose outcome depends on sizes that are known only at run time.

    Python code (yours, or a library function's) asked, for example, whether `n >= 2` while tracing,
    and either answer would be wrong for some `n`. Compare the values instead of the sizes and
    branch in the program (`diastase.cond`), use an operation that needs no decision, or make the
    size static (`static_argnums`).

    Example:
        >>> import jax.numpy as jnp
        >>> from diastase import qjit
        >>> qjit(lambda n: jnp.ones(6 // (jnp.ones(n).shape[0] - 3)))(3)
        Traceback (most recent call last):
        ...
        diastase.dynamic_shapes.errors.UndecidableDimensionError: Sizes cannot be compared...

    """

    title: ClassVar[str] = "Sizes cannot be compared while tracing"
    message: ClassVar[str] = "{comparison}"
    label: ClassVar[str] = "needs the answer while tracing"
    help: ClassVar[str] = (
        "sizes d0, d1, ... are known only when the program runs; make this one static "
        "(static_argnums), or branch in the program (diastase.cond)"
    )
    comparison: str


class VaryingSizesError(AssumptionError):
    """A comparison of sizes that holds in some iterations of a loop, and not in others.

    Python's `if` is decided while tracing, once for all iterations; a size that differs between
    them needs a branch in the program. Compare the sizes as numbers: a comparison that Python needs
    no truth of is a traced boolean, for `diastase.cond`, `jax.lax.cond` or `jnp.where`.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from diastase import qjit
        >>> def body(i, total):
        ...     return total + (2 if jnp.ones(i).shape[0] >= 3 else 1)
        >>> qjit(lambda n: jax.lax.fori_loop(0, n, body, 0))(6)
        Traceback (most recent call last):
        ...
        diastase.dynamic_shapes.errors.VaryingSizesError: Sizes differ between iterations...

    """

    title: ClassVar[str] = "Sizes differ between iterations"
    message: ClassVar[str] = "{assumption} holds in some, not where it is {left} and {right}"
    help: ClassVar[str] = (
        "an `if` is decided once for all iterations: branch in the program (diastase.cond, "
        "jnp.where) by the comparison, which is a traced boolean"
    )

    @classmethod
    def of(cls, error: AssumptionError) -> "VaryingSizesError":
        """The same of an assumption whose opposite was needed in the same call, too."""
        return cls(
            assumption=error.assumption, left=error.left, right=error.right,
            number=error.number, span=error.span,
        )  # fmt: skip


class UnknownSizesDifferError(DiastaseError, TypeError, ValueError):
    """Arrays that must have equal sizes, of which one is known only at run time.

    `jnp.ones(n) + x` needs `x.shape == (n,)`, and while tracing `n` and 3 are different sizes, as
    are `n` and `m`, even if they turn out to be equal when the program runs. Use one size for both:
    `jnp.ones(x.shape[0]) + x`, or make the size static (`static_argnums`).

    Example:
        >>> import jax.numpy as jnp
        >>> from diastase import qjit
        >>> qjit(lambda n, m: jnp.ones(n) + jnp.ones(m))(3, 2)
        Traceback (most recent call last):
        ...
        diastase.dynamic_shapes.errors.UnknownSizesDifferError: Sizes are not known to be equal...

    """

    title: ClassVar[str] = "Sizes are not known to be equal"
    message: ClassVar[str] = "{what}"
    label: ClassVar[str] = "needs sizes that fit each other"
    help: ClassVar[str] = (
        "sizes d0, d1, ... are known only when the program runs; use the same one for both "
        "(x.shape[0] in place of n), or make it static (static_argnums)"
    )
    what: str


class UnknownSizeUnsupportedError(CompileError, NotImplementedError):
    """An operation of JAX that works only on arrays whose sizes are known while tracing.

    Make the size static (`static_argnums`), or compute with an array of a fixed size, of which a
    mask says what counts.

    Example:
        >>> import jax.numpy as jnp
        >>> from diastase import qjit
        >>> def padded(n):
        ...     return jnp.pad(jnp.arange(n), n, mode="reflect", reflect_type="odd")
        >>> qjit(padded).trace(3)  # a call compiles it for this size alone
        Traceback (most recent call last):
        ...
        diastase.dynamic_shapes.errors.UnknownSizeUnsupportedError: A size must be known while...

    """

    title: ClassVar[str] = "A size must be known while tracing"
    message: ClassVar[str] = "{what}"
    label: ClassVar[str] = "needs a known size"
    help: ClassVar[str] = "make the size static (static_argnums)"
    what: str


class LaxShapesError(DiastaseError, TypeError):
    """A loop or branch of `jax.lax` would change the shape of an array.

        jax.lax.fori_loop(0, 3, lambda i, x: jnp.concatenate([x, x]), jnp.ones(n))

    JAX demands that a body returns the shapes it takes, and that branches return the same ones.
    `diastase.for_loop` and `while_loop` may change sizes (those known while tracing with
    `allow_array_resizing=True`); branches of `diastase.cond` and `switch` may return different
    ones.
    """

    title: ClassVar[str] = "jax.lax cannot change the shape of an array"
    message: ClassVar[str] = "{what}"
    label: ClassVar[str] = "shapes differ"
    help: ClassVar[str] = "{instead}"
    what: str
    instead: str


class SizeEscapesError(DiastaseError, TypeError):
    """An array whose size is computed inside a loop or branch is used outside of it.

    The size has no value out there: the body may run many times, or never. Compute the size outside
    and use it inside, or return arrays whose sizes do not depend on the body.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from diastase import qjit
        >>> qjit(lambda n: jax.lax.scan(lambda c, x: (c, jnp.ones(c)), n, jnp.ones(3))[1])(2)
        Traceback (most recent call last):
        ...
        diastase.dynamic_shapes.errors.SizeEscapesError: A size does not exist outside of its...

    """

    title: ClassVar[str] = "A size does not exist outside of its loop or branch"
    message: ClassVar[str] = "the type {type_name} has a size that is computed inside {construct}"
    label: ClassVar[str] = "its result has this type"
    help: ClassVar[str] = "compute the size before {construct} and use it inside"
    type_name: str
    construct: str


class MappedSizeError(DiastaseError, ValueError):
    """A size that differs between the elements of a `jax.vmap`.

    The arrays of one batch must have one shape. Map over arrays of the largest size and mask, or
    loop with `diastase.for_loop`.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from diastase import qjit
        >>> qjit(jax.vmap(lambda n: jnp.ones(n).sum()))(jnp.arange(3))
        Traceback (most recent call last):
        ...
        diastase.dynamic_shapes.errors.MappedSizeError: A size differs between the elements of...

    """

    title: ClassVar[str] = "A size differs between the elements of a vmap"
    message: ClassVar[str] = "an argument that vmap maps over is used as a size"
    label: ClassVar[str] = "one shape for the whole batch"
    help: ClassVar[str] = "use the largest size and jnp.where, or diastase.for_loop"


class UnsolvableSizeError(DiastaseError, ValueError):
    """A symbolic size from which the values of its symbols cannot be found.

        m, n = jax.export.symbolic_shape("m, n")
        f.trace(jax.ShapeDtypeStruct((m * n,), float))    # 6 may be 2 * 3, or 6 * 1

    The program learns `m` and `n` from the sizes of its arguments: each must be a size itself
    somewhere, or be the one unknown of a sum (`2*m + 1`, or `m + n` where `n` is known).
    """

    title: ClassVar[str] = "Sizes cannot be found"
    message: ClassVar[str] = "size {size} of argument {argument} does not determine {unknown}"
    help: ClassVar[str] = (
        "use each symbol as the size of an axis, or in a sum with no other unknown symbol"
    )
    argument: str
    size: str
    unknown: str
