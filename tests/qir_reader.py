"""QIR parsed and verified by pyqir, held against its profile, and run on a NumPy state vector.

`Module(text)` checks what the specification asks of a module and of the profile that it names;
`outcomes` runs it through every outcome of every measurement: what is recorded, and how probable.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pyqir
from pyqir import FloatPredicate, IntPredicate, Opcode

ROOT = 1 / np.sqrt(2)
FIXED = {
    "h__body": ROOT * np.array([[1, 1], [1, -1]]),
    "x__body": np.array([[0, 1], [1, 0]]),
    "y__body": np.array([[0, -1j], [1j, 0]]),
    "z__body": np.diag([1, -1]),
    "s__body": np.diag([1, 1j]),
    "s__adj": np.diag([1, -1j]),
    "t__body": np.diag([1, np.exp(0.25j * np.pi)]),
    "t__adj": np.diag([1, np.exp(-0.25j * np.pi)]),
}
AXES = {"rx__body": "x__body", "ry__body": "y__body", "rz__body": "z__body"}
CONTROLLED = {"cx__body": "x__body", "cz__body": "z__body", "ccx__body": "x__body"}
QIS, RT = "__quantum__qis__", "__quantum__rt__"
SIGNATURES = {
    **dict.fromkeys(FIXED, "ptr"), **dict.fromkeys(AXES, "double ptr"), "reset__body": "ptr",
    "cx__body": "ptr ptr", "cz__body": "ptr ptr", "swap__body": "ptr ptr",
    "ccx__body": "ptr ptr ptr", "mz__body": "ptr ptr",
}  # fmt: skip

IN_BASE = {Opcode.CALL, Opcode.BR, Opcode.RET}
ON_BITS = {Opcode.AND, Opcode.OR, Opcode.XOR}
ON_INTEGERS = {
    Opcode.ADD: int.__add__, Opcode.SUB: int.__sub__, Opcode.MUL: int.__mul__,
    Opcode.SREM: lambda a, b: int(np.fmod(a, b)), Opcode.AND: int.__and__, Opcode.OR: int.__or__,
    Opcode.XOR: int.__xor__,
}  # fmt: skip
ON_NUMBERS = {
    Opcode.FADD: float.__add__, Opcode.FSUB: float.__sub__, Opcode.FMUL: float.__mul__,
    Opcode.FDIV: float.__truediv__,
}  # fmt: skip
COMPARED = {
    IntPredicate.EQ: lambda a, b: a == b, IntPredicate.NE: lambda a, b: a != b,
    IntPredicate.SLT: lambda a, b: a < b, IntPredicate.SLE: lambda a, b: a <= b,
    IntPredicate.SGT: lambda a, b: a > b, IntPredicate.SGE: lambda a, b: a >= b,
    IntPredicate.ULT: lambda a, b: a < b, IntPredicate.ULE: lambda a, b: a <= b,
    IntPredicate.UGT: lambda a, b: a > b, IntPredicate.UGE: lambda a, b: a >= b,
    FloatPredicate.OEQ: lambda a, b: a == b, FloatPredicate.UNE: lambda a, b: a != b,
    FloatPredicate.OLT: lambda a, b: a < b, FloatPredicate.OLE: lambda a, b: a <= b,
    FloatPredicate.OGT: lambda a, b: a > b, FloatPredicate.OGE: lambda a, b: a >= b,
}  # fmt: skip
NEGLIGIBLE = 1e-13
"""The probability of a path that is not followed."""


@dataclass
class Path:
    """One sequence of outcomes, up to an instruction."""

    block: pyqir.BasicBlock
    state: np.ndarray
    place: int = 0
    came_from: pyqir.BasicBlock | None = None
    probability: float = 1.0
    values: dict = field(default_factory=dict)
    results: dict = field(default_factory=dict)
    recorded: tuple = ()


class Module:
    """A module with one entry point, valid under the profile that it names."""

    def __init__(self, text):
        self.module = pyqir.Module.from_ir(pyqir.Context(), text)
        assert self.module.verify() is None
        (self.entry,) = filter(pyqir.is_entry_point, self.module.functions)
        attributes = self.entry.attributes.func
        self.profile = attributes["qir_profiles"].string_value
        assert attributes["output_labeling_schema"].string_value
        self.qubits = pyqir.required_num_qubits(self.entry)
        self.results = pyqir.required_num_results(self.entry)
        assert not self.entry.params
        assert type_name(self.entry.type.ret) == "i64"
        version = pyqir.qir_major_version(self.module), pyqir.qir_minor_version(self.module)
        assert version == (2, 0)
        assert pyqir.dynamic_qubit_management(self.module) is False
        assert pyqir.dynamic_result_management(self.module) is False
        self.instructions = [i for b in self.entry.basic_blocks for i in b.instructions]
        self._check_declarations()
        self._check_output()
        self._check_numbers()
        if self.profile == "base_profile":
            self._check_base()
        else:
            assert self.profile == "adaptive_profile"
            self._check_adaptive()

    # --- the profile ------------------------------------------------------------------------------

    def calls(self):
        return [i for i in self.instructions if isinstance(i, pyqir.Call)]

    def flag(self, name):
        found = self.module.get_flag(name)
        if isinstance(found, pyqir.ConstantAsMetadata):
            return found.value.value
        return re.findall(r'!"(\w+)"', str(found))

    def _check_declarations(self):
        for function in self.module.functions:
            if function == self.entry:
                continue
            assert not function.basic_blocks
            name = function.name
            measures = name in (f"{QIS}mz__body", f"{QIS}reset__body")
            assert ("irreversible" in function.attributes.func) is measures
            if name.startswith(QIS):
                types = " ".join(map(type_name, function.type.params))
                assert types == SIGNATURES[name.removeprefix(QIS)]
                assert function.type.ret.is_void
            if name == f"{QIS}mz__body":
                assert f"@{name}(ptr, ptr writeonly)" in str(self.module)

    def _check_output(self):
        """Records are the last calls, and each has a label of its own."""
        names = [call.callee.name for call in self.calls()]
        assert names[0] == f"{RT}initialize"
        records = [name.endswith("_record_output") for name in names]
        first = records.index(True) if any(records) else len(records)
        assert all(records[first:])
        labels = [pyqir.extract_byte_string(call.args[1]) for call in self.calls()[first:]]
        assert all(labels)
        assert len(set(labels)) == len(labels)

    def _check_numbers(self):
        qubits, results = set(), set()
        for call in self.calls():
            name, numbers = call.callee.name, [number_of(each) for each in call.args]
            if name.startswith(QIS):
                on_qubits = numbers[:1] if name == f"{QIS}mz__body" else numbers
                own = [number for number in on_qubits if number is not None]
                assert len(set(own)) == len(own)
                qubits |= set(own)
            if name == f"{QIS}mz__body":
                results.add(numbers[1])
        assert qubits <= set(range(self.qubits))
        assert results == set(range(self.results))

    def _check_base(self):
        assert {i.opcode for i in self.instructions} <= IN_BASE
        blocks = self.entry.basic_blocks
        assert len(blocks) == 4
        for block, following in pairwise(blocks):
            assert block.terminator.successors == [following]
        _, body, measured, recorded = blocks
        for block, is_irreversible in ((body, False), (measured, True)):
            for call in block.instructions[:-1]:
                assert call.callee.name.startswith(QIS)
                assert ("irreversible" in call.callee.attributes.func) is is_irreversible
        assert all(call.callee.name.startswith(RT) for call in recorded.instructions[:-1])

    def _check_adaptive(self):
        integers, numbers = self.flag("int_computations"), self.flag("float_computations")
        for name in ("ir_functions", "multiple_target_branching", "multiple_return_points"):
            assert self.flag(name) == 0
        used = set()
        for instruction in self.instructions:
            if instruction.opcode in IN_BASE | ON_BITS:
                continue
            part = instruction.operands[-1] if "CMP" in str(instruction.opcode) else instruction
            used.add(type_name(part.type))
        assert used - {"double"} == set(integers)
        assert used & {"double"} == set(numbers)
        assert sum(i.opcode == Opcode.RET for i in self.instructions) == 1
        assert self.flag("backwards_branching") in (0, 2)
        assert bool(self.flag("backwards_branching")) is self._loops()

    def _loops(self):
        order = {block: place for place, block in enumerate(self.entry.basic_blocks)}
        return any(
            order[following] <= order[block]
            for block in order
            for following in block.terminator.successors
        )

    # --- running ----------------------------------------------------------------------------------

    def outcomes(self):
        """What is recorded, by label as (label, value) pairs, and how probable it is."""
        state = np.zeros([2] * self.qubits, complex)
        state.flat[0] = 1
        waiting = [Path(self.entry.basic_blocks[0], state)]
        found = defaultdict(float)
        while waiting:
            path = waiting.pop()
            waiting += self._run(path, found)
        return dict(found)

    def _run(self, path, found):
        """Go on to the next measurement; the paths after it."""
        while True:
            instructions = path.block.instructions
            instruction = instructions[path.place]
            path.place += 1
            if isinstance(instruction, pyqir.Phi):
                self._phis(path, instructions)
            elif isinstance(instruction, pyqir.Call):
                after = self._call(path, instruction)
                if after is not None:
                    return after
            elif instruction.opcode == Opcode.RET:
                found[path.recorded] += path.probability
                return []
            elif instruction.opcode == Opcode.BR:
                self._branch(path, instruction)
            else:
                path.values[instruction] = self._computed(path, instruction)

    def _phis(self, path, instructions):
        """All at once, of what was before."""
        phis = [each for each in instructions if isinstance(each, pyqir.Phi)]
        values = [dict((b, v) for v, b in phi.incoming)[path.came_from] for phi in phis]
        path.values |= zip(phis, [self._value(path, value) for value in values], strict=True)
        path.place = len(phis)

    def _branch(self, path, instruction):
        following = instruction.successors
        if len(following) == 2:
            # pyqir has them in the order of LLVM's operands: where the condition is false first.
            following = following[self._value(path, instruction.operands[0]) :]
        path.came_from, path.block, path.place = path.block, following[0], 0

    def _value(self, path, value):
        if isinstance(value, pyqir.IntConstant):
            bits = value.type.width
            number = value.value
            return number - (1 << bits) if bits > 1 and number >> (bits - 1) else number
        return value.value if isinstance(value, pyqir.FloatConstant) else path.values[value]

    def _computed(self, path, instruction):
        operands = [self._value(path, each) for each in instruction.operands]
        if instruction.opcode == Opcode.SELECT:
            return operands[1] if operands[0] else operands[2]
        if instruction.opcode == Opcode.ZEXT:
            return operands[0]
        if isinstance(instruction, pyqir.ICmp | pyqir.FCmp):
            return int(COMPARED[instruction.predicate](*operands))
        return (ON_INTEGERS | ON_NUMBERS)[instruction.opcode](*operands)

    def _call(self, path, call):
        name, arguments = call.callee.name, call.args
        ids = [number_of(each) for each in arguments]
        if name == f"{QIS}mz__body":
            return self._measured(path, ids[0], ids[1])
        if name == f"{QIS}reset__body":
            return self._measured(path, ids[0], None)
        if name == f"{RT}read_result":
            path.values[call] = path.results[ids[0]]
        elif name.endswith("_record_output"):
            self._record(path, name.removeprefix(RT).removesuffix("_record_output"), arguments)
        elif name.startswith(QIS):
            angles = [self._value(path, each) for each in arguments[:1] if each.type.is_double]
            wires = [number_of(each) for each in arguments[len(angles) :]]
            path.state = applied(name.removeprefix(QIS), angles, wires, path.state)
        else:
            assert name == f"{RT}initialize"
        return None

    def _record(self, path, kind, arguments):
        label = pyqir.extract_byte_string(arguments[1]).rstrip(b"\0").decode()
        if kind == "result":
            value = path.results[number_of(arguments[0])]
        else:
            value = self._value(path, arguments[0])
        path.recorded += ((label, value),)

    def _measured(self, path, wire, result):
        """A path for each outcome; without a result it is a reset."""
        after = []
        for outcome in (0, 1):
            projected = np.zeros_like(path.state)
            where = (slice(None),) * wire + (outcome,)
            projected[where] = path.state[where]
            weight = float(np.vdot(projected, projected).real)
            if weight * path.probability < NEGLIGIBLE:
                continue
            state = projected / np.sqrt(weight)
            results = dict(path.results)
            if result is None and outcome:
                state = applied("x__body", [], [wire], state)
            elif result is not None:
                results[result] = outcome
            after.append(
                Path(path.block, state, path.place, path.came_from, path.probability * weight,
                     dict(path.values), results, path.recorded)
            )  # fmt: skip
        return after


def number_of(value):
    """Of a qubit or result; pyqir 0.12 crashes where it is asked about anything else."""
    is_one = isinstance(value.type, pyqir.PointerType)
    return pyqir.ptr_id(value) if is_one and not isinstance(value, pyqir.GlobalVariable) else None


def type_name(of):
    """A type as LLVM writes it."""
    if isinstance(of, pyqir.IntType):
        return f"i{of.width}"
    return "double" if of.is_double else "ptr" if isinstance(of, pyqir.PointerType) else "void"


def applied(name, angles, wires, state):
    """An instruction on a state with an axis for each qubit."""
    if name == "swap__body":
        return np.swapaxes(state, *wires)
    *controls, target = wires
    if name in AXES:
        half = angles[0] / 2
        matrix = np.cos(half) * np.eye(2) - 1j * np.sin(half) * FIXED[AXES[name]]
    else:
        matrix = FIXED[CONTROLLED.get(name, name)]
    where = tuple(1 if wire in controls else slice(None) for wire in range(state.ndim))
    part = state[where]
    axis = target - sum(control < target for control in controls)
    changed = np.moveaxis(np.tensordot(matrix, part, ([1], [axis])), 0, axis)
    state = state.copy()
    state[where] = changed
    return state


def probabilities(outcomes, label):
    """Of the results of one array, as `qml.probs` has them."""
    found = None
    for recorded, probability in outcomes.items():
        bits = [value for name, value in recorded if name.startswith(f"{label}_")]
        found = np.zeros(1 << len(bits)) if found is None else found
        found[int("".join(map(str, bits)), 2)] += probability
    return found
