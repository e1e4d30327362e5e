"""The assembly format of our dialects: how their operations are printed, and read again.

    %0 = quantum.alloc 2 {site = 0}
    %1 = quantum.extract %0[1]
    %2 = quantum.gate "RX"(%angle) %1 {site = 1}
    %3:2 = quantum.gate "PauliX" %2, %4 ctrl %5=1 {site = 2}
    %6 = quantum.insert %3#0, %0[1]
    %7 = quantum.run(%6, %angles) {
      RX 0 : %0 {site = 1}
      CNOT 0 1 {site = 2}
    } : (!quantum.register, tensor<1xf64>) -> !quantum.register
    %8 = quantum.expval_pauli(%7, %coefficients, %wires) {…} : (…) -> tensor<f64>
    %9 = runtime.scalar 3 : index
    %10 = runtime.dim(%a) {axis = 0 : i64} : (tensor<?xf64>) -> tensor<i64>

The bindings' dialects that are defined in Python have the generic form only, so this goes from text
to text, line by line: `short_form` of what MLIR prints, `generic_form` of what MLIR is to read. The
generic form may be mixed in anywhere. A wire that is known stands in the brackets; its constant is
left out where nobody else uses it, and written anew when the text is read, on the same line, so
that messages of MLIR's parser still name the right one. Numbers are arrays of rank 0, as lowering
emits them; where they are scalars, as after the pass `scalarize`, a wire or a gate's parameters say
so: `%0[1 : i64]`, `"RX"(%angle : f64)`.
"""

import re
from collections.abc import Iterator
from itertools import count

_NAME = r"%[\w$.-]+"
_VALUE = rf"{_NAME}(?:#\d+)?"
_HEAD = rf"(?P<head>\s*(?:{_NAME}(?::\d+)? = )?)"
_LOCATION = r"(?P<location>(?: loc\(.*\))?)$"

_CONSTANT = re.compile(
    rf"\s*(?P<name>{_NAME}) = (?:arith\.constant (?P<scalar>-?\d+) : i64|"
    r"stablehlo\.constant dense<(?P<tensor>-?\d+)> : tensor<i64>)(?: loc\(.*\))?$"
)
_FUNCTION = re.compile(r"\s*func\.func ")
_DEFINED = re.compile(rf"({_NAME})(?:(?::\d+)? =|: )")
"""Results, arguments of functions and blocks, and what loops carry."""
_GENERIC = re.compile(
    rf'{_HEAD}"quantum\.(?P<operation>\w+)"\((?P<operands>[^)]*)\)'
    rf"(?: \{{(?P<attributes>.*)\}})? : (?P<type>\(.*?\) -> .*?){_LOCATION}"
)
_GATE_ATTRIBUTES = re.compile(
    r'control_values = array<i1(?:: (?P<values>[^>]*))?>, gate_name = "(?P<name>[^"]+)", '
    r"operandSegmentSizes = array<i32: (?P<sizes>[^>]*)>, site = (?P<site>\d+) : i64"
)
_RUN_ATTRIBUTES = re.compile(r"gates = \[(?P<gates>.*)\], sites = array<i64: (?P<sites>[^>]*)>")
_SITE = re.compile(r"site = (?P<site>\d+) : i64")

_REGISTER = "!quantum.register"
_BIT = "!quantum.bit"

_ALLOC = re.compile(
    rf"{_HEAD}quantum\.alloc (?P<wires>[^{{]+) \{{site = (?P<site>\d+)\}}"
    rf"(?: : (?P<register>\S+))?{_LOCATION}"
)
_EXTRACT = re.compile(
    rf"{_HEAD}quantum\.extract (?P<register>{_VALUE})\[(?P<wire>[^\]]+)\]"
    rf"(?: : (?P<type>\S+))?{_LOCATION}"
)
_INSERT = re.compile(
    rf"{_HEAD}quantum\.insert (?P<bit>{_VALUE}), (?P<register>{_VALUE})\[(?P<wire>[^\]]+)\]"
    rf"(?: : (?P<type>\S+))?{_LOCATION}"
)
_GATE = re.compile(
    rf'{_HEAD}quantum\.gate "(?P<name>[^"]+)"(?:\((?P<parameters>[^)]*)\))? (?P<targets>[^{{]*?)'
    rf"(?: ctrl (?P<controls>[^{{]*?))? \{{site = (?P<site>\d+)\}}{_LOCATION}"
)
_RUN = re.compile(rf"{_HEAD}quantum\.run\((?P<operands>[^)]*)\) \{{$")
_RUN_GATE = re.compile(r"\s*(?P<gate>[^{]*) \{site = (?P<site>\d+)\}$")
_RUN_END = re.compile(rf"\s*\}} : (?P<type>\(.*?\) -> .*?){_LOCATION}")
_SCALAR = re.compile(
    rf'{_HEAD}"runtime\.scalar"\((?P<operand>{_VALUE})\) : \(tensor<i64>\) -> index{_LOCATION}'
)
_SHORT_SCALAR = re.compile(rf"{_HEAD}runtime\.scalar (?P<number>-?\d+) : index{_LOCATION}")
_QUOTED = re.compile(r'"((?:quantum|runtime)\.\w+)"(?=\()')
_OTHER = re.compile(rf"^{_HEAD}(?P<operation>(?:quantum|runtime)\.\w+)\(")


