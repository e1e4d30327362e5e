"""What a docstring of a public name must say, and that its examples print what they say.

A summary; of what is called, its arguments by name, what it returns, what it raises, and an example
that is run. What a class has may be shown by the example of the class, what belongs to a module for
writing passes by that of the module.
"""

import builtins
import doctest
import inspect
import re
import runpy
import shlex
from pathlib import Path

import pytest

import diastase.__main__
from diastase_runtime.saved import command_line

DOCS = Path(__file__).parents[1] / "docs"
_MADE = runpy.run_path(str(DOCS / "public_names.py"))
PublicName = _MADE["PublicName"]
NAMES = {str(public): public for public in _MADE["public_names"]()}

SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises|Example|Examples|Note):$")
ENTRY = re.compile(r"^    (\*{0,2}\w+): ")

ROW = re.compile(r"^\| `(\w+)` \| (.*?) \|", re.MULTILINE)
ERRORS: dict[str, list[str]] = {}
for _name, _bases in ROW.findall((DOCS / "errors.md").read_text()):
    ERRORS.setdefault(_name, []).extend(re.findall(r"`([\w.]+)`", _bases))
for _public in NAMES.values():
    if _public.kind == "error":
        ERRORS.setdefault(_public.qualified, [base.__name__ for base in _public.value.__mro__])
"""All errors of ours, with what else each is, as the page has them that is made of the classes."""

RAISES_NOTHING = {
    "diastase.QJIT.clear_cache", "diastase.api.control_flow.Conditional.otherwise",
    "diastase.inspection.resources.results.CompiledResources.to_pretty_str",
    "diastase.inspection.resources.results.CompiledSpecs.to_pretty_str", "diastase.jaxpr",
    "diastase.jit.stages.stages.Compiled.as_text", "diastase.jit.stages.stages.Compiled.report",
    "diastase.jit.stages.stages.Compiled.memory_analysis",
    "diastase.jit.stages.stages.Compiled.runtime_executable",
    "diastase.jit.stages.stages.Lowered.report",
    "diastase.jit.stages.stages.Traced.cost_analysis", "diastase.passes.Circuit.before",
    "diastase.passes.Circuit.collect", "diastase.passes.Circuit.gates",
    "diastase.passes.Circuit.rewrite", "diastase.passes.New.like", "diastase.passes.gate_before",
    "diastase.passes.values", "diastase.pipelines.default_pipeline", "diastase.testing.Program.run",
    "diastase.testing.gates", "diastase_runtime.distributed.futures.MappedFutures.cancel",
}  # fmt: skip
"""Called with whatever they take, these, or all of a module, raise no error of ours."""

ARGUMENTS_OF = {
    "diastase.CompileOptions": "diastase.qjit",
    "diastase.testing.PassCheck": "diastase.testing.check_pass",
}
"""Whose arguments are described elsewhere, of a name that has those and others."""

MADE_BY_FUNCTIONS = {
    "diastase.QJIT", "diastase.debug.CompiledModule", "diastase.passes.Circuit",
    "diastase.passes.Gate", "diastase_runtime.SavedFunction",
}  # fmt: skip
"""Classes whose objects users get, and do not make: besides those of `GIVEN`."""


def sections(docstring: str) -> dict[str, str]:
    """The text of each section, by its title; what is before the first has none."""
    found, title = {"": ""}, ""
    for line in docstring.splitlines():
        if heading := SECTION.match(line):
            title = heading[1]
            found[title] = ""
        else:
            found[title] += f"{line}\n"
    return found


def entries(section: str) -> dict[str, str]:
    """What a section says of each of its names."""
    found, name = {}, ""
    for line in section.splitlines():
        if entry := ENTRY.match(line):
            name = entry[1]
            found[name] = line[entry.end() :]
        elif name:
            found[name] += f" {line.strip()}"
    return found


def faults(public) -> list[str]:
    """What is missing in the docstring of a public name, or wrong."""
    if public.kind == "data":
        return []
    said = sections(public.docstring)
    summary = said[""].partition("\n\n")[0].strip()
    if not summary.endswith((".", ":")):
        return ["no summary"]
    if public.kind == "module":
        return []
    if public.kind == "error":  # as it is raised, or as the program is written that raises it
        shown = "\n    " in public.docstring
        return [] if shown else ["no example"]
    found = [] if public.kind == "property" else _signature_faults(public, said)
    return [*found, *_example_faults(public), *_raised_faults(public, said)]


