"""Trajectories: runs of a body whose random choices are drawn, equal ones once.

In: a script of one of these modes (`outcome_scripts`), made for so many trajectories, which are
numbered. A run stands for a *segment* of them: those that have drawn alike so far. At each choice
(an outcome of a measurement, the Kraus operator of a channel) every trajectory of the segment draws
for itself; the run goes on with those that chose as the first of them did, and the others wait in
*frames*, each a segment with its choice. A run after the first takes the last frame, repeats the
choices on the *path* to it, and goes on from there: depth first, as many frames as trajectories at
most. So the results are those of running each trajectory by itself, histories that are equal are
run once, and nothing is weighted or approximated.

Streams: the k-th number of a trajectory is that of a generator (`call_context.philox`) whose key
the script draws when it begins, and whose counter is made of k and the trajectory's number. So what
a trajectory draws does not depend on which others it is run with.

A step of the path is three numbers: the choice, its weight (the squared norm of what the state
becomes by it), by which the run that repeats it normalises without looking at the state, and the
script's weight after it.

Postselection: where trajectories are averaged their weight becomes smaller, none is lost. Where
they are shots, those that have drawn another outcome are left out.
"""

from diastase_engine.call_context import OUT_OF_MEMORY, CallContext, fail, philox
from diastase_engine.language import *
from diastase_engine.state_vector.state.records import OutcomeScript, free, malloc, memcpy, memset

AVERAGED = 2
SHOTS_OF_NOISE = 3
"""Modes of scripts, after those of `outcome_scripts`."""

STEP = 3
FRAME = 6
"""Numbers of a step, and of a frame: the length of the path before its choice, the first and the
last of its segment, and the step."""
UNKNOWN_WEIGHT = -1.0
"""Of a step: nobody has looked at the state, which is normalised later."""
_WORD = 0xFFFFFFFF
_OF_SCRIPTS = 1 << 31
"""In the last word of a counter: no other counter of a call's numbers has it."""


class Trajectories(Record):
    """What a script knows of its trajectories."""

    count: i64
    key: i64
    """Of their streams."""
    draws: i64
    """How many numbers each trajectory of this run has drawn."""
    first: i64
    last: i64
    """The segment of this run, in `members`."""
    waiting: i64
    """How many frames there are."""
    members: ptr[i64]
    """The numbers of all trajectories, those of a segment next to each other."""
    choices: ptr[i64]
    others: ptr[i64]
    """Scratch memory, a number for each trajectory."""
    frames: ptr[i64]


@kernel
def trajectories_of(script: OutcomeScript) -> Trajectories:
    """Return what a script knows of its trajectories; null for one of another mode."""
    return cast(script.trajectories, Trajectories)


