"""`qml.metric_tensor`, `qml.adjoint_metric_tensor` and `qml.gradients.quantum_fisher`, compiled.

PennyLane makes circuits that estimate the Fubini-Study metric; we have the state, so it is computed
exactly, by the state's derivatives:

    g_ij = Re[ <d_i psi|d_j psi> - <d_i psi|psi> <psi|d_j psi> ]

- by the QNode's arguments, as one function from arguments to state: whatever the QNode contains;
- by the gate parameters of its tape, where these are asked for (`hybrid=False`, `argnum`), where
  they define the approximation (`block-diag`, `diag`), or after other transforms. The classical
  code between arguments and parameters enters by its Jacobian, as in PennyLane.

Parameters of one layer of the tape belong to gates that commute, so the block of a layer is what
the whole metric has there: approximations are the whole metric, with zeros elsewhere.

`argnums` are positions of the QNode's arguments, the first one if not given, as PennyLane has it
for JAX; `argnum` positions of parameters of the tape, of all that depend on these arguments.
Options for circuits (`aux_wire`, …) mean nothing here.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
from jax.core import Tracer

from diastase.capture.device_errors import UnsupportedTransformError
from diastase.capture.pennylane_compat import (
    making_operators,
    stands_in_for_catalyst,
    transform_name,
    with_parameters,
)
from diastase.capture.pennylane_compat.compilers import warn_unlike_catalyst
from diastase.capture.regions import quantum_scope
from diastase.quantum.settings.circuit_passes import with_steps
from diastase.quantum.settings.qnode_settings import QNodeSettings
from diastase.quantum.tapes.tapes import record_tape, replay, transformed
from diastase_mlir import user_span
from diastase_mlir.jax_compat import current_trace, tracer_trace

_FACTORS: Mapping[str, float] = {
    "metric_tensor": 1,
    "adjoint_metric_tensor": 1,
    "quantum_fisher": 4,
}
"""The transforms, and what they give in units of the metric."""

_EXPANSIONS = ("_expand_metric_tensor", "_expand_trainable_multipar")
"""PennyLane's own transforms before these: they only choose the gates of the tape."""


_BY_ARGUMENTS = (
    "qml.metric_tensor is by the argument of the QNode",
    "by the parameters of its gates",
    "give hybrid=False for that, and hybrid=True for this",
)

_MOVING = frozenset(
    "broadcast_in_dim concatenate convert_element_type reshape slice squeeze stack".split()
)
"""Primitives that take an argument apart, and put parameters together."""


def asks_for_metric(transforms: Sequence[Any]) -> bool:
    """Whether a QNode with these transforms stands for a metric."""
    return transform_name(transforms[-1]) in _FACTORS


