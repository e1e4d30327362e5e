"""Private names of a library: found, missing, of other parameters; functions replaced."""

import sys
from types import ModuleType

import pytest

from diastase_toolchain import private_api
from diastase_toolchain.errors import MissingNameError
from diastase_toolchain.private_api import Need, Patch, PrivateApi


class Kind:
    """What the library has."""

    def method(self, x):
        return x

    @staticmethod
    def static(x):
        return x

    @classmethod
    def of_class(cls, x):
        return cls, x


def add(x, y=1):
    return x + y


@pytest.fixture(name="library")
def library_fixture(monkeypatch):
    """Two modules that hold one function; of `pytest`, which has a version."""
    monkeypatch.setattr(private_api, "libraries", [])
    for name in ("pytest", "pytest.inner_", "pytest.outer_"):
        module = sys.modules.get(name) or ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
    inner, outer = sys.modules["pytest.inner_"], sys.modules["pytest.outer_"]
    inner.add, inner.Kind, inner.wrapped = add, type("Kind", (Kind,), dict(vars(Kind))), add
    outer.add = add
    return inner, outer


def private(**patches):
    """The library's table."""
    needs = [
        Need("sums", "there is no other way", {"pytest.inner_": "add gone Kind"}),
        Need("differences", "nor here", {"pytest.inner_": "gone", "pytest.absent": "anything"}),
    ]
    table = {name: Patch("changes", "as a test", *patch) for name, patch in patches.items()}
    return PrivateApi("pytest", "1.0 to 2.0", needs, table)


def test_names_that_are_there_are_the_librarys(library):
    names = private().module("pytest.inner_")
    assert names.add is library[0].add
    assert not hasattr(names, "wrapped"), "it is not declared"


USES = {
    "called": lambda missing: missing(1),
    "an attribute": lambda missing: missing.field,
    "a class": lambda missing: isinstance(1, missing),
    "one of two classes": lambda missing: isinstance(1, str | missing),
    "another of two classes": lambda missing: isinstance(1, missing | str),
    "a table": lambda missing: missing["key"],
    "members": lambda missing: 1 in missing,
    "elements": list,
    "a truth value": bool,
    "a context": lambda missing: missing.__enter__(),
}


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_missing_name_says_so_when_it_is_used(use):
    api = private()
    missing = api.module("pytest.inner_").gone
    with pytest.raises(MissingNameError, match=r"pytest.inner_.gone of pytest \d.* is missing"):
        use(missing)
    assert set(api.disabled) == {"sums", "differences"}
    with pytest.raises(MissingNameError, match=r"sums: .*\n.*tested with pytest 1.0 to 2.0"):
        api.require("sums")
    api.require("products")


@pytest.mark.usefixtures("library")
def test_a_missing_module_is_a_missing_name():
    with pytest.raises(MissingNameError, match=r"pytest\.absent\.anything of pytest .* is missing"):
        private().module("pytest.absent").anything()


def twice(original):
    return lambda *args: (original(*args), original(*args))


def test_a_function_is_replaced_where_it_is_looked_up(library):
    inner, outer = library
    api = private(one=(["pytest.inner_:add"], "x y"))
    api.patch("one", twice)
    assert inner.add(1, 2) == (3, 3)
    assert outer.add(1, 2) == 3
    assert "changes" not in api.disabled


def test_what_is_one_function_in_two_places_stays_one(library):
    inner, outer = library
    private(both=(["pytest.inner_:add", "pytest.outer_:add"],)).patch("both", twice)
    assert inner.add is outer.add


def test_what_is_public_stands_for_a_missing_name(library):
    api = private()
    assert api.or_else("pytest.inner_:gone", max) is max
    assert api.or_else("pytest.inner_:add", max) is library[0].add


def test_a_function_is_replaced_in_all_modules_that_hold_it(library):
    private(every=(["pytest.inner_:add*"],)).patch("every", twice)
    assert [module.add(1, 2) for module in library] == [(3, 3), (3, 3)]
    assert library[0].wrapped(1, 2) == 3, "under its name only"


def test_methods_stay_what_they_are(library):
    kind = library[0].Kind
    names = ("method", "static", "of_class")
    api = private(**{name: ([f"pytest.inner_:Kind.{name}"],) for name in names})
    for name in names:
        api.patch(name, twice)
    assert kind().method(1) == (1, 1)
    assert kind.static(1) == kind().static(1) == (1, 1)
    assert kind.of_class(1) == ((kind, 1), (kind, 1))


def test_a_builtin_becomes_a_name_of_the_module(library):
    private(length=(["pytest.inner_:len"],)).patch(
        "length", lambda original: lambda x: -original(x)
    )
    assert library[0].len("abc") == -3
    assert len("abc") == 3


CHANGED = {
    "another parameter": ((["pytest.inner_:add"], "x z"), r"takes other arguments \(x y\)"),
    "of no known version": ((["pytest.inner_:add"], "a b | x"), r"takes other arguments"),
    "gone": ((["pytest.inner_:subtract"],), "is missing"),
    "gone in one place": ((["pytest.inner_:add", "pytest.outer_:subtract"],), "is missing"),
    "in no version": ((["pytest.inner_:one?", "pytest.inner_:other?"],), "is missing"),
}


@pytest.mark.parametrize("case", CHANGED)
def test_a_function_that_has_changed_stays_and_its_feature_is_off(library, case):
    patch, reason = CHANGED[case]
    api = private(one=patch)
    api.patch("one", twice)
    assert library[0].add(1, 2) == 3
    with pytest.raises(MissingNameError, match=reason):
        api.require("changes")


def test_a_place_of_some_versions_may_be_missing(library):
    patch = (["pytest.inner_:former?", "pytest.inner_:add"], "y x | x y")
    api = private(one=patch)
    api.patch("one", twice)
    assert "changes" not in api.disabled
    assert library[0].add(1, 2) == (3, 3)
