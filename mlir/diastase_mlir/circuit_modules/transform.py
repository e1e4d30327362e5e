"""Run the passes of one circuit: its jaxpr in, another one out.

Qubits are forwarded to their next gates before each pass, so that gates meet. After a pass of the
user's own the circuit is verified, and checked: every bit is used once. What breaks this is refused
here, since nothing later could see it.

A failure leaves a file that runs the pass again, as those of the pipeline do (`reproducer.py`);
`keep_intermediate` writes the circuit as it was written, and after each pass, into
`circuits/<QNode>/` of the program's folder.
"""

import json
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr, Primitive

from diastase_mlir.bindings import ir, session
from diastase_mlir.bindings.pass_pipeline import PassError, reason_and_span
from diastase_mlir.circuit_modules.origin import Origin
from diastase_mlir.circuit_modules.read import read_circuit
from diastase_mlir.circuit_modules.write import write_circuit
from diastase_mlir.diagnostics import span_at
from diastase_mlir.dialects import DIALECTS, printed
from diastase_mlir.emit.bindings import using
from diastase_mlir.errors import FailedPassError
from diastase_mlir.jax_compat import eager
from diastase_mlir.options import CompileOptions, file_name, workspace, write_failure
from diastase_mlir.passes.circuits.circuit import BIT, Circuit
from diastase_mlir.passes.circuits.forwarding import forward_qubits, tidy
from diastase_mlir.passes.circuits.registry import PASSES, PassCall
from diastase_mlir.rewritings import is_watched, tell_of_bodies

STAGE = "transform-circuits"
"""What errors and reproducers call all of this."""

_WRITTEN, _READ = "as_written", "as_a_jaxpr"


@dataclass(frozen=True)
class TracedBody:
    """The body of a QNode, as it has been traced."""

    name: str
    jaxpr: ClosedJaxpr
    known: Mapping[Any, np.ndarray]
    """Those of its inputs that are constants."""
    related: Mapping[Any, tuple[Any, bool]]
    """Those that are equal to another one, or, if so it says, to its opposite."""
    primitives: Mapping[str, Primitive]
    """Ours, by name."""

    def write(self) -> tuple[ir.Module, Origin]:
        """Its module, in a session."""
        return write_circuit(
            self.jaxpr, self.known, self.related, frozenset(self.primitives), self.name
        )


def transform_circuit(
    body: TracedBody, passes: Sequence[PassCall], options: CompileOptions
) -> ClosedJaxpr:
    """Give the body of a QNode to passes. What it takes and gives stays as it is."""
    with session(DIALECTS), _opaque_operations(), using(ir):
        module, origin = body.write()
        _keep(options, body.name, 0, _WRITTEN, module)
        step, circuits = _WRITTEN, _circuits(module)
        told = _Told(body)
        try:
            told.of(_WRITTEN, module, origin)
            for number, call in enumerate(passes):
                step = call.name
                _run(call, circuits)
                _keep(options, body.name, number + 1, step, module)
                told.of(step, module, origin)
            step = _READ
            _tidy(circuits)
            module.operation.verify()
            read = read_circuit(module, body.jaxpr, origin, body.primitives)
            told.of_jaxpr(_READ, read)
            return read
        except PassError as error:
            reason, span = error.reason, span_at(str(error.location))
        except ir.MLIRError as error:
            reason, span = reason_and_span(error)
        reproducer = _write_reproducer(body, passes, step, reason, options)
    raise FailedPassError(
        stage=STAGE, pass_name=step, reason=reason, reproducer=reproducer, span=span
    )


def run_again(text: str, pass_name: str) -> str:
    """Run the pass that a reproducer names; what comes out, as text."""
    name, _, options = pass_name.partition(" ")
    with session(DIALECTS), _opaque_operations(), using(ir):
        module = ir.Module.parse(text)
        circuits = _circuits(module)
        if name not in (_WRITTEN, _READ):
            _run(PassCall(name, tuple(sorted(json.loads(options).items()))), circuits)
        _tidy(circuits)
        module.operation.verify()
        return printed(module)