def call_metric(
    qnode: qml.QNode, settings: QNodeSettings, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The metric, by one argument as an array, by several as a tuple of arrays."""
    asked = _Metric(qnode, settings, args, kwargs)
    if settings.shots:
        asked.refuse("is computed from the exact state, and shots were asked for")
    if asked.is_unlike_catalysts:
        warn_unlike_catalyst(*_BY_ARGUMENTS)
    argnums = asked.options.get("argnums")
    if asked.by_arguments:
        found = asked.of_arguments(_listed(argnums))
    else:
        found = asked.of_parameters(_listed(argnums))
    found = jax.tree.map(lambda gram: _FACTORS[asked.name] * gram, found)
    return tuple(found) if isinstance(argnums, Sequence) else found[0]


def _listed(argnums: Any) -> Sequence[int]:
    return (0,) if argnums is None else (argnums,) if isinstance(argnums, int) else tuple(argnums)


@dataclass(frozen=True)
class _Metric:
    """What was asked for."""

    qnode: qml.QNode
    settings: QNodeSettings
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def name(self) -> str:
        return transform_name(self.settings.steps.transforms[-1])

    @property
    def options(self) -> Mapping[str, Any]:
        """Keywords of the transform; what PennyLane takes by position, too."""
        transform = self.settings.steps.transforms[-1]
        return dict(zip(("argnum", "approx"), transform.args, strict=False)) | transform.kwargs

    @property
    def by_arguments(self) -> bool:
        """Whether no parameter of a gate has to be known."""
        before = map(transform_name, self.settings.steps.transforms[:-1])
        asked = self.options.get("approx"), self.options.get("argnum")
        return (
            asked == (None, None)
            and self.options.get("hybrid", True)
            and all(name in _EXPANSIONS for name in before)
        )

    @property
    def is_unlike_catalysts(self) -> bool:
        """Whether the gates' parameters are more than the QNode's one argument, taken apart."""
        if self.name != "metric_tensor" or "hybrid" in self.options:
            return False
        if len(self.args) != 1 or not stands_in_for_catalyst():
            return stands_in_for_catalyst()

        def parameters(argument: Any) -> Any:
            return _trainable(self._tape((argument,), lambda value: isinstance(value, Tracer)))

        try:
            jaxpr = jax.make_jaxpr(parameters)(*self.args).jaxpr
        except TypeError:  # the argument is no array; others the QNode takes apart as it likes
            return False
        return not all(equation.primitive.name in _MOVING for equation in jaxpr.eqns)

    def of_arguments(self, argnums: Sequence[int]) -> list[Any]:
        def function(*args: Any) -> Any:
            self.qnode.func(*args, **self.kwargs)
            return qml.state()

        node = self._qnode(function)
        return [_metric(self._along(node, position), self.args[position]) for position in argnums]

    def of_parameters(self, argnums: Sequence[int]) -> list[Any]:
        if not self.options.get("hybrid", True):
            tape = self._tape(self.args, lambda value: isinstance(value, Tracer))
            return [self._of_tape(tape, _trainable(tape))]
        return self._pulled_back(argnums)

    def _pulled_back(self, argnums: Sequence[int]) -> list[Any]:
        """The metric by the gate parameters that depend on the arguments, and so by these."""
        tapes: list[Any] = []

        def parameters(*chosen: Any) -> Any:
            trace, args = current_trace(), list(self.args)
            for position, value in zip(argnums, chosen, strict=True):
                args[position] = value

            def depends(value: Any) -> bool:
                return isinstance(value, Tracer) and tracer_trace(value) is trace

            tapes.append(self._tape(args, depends))
            return _trainable(tapes[-1])

        chosen = [self.args[position] for position in argnums]
        jacobians = jax.jacfwd(parameters, argnums=tuple(range(len(chosen))))(*chosen)
        tape = self._tape(self.args, lambda _: False)
        tape.trainable_params = tapes[-1].trainable_params
        gram = self._of_tape(tape, _trainable(tape))
        return [_pullback(gram, jacobian) for jacobian in jacobians]

    def _along(self, function: Callable[..., Any], position: int) -> Callable[[Any], Any]:
        def along(argument: Any) -> Any:
            return function(*self.args[:position], argument, *self.args[position + 1 :])

        return along

    def _qnode(self, function: Callable[..., Any]) -> Any:
        return with_steps(self.qnode, function, None, self.settings.steps.of_tapes)

    def _tape(self, args: Sequence[Any], is_trainable: Callable[[Any], bool]) -> Any:
        """The tape of the QNode, after the transforms before this one."""
        recorded = record_tape(self.qnode, self.settings, tuple(args), self.kwargs)
        tapes = transformed(self.name, recorded.tape, self.settings.steps.transforms[:-1]).tapes
        if len(tapes) != 1:
            self.refuse("is defined for one circuit, and a transform made several")
        if self.name == "quantum_fisher":
            with making_operators(), quantum_scope(None):
                expand: Any = qml.metric_tensor.expand_transform
                tapes, _ = expand(tapes[0])
        (tape,) = tapes
        # The parameters of what is measured come last, and do not change the state.
        values = [value for operator in tape.operations for value in operator.data]
        tape.trainable_params = [n for n, value in enumerate(values) if is_trainable(value)]
        return tape

    def _of_tape(self, tape: Any, values: Any) -> Any:
        """The metric by the trainable parameters of a tape, or what is asked for of it."""
        positions = tape.trainable_params
        if values.ndim != 1:
            self.refuse("needs gates whose parameters are single numbers")

        def state(values: Any) -> Any:
            with making_operators(), quantum_scope(None):
                given = dict(zip(positions, values, strict=True))
                bound = tape.copy(ops=_bound(tape, given), measurements=[qml.state()])
            return self._qnode(replay(bound, False))()

        return _metric(state, values) * self._kept(tape)

    def _kept(self, tape: Any) -> np.ndarray[Any, Any]:
        """One where an entry of the metric belongs to what is asked for, zero elsewhere."""
        positions, argnum = list(tape.trainable_params), self.options.get("argnum")
        number = len(positions)
        kept = np.ones((number, number))
        match self.options.get("approx"):
            case None:
                pass
            case "diag":
                kept = np.eye(number)
            case "block-diag":
                layers = _layers(tape)
                kept = np.array([[one == other for one in layers] for other in layers], float)
            case approx:
                self.refuse(f"knows no approximation {approx!r}: diag, block-diag or None")
        if argnum is None:
            return kept
        wanted = _listed(argnum)
        if any(position not in positions for position in wanted):
            self.refuse(f"got argnum={argnum}, and the parameters are {positions}")
        chosen = np.array([position in wanted for position in positions], float)
        return kept * np.outer(chosen, chosen)

    def refuse(self, reason: str) -> None:
        """Raise the error of a metric that is not defined."""
        raise UnsupportedTransformError(
            qnode=self.settings.qnode, transform=self.name, reason=reason, always=True,
            span=user_span(),
        )  # fmt: skip


def _bound(tape: Any, given: Mapping[int, Any]) -> list[Any]:
    """The operators of a tape, with other values for some of its parameters."""
    numbers = count()
    return [_with_values(operator, numbers, given) for operator in tape.operations]


def _with_values(operator: Any, numbers: Iterator[int], given: Mapping[int, Any]) -> Any:
    """Values are found by what they replace: not all are met in the order of the parameters."""
    replaced = defaultdict[int, list[Any]](list)
    for value in operator.data:
        replaced[id(value)].append(given.get(next(numbers), value))
    others = {key: iter(values) for key, values in replaced.items()}
    return with_parameters(operator, lambda value, _: next(others.get(id(value), iter(())), value))


def _trainable(tape: Any) -> Any:
    values = tape.get_parameters(trainable_only=True)
    return jnp.stack([jnp.asarray(value) for value in values]) if values else jnp.zeros(0)


def _layers(tape: Any) -> list[int]:
    """The number of the layer that each parameter belongs to, as PennyLane divides a circuit."""
    numbers: dict[int, int] = {}
    for number, layer in enumerate(tape.graph.iterate_parametrized_layers()):
        numbers |= dict.fromkeys(layer.param_inds, number)
    return [numbers[position] for position in tape.trainable_params]


# --- the metric itself ---------------------------------------------------------------------------


def _metric(state: Callable[[Any], Any], argument: Any) -> Any:
    """The metric by one argument, an array of any shape s; its own shape is (*s, *s).

    All derivatives are one batch of forward derivatives, and are kept at once: as many states as
    there are numbers. The products between them are one matrix product of real numbers.
    """
    shape = jnp.shape(argument)
    amplitudes = state(argument).reshape(-1)
    changes = jax.jacfwd(lambda value: state(value).reshape(-1))(argument)
    changes = changes.reshape(amplitudes.size, -1)
    parts = jnp.concatenate([jnp.real(changes), jnp.imag(changes)])
    overlaps = jnp.conj(amplitudes) @ changes
    gram = parts.T @ parts - jnp.real(jnp.outer(jnp.conj(overlaps), overlaps))
    return gram.reshape(*shape, *shape)


def _pullback(gram: Any, jacobian: Any) -> Any:
    """A metric by P numbers as one by what these are computed from: J^T g J.

    `jacobian` has shape (P, *s), the result (*s, *s).
    """
    return jnp.tensordot(jacobian, jnp.tensordot(gram, jacobian, axes=[1, 0]), axes=[0, 0])
