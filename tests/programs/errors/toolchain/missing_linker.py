import os
from unittest import mock

from diastase import qjit


def program():
    with mock.patch.dict(os.environ, {"PATH": "/nowhere", "DIASTASE_CACHE": "0"}):

        @qjit
        def increment(x: float):
            return x + 1.25

        increment(1.0)
