"""Every name that came with Catalyst's, used wrongly: an error of ours with the line, or Python's.

Each is called with a value of another type, with too few and too many arguments, and inside of
`jax.jit` where it needs a program. The wording of our errors is in `tests/programs/errors`.
"""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

import diastase
from diastase import CompileOptions, DiastaseError, debug, pipelines, qjit


@qml.qnode(qml.device("lightning.qubit", wires=1))
def circuit(x):
    qml.RX(x, wires=0)
    return qml.expval(qml.Z(0))


@pytest.fixture(scope="module")
def compiled():
    function = qjit(lambda x: x + 1)
    function(1.0)
    return function


IDENTITY = "func.func @f(%x: tensor<f64>) -> tensor<f64> { return %x : tensor<f64> }"
WRONG_TYPES = {
    "accelerate": lambda _: diastase.accelerate(3),
    "accelerate(dev)": lambda _: diastase.accelerate(dev="cpu"),
    "accelerate()(text)": lambda _: diastase.accelerate(jnp.sin)("a"),
    "pure_callback": lambda _: diastase.pure_callback(3),
    "pure_callback(types)": lambda _: diastase.pure_callback(abs, "float"),
    "pure_callback.fwd": lambda _: diastase.pure_callback(abs, float).fwd(3),
    "pure_callback.bwd": lambda _: diastase.pure_callback(abs, float).bwd(None),
    "debug_assert": lambda _: diastase.debug_assert(1.5, "of a number"),
    "debug_assert(text)": lambda _: diastase.debug_assert(True, 3),
    "debug_assert of a list": lambda _: qjit(lambda x: diastase.debug_assert([x > 0], "m"))(1.0),
    "debug.print": lambda _: debug.print("{} {}", 1),
    "debug.print in qjit": lambda _: qjit(lambda x: debug.print("{y}", x=x))(1.0),
    "debug.callback": lambda _: debug.callback(3),
    "debug.callback in qjit": lambda _: qjit(lambda x: debug.callback(lambda: None)(x))(1.0),
    "debug.print_memref": lambda _: qjit(lambda x: debug.print_memref([x]))(1.0),
    "debug.get_cmain": lambda _: debug.get_cmain(abs, 1.0),
    "debug.get_cmain(text)": lambda f: debug.get_cmain(f, "one"),
    "debug.compile_executable": lambda _: debug.compile_executable(abs, 1.0),
    "debug.get_compilation_stage": lambda _: debug.get_compilation_stage(abs, "mlir"),
    "debug.get_compilation_stage(number)": lambda f: debug.get_compilation_stage(f, 3),
    "debug.get_compilation_stages_groups": debug.get_compilation_stages_groups,
    "debug.replace_ir": lambda _: debug.replace_ir(abs, "mlir", ""),
    "debug.replace_ir(number)": lambda f: debug.replace_ir(f, "mlir", 3),
    "debug.compile_from_mlir": lambda _: debug.compile_from_mlir(3),
    "debug.compile_from_mlir(options)": lambda _: debug.compile_from_mlir(IDENTITY, {}),
    "debug.compile_from_mlir()": lambda _: debug.compile_from_mlir(IDENTITY)([1.0, [2.0]]),
    "debug.instrumentation": lambda _: debug.instrumentation("name", 3).__enter__(),
    "mitigate_with_zne": lambda _: diastase.mitigate_with_zne(3, scale_factors=[1]),
    "pipeline": lambda _: diastase.pipeline(["cancel_inverses"]),
    "pipeline()": lambda _: diastase.pipeline({"cancel_inverses": {}})(3),
    "insert_pass_after": lambda _: pipelines.insert_pass_after("cse", "cse", "cse"),
    "insert_pass_before": lambda _: pipelines.insert_pass_before(["cse"], 3, "cse"),
    "insert_stage_after": lambda _: pipelines.insert_stage_after(["cse"], ("a", []), "cse"),
    "insert_stage_before": lambda _: pipelines.insert_stage_before([], ("a", []), "cse"),
    "run_autograph": lambda _: diastase.run_autograph(3),
    "disable_autograph": lambda _: diastase.disable_autograph(3),
    "autograph_source": lambda _: diastase.autograph_source(3),
    "qjit": lambda _: qjit(3),
    **{
        f"mitigate_with_zne({name})": lambda _, name=name, value=value: diastase.mitigate_with_zne(
            circuit, **{"scale_factors": [1, 3], name: value}
        )
        for name, value in [
            ("scale_factors", "13"),
            ("folding", ["global"]),
            ("extrapolate", "poly"),
            ("extrapolate", lambda results: results),
            ("extrapolate_kwargs", 3),
        ]
    },
}
HAS_NO_LINE = {"run_autograph", "disable_autograph", "autograph_source", "qjit"}
"""Python's traceback has it, as of each of these."""


@pytest.mark.parametrize("name", WRONG_TYPES)
def test_a_value_of_another_type_is_refused_with_the_line(name, compiled):
    with pytest.raises(DiastaseError) as caught:
        WRONG_TYPES[name](compiled)
    assert name in HAS_NO_LINE or __file__ in str(caught.value)


@pytest.mark.parametrize("value", [object(), np.arange(2), jnp.ones(2), 3.5], ids=type)
@pytest.mark.parametrize("option", inspect.signature(CompileOptions).parameters)
def test_an_option_of_another_type_is_refused_with_the_line(option, value):
    if option == "static_argnums" and isinstance(value, np.ndarray):
        pytest.skip("positions may be given as an array")
    with pytest.raises(DiastaseError, match="test_misuse"):
        qjit(lambda x: x, **{option: value})


FUNCTIONS = {
    "debug_assert": diastase.debug_assert,
    "pure_callback": diastase.pure_callback,
    "pipeline": diastase.pipeline,
    "run_autograph": diastase.run_autograph,
    "autograph_source": diastase.autograph_source,
    "mitigate_with_zne": diastase.mitigate_with_zne,
    **{name: getattr(debug, name) for name in debug.__all__ if name != "CompiledModule"},
    **{name: getattr(pipelines, name) for name in pipelines.__all__ if name.startswith("insert")},
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_without_arguments_python_names_the_function(name):
    with pytest.raises(TypeError, match=rf"{name}\(\) missing"):
        FUNCTIONS[name]()


TAKES_ANY_NUMBER = ("print", "get_cmain", "compile_executable")


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in TAKES_ANY_NUMBER])
def test_with_too_many_arguments_python_names_the_function(name):
    with pytest.raises((TypeError, DiastaseError), match=name):
        FUNCTIONS[name](*[None] * 9)


@pytest.mark.parametrize(
    "function",
    [
        diastase.mitigate_with_zne(circuit, scale_factors=[1, 3]),
        debug.compile_from_mlir(IDENTITY),
        lambda x: debug.get_cmain(qjit(abs), x),
        lambda x: debug.compile_executable(qjit(abs), x),
        lambda x: diastase.debug_assert(x, "of a number"),
        lambda x: debug.print_memref([x]),
        lambda x: diastase.accelerate(float)(x),
        lambda x: diastase.pure_callback(abs)(x),
    ],
)
def test_inside_of_jit_what_needs_values_or_a_program_is_refused(function):
    with pytest.raises(DiastaseError):
        jax.jit(function)(1.0)
