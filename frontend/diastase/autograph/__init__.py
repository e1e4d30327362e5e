"""AutoGraph: Python's own control flow, as control flow of compiled programs.

    @qjit(autograph=True)
    def f(x, n):
        for i in range(n):          # a for_loop
            if x > 5:               # a cond
                x = x / 2
        return x

`syntax` rewrites a function, by converters of malt's and ours, so that its statements call
`operators`; these are Python's, unless a program is being traced: then `operators.control_flow`
makes `cond`, `for_loop` and `while_loop` of them, over the values of the function's `variables`.
`calls` converts what is called, `staging` gives up what cannot be traced, `mutations` finds changes
that would be made while tracing, by what things hold (`staging.contents`).

What converts is imported when it is first asked for.
"""

from typing import TYPE_CHECKING, Any

from diastase.namespace.lazy_names import lazy_names, public_names

if TYPE_CHECKING:
    from diastase.autograph.functions import autograph_source, disable_autograph, run_autograph

__all__ = ["autograph_source", "disable_autograph", "run_autograph"]

__getattr__: Any = lazy_names(__name__, {"diastase.autograph.functions": tuple(__all__)})
__dir__ = public_names(__name__)
