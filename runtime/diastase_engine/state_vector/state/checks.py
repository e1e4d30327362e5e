"""What every exported function asks first: whether there is anything to do.

After a failure of the call, and on the null state that a failed allocation left, nothing happens
and the result is zero.
"""

from diastase_engine.call_context import CallContext
from diastase_engine.language import i1, inline, is_null
from diastase_engine.state_vector.state.records import State


@inline
def cannot_run(context: CallContext, state: State) -> i1:
    """Whether a function on `state` has to do nothing."""
    return is_null(state) or context.code != 0
