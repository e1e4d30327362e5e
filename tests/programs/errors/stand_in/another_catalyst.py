import sys
import types

import diastase


def program():
    sys.modules["catalyst"] = types.ModuleType("catalyst")
    try:
        with diastase.acting_as_catalyst():
            pass
    finally:
        del sys.modules["catalyst"]
