"""The QIR module of a traced program that runs one circuit.

In: the program's jaxpr and the names of its arguments, of which the circuit must use none: the
entry points of QIR's profiles take no arguments.

The text is QIR 2.0, with opaque pointers (`ptr`), as pyqir reads and writes it since 0.12. After
specification/profiles/Base_Profile.md and Adaptive_Profile.md of github.com/qir-alliance/qir-spec.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from jax.extend.core import ClosedJaxpr

from diastase.inspection.circuit_texts.circuits import circuit_of
from diastase.inspection.circuit_texts.errors import NotInQirError
from diastase.inspection.circuit_texts.expressions import NotSayableError, kind_of
from diastase.inspection.circuit_texts.languages import Language, refusal
from diastase.inspection.circuit_texts.qir.blocks import Blocks, pointer
from diastase.inspection.circuit_texts.reading.results import Output
from diastase.inspection.circuit_texts.statements import Gate, Phase, Read, ours_in, pruned
from diastase.inspection.circuit_texts.values import Unsayable
from diastase_mlir import at, span_of

QIR = Language(
    "QIR",
    NotInQirError,
    "give arguments their values, as in qjit(lambda: circuit(0.3)).qir; "
    "numbers that outcomes decide may be added, multiplied and compared, as int64 or float64",
    repeats=False,
)


_RECORDED = {"b": ("bool", "i1"), "i": ("int", "i64"), "f": ("double", "double")}


def qir_of(closed: ClosedJaxpr, names: Sequence[str], function: str) -> str:
    """The module of the one circuit that a program runs, as text.

    `NoOneCircuitError`, a `ValueError`, where there is not one; `NotInQirError`, a
    `NotImplementedError`, where QIR has no instruction for it.
    """
    arguments = [Unsayable(f"uses {name}, and QIR takes no arguments") for name in names]
    circuit = circuit_of(closed, arguments, set(), function, QIR)
    for output in circuit.outputs.values():
        if output.unsayable:
            _refuse(circuit.equation, f"returns a value that {output.unsayable}")
    given = [value for output in circuit.outputs.values() for value in output.values]
    needed = set[str]().union(*map(ours_in, given))
    statements = pruned(circuit.statements, needed)
    middle = [one for one in statements if not isinstance(one, Read)]
    last = [one.wire for one in statements if isinstance(one, Read)]
    kinds = set(map(kind_of, given))
    if not kinds <= _RECORDED.keys():
        _refuse(circuit.equation, "returns complex numbers, for which there are no records")
    is_adaptive = bool(given) or not all(isinstance(one, Gate | Phase) for one in middle)
    blocks = Blocks(circuit.size, _refuse)
    blocks.call("__quantum__rt__initialize", ["ptr null"])
    blocks.follow("body")
    blocks.write(middle, needed)
    blocks.follow("measurements")
    results = {wire: blocks.measure(np.int64(wire)) for wire in last}
    blocks.follow("output")
    try:
        labels = _record(blocks, circuit.outputs, results)
    except NotSayableError as error:
        _refuse(circuit.equation, error.reason)
    blocks.line("ret i64 0")
    name = re.sub(r"[^A-Za-z0-9_]", "_", circuit.name)
    parts = (
        "\n".join(map(_constant, range(len(labels)), labels)),
        f"define i64 @{name}() #0 {{\n{blocks.text}\n}}",
        "\n".join(blocks.declarations.values()),
        _attributes(blocks, is_adaptive),
        _flags(blocks, is_adaptive),
    )
    return "\n\n".join(filter(None, parts)) + "\n"


def _refuse(equation: Any, reason: str) -> NoReturn:
    with at(span_of(equation.source_info)):
        raise refusal(QIR, equation, reason)


def _record(blocks: Blocks, outputs: Mapping[int, Output], results: Mapping[int, int]) -> list[str]:
    """Record what a circuit gives, each under a label: its number, what it is, and which part."""
    labels = list[str]()

    def record(kind: str, argument: str, label: str) -> None:
        function = f"__quantum__rt__{kind}_record_output"
        blocks.call(function, [argument, f"ptr @{len(labels)}"])
        labels.append(label)

    # Whatever is computed comes before the first record.
    computed = [
        [(kind, blocks.scalar(value, kind)) for value in output.values for kind in [kind_of(value)]]
        for output in outputs.values()
    ]
    if len(outputs) != 1:
        record("tuple", f"i64 {len(outputs)}", "results")
    for (number, output), values in zip(outputs.items(), computed, strict=True):
        label = f"{number}_{output.what}"
        parts = [("result", f"ptr {pointer(results[wire])}", wire) for wire in output.wires]
        for place, (kind, operand) in enumerate(values):
            name, written = _RECORDED[kind]
            parts.append((name, f"{written} {operand}", place))
        if output.words:
            blocks.line(f"; {output.what} of {output.words}")
        if output.wires or len(parts) != 1:
            record("array", f"i64 {len(parts)}", label)
        for name, argument, place in parts:
            record(name, argument, f"{label}_{place}")
    return labels


def _constant(number: int, label: str) -> str:
    return f'@{number} = internal constant [{len(label) + 1} x i8] c"{label}\\00"'


def _attributes(blocks: Blocks, is_adaptive: bool) -> str:
    profile = "adaptive_profile" if is_adaptive else "base_profile"
    attributes = {
        "qir_profiles": profile,
        "output_labeling_schema": "diastase",
        "required_num_qubits": blocks.qubits,
        "required_num_results": blocks.results,
    }
    written = " ".join(f'"{name}"="{value}"' for name, value in attributes.items())
    entry = f'attributes #0 = {{ "entry_point" {written} }}'
    return f'{entry}\nattributes #1 = {{ "irreversible" }}' if blocks.is_irreversible else entry


def _flags(blocks: Blocks, is_adaptive: bool) -> str:
    """Flags of the module, of the adaptive profile with what it uses beyond branches."""
    flags = [
        'i32 1, !"qir_major_version", i32 2',
        'i32 7, !"qir_minor_version", i32 0',
        'i32 1, !"dynamic_qubit_management", i1 false',
        'i32 1, !"dynamic_result_management", i1 false',
    ]
    lists = list[str]()
    if is_adaptive:
        flags += [
            'i32 1, !"ir_functions", i1 false',
            f'i32 1, !"backwards_branching", i2 {2 if blocks.loops else 0}',
            'i32 1, !"multiple_target_branching", i1 false',
            'i32 1, !"multiple_return_points", i1 false',
        ]
        floats = blocks.computed & {"double"}
        for name, types in (("int", blocks.computed - floats), ("float", floats)):
            if types:
                lists.append(", ".join(f'!"{each}"' for each in sorted(types)))
                flags.append(f'i32 5, !"{name}_computations", !{{}}')
    count = len(flags)
    nodes = iter(range(count, count + len(lists)))
    numbered = [
        f"!{place} = !{{{flag.replace('!{}', f'!{next(nodes)}') if '!{}' in flag else flag}}}"
        for place, flag in enumerate(flags)
    ]
    numbered += [f"!{count + place} = !{{{types}}}" for place, types in enumerate(lists)]
    listed = ", ".join(f"!{place}" for place in range(count))
    return "\n".join([f"!llvm.module.flags = !{{{listed}}}", *numbered])
