"""What JAX says of derivatives and batches that there are not, as errors of ours.

In: an error that JAX has raised while a program is traced. Out: an error of ours that names the
construct, without its line, which the caller knows; None for an error about something else.
JAX has no classes for these: they are told apart by their text, which a test compares.
"""

import re
from collections.abc import Sequence

from diastase.errors import NotTransformableError, TransformationUseError
from diastase_runtime.errors import DiastaseError

_ONE_LOOP = (
    "values and their derivatives are computed in one loop of a derivative that is given by hand, "
    "or in a reduction with an operation of its own; compute each by itself"
)
_BY_HAND = (
    "JAX cannot look into Python: give it a derivative, by .fwd and .bwd of "
    "diastase.pure_callback, or with jax.custom_jvp or custom_vjp"
)
_NONE = "JAX has none: a derivative can be given with jax.custom_jvp or jax.custom_vjp"

_MISSING: Sequence[tuple[str, str, str, str]] = (
    (r"Differentiation rule for '(.+?)' not implemented", r"\1", "jvp", _NONE),
    (r"Transpose rule .*for '(.+?)' not implemented", r"\1", "reverse-mode", _NONE),
    (r"Batching rule for '(.+?)' not implemented", r"\1", "vmap", "JAX has none"),
    (r"Pure callbacks do not support", "pure_callback", "jvp", _BY_HAND),
    (r"IO callbacks do not support", "io_callback", "jvp", _BY_HAND),
    (
        r"No JVP defined for custom_jvp function (\S+) using",
        r"the jax.custom_jvp function \1",
        "jvp",
        "none was defined, with defjvp",
    ),
    (
        r"No VJP defined for custom_vjp function (\S+) using",
        r"the jax.custom_vjp function \1",
        "reverse-mode",
        "none was defined, with defvjp",
    ),
    (
        r"can't apply forward-mode .* to a custom_vjp function",
        "a jax.custom_vjp function",
        "jvp",
        "jax.custom_vjp gives reverse mode only, and once: jax.custom_jvp gives both",
    ),
    (
        r"scatter_mul gradients are only implemented if",
        "x.at[indices].multiply(values)",
        "jvp",
        "indices may be equal; say unique_indices=True if they are not",
    ),
    ("Linearization failed to produce known values", "a value", "reverse-mode", _ONE_LOOP),
    (
        "Reverse-mode differentiation does not work for lax.while_loop",
        "a loop",
        "reverse-mode",
        _ONE_LOOP,
    ),
)
"""What JAX says, the construct, the rule that it lacks and why."""

_ABOUT_RULES = re.compile("derivative|differentia|gradient|JVP|transpos|vmap|batching", re.I)
_USE = re.compile(
    r"Gradient only defined for scalar-output"
    r"|\w+ (with holomorphic=True )?requires (real|complex|inputs|outputs)"
    r"|differentiating with respect to argnums"
    r"|expected function with aux output"
    r"|primal and tangent arguments to jax"
    r"|jvp called with different primal and tangent"
    r"|unexpected JAX type .* for argument to VJP"
    r"|[Tt]he function returned by `?jax.vjp"
    r"|(at )?vmap (got|in_axes|out_axes|was requested|must have)"
    r"|Custom (JVP|VJP) "
)


def derivative_failure(error: Exception) -> DiastaseError | None:
    """An error of JAX about a derivative or a batch, as ours."""
    text = str(error).strip()
    for said, construct, transformation, reason in _MISSING:
        if found := re.search(said, text):
            return NotTransformableError(
                construct=found.expand(construct), transformation=transformation, reason=reason
            )
    if isinstance(error, TypeError | ValueError) and _USE.match(text):
        return TransformationUseError(what=_on_one_line(text))
    if isinstance(error, NotImplementedError) and _ABOUT_RULES.search(text):
        return NotTransformableError(
            construct="an operation of JAX",
            transformation="such",
            reason=_on_one_line(text),
        )
    return None


def _on_one_line(text: str) -> str:
    return " ".join(line.strip(" *") for line in text.splitlines())
