"""A process that computes what it is asked for: the four arrays of a program, or a stream."""

import jax
import numpy as np

import settings
from diastase import qjit
from fuzz.children import serve
from fuzz.programs import Style, random_state, run
from fuzz.streams import stream


def answer(asked: dict) -> list:
    if "stream" in asked:
        return stream(asked["stream"])
    state = random_state(asked["seed"], asked["size"])
    found = qjit(lambda s: run(asked["program"], s, Style()))(state)
    parts = [np.asarray(part) for part in found]
    return [{"re": part.real.tolist(), "im": part.imag.tolist()} for part in parts]


if __name__ == "__main__":
    settings.begin()
    jax.config.update("jax_enable_x64", True)
    serve(answer)