# --- printing ------------------------------------------------------------------------------------


def short_form(text: str) -> str:
    """Text that MLIR has printed, with the operations of our dialects in the format above."""
    if _QUOTED.search(text) is None:
        return text
    lines = text.split("\n")
    constants = _Constants()
    written: list[str] = []
    for line in lines:
        constant = _CONSTANT.match(line)
        constants.forget_in(line)
        if constant is not None:
            number = constant["tensor"] or f"{constant['scalar']} : i64"
            constants.define(constant["name"], number, len(written))
        written.append(line if constant is not None else _short_line(line, constants))
    dropped = constants.only_wires()
    return "\n".join(line for number, line in enumerate(written) if number not in dropped)


class _Constants:
    """Constants that are wires, by name; a name may come again in another region."""

    def __init__(self) -> None:
        self._defined: dict[str, tuple[str, int]] = {}
        self._used_as_wires: set[int] = set()
        self._used_otherwise: set[int] = set()

    def define(self, name: str, number: str, line: int) -> None:
        self._defined[name] = number, line

    def forget_in(self, text: str) -> None:
        """Forget what other values are named from here on."""
        if _FUNCTION.match(text):
            self._defined.clear()
        for name in _DEFINED.findall(text):
            self._defined.pop(name, None)

    def is_known(self, name: str) -> bool:
        """Whether a value is a constant."""
        return name in self._defined

    def wire(self, name: str, *, is_scalar: bool) -> str:
        """The wire that a value is: a number, if it is known."""
        if name not in self._defined:
            return f"{name} : i64" if is_scalar else name
        number, line = self._defined[name]
        self._used_as_wires.add(line)
        return number

    def used_in(self, text: str) -> None:
        """Keep the constants that are named here."""
        for name in re.findall(_NAME, text):
            if name in self._defined:
                self._used_otherwise.add(self._defined[name][1])

    def only_wires(self) -> set[int]:
        """Lines of constants that nothing but the short form uses."""
        return self._used_as_wires - self._used_otherwise


def _short_line(line: str, constants: _Constants) -> str:
    scalar = _SCALAR.match(line)
    if scalar is not None and constants.is_known(scalar["operand"]):
        number = constants.wire(scalar["operand"], is_scalar=False)
        return f"{scalar['head']}runtime.scalar {number} : index{scalar['location']}"
    found = _GENERIC.match(line) if '"quantum.' in line else None
    if found is None:
        constants.used_in(line)
        return _QUOTED.sub(r"\1", line, count=1)
    operands = found["operands"].split(", ") if found["operands"] else []
    attributes = found["attributes"] or ""
    start, end = f"{found['head']}quantum.{found['operation']}", found["location"]
    site = _SITE.fullmatch(attributes)
    taken = found["type"].partition(") -> ")[0][1:].split(", ")
    match found["operation"]:
        case "alloc" if site is not None:
            kind = found["type"].partition(" -> ")[2]
            shown = "" if kind == _REGISTER else f" : {kind}"
            wires = constants.wire(operands[0], is_scalar=taken[0] == "i64")
            return f"{start} {wires} {{site = {site['site']}}}{shown}{end}"
        case "extract" if not attributes:
            wire = constants.wire(operands[1], is_scalar=taken[1] == "i64")
            return f"{start} {operands[0]}[{wire}]{_kind(found)}{end}"
        case "insert" if not attributes:
            register, wire, bit = operands
            wire = constants.wire(wire, is_scalar=taken[1] == "i64")
            return f"{start} {bit}, {register}[{wire}]{_kind(found)}{end}"
        case "gate":
            gate = _GATE_ATTRIBUTES.fullmatch(attributes)
            if gate is not None:
                constants.used_in(found["operands"])
                return f"{start} {_short_gate(gate, operands, taken)}{end}"
        case "run":
            run = _RUN_ATTRIBUTES.fullmatch(attributes)
            if run is not None:
                constants.used_in(found["operands"])
                return "\n".join([f"{start}({found['operands']}) {{", *_short_run(found, run)])
        case _:
            pass
    constants.used_in(found["operands"])
    return _QUOTED.sub(r"\1", line, count=1)


def _kind(found: re.Match[str]) -> str:
    """The type of the register, where it is not the usual one."""
    kind = found["type"][1:].partition(",")[0]
    return "" if kind == _REGISTER else f" : {kind}"


def _short_gate(gate: re.Match[str], operands: list[str], types: list[str]) -> str:
    parameters, targets, _ = map(int, gate["sizes"].split(", "))
    values = gate["values"].split(", ") if gate["values"] else []
    controls = [
        f"{control}={value == 'true':d}"
        for control, value in zip(operands[parameters + targets :], values, strict=True)
    ]
    scalar = " : f64" if types[0] == "f64" else ""
    shown = f"({', '.join(operands[:parameters])}{scalar})" if parameters else ""
    bits = ", ".join(operands[parameters : parameters + targets])
    given = f" ctrl {', '.join(controls)}" if controls else ""
    return f'"{gate["name"]}"{shown} {bits}{given} {{site = {gate["site"]}}}'


