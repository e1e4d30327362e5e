"""`ag__` in converted functions: what statements and operators do there.

Each does what Python does, unless a program is being traced and a traced value decides; loops are
those of the program whenever one is traced and their items allow it. What malt's generated code
asks for by name (`ld`, `ldu`, `Undefined`, `FunctionScope`, …) stands here, too.
"""

import builtins

from malt.core.converter import STANDARD_OPTIONS as STD
from malt.operators.variables import Undefined, UndefinedReturnValue, ldu

from diastase.autograph.operators.calls import call as converted_call
from diastase.autograph.operators.calls import mark as autograph_artifact
from diastase.autograph.operators.expressions import and_, in_, not_, not_in, or_
from diastase.autograph.operators.statements import (
    FunctionScope,
    assert_stmt,
    caught,
    for_stmt,
    if_exp,
    if_stmt,
    raise_stmt,
    raises_now,
    set_item,
    update_item,
    while_stmt,
    with_function_scope,
)
from diastase.autograph.staging.variables import load as ld

__all__ = [
    "STD",
    "FunctionScope",
    "Undefined",
    "UndefinedReturnValue",
    "and_",
    "assert_stmt",
    "autograph_artifact",
    "caught",
    "converted_call",
    "for_stmt",
    "if_exp",
    "if_stmt",
    "in_",
    "ld",
    "ldu",
    "not_",
    "not_in",
    "or_",
    "raise_stmt",
    "raises_now",
    "set_item",
    "slice",
    "update_item",
    "while_stmt",
    "with_function_scope",
]

slice = builtins.slice
