"""What surrounds the body of a converted function."""

from collections.abc import Callable
from typing import Any

from malt.operators.variables import UndefinedReturnValue

from diastase.autograph.staging.variables import MaybeDefined


class FunctionScope:
    """What surrounds the body of a converted function."""

    def __init__(self, function: str, name: str, options: Any) -> None:
        self.function, self.name = function, name

    def __enter__(self) -> "FunctionScope":
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def ret(self, value: Any, did_return: Any) -> Any:
        """What the function returns; every path has come to a `return` or raised."""
        if isinstance(value, UndefinedReturnValue):
            return None
        return value.value if isinstance(value, MaybeDefined) else value


def with_function_scope(body: Callable[[Any], Any], name: str, options: Any) -> Any:
    """Evaluate the body of a lambda."""
    return body(FunctionScope("lambda", name, options))
