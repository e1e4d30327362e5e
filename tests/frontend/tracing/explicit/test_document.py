"""The programs of Catalyst's description of tracing with dynamic dimensions, with its texts.

Texts are the document's, in full. What cannot be the same is taken from ours before comparing:
today's JAX prints literals with their types (`0:i64[]`), where the document has `0`. A program that
has no text in the document is compared with ours; its docstring says what the document says of it.
"""

import re
import textwrap

import jax.numpy as jnp
import pytest

from diastase import for_loop, qjit
from diastase.capture.control_flow.errors import ResizingError
from diastase.jaxpr import (
    DBIdx,
    DShapedArray,
    InDBIdx,
    OutDBIdx,
    collapse,
    expand_arguments,
    expand_results,
    initialize_arguments,
    initialize_results,
)

INT, FLOAT = jnp.dtype("int64"), jnp.dtype("float64")


def check(jaxpr, text):
    ours = re.sub(r"(?<=\d):[iuf]\d+\[\]", "", str(jaxpr))
    assert ours == textwrap.dedent(text).strip()


# --- "Tracing problem overview" ------------------------------------------------------------------


def test_the_first_program():
    @qjit
    def circuit(sz: int):
        a0 = jnp.ones([sz], dtype=float)

        @for_loop(0, 10, 1)
        def loop(i, a):
            return a * sz

        a2 = loop(a0)
        return a0 + a2

    check(
        circuit.jaxpr,
        """
        { lambda ; a:i64[]. let
            b:f64[a] = broadcast_in_dim[broadcast_dimensions=() shape=(None,)] 1.0 a
            _:i64[] c:f64[a] = for_loop[
              apply_reverse_transform=False
              body_jaxpr={ lambda ; d:i64[] e:i64[] f:i64[] g:f64[e]. let
                  h:f64[] = convert_element_type[new_dtype=float64 weak_type=False] d
                  i:f64[e] = broadcast_in_dim[broadcast_dimensions=() shape=(None,)] h e
                  j:f64[e] = mul g i
                in (e, j) }
              body_nconsts=1
              nimplicit=1
              preserve_dimensions=True
            ] a a 0 10 1 0 b
            k:f64[a] = add b c
          in (k,) }
        """,
    )
    for size in (0, 1, 3):
        assert circuit(size).tolist() == [1.0 + float(size) ** 10] * size


# --- "Explicit/implicit arguments" ---------------------------------------------------------------


def test_an_implicit_result(explicit):
    def f(sz):
        o = jnp.ones((sz + 1,), dtype=float)
        return o

    check(
        explicit(f, 3),
        """
        { lambda ; a:i64[]. let
            b:i64[] = add a 1
            c:f64[b] = broadcast_in_dim[broadcast_dimensions=() shape=(None,)] 1.0 b
          in (b, c) }
        """,
    )
    assert explicit(f, 3).num_implicit_outputs == 1


# --- "DShapedArray", "Input Type and Output Type" ------------------------------------------------


def test_the_output_type_of_the_example():
    """A 3D array with two of its sizes; the third is the first input."""
    (d,) = arguments = initialize_arguments(((DShapedArray((), INT), False),))
    sizes = DShapedArray((), INT)
    example = (
        (sizes, False),
        (sizes, False),
        (DShapedArray((OutDBIdx(0), OutDBIdx(1), InDBIdx(0)), FLOAT), True),
    )
    first, second, array = initialize_results(example, arguments)
    assert array.type.shape == (first, second, d)
    expanded, out_type = expand_results(arguments, (array,))
    assert (expanded, out_type) == ((first, second, array), example)
    assert collapse(expanded, out_type) == (array,)


def test_arguments_with_a_shared_size():
    """`a:f64[d], b:f64[d]` becomes `d:i64[], a:f64[d], b:f64[d]`, which refer to `DBIdx(0)`.

    The document's flags are `(i64, True), (f64, False), (f64, False)` here, the opposite of those
    in its section on types, which are JAX's: True is explicit.
    """
    array = DShapedArray((DBIdx(0),), FLOAT)
    in_type = ((DShapedArray((), INT), False), (array, True), (array, True))
    d, a, b = initialize_arguments(in_type)
    assert a.type.shape == b.type.shape == (d,)
    assert expand_arguments((a, b)) == ((d, a, b), in_type)
    assert expand_arguments((a, b), strategy="share")[1] == in_type


