"""`qml.device("null.qubit", wires=…, track_resources=True)`: what a circuit consists of, in a file.

In: the operators that a running program has applied, and its measurements. Out: a JSON file in the
working directory, of Catalyst's form: `__pennylane_resources_data_*.json`, or `resources_filename`.
Templates are counted as the gates that they are made of.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pennylane.tape import QuantumScript


def track_resources(device: Any, operators: Sequence[Any], processes: Sequence[Any]) -> None:
    """Write the file, if the device was asked for it."""
    if not _writes_resources(device):
        return
    options: Any = device.device_kwargs
    gates = [gate for operator in operators for gate in _gates(operator)]
    tape = QuantumScript(gates, processes)
    name = options.get("resources_filename")
    name = name or f"__pennylane_resources_data_{time.time_ns()}.json"
    depth = tape.graph.get_depth() if options.get("compute_depth") else None
    wires = device.wires if device.wires is not None else tape.wires
    found = {
        "num_wires": len(wires),
        "num_gates": len(tape.operations),
        "total_allocations": len(wires),
        "gate_types": Counter(operator.name for operator in tape.operations),
        "gate_sizes": Counter(str(len(operator.wires)) for operator in tape.operations),
        "measurements": Counter(map(_described, processes)),
        "depth": depth,
    }
    Path(name).write_text(json.dumps(found, indent=2) + "\n")


def depends_on_circuits(device: Any) -> bool:
    """Whether anybody can tell what a circuit consisted of: not where nothing is run or counted."""
    return device.name != "null.qubit" or device.tracker.active or _writes_resources(device)


def _writes_resources(device: Any) -> bool:
    options: Any = getattr(device, "device_kwargs", {})
    return device.name == "null.qubit" and bool(options.get("track_resources"))


def _gates(operator: Any) -> Iterator[Any]:
    """The gates that an operator is made of: itself, if it, or what it is an adjoint of, is one."""
    base = getattr(operator, "base", operator)
    if _COUNTED & {operator.name, base.name} or not operator.has_decomposition:
        yield operator
        return
    for factor in operator.decomposition():
        yield from _gates(factor)


_COUNTED = frozenset(
    "CNOT ControlledPhaseShift CRot CRX CRY CRZ CSWAP CY CZ Hadamard Identity IsingXX IsingXY "
    "IsingYY IsingZZ SingleExcitation DoubleExcitation ISWAP MultiRZ PauliRot PauliX PauliY PauliZ "
    "PCPhase PhaseShift PSWAP QubitUnitary Rot RX RY RZ S SWAP T Toffoli GlobalPhase".split()
)
"""The gates that Catalyst's devices are given."""


_NAMES = {"LinearCombination": "Hamiltonian"}


def _described(process: Any) -> str:
    """A measurement as Catalyst writes it: `expval(PauliZ)`, `probs(all wires)`."""
    name = type(process).__name__.removesuffix("MP")
    short = getattr(process, "_shortname", name.lower())
    if process.obs is not None:
        terms = getattr(process.obs, "operands", None)
        number = "" if terms is None else f"(num_terms={len(terms)})"
        return f"{short}({_NAMES.get(process.obs.name, process.obs.name)}{number})"
    return f"{short}({len(process.wires)} wires)" if len(process.wires) else f"{short}(all wires)"
