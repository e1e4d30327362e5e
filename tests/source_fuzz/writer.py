"""Writes statements: fills templates with variables, keeps what JAX can trace, knows the type of each variable.

A template is Python with holes: `{f}` is a floating-point variable, `{axis}` a number. Holes of one name with a digit
(`{x1}`) are filled alike. Types are those that `jax.eval_shape` finds, weak types included.
"""

import random
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from source_fuzz.stand_ins import JAX_STAND_INS

HEADER = """\
import collections
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
from jax import lax

from diastase import cond, for_loop, grad, switch, value_and_grad, vmap, while_loop
"""
GLOBALS: dict[str, Any] = {}
exec(HEADER, GLOBALS)
GLOBALS.update(JAX_STAND_INS)

Types = dict[str, jax.ShapeDtypeStruct]
KINDS = {"f": jnp.floating, "i": jnp.integer, "b": jnp.bool_, "c": jnp.complexfloating, "n": jnp.number, "g": jnp.inexact}
DTYPES = (
    "float64 " * 7 + "float32 " * 4 + "int64 " * 4 + "int32 " * 3 + "bool " * 2 + "complex128 " * 2
    + "complex64 float16 bfloat16 int8 uint8 int16 uint16 uint32 uint64"
).split()  # fmt: skip


def dtype_text(dtype: Any) -> str:
    return f"jnp.{jnp.dtype(dtype).name}" if dtype != jnp.bool_ else "jnp.bool_"


def infer(text: str, types: Types, targets: list[str]) -> Types | None:
    """The types of what the text assigns to the targets; None if JAX refuses it."""

    def run(values: Mapping[str, Any]) -> dict[str, Any]:
        names = GLOBALS | values
        exec(text, names)
        return {name: jnp.asarray(names[name]) for name in targets}

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = jax.eval_shape(run, types)
    except Exception:
        return None
    big = any(one.size > 600 for one in found.values())
    return None if big else found


@dataclass
class Scope:
    """The statements of one function, and the variables that the next one can use."""

    types: Types
    lines: list[str] = field(default_factory=list)
    depth: int = 0


@dataclass
class Writer:
    rng: random.Random
    count: int = 0

    def __post_init__(self):
        sizes = (0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 7)
        n, m = self.rng.choice(sizes), self.rng.choice(sizes)
        self.shapes = [(), (), (n,), (n,), (m,), (n, m), (n, m), (m, n), (n, 1), (1, m), (n, n), (2, n, m)]
        self.dtypes = self.rng.sample(DTYPES, 3)

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def variable(self, types: Types, kind: str, like: Any = None) -> str:
        """A name of this kind; the newest are the likeliest. KeyError if there is none."""
        names = [name for name, one in types.items() if kind == "x" or jnp.issubdtype(one.dtype, KINDS[kind])]
        if like is not None:
            names = [name for name in names if types[name].shape == like]
        if not names:
            raise KeyError(kind)
        return names[max(self.rng.randrange(len(names)), self.rng.randrange(len(names)))]

    def fill(self, template: str, types: Types) -> str:
        """The template with each hole filled."""
        chosen: dict[str, str] = {}
        shape: list[Any] = []

        def hole(match: re.Match[str]) -> str:
            name = match.group(1)
            stem = name.rstrip("0123456789")
            if name in chosen and name != stem:
                return chosen[name]
            if stem in KINDS or stem == "x":
                text = self.variable(types, stem)
                shape.append(types[text].shape)
            elif stem == "same":
                text = self.variable(types, "x", shape[0])
            else:
                text = self.literal(stem)
            chosen[name] = text
            return text

        return re.sub(r"\{(\w+)\}", hole, template)

    def literal(self, stem: str) -> str:
        rng = self.rng
        if stem == "axis":
            return rng.choice("0 0 0 1 1 -1 -1 2 -2".split())
        if stem == "axes":
            return rng.choice("0 1 -1 None None (0,1) (-1,) (0,2) ()".split())
        if stem == "k":
            return rng.choice("0 1 1 2 2 3 4 -1 -2".split())
        if stem == "p":
            return rng.choice("1 2 3 4".split())
        if stem == "r":
            return rng.choice("0.5 1.5 -0.3 2.0 0.0 1.0 -1.0 0.1 3 2 1 -1".split())
        if stem == "dtype":
            return dtype_text(jnp.dtype(rng.choice(DTYPES)))
        if stem == "shape":
            return str(rng.choice(self.shapes))
        if stem == "flag":
            return rng.choice(("True", "False"))
        if stem == "seed":
            return str(rng.randrange(9))
        raise ValueError(stem)

    def assign(self, scope: Scope, template: str) -> bool:
        """Add `v = template`, if JAX takes it."""
        try:
            text = self.fill(template, scope.types)
        except KeyError:
            return False
        name = self.fresh("v")
        return self.add(scope, f"{name} = {text}", [name])

    def add(self, scope: Scope, text: str, targets: list[str]) -> bool:
        """Add a statement of any kind, if JAX takes it."""
        found = infer(text, scope.types, targets)
        if found is None:
            return False
        scope.lines += text.splitlines()
        scope.types.update(found)
        return True

    def coerced(self, scope: Scope, wanted: jax.ShapeDtypeStruct) -> str:
        """An expression of the wanted type, of a variable of the scope."""
        dtype = dtype_text(wanted.dtype)
        newest = list(scope.types)[-1]
        alike = [name for name, one in scope.types.items() if one.shape == wanted.shape]
        if not alike:
            return f"jnp.broadcast_to(jnp.sum({newest}), {wanted.shape}).astype({dtype})"
        name = self.rng.choice(alike[-4:])
        if newest not in alike and self.rng.random() < 0.7:
            return f"({name} + jnp.sum({newest})).astype({dtype})"
        same = scope.types[name].dtype == wanted.dtype and not scope.types[name].weak_type
        return name if same else f"jnp.asarray({name}).astype({dtype})"

    def argument(self, shape: Any, dtype: str) -> str:
        """Source of a NumPy array."""
        rng = self.rng
        name = jnp.dtype(dtype).name
        convert = f".astype({dtype_text(jnp.dtype(dtype))})"
        draw = f"np.random.default_rng({rng.randrange(99)})"
        if name == "bool":
            return f"({draw}.normal(size={shape}) > 0)" if shape else rng.choice(("np.True_", "np.False_"))
        if "int" in name:
            low, high = rng.choice(((0, 4), (0, 9), (-5, 6), (0, 100)))
            low = 0 if name.startswith("u") else low
            return f"{draw}.integers({low}, {high}, size={shape}){convert}" if shape else f"np.{name}({rng.randrange(low, high)})"
        if name.startswith("complex"):
            return f"np.asarray({draw}.normal(size={shape}) + 1j * {draw}.uniform(size={shape})){convert}"
        special = shape and rng.random() < 0.06
        if special:
            values = "np.array([np.nan, -0.0, np.inf, 1.0, -np.inf, 0.0, -2.5])"
            return f"np.resize({values}, {shape}){convert}"
        if rng.random() < 0.2:
            return f"np.asarray(np.round({draw}.normal(size={shape}) * 2) / 2){convert}"
        return f"np.asarray({draw}.normal(size={shape})){convert}"