def test_arguments_with_separate_sizes():
    """`a:f64[d], b:f64[d]` becomes `d1:i64[], d2:i64[], a:f64[d1], b:f64[d2]`."""
    array = DShapedArray((DBIdx(0),), FLOAT)
    d, a, b = initialize_arguments(((DShapedArray((), INT), False), (array, True), (array, True)))
    expanded, in_type = expand_arguments((a, b), strategy="separate")
    assert expanded == (d, d, a, b)
    d1, d2, a, b = initialize_arguments(in_type)
    assert d1 is not d2
    assert (a.type.shape, b.type.shape) == ((d1,), (d2,))


def test_results_with_a_size_of_their_own_and_one_of_the_arguments():
    """Arguments `v, d, a:f64[d], b:f64[d]`, results `e, a:f64[e], b:f64[d]`."""
    size = DShapedArray((), INT)
    array = DShapedArray((DBIdx(1),), FLOAT)
    arguments = initialize_arguments(((size, True), (size, False), (array, True), (array, True)))
    b = arguments[-1]
    e, a = initialize_arguments(((size, True), (DShapedArray((DBIdx(0),), FLOAT), True)))
    expanded, out_type = expand_results(arguments, (a, b))
    assert expanded == (e, a, b)
    assert [str(type_) for type_, _ in out_type] == ["i64[]", "f64[OutDBIdx(0)]", "f64[InDBIdx(1)]"]
    assert [is_explicit for _, is_explicit in out_type] == [False, True, True]


# --- "Loop expansion specifics" ------------------------------------------------------------------


def over_ones(body, **options):
    """The document's loops over `(a0, a0)`, with `a0` of `sz` ones."""

    def program(sz):
        a0 = jnp.ones([sz], dtype=float)
        return for_loop(0, 10, 1, **options)(lambda i, a, a_: body(sz, a, a_))(a0, a0)

    return program


def test_one_shared_dimension(explicit):
    """CORRECT there: `return a, a_`."""
    check(
        explicit(over_ones(lambda sz, a, a_: (a, a_)), 3).equations[1].params["body_jaxpr"],
        "{ lambda ; a:i64[] b:i64[] c:f64[a] d:f64[a]. let  in (a, c, d) }",
    )


def test_still_one_shared_dimension(explicit):
    """CORRECT there: both results have one other size."""

    def body(sz, a, a_):
        b = jnp.ones([sz + 1], dtype=float)
        return b, b

    check(
        explicit(over_ones(body), 3),
        """
        { lambda ; a:i64[]. let
            b:f64[a] = broadcast_in_dim[broadcast_dimensions=() shape=(None,)] 1.0 a
            c:i64[] d:f64[c] e:f64[c] = for_loop[
              apply_reverse_transform=False
              body_jaxpr={ lambda ; f:i64[] g:i64[] h:i64[] i:f64[g] j:f64[g]. let
                  k:i64[] = add f 1
                  l:f64[k] = broadcast_in_dim[broadcast_dimensions=() shape=(None,)] 1.0 k
                in (k, l, l) }
              body_nconsts=1
              nimplicit=1
              preserve_dimensions=True
            ] a a 0 10 1 0 b b
          in (c, d, e) }
        """,
    )


def test_dimensions_that_are_not_the_same_any_more(explicit):
    """ERROR there, and here."""
    with pytest.raises(ResizingError, match="a and a_ of for_loop come in with the same size"):
        explicit(over_ones(lambda sz, a, a_: (a, jnp.ones([sz + 1], dtype=float))), 3)


def test_separate_dimensions(explicit):
    """`experimental_preserve_dimensions=False`: CORRECT there, but `b + b_` is not possible.

    Here it is: sizes that the body does not change are still known to be equal, so they are
    one variable, `i`, where the document would have two.
    """

    def program(sz):
        a0 = jnp.ones([sz], dtype=float)
        b0 = jnp.ones([sz + 1], dtype=float)

        @for_loop(0, 10, 1, experimental_preserve_dimensions=False)
        def loop(i, a, b, b_):
            return a, b + b_, b_

        return loop(a0, b0, b0)

    check(
        explicit(program, 3),
        """
        { lambda ; a:i64[]. let
            b:f64[a] = broadcast_in_dim[broadcast_dimensions=() shape=(None,)] 1.0 a
            c:i64[] = add a 1
            d:f64[c] = broadcast_in_dim[broadcast_dimensions=() shape=(None,)] 1.0 c
            _:i64[] _:i64[] e:f64[a] f:f64[c] g:f64[c] = for_loop[
              apply_reverse_transform=False
              body_jaxpr={ lambda ; h:i64[] i:i64[] j:i64[] k:f64[h] l:f64[i] m:f64[i]. let
                  n:f64[i] = add l m
                in (h, i, k, n, m) }
              body_nconsts=0
              nimplicit=2
              preserve_dimensions=False
            ] a c 0 10 1 0 b d d
          in (c, e, f, g) }
        """,
    )