def _short_run(found: re.Match[str], run: re.Match[str]) -> Iterator[str]:
    indent = re.match(r"\s*", found["head"])[0]  # pyright: ignore[reportOptionalSubscript]
    gates, sites = run["gates"][1:-1].split('", "'), run["sites"].split(", ")
    for gate, site in zip(gates, sites, strict=True):
        yield f"{indent}  {gate} {{site = {site}}}"
    yield f"{indent}}} : {found['type']}{found['location']}"


# --- reading -------------------------------------------------------------------------------------


def generic_form(text: str) -> str:
    """Text in the format above as MLIR reads it, with the same number of lines."""
    if "quantum." not in text and "runtime." not in text:
        return text
    lines = iter(text.split("\n"))
    wire = "%_wire"
    while wire in text:
        wire += "_"
    names = (f"{wire}{number}" for number in count())
    written: list[str] = []
    for line in lines:
        run = _RUN.match(line)
        if run is None:
            is_ours = "quantum." in line or "runtime." in line
            written.append(_generic_line(line, names) if is_ours else line)
        else:
            written += _generic_run(run, lines)
    return "\n".join(written)


def _generic_line(line: str, names: Iterator[str]) -> str:
    if found := _ALLOC.match(line):
        wires, number, before = _wire(found["wires"], names)
        attributes = f"{{site = {found['site']} : i64}}"
        kind = found["register"] or _REGISTER
        made = f'"quantum.alloc"({wires}) {attributes} : ({number}) -> {kind}'
    elif found := _EXTRACT.match(line):
        wire, number, before = _wire(found["wire"], names)
        kind = found["type"] or _REGISTER
        made = f'"quantum.extract"({found["register"]}, {wire}) : ({kind}, {number}) -> {_BIT}'
    elif found := _INSERT.match(line):
        wire, number, before = _wire(found["wire"], names)
        kind = found["type"] or _REGISTER
        operands = f"{found['register']}, {wire}, {found['bit']}"
        made = f'"quantum.insert"({operands}) : ({kind}, {number}, {_BIT}) -> {kind}'
    elif found := _GATE.match(line):
        before, made = "", _generic_gate(found)
    elif found := _SHORT_SCALAR.match(line):
        number, _, before = _wire(found["number"], names)
        made = f'"runtime.scalar"({number}) : (tensor<i64>) -> index'
    else:
        return _OTHER.sub(r'\g<head>"\g<operation>"(', line)
    return f"{before}{found['head']}{made}{found['location']}"


def _wire(text: str, names: Iterator[str]) -> tuple[str, str, str]:
    """A wire as an operand, its type, and what defines it."""
    value, _, scalar = text.partition(" : ")
    kind = scalar or "tensor<i64>"
    if value.startswith("%"):
        return value, kind, ""
    name = next(names)
    if scalar:
        return name, kind, f"{name} = arith.constant {value} : {kind} "
    return name, kind, f"{name} = stablehlo.constant dense<{value}> : {kind} "


def _generic_gate(found: re.Match[str]) -> str:
    given, _, scalar = (found["parameters"] or "").partition(" : ")
    parameters = given.split(", ") if given else []
    targets = found["targets"].split(", ") if found["targets"] else []
    controls = [one.split("=") for one in (found["controls"] or "").split(", ") if one]
    operands = [*parameters, *targets, *(bit for bit, _ in controls)]
    values = ", ".join("true" if value == "1" else "false" for _, value in controls)
    bits = [_BIT] * (len(targets) + len(controls))
    results = _BIT if len(bits) == 1 else f"({', '.join(bits)})"
    sizes = f"{len(parameters)}, {len(targets)}, {len(controls)}"
    return (
        f'"quantum.gate"({", ".join(operands)}) {{control_values = array<i1'
        f'{": " if controls else ""}{values}>, gate_name = "{found["name"]}", '
        f"operandSegmentSizes = array<i32: {sizes}>, site = {found['site']} : i64}} : "
        f"({', '.join([scalar or 'tensor<f64>'] * len(parameters) + bits)}) -> {results}"
    )


def _generic_run(run: re.Match[str], lines: Iterator[str]) -> list[str]:
    gates: list[re.Match[str]] = []
    for line in lines:
        gate = _RUN_GATE.match(line)
        end = None if gate is not None else _RUN_END.match(line)
        if gate is not None:
            gates.append(gate)
        elif end is not None:
            names = ", ".join(f'"{gate["gate"]}"' for gate in gates)
            sites = ", ".join(gate["site"] for gate in gates)
            attributes = f"gates = [{names}], sites = array<i64: {sites}>"
            made = f'"quantum.run"({run["operands"]}) {{{attributes}}} : {end["type"]}'
            return [f"{run['head']}{made}{end['location']}", *[""] * (len(gates) + 1)]
        else:
            return [run[0], *(gate[0] for gate in gates), line]
    return [run[0], *(gate[0] for gate in gates)]
