"""Outcome scripts: where the mid-circuit measurements of a body that is run several times get
their outcomes from.

`script_begin`, then for each run `script_next` and the body, whose state has been told to follow
the script (`state_follow`), and at last `script_end`. Two modes, and those of `trajectories`:

*Shots*: outcomes are drawn. A run in which a postselected measurement finds another outcome is not
valid; what it computes is thrown away by whoever runs it.

*Tree*: the runs go through all strings of outcomes that are possible, depth first, each once, and
the weight of a run is the probability of its outcomes. A run repeats the outcomes of the one
before, but for the last that has another possible outcome, and from there on takes the first one
possible. Repeating needs what was found before to be found again, so:

    T1  Two runs with the same outcomes so far are in the same state: the engine is deterministic.
    T2  What is impossible (`IMPOSSIBLE`) is decided on the probabilities of one measurement alone.
    T3  Below the weight `NEGLIGIBLE` a run draws the rest of its outcomes, and branches no more;
        so loops that end with probability one do end.

A postselected outcome counts with its probability; if it is impossible the run has weight zero,
and goes on with the other outcome, so that all numbers stay finite.
"""  # noqa: D205

from diastase_engine.call_context import (
    IMPOSSIBLE_POSTSELECTION,
    OUT_OF_MEMORY,
    CallContext,
    fail,
    next_uniform,
)
from diastase_engine.language import *
from diastase_engine.state_vector.measure.trajectories import (
    SHOTS_OF_NOISE,
    allocate_trajectories,
    append_step,
    choose_for_all,
    keep_those,
    leave_all_out,
    next_frame,
    trajectories_of,
)
from diastase_engine.state_vector.state.records import (
    SINGLE,
    OutcomeScript,
    State,
    free,
    malloc,
    memcpy,
)

SHOTS = 0
TREE = 1

IMPOSSIBLE = derived(lambda single: 1e-10 if single else 1e-26, SINGLE)
"""Outcomes less likely than this are rounding errors of an impossible one."""
NEGLIGIBLE = 1e-18
MOST_REJECTED = 1_000_000
"""Runs in a row that may miss the postselected outcomes; after so many they count as impossible."""

_FIRST_CAPACITY = 64
_OTHER_WAITS = 2
"""Added to an outcome in the script whose alternative has not been run."""


@kernel
def script_begin(context: CallContext, mode: i64) -> OutcomeScript:
    """Make a script, or null."""
    if context.code != 0:
        return null(OutcomeScript)
    memory = malloc(size_of(OutcomeScript))
    outcomes = malloc(8 * _FIRST_CAPACITY)
    if is_null(memory) or is_null(outcomes):
        free(memory)
        free(outcomes)
        fail(context, OUT_OF_MEMORY, -1, 8 * _FIRST_CAPACITY, 0)
        return null(OutcomeScript)
    script = cast(memory, OutcomeScript)
    script.mode = mode
    script.started, script.length, script.rejected = 0, 0, 0
    script.site, script.wire, script.outcome = -1, 0, 0
    script.capacity = _FIRST_CAPACITY
    script.outcomes = cast(outcomes, ptr[i64])
    script.trajectories = null(ptr[f64])
    start_run(script)
    script.previous = null(ptr[f64])
    script.next = context.scripts
    if not is_null(script.next):
        cast(script.next, OutcomeScript).previous = memory
    context.scripts = memory
    return script


@kernel
def trajectories_begin(context: CallContext, mode: i64, count: i64) -> OutcomeScript:
    """Make a script for so many trajectories, or null."""
    script = script_begin(context, mode)
    if not is_null(script):
        allocate_trajectories(context, script, count if count > 0 else 0)
        if is_null(script.trajectories):
            script_end(context, script)
            return null(OutcomeScript)
    return script


@kernel
def start_run(script: OutcomeScript) -> None:
    """Go to the start of the script."""
    script.position, script.drawing, script.valid = 0, 0, 1
    script.weight = 1.0


@kernel
def script_end(context: CallContext, script: OutcomeScript) -> None:
    """Give the memory back, also after an error."""
    if is_null(script):
        return
    if is_null(script.previous):
        context.scripts = script.next
    else:
        cast(script.previous, OutcomeScript).next = script.next
    if not is_null(script.next):
        cast(script.next, OutcomeScript).previous = script.previous
    free(cast(script.outcomes, ptr[f64]))
    free(script.trajectories)
    free(cast(script, ptr[f64]))


@kernel
def script_next(context: CallContext, script: OutcomeScript) -> i64:
    """Prepare the next run; 0 where there is none. There always is another shot."""
    if is_null(script) or context.code != 0:
        return 0
    if not is_null(script.trajectories):
        if next_frame(script) == 0:
            return 0
    elif script.mode == SHOTS:
        script.rejected = script.rejected + 1 if script.valid == 0 else 0
        if script.rejected > MOST_REJECTED:
            fail(context, IMPOSSIBLE_POSTSELECTION, script.site, script.wire, script.outcome)
    elif script.started != 0:
        while script.length > 0 and script.outcomes[script.length - 1] < _OTHER_WAITS:
            script.length -= 1
        if script.length == 0:
            return 0
        last = script.outcomes[script.length - 1] & 1
        script.outcomes[script.length - 1] = 1 - last
    script.started = 1
    start_run(script)
    return 1