@kernel
def allocate_trajectories(context: CallContext, script: OutcomeScript, count: i64) -> None:
    """Make the memory of a script for so many trajectories, or record an error."""
    numbers = 3 * count + FRAME * (count + 1)
    memory = malloc(size_of(Trajectories) + 8 * numbers)
    if is_null(memory):
        fail(context, OUT_OF_MEMORY, -1, 8 * numbers, 0)
        return
    run = cast(memory, Trajectories)
    run.members = cast(memory + size_of(Trajectories) // 8, ptr[i64])
    run.choices = run.members + count
    run.others = run.choices + count
    run.frames = run.others + count
    run.count, run.first, run.last, run.draws, run.waiting = count, 0, count, 0, 0
    for number in range(count):
        run.members[number] = number
    words = stack_array(i64, 4)
    words[0], words[1] = context.counter & _WORD, shift_right_logical(context.counter, 32)
    words[2], words[3] = 0, _OF_SCRIPTS
    philox(words, context.seed & _WORD, shift_right_logical(context.seed, 32))
    context.counter += 1
    run.key = words[0] | (words[1] << 32)
    script.trajectories = memory


@kernel
def number_drawn(run: Trajectories, member: i64) -> f64:
    """Return the number in [0, 1) that a trajectory draws now."""
    words = stack_array(i64, 4)
    words[0], words[1] = run.draws & _WORD, shift_right_logical(run.draws, 32)
    words[2], words[3] = member & _WORD, shift_right_logical(member, 32)
    philox(words, run.key & _WORD, shift_right_logical(run.key, 32))
    bits = shift_right_logical((words[1] << 32) | words[0], 11)
    return to_float(bits) * 2.0**-53


@kernel
def next_frame(script: OutcomeScript) -> i64:
    """Go to the last segment that waits; 0 where none does."""
    run = trajectories_of(script)
    run.draws = 0
    if script.started == 0:
        return 1 if run.count > 0 else 0
    if run.waiting == 0:
        return 0
    run.waiting -= 1
    frame = run.frames + FRAME * run.waiting
    run.first, run.last = frame[1], frame[2]
    script.length = frame[0] + 1  # there is room: a run that made the frame has gone further
    step = script.outcomes + STEP * frame[0]
    for k in static(range(STEP)):
        step[k] = frame[3 + k]
    return 1


@kernel
def repeats(script: OutcomeScript) -> i1:
    """Whether the next choice of this run has been made by a run before it."""
    return not is_null(script.trajectories) and script.position < script.length


@kernel
def repeated_choice(script: OutcomeScript, weight: ptr[f64]) -> i64:
    """Make that choice again; writes its weight."""
    step = script.outcomes + STEP * script.position
    script.position += 1
    trajectories_of(script).draws += 1
    numbers = cast(step, ptr[f64])
    weight[0] = numbers[1]
    script.weight = numbers[2]
    return step[0]


@kernel
def append_step(
    context: CallContext, script: OutcomeScript, site: i64, choice: i64, weight: f64
) -> None:
    """Write one more choice onto the path."""
    if STEP * (script.length + 1) > script.capacity:
        larger = malloc(16 * script.capacity)
        if is_null(larger):
            fail(context, OUT_OF_MEMORY, site, 16 * script.capacity, 0)
            return
        memcpy(larger, cast(script.outcomes, ptr[f64]), 8 * script.capacity)
        free(cast(script.outcomes, ptr[f64]))
        script.outcomes = cast(larger, ptr[i64])
        script.capacity = 2 * script.capacity
    write_step(script.outcomes + STEP * script.length, choice, weight, script.weight)
    script.length += 1
    script.position = script.length


@kernel
def write_step(step: ptr[i64], choice: i64, weight: f64, total: f64) -> None:
    """Write a step."""
    numbers = cast(step, ptr[f64])
    step[0] = choice
    numbers[1], numbers[2] = weight, total


@kernel
def chosen(count: i64, weights: ptr[f64], total: f64, number: f64) -> i64:
    """Return the choice that a number in [0, 1) falls on; one of weight zero is never chosen."""
    left = number * total
    last: i64 = 0
    for choice in range(count):
        if weights[choice] > 0.0:
            last = choice
            if left < weights[choice]:
                return choice
            left -= weights[choice]
    return last


@kernel
def alike_last(run: Trajectories, first: i64, last: i64) -> i64:
    """Move those of a part that chose as its first one to its end; return where they begin."""
    choice = run.choices[first]
    kept: i64 = first
    moved: i64 = 0
    for place in range(first, last):
        if run.choices[place] == choice:
            run.others[moved] = run.members[place]
            moved += 1
        else:
            run.members[kept] = run.members[place]
            run.choices[kept] = run.choices[place]
            kept += 1
    for place in range(kept, last):
        run.members[place] = run.others[place - kept]
    return kept


@kernel
def choose_for_all(
    context: CallContext,
    script: OutcomeScript,
    site: i64,
    count: i64,
    weights: ptr[f64],
    total: f64,
) -> i64:
    """Let each trajectory of this run choose; return the choice that the run goes on with."""
    run = trajectories_of(script)
    if run.first == run.last:  # none is left: what is found does not matter
        run.draws += 1
        choice = chosen(count, weights, total, 0.5)
        append_step(context, script, site, choice, weights[choice])
        return choice
    for place in range(run.first, run.last):
        number = number_drawn(run, run.members[place])
        run.choices[place] = chosen(count, weights, total, number)
    run.draws += 1
    choice = run.choices[run.first]
    begin = alike_last(run, run.first, run.last)
    end: i64 = begin
    while run.first < end:
        other = run.choices[run.first]
        start = alike_last(run, run.first, end)
        frame = run.frames + FRAME * run.waiting
        frame[0], frame[1], frame[2] = script.length, start, end
        write_step(frame + 3, other, weights[other], script.weight)
        run.waiting += 1
        end = start
    run.first = begin
    append_step(context, script, site, choice, weights[choice])
    return choice


@kernel
def all_choose_first(context: CallContext, script: OutcomeScript, site: i64, least: f64) -> i1:
    """Whether all trajectories of this run draw less than `least`, and so the first choice.

    Then the choice is made, of unknown weight; if not, none of them has drawn yet.
    """
    run = trajectories_of(script)
    for place in range(run.first, run.last):
        if not number_drawn(run, run.members[place]) < least:
            return False
    run.draws += 1
    append_step(context, script, site, 0, UNKNOWN_WEIGHT)
    return True


@kernel
def keep_those(script: OutcomeScript, wanted: i64, weights: ptr[f64], total: f64) -> i1:
    """Leave out the trajectories that do not draw this outcome of two; whether any is left."""
    run = trajectories_of(script)
    kept: i64 = run.first
    for place in range(run.first, run.last):
        member = run.members[place]
        if chosen(2, weights, total, number_drawn(run, member)) == wanted:
            run.members[kept] = member
            kept += 1
    run.draws += 1
    run.last = kept
    return run.first < kept


@kernel
def leave_all_out(script: OutcomeScript) -> None:
    """Go on with no trajectory at all."""
    run = trajectories_of(script)
    run.last = run.first


@kernel
def run_members(context: CallContext, script: OutcomeScript, count: i64, out: ptr[i64]) -> None:
    """Write for each trajectory 1 if the last run was its own, and 0 if not."""
    memset(cast(out, ptr[f64]), 0, 8 * count)
    if is_null(script) or context.code != 0:
        return
    run = trajectories_of(script)
    for place in range(run.first, run.last):
        if run.members[place] < count:
            out[run.members[place]] = 1
