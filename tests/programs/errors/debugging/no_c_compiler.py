import os
from unittest import mock

from diastase import debug, qjit


def program():
    @qjit
    def f(x: float):
        return x

    with mock.patch.dict(os.environ, {"PATH": "/nowhere", "DIASTASE_CC": ""}):
        debug.compile_executable(f, 1.0)