# --- passes --------------------------------------------------------------------------------------


class _Told:
    """What a circuit has been after each step, for those who check rewritings."""

    def __init__(self, body: TracedBody) -> None:
        self._body = body
        self._last = body.jaxpr
        self._wires = _wires_of(body.jaxpr)

    def of(self, step: str, module: ir.Module, origin: Origin) -> None:
        """The circuit as it is now, after a step."""
        if is_watched():
            body = self._body
            self.of_jaxpr(step, read_circuit(module, body.jaxpr, origin, body.primitives))

    def of_jaxpr(self, step: str, now: ClosedJaxpr) -> None:
        """The same, as it has been read."""
        before, self._last = self._last, now
        body = self._body
        tell_of_bodies(step, before, now, known=body.known, related=body.related, wires=self._wires)


def _wires_of(closed: ClosedJaxpr) -> int | None:
    """How many wires a circuit has as it was traced, if known."""
    allocated = (e for e in closed.jaxpr.eqns if e.primitive.name == "allocate_qubits")
    return next((equation.params["num_wires"] for equation in allocated), None)


def _run(call: PassCall, circuits: Sequence[Circuit]) -> None:
    """Run one pass on a circuit, and check what it has done unless it is the compiler's own."""
    for circuit in circuits:
        found = PASSES.get(call.name)
        if found is None:  # in a reproducer, which knows nothing of the user's own
            location = circuit.allocation.operation.location
            raise PassError(f"there is no pass named {call.name} in this process", location)
        forward_qubits(circuit)
        with eager():
            found.run(circuit, dict(call.options))
        if not found.built_in:
            circuit.collect()
            _check_that_bits_are_used_once(circuit, call.name)
            circuit.allocation.operation.parent.verify()


def _tidy(circuits: Sequence[Circuit]) -> None:
    for circuit in circuits:
        tidy(circuit)


def _circuits(module: ir.Module) -> list[Circuit]:
    (function,) = module.body.operations
    operations = function.operation.regions[0].blocks[0].operations
    return [Circuit.of(found) for found in operations if found.operation.name == "quantum.alloc"]


def _check_that_bits_are_used_once(circuit: Circuit, name: str) -> None:
    for operation in circuit.members:
        for value in operation.results:
            if str(value.type) == BIT and len(list(value.uses)) != 1:
                reason = f"after the pass {name} a qubit is not used exactly once"
                raise PassError(reason, operation.location)


@contextmanager
def _opaque_operations() -> Generator[None]:
    """Operations of no dialect, which only stand for equations, may be made inside."""
    context: Any = ir.Context.current
    before = context.allow_unregistered_dialects  # a pass may itself compile another program
    context.allow_unregistered_dialects = True
    try:
        yield
    finally:
        context.allow_unregistered_dialects = before


# --- files ---------------------------------------------------------------------------------------


def _keep(options: CompileOptions, name: str, number: int, step: str, module: ir.Module) -> None:
    if options.keep_intermediate == "none":
        return
    folder = workspace(name, options) / "circuits" / file_name(name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{number:02}_{file_name(step)}.mlir").write_text(printed(module))


def _write_reproducer(
    body: TracedBody, passes: Sequence[PassCall], failed: str, reason: str, options: CompileOptions
) -> Path:
    """Write the circuit as it was before a pass, and how to run this again."""
    module, _ = body.write()
    circuits, shown = _circuits(module), failed
    for call in passes:
        if call.name == failed:
            shown = f"{failed} {json.dumps(dict(call.options))}"
            break
        _run(call, circuits)
    text = module.operation.get_asm(enable_debug_info=True, print_generic_op_form=True)

    def kept(path: Path) -> bytes:
        return (
            f"// A pass of diastase failed: {' '.join(reason.split())}\n"
            f"// rerun: {sys.executable} -m diastase_mlir.driver.reproducer {path}\n"
            f"// stage: {STAGE}\n"
            f"// pass: {shown}\n"
            f"{text}\n"
        ).encode()

    return write_failure(body.name, options, "reproducer.mlir", kept)