def test_separate_dimensions_that_change(explicit):
    """Each changing axis has its own dimension, also where two came in alike."""
    program = over_ones(
        lambda sz, a, a_: (jnp.ones([sz + 1]), a_), experimental_preserve_dimensions=False
    )
    check(
        explicit(program, 3),
        """
        { lambda ; a:i64[]. let
            b:f64[a] = broadcast_in_dim[broadcast_dimensions=() shape=(None,)] 1.0 a
            c:i64[] _:i64[] d:f64[c] e:f64[a] = for_loop[
              apply_reverse_transform=False
              body_jaxpr={ lambda ; f:i64[] g:i64[] h:i64[] i:i64[] j:f64[g] k:f64[h]. let
                  l:i64[] = add f 1
                  m:f64[l] = broadcast_in_dim[broadcast_dimensions=() shape=(None,)] 1.0 l
                in (l, h, m, k) }
              body_nconsts=1
              nimplicit=2
              preserve_dimensions=False
            ] a a a 0 10 1 0 b b
          in (c, d, e) }
        """,
    )


# --- "For-loop expansion specifics" --------------------------------------------------------------


def test_the_loop_index_cannot_be_referred_to(explicit):
    """The output type has `OutDBIdx` in the dimension of `b`, not `InDBIdx` of the index."""

    def program(sz):
        @for_loop(0, 10, 1)
        def loop(i, a):
            b = jnp.ones([i], dtype=float)
            return b

        return loop(jnp.ones([sz], dtype=float))

    jaxpr = explicit(program, 3)
    body = jaxpr.equations[1].params["body_jaxpr"]
    check(
        body,
        """
        { lambda ; a:i64[] b:i64[] c:f64[a]. let
            d:f64[b] = broadcast_in_dim[broadcast_dimensions=() shape=(None,)] 1.0 b
          in (b, d) }
        """,
    )
    assert body.out_type[1] == (DShapedArray((OutDBIdx(0),), FLOAT), True)
    size, array = jaxpr.equations[1].results
    assert array.type.shape == (size,)


# --- "Adding Jax constants" and "Caveats" --------------------------------------------------------


def test_a_captured_array_comes_with_its_dimension(explicit):
    """`od:i64[], o:f64[od], d:i64[], a:f64[d], b:f64[d]`, here with the index after `d`."""

    def program(sz):
        o = jnp.ones([sz + 2], dtype=float)
        a0 = jnp.ones([sz], dtype=float)

        @for_loop(0, 10, 1)
        def loop(i, a, b):
            return a * jnp.sum(o), b

        return loop(a0, a0)

    equation = explicit(program, 3).equations[-1]
    body = equation.params["body_jaxpr"]
    assert str(body).startswith(
        "{ lambda ; a:i64[] b:f64[a] c:i64[] d:i64[] e:f64[c] f:f64[c]. let"
    )
    assert (equation.params["body_nconsts"], equation.params["nimplicit"]) == (2, 1)
    explicit_ones = [is_explicit for _, is_explicit in body.in_type]
    assert explicit_ones == [False, False, False, True, True, True]


def test_the_caveat():
    """An error there: `a0`'s dimension, of a constant, never matches that of the argument `a`.

    Here the size that both have is named once, among the constants.
    """

    @qjit
    def circuit(sz: int):
        a0 = jnp.ones([sz], dtype=float)

        @for_loop(0, 10, 1)
        def loop(i, a):
            return a + a0  # a0 is a constant, dimension variable is different

        return loop(a0)

    check(
        circuit.jaxpr,
        """
        { lambda ; a:i64[]. let
            b:f64[a] = broadcast_in_dim[broadcast_dimensions=() shape=(None,)] 1.0 a
            c:f64[a] = for_loop[
              apply_reverse_transform=False
              body_jaxpr=BODY
              body_nconsts=2
              nimplicit=0
              preserve_dimensions=True
            ] a b 0 10 1 0 b
          in (c,) }
        """.replace(
            "BODY",
            "{ lambda ; d:i64[] e:f64[d] f:i64[] g:f64[d]. let h:f64[d] = add g e in (h,) }",
        ),
    )
    for size in (0, 1, 2, 3, 8, 100):
        assert circuit(size).tolist() == [11.0] * size
