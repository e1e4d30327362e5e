"""MLIR as text: written by hand, printed by JAX, printed by us."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import CompileOptions, debug, qjit

ALL_TYPES = {
    "i1": bool, "i8": np.int8, "ui8": np.uint8, "i16": np.int16, "ui16": np.uint16,
    "i32": np.int32, "ui32": np.uint32, "i64": np.int64, "ui64": np.uint64, "f16": np.float16,
    "bf16": jnp.bfloat16, "f32": np.float32, "f64": np.float64, "complex<f32>": np.complex64,
    "complex<f64>": np.complex128,
}  # fmt: skip


def test_written_by_hand():
    double = debug.compile_from_mlir("""
        func.func @double(%x: tensor<?xf64>, %n: tensor<i64>) -> tensor<?xf64> {
            %zero = arith.constant 0 : index
            %one = arith.constant 1 : index
            %count = tensor.extract %n[] : tensor<i64>
            %end = arith.index_cast %count : i64 to index
            %y = scf.for %i = %zero to %end step %one iter_args(%z = %x) -> tensor<?xf64> {
                %next = func.call @twice(%z) : (tensor<?xf64>) -> tensor<?xf64>
                scf.yield %next : tensor<?xf64>
            }
            return %y : tensor<?xf64>
        }
        func.func private @twice(%x: tensor<?xf64>) -> tensor<?xf64> {
            %y = stablehlo.add %x, %x : tensor<?xf64>
            return %y : tensor<?xf64>
        }""")
    for size in (0, 3, 5):
        x = np.arange(size) / 3
        np.testing.assert_array_equal(double(x, 3), 8 * x)
        np.testing.assert_array_equal(double(jnp.asarray(x), jnp.int64(0)), x)
    assert "@diastase_entry" in double.mlir
    assert "fadd" in double.llvm_ir
    assert repr(double) == "<compiled from MLIR: double>"


def test_all_element_types():
    types = [f"tensor<2x{kind}>" for kind in ALL_TYPES]
    names = [f"%a{number}" for number in range(len(types))]
    parameters = ", ".join(f"{name}: {kind}" for name, kind in zip(names, types, strict=True))
    identity = debug.compile_from_mlir(
        f"func.func @main({parameters}) -> ({', '.join(types)}) {{\n"
        f"return {', '.join(names)} : {', '.join(types)}\n}}"
    )
    arguments = [np.array([1, 0]).astype(kind) for kind in ALL_TYPES.values()]
    for result, argument in zip(identity(*arguments), arguments, strict=True):
        assert result.dtype == argument.dtype
        np.testing.assert_array_equal(result, argument)


def test_printed_by_jax():
    def function(x, y):
        return jnp.where(x > 0, x @ y, 0).sum(), x.astype(jnp.uint8), jnp.tanh(y)[0]

    x, y = np.random.default_rng(0).normal(size=(2, 3, 3))
    x = abs(x)
    compiled = debug.compile_from_mlir(jax.jit(function).lower(x, y).as_text())
    for result, expected in zip(compiled(x, y), function(x, y), strict=True):
        np.testing.assert_allclose(result, expected)


def test_printed_by_us():
    @qjit(seed=5)
    @qml.set_shots(9)
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit(angles):
        qml.RX(angles[0], wires=0)
        qml.RY(angles[1], wires=1)
        return qml.sample()

    angles = jnp.array([1.2, 0.8])
    expected = circuit(angles)
    compiled = debug.compile_from_mlir(circuit.mlir, CompileOptions(seed=5, verbose=False))
    np.testing.assert_array_equal(compiled(angles), expected)
    assert "quantum.sample" in compiled.mlir


def test_arguments_that_do_not_fit():
    f = debug.compile_from_mlir(
        "func.func @f(%x: tensor<i64>) -> tensor<i64> { return %x : tensor<i64> }"
    )
    assert f(3) == 3
    for arguments in ((), (1, 2), (1.5,), (np.float32(1),), (jnp.ones(2, int),)):
        with pytest.raises(TypeError, match=r"was compiled for \(int64\[\]\)"):
            f(*arguments)
    for transform in (jax.jit, jax.vmap, qjit):
        with pytest.raises(TypeError, match="transform"):
            transform(f)(jnp.arange(3))


@pytest.mark.parametrize(
    ("kind", "argument"),
    [
        ("tensor<1000xf64>", jnp.ones(3)),
        ("tensor<2x?xf64>", jnp.ones((3, 2))),
        ("tensor<i8>", 300),
        ("tensor<ui8>", -1),
        ("tensor<i64>", 2**70),
        ("tensor<i64>", 1.5),
        ("tensor<f64>", 1j),
        ("tensor<f64>", "1"),
        ("tensor<i1>", 1),
    ],
)
def test_arguments_that_do_not_fit_are_refused(kind, argument):
    same = debug.compile_from_mlir(f"func.func @f(%x: {kind}) -> {kind} {{ return %x : {kind} }}")
    with pytest.raises(TypeError, match="Wrong arguments"):
        same(argument)


@pytest.mark.parametrize("kind", [kind for kind in ALL_TYPES if kind != "i1"])
def test_numbers_fit_types_that_have_their_value(kind):
    same = debug.compile_from_mlir(
        f"func.func @f(%x: tensor<{kind}>) -> tensor<{kind}> {{ return %x : tensor<{kind}> }}"
    )
    assert same(100) == 100
    assert same(True) == 1


def nested(depth):
    inside = "return %x : tensor<f64>"
    listed = f'attributes {{a = {"[" * depth}{"]" * depth}, b = "{"{" * 5000}"}}'
    return f"func.func @f(%x: tensor<f64>) -> tensor<f64> {listed} {{ {inside} }} // {'(' * 5000}"


def test_brackets_in_brackets_do_not_end_the_process():
    """Neither MLIR nor LLVM has a limit; brackets in strings and comments are none."""
    assert debug.compile_from_mlir(nested(800))(1.0) == 1.0
    for depth in (1001, 100_000):
        with pytest.raises(ValueError, match="brackets are nested more than 1000 deep"):
            debug.compile_from_mlir(nested(depth))
    f = qjit(lambda x: x * 2.5)
    f(1.0)
    types = "@a = external global " + "[1 x " * 100_000 + "i8" + "]" * 100_000
    with pytest.raises(ValueError, match="brackets are nested more than 1000 deep"):
        debug.replace_ir(f, "translate", types)


def test_regions_that_python_cannot_go_through_are_an_error_of_the_pass():
    def branches(depth):
        if depth == 0:
            return "%v0 = stablehlo.sine %x : tensor<f64>"
        return f"""
            %n{depth} = arith.constant {depth} : i64
            %c{depth} = arith.cmpi slt, %n{depth}, %m : i64
            %v{depth} = scf.if %c{depth} -> tensor<f64> {{
                {branches(depth - 1)}
                scf.yield %v{depth - 1} : tensor<f64>
            }} else {{
                scf.yield %x : tensor<f64>
            }}"""

    nested = f"""
        func.func @nested(%x: tensor<f64>, %n: tensor<i64>) -> tensor<f64> {{
            %m = tensor.extract %n[] : tensor<i64>
            {branches(500)}
            return %v500 : tensor<f64>
        }}"""
    with pytest.raises(RuntimeError, match="nested more deeply than the 1000 frames"):
        debug.compile_from_mlir(nested)(1.0, 1000)


@pytest.mark.parametrize("character", ["\0", "\ud800"])
def test_characters_that_no_text_has_are_refused(character):
    with pytest.raises(ValueError, match="the character"):
        debug.compile_from_mlir(f"module {{}}\n// {character}")
    f = qjit(lambda x: x + 1)
    f(1.0)
    for stage in ("mlir", "translate"):
        with pytest.raises(ValueError, match="the character"):
            debug.replace_ir(f, stage, debug.get_compilation_stage(f, stage) + character)


def test_what_jax_lowers_with_loops_branches_and_places_in_arrays():
    def program(v, places):
        scanned = jax.lax.scan(lambda c, x: (jnp.sin(c) + x, c), 0.0, v)
        doubled = jax.lax.while_loop(
            lambda c: c[1].sum() < 100, lambda c: (c[0] + 1, c[1] * 2), (0, v)
        )
        chosen = jax.lax.switch(places[0], [lambda: v, lambda: v * 2])
        moved = v[places], v.at[places].add(2.0), jnp.sort(v[::-1]), jnp.cumsum(v)
        return scanned, doubled, chosen, moved

    arguments = jnp.linspace(0.1, 1.0, 6), jnp.array([1, 4, 2])
    compiled = debug.compile_from_mlir(jax.jit(program).lower(*arguments).as_text())
    expected = jax.tree.leaves(program(*arguments))
    for own, wanted in zip(jax.tree.leaves(compiled(*arguments)), expected, strict=True):
        np.testing.assert_allclose(own, wanted, rtol=1e-12)