def _signature_faults(public, said: dict[str, str]) -> list[str]:
    if public.kind == "class" and _is_given(public):
        return []
    function = getattr(public.value, "__func__", public.value)
    try:
        signature = inspect.signature(function)
    except ValueError:
        return ["no signature"]
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    named = [f"{stars.get(each.kind, '')}{name}" for name, each in signature.parameters.items()]
    if public.kind == "method" and not isinstance(public.value, staticmethod):
        del named[0]
    told = entries(said.get("Args", ""))
    if str(public) in ARGUMENTS_OF:
        others = sections(NAMES[ARGUMENTS_OF[str(public)]].docstring)["Args"]
        told = {name: text for name, text in entries(others).items() if name in named}
    found = [f"Args has not: {name}" for name in named if name not in told]
    found += [f"Args has too much: {name}" for name in told if name not in named]
    returns = public.kind != "class" and signature.return_annotation not in (None, "None")
    if returns and not {"Returns", "Yields"} & said.keys():
        found.append("no Returns")
    return found


def _is_given(public) -> bool:
    """Whether users get objects of a class from functions, and make none."""
    given = public.module in ("diastase.jaxpr", *_MADE["GIVEN"])
    return given or str(public) in MADE_BY_FUNCTIONS


def _example_faults(public) -> list[str]:
    """An example of its own, or of its class or module one in which it is used."""
    if ">>> " in public.docstring:
        return []
    owner = str(public).rpartition(".")[0]
    last = public.qualified.rpartition(".")[2]
    shown = NAMES[owner].docstring if owner in NAMES else ""
    lines = [line for line in shown.splitlines() if line.lstrip().startswith((">>> ", "... "))]
    return [] if re.search(rf"\.{last}\b", "\n".join(lines)) else ["no example"]


def _raised_faults(public, said: dict[str, str]) -> list[str]:
    if "Raises" not in said:
        is_called = public.kind in ("function", "method")
        is_free = RAISES_NOTHING & {public.module, str(public)}
        return ["no Raises"] if is_called and not is_free else []
    found = []
    for name, when in entries(said["Raises"]).items():
        if name not in ERRORS and not hasattr(builtins, name):
            found.append(f"Raises: there is no {name}")
            continue
        claimed = re.match(r"an? `(\w+)`(?: and an? `(\w+)`)?", when)
        for base in filter(None, claimed.groups() if claimed else ()):
            if base not in ERRORS.get(name, ()):
                found.append(f"Raises: {name} is no {base}")
    return found


def test_public_names_are_those_that_modules_list():
    """One by one they are what a user gets by that name; whatever `diastase` lists is there."""
    assert {"diastase.qjit", "diastase.QJIT.save", "diastase_runtime.load"} <= NAMES.keys()
    listed = {f"diastase.{name}" for name in diastase.__all__}
    assert listed <= NAMES.keys()
    modules = {str(public) for public in NAMES.values() if public.kind == "module"}
    assert modules <= {*_MADE["MODULES"]}


def test_what_is_between_layers_is_there():
    """A name that has gone is no longer left out of the reference."""
    for place, names in _MADE["BETWEEN_LAYERS"].items():
        owner = NAMES[place].value if place in NAMES else _MADE["_module"](place)
        fields = getattr(owner, "__dataclass_fields__", {})
        assert [name for name in names if not hasattr(owner, name) and name not in fields] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_docstring_says_what_it_must(name):
    assert faults(NAMES[name]) == []


@pytest.mark.parametrize("name", [name for name in NAMES if ">>>" in NAMES[name].docstring])
def test_examples_print_what_they_say(name):
    said: list[str] = []
    session = doctest.DocTestParser().get_doctest(NAMES[name].docstring, {}, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(session, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)


@pytest.mark.parametrize("module", [diastase.__main__, command_line], ids=["full", "runtime"])
def test_the_command_line_says_what_it_takes(module):
    """Each command and each argument; the examples of the module are understood."""
    parser = module.command_line()
    (commands,) = (each for each in parser._actions if isinstance(each.choices, dict))
    assert {each.dest for each in commands._choices_actions if each.help} == {*commands.choices}
    for name, command in commands.choices.items():
        silent = [argument.dest for argument in command._actions if not argument.help]
        assert silent == [], name
    shown = [line.partition("|")[0] for line in module.__doc__.splitlines() if " -m " in line]
    given = [shlex.split(line)[3:] for line in shown if line.startswith("    ")]
    assert {arguments[0] for arguments in given} == {*commands.choices}
    for arguments in given:
        parser.parse_args(arguments)


def test_the_check_finds_what_is_missing():
    def nothing_said(x: int, y: int = 2) -> int:
        return x + y

    def half_said(x: int, y: int = 2) -> int:
        """Add numbers.

        Args:
            x: any integer.
            z: another.

        Raises:
            NoSuchError: if `x` is odd.
            DerivativeTypeError: a `KeyError`, if `y` is odd.
        """
        return x + y

    def found(function):
        return faults(PublicName("here", function.__name__, function, "function"))

    assert found(nothing_said) == ["no summary"]
    assert found(half_said) == [
        "Args has not: y",
        "Args has too much: z",
        "no Returns",
        "no example",
        "Raises: there is no NoSuchError",
        "Raises: DerivativeTypeError is no KeyError",
    ]