@kernel
def script_weight(context: CallContext, script: OutcomeScript) -> f64:
    """Return the probability of the outcomes of the last run, or the weight of its trajectories."""
    if is_null(script):
        return 1.0
    if not is_null(script.trajectories):
        run = trajectories_of(script)
        return script.weight * to_float(run.last - run.first)
    return script.weight


@kernel
def script_is_valid(context: CallContext, script: OutcomeScript) -> i64:
    """Whether all postselected measurements of the last run found what they should."""
    if is_null(script):
        return 1
    return script.valid


@kernel
def script_require(context: CallContext, script: OutcomeScript, total: f64) -> None:
    """Refuse runs that have no weight all together: their postselection is impossible."""
    if is_null(script) or context.code != 0:
        return
    if not total > 0.0:
        fail(context, IMPOSSIBLE_POSTSELECTION, script.site, script.wire, script.outcome)


@kernel
def state_follow(context: CallContext, state: State, script: OutcomeScript) -> None:
    """Let the measurements of a state find their outcomes in a script; null: none."""
    if not is_null(state):
        state.script = cast(script, ptr[f64])


@kernel
def append_outcome(context: CallContext, script: OutcomeScript, site: i64, outcome: i64) -> None:
    """Write one more outcome into a script."""
    if script.length == script.capacity:
        larger = malloc(16 * script.capacity)
        if is_null(larger):
            fail(context, OUT_OF_MEMORY, site, 16 * script.capacity, 0)
            return
        memcpy(larger, cast(script.outcomes, ptr[f64]), 8 * script.capacity)
        free(cast(script.outcomes, ptr[f64]))
        script.outcomes = cast(larger, ptr[i64])
        script.capacity = 2 * script.capacity
    script.outcomes[script.length] = outcome
    script.length += 1


@kernel
def missed(script: OutcomeScript, site: i64, wire: i64, outcome: i64) -> None:
    """Note that a postselected outcome was not found."""
    script.valid = 0
    script.site, script.wire, script.outcome = site, wire, outcome


@kernel
def branch(context: CallContext, script: OutcomeScript, site: i64, zero: f64, one: f64) -> i64:
    """Return the outcome of a measurement in a tree of runs, from both probabilities."""
    outcome: i64 = 0
    if zero <= IMPOSSIBLE or one <= IMPOSSIBLE:
        if zero < one:
            outcome = 1
    elif script.drawing != 0 or script.weight <= NEGLIGIBLE:
        script.drawing = 1
        if next_uniform(context) < one:
            outcome = 1
    else:
        if script.position == script.length:
            append_outcome(context, script, site, 0 + _OTHER_WAITS)
        if context.code == 0:
            outcome = script.outcomes[script.position] & 1
            script.position += 1
    script.weight = script.weight * (one if outcome != 0 else zero)
    return outcome


@kernel
def outcome_of_all(
    context: CallContext,
    script: OutcomeScript,
    site: i64,
    wire: i64,
    weights: ptr[f64],
    postselect: i64,
) -> i64:
    """Return the outcome that a run of trajectories goes on with."""
    total = weights[0] + weights[1]
    if postselect < 0:
        return choose_for_all(context, script, site, 2, weights, total)
    outcome: i64 = postselect & 1
    likelihood = weights[outcome] / total
    found = likelihood > IMPOSSIBLE
    if found and script.mode == SHOTS_OF_NOISE:
        found = keep_those(script, outcome, weights, total)
    elif found:
        script.weight = script.weight * likelihood
    if not found:
        missed(script, site, wire, outcome)
        leave_all_out(script)
        if not likelihood > IMPOSSIBLE:
            outcome = 1 - outcome
    append_step(context, script, site, outcome, weights[outcome])
    return outcome


@kernel
def scripted_outcome(
    context: CallContext, state: State, site: i64, wire: i64, weights: ptr[f64], postselect: i64
) -> i64:
    """Return the outcome of a measurement that follows a script."""
    script = cast(state.script, OutcomeScript)
    total = weights[0] + weights[1]
    if not is_null(script.trajectories):
        return outcome_of_all(context, script, site, wire, weights, postselect)
    zero, one = weights[0] / total, weights[1] / total
    if script.mode == SHOTS:
        drawn: i64 = 1 if weights[0] == 0.0 else 0
        if next_uniform(context) < one:
            drawn = 1
        if postselect >= 0 and drawn != postselect:
            missed(script, site, wire, postselect)
        return drawn
    if postselect < 0:
        return branch(context, script, site, zero, one)
    wanted = postselect & 1
    likelihood = one if wanted != 0 else zero
    if likelihood > IMPOSSIBLE:
        script.weight = script.weight * likelihood
        return wanted
    missed(script, site, wire, wanted)
    script.weight = 0.0
    return 1 - wanted
