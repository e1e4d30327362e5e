"""Sums and inner products of states on a GPU, which are there, in the same order: see `vectors`."""

from diastase_engine.language import *
from diastase_engine.state_vector.device.driver import (
    clear_on_device,
    copy_to_device,
    launch,
)
from diastase_engine.state_vector.device.records import THREAD_BITS
from diastase_engine.state_vector.device.residence import (
    ON_DEVICE,
    bits_there,
    bytes_of,
    change_there,
    device_room,
    has_device_memory,
)
from diastase_engine.state_vector.device.sums import (
    SUMS_BYTES,
    add_up_blocks,
    blocks_for,
    blocks_that_add_up,
)
from diastase_engine.state_vector.device.vectors import Addition, AppliedWords, Products
from diastase_engine.state_vector.state.records import State, Term
from diastase_runtime.abi import GRIDS

ADD_MULTIPLE, ADD_PRODUCTS = GRIDS.index("add_multiple"), GRIDS.index("add_products")
ADD_APPLIED = GRIDS.index("add_applied")


@kernel
def clear_there(state: State) -> None:
    """Set all amplitudes to zero, whatever and wherever they were."""
    if has_device_memory(state):
        clear_on_device(state, state.device, bytes_of(state))
        state.residence = ON_DEVICE


@kernel
def add_multiple_there(target: State, source: State, factor: ptr[f64]) -> None:
    """`target += factor source`, the factor as real and imaginary part."""
    run = stack_record(Addition)
    run.target = cast(at(target.device), ptr[stored])
    run.source = cast(at(source.device), ptr[stored])
    run.count = 1 << bits_there(target)
    run.real, run.imaginary = factor[0], factor[1]
    change_there(target)
    words = cast(run, ptr[i64])
    launch(target, ADD_MULTIPLE, blocks_for(run.count), words, size_of(Addition))


@kernel
def add_applied_there(target: State, source: State, terms: ptr[Term], count: i64) -> None:
    """`target += O source` for the sum O of terms, sorted by the bits that they flip."""
    size = count * size_of(Term)
    if not device_room(target, size):
        return
    if not copy_to_device(target, target.device_plan, cast(terms, ptr[f64]), size):
        return
    run = stack_record(AppliedWords)
    run.target = cast(at(target.device), ptr[stored])
    run.source = cast(at(source.device), ptr[stored])
    run.count = 1 << bits_there(target)
    run.terms, run.n_terms = cast(at(target.device_plan), ptr[Term]), count
    change_there(target)
    words = cast(run, ptr[i64])
    launch(target, ADD_APPLIED, blocks_for(run.count), words, size_of(AppliedWords))


@kernel
def product_there(bra: State, ket: State, out: ptr[f64]) -> None:
    """Write <bra|ket>, zero after an error."""
    out[0], out[1] = 0.0, 0.0
    if not device_room(bra, SUMS_BYTES):
        return
    run = stack_record(Products)
    run.bra, run.ket = cast(at(bra.device), ptr[stored]), cast(at(ket.device), ptr[stored])
    run.count = 1 << bits_there(bra)
    blocks = blocks_that_add_up(run.count)
    run.stride, run.sums = blocks << THREAD_BITS, at(bra.device_plan)
    launch(bra, ADD_PRODUCTS, blocks, cast(run, ptr[i64]), size_of(Products))
    add_up_blocks(bra, blocks, out)
