"""Errors become dataclasses when they are first raised: no matter which, from how many threads."""

import sys
import threading
from dataclasses import fields

import pytest

from diastase_runtime.errors import DiastaseError, Span


def _family():
    """A class of errors and one derived from it, that nobody has raised yet."""

    class WideError(DiastaseError, OSError):
        title = "Wide"
        message = "{what} of {size}"
        what: str
        size: int = 3

    class NarrowError(WideError):
        message = "{what} of {size} at {place}"
        place: str

    return WideError, NarrowError


@pytest.mark.parametrize("first", [0, 1])
def test_fields_are_inherited_whichever_class_is_raised_first(first):
    wide, narrow = _family()
    raise_either = [lambda: wide(what="w"), lambda: narrow(what="n", place="p")]
    raise_either[first]()
    assert str(wide(what="w", size=4)) == "Wide: w of 4"
    assert str(narrow(what="n", place="p")) == "Wide: n of 3 at p"
    assert [field.name for field in fields(narrow)] == ["span", "what", "size", "place"]
    assert narrow(what="n", place="p").span is None
    assert repr(narrow(what="n", place="p", span=Span("f.py", 7))).endswith(
        "(span=Span(file='f.py', line=7, function=''), what='n', size=3, place='p')"
    )


def test_wrong_fields_are_refused():
    _, narrow = _family()
    with pytest.raises(TypeError, match="place"):
        narrow(what="n")
    with pytest.raises(TypeError, match="unknown"):
        narrow(what="n", place="p", unknown=1)
    with pytest.raises(TypeError, match="positional"):
        narrow("n")


def test_it_is_raised_and_caught_by_each_of_its_bases():
    _, narrow = _family()
    for base in (narrow, DiastaseError, OSError):
        with pytest.raises(base) as caught:
            raise narrow(what="n", place="p")
        assert caught.value.place == "p"


def _make(kind, start, made):
    start.wait()
    try:
        made.append(str(kind(what="n", place="p")))
    except BaseException as error:
        made.append(error)


def test_threads_that_raise_a_class_for_the_first_time_at_once():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(30):
            _, narrow = _family()
            start, made = threading.Barrier(4), []
            threads = [threading.Thread(target=_make, args=(narrow, start, made)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert made == ["Wide: n of 3 at p"] * 4
    finally:
        sys.setswitchinterval(interval)
