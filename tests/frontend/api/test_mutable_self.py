"""A changed attribute of `self` is another program; one that the method does not read is not."""

import collections
import dataclasses
import gc
import types
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import grad, qjit


class Base:
    depth = 2
    __slots__ = ("slot",)


class Part:
    scale = 1.0

    def __init__(self, parent):
        self.a = 2.0
        self.parent = parent
        self.itself = [self]


class Narrow:
    __slots__ = ("__hidden", "a")

    def __init__(self):
        self.a = self.__hidden = 3.0

    def hidden(self):
        return self.__hidden

    def hide(self, value):
        self.__hidden = value


@dataclasses.dataclass(slots=True)
class Options:
    rate: float = 0.5
    unset: float = dataclasses.field(init=False)


class Model(Base):
    def __init__(self):
        self.part = Part(self)
        self.parts = [Part(self), Narrow()]
        self.slotted = Options()
        self.objects = np.array([1.0, 2.0], dtype=object)
        self.masked = np.ma.masked_array([1.0, 2.0], [False, False])
        self.queue = collections.deque([1.0])
        self.traces = []
        self.slot = 4.0
        self.weight = 2.0
        self.items = [1.0, 2.0]
        self.named = {"a": {1.0}}
        self.array = np.ones(3)
        self.long = np.ones(1000)
        self.jax = jnp.ones(3)
        self.options = types.SimpleNamespace(rate=0.1, inner=types.SimpleNamespace(k=1))
        self.itself = self

    @property
    def first(self):
        return self._first()

    def _first(self):
        return self.items[0]

    def value(self, x):
        parts = (self.array.sum(), self.long.sum(), self.jax.sum(), self.options.inner.k)
        parts += (self.itself.slot, *self.named["a"], getattr(self, "absent", 0.0) or 9.0)
        parts += (self.part.a * self.part.scale, self.parts[0].a, self.parts[1].a)
        parts += (self.parts[1].hidden(), self.slotted.rate, getattr(self.slotted, "unset", 1.0))
        parts += (self.objects[0], float(self.masked.sum()), self.queue[0])
        return self.weight * x + self.first + self.depth + sum(parts)

    @qjit
    def predict(self, x):
        traces.append(x)
        return self.value(x)

    @qjit
    def shifted(self, x):
        return vars(self)["weight"] + x


traces = []

CHANGES = {
    "a number": lambda model: setattr(model, "weight", 3.0),
    "its type": lambda model: setattr(model, "weight", 3),
    "its sign": lambda model: setattr(model, "slot", -4.0),
    "an item": lambda model: model.items.__setitem__(0, 7.0),
    "a set in a dictionary": lambda model: model.named["a"].add(5.0),
    "an element": lambda model: model.array.__setitem__(1, 9.0),
    "an element of many": lambda model: model.long.__setitem__(999, 9.0),
    "a JAX array": lambda model: setattr(model, "jax", model.jax * 2),
    "an attribute of an attribute": lambda model: setattr(model.options.inner, "k", 5),
    "one that was not there": lambda model: setattr(model, "absent", None),
    "of a user's object": lambda model: setattr(model.part, "a", 3.0),
    "of its class, hidden": lambda model: setattr(model.part, "scale", 3.0),
    "of an object in a list": lambda model: setattr(model.parts[0], "a", 3.0),
    "a slot": lambda model: setattr(model.parts[1], "a", 4.0),
    "a private slot": lambda model: model.parts[1].hide(5.0),
    "a slot of a dataclass": lambda model: setattr(model.slotted, "rate", 0.7),
    "one that had no value": lambda model: setattr(model.slotted, "unset", 0.7),
    "an element that is an object": lambda model: model.objects.__setitem__(0, 3.0),
    "a mask": lambda model: model.masked.mask.__setitem__(0, True),
    "the end of a queue": lambda model: model.queue.appendleft(5.0),
    "another object": lambda model: setattr(model, "part", Part(model)),
}


def test_what_changes_is_seen():
    model, other = Model(), Model()
    for count, change in enumerate([lambda model: None, *CHANGES.values()], start=1):
        change(model)
        traces.clear()
        for _ in range(2):
            np.testing.assert_allclose(model.predict(0.5), model.value(0.5), err_msg=str(count))
        assert len(traces) == 1
    np.testing.assert_allclose(other.predict(0.5), other.value(0.5))
    assert "__getattribute__" not in vars(Model)


def test_programs_are_found_again_and_what_is_not_read_does_not_matter():
    model = Model()
    model.predict(0.5)
    model.weight = 3.0
    model.predict(0.5)
    traces.clear()
    for weight in (2.0, 3.0, 2.0):
        model.weight = weight
        model.traces.append(weight)
        model.other = weight
        np.testing.assert_allclose(model.predict(0.5), model.value(0.5))
    assert not traces


def test_what_the_method_sets_itself_does_not_compile_it_again():
    class Counting:
        calls, weight = 0, 2.0

        @qjit
        def scaled(self, x):
            self.calls += 1
            return self.weight * x

    counting = Counting()
    for x in (1.0, 2.0, np.ones(2), 3.0):
        np.testing.assert_array_equal(counting.scaled(x), 2 * x)
    assert counting.calls == 2
    counting.weight = 3.0
    assert (counting.scaled(1.0), counting.calls) == (3.0, 3)


def test_what_the_method_fills_may_be_changed_later():
    class Filling:
        grid, shape, traces = None, None, 0

        @qjit
        def scaled(self, x):
            self.traces += 1
            self.shape = x.shape
            if self.grid is None:
                self.grid = np.arange(2.0)
            return self.grid.sum() * x + len(self.shape)

    filling = Filling()
    for x in (1.0, np.ones(2), 2.0, np.ones(2)):
        np.testing.assert_array_equal(filling.scaled(x), x + np.ndim(x))
    assert filling.traces == 2
    filling.grid = np.array([5.0])
    assert (filling.scaled(1.0), filling.traces) == (5.0, 3)


def test_attributes_of_the_class_and_the_dictionary_of_all():
    model = Model()
    before = model.predict(0.5)
    Base.depth = 5
    Part.scale = 2.0
    try:
        np.testing.assert_allclose(model.predict(0.5), before + 3 + model.part.a)
    finally:
        Base.depth = 2
        Part.scale = 1.0
    assert model.shifted(1.0) == 3
    model.weight = 7.0
    assert model.shifted(1.0) == 8


def test_an_object_and_what_is_known_of_it_die_with_it():
    model = Model()
    model.predict(0.5)
    model.predict.clear_cache()
    np.testing.assert_allclose(model.predict(0.5), model.value(0.5))
    alive = weakref.ref(model)
    del model
    traces.clear()
    gc.collect()
    assert alive() is None


def test_derivatives_and_transformations():
    model = Model()

    def derivatives():
        inside = qjit(grad(lambda x: model.predict(x)))(0.5)
        return inside, jax.grad(model.predict)(0.5), jax.vmap(model.predict)(jnp.zeros(2))

    for weight in (2.0, 5.0):
        model.weight = weight
        inside, around, batch = derivatives()
        assert (inside, around) == (weight, weight)
        np.testing.assert_allclose(batch, [model.value(0.0)] * 2)


class Adder:
    def __init__(self, amount):
        self.amount = amount

    def __call__(self, x):
        return x + self.amount

    def subtract(self, x: float):
        return x - self.amount


@pytest.mark.parametrize(("compile_it", "sign"), [(qjit, 1), (lambda a: qjit(a.subtract), -1)])
def test_callable_objects_and_bound_methods(compile_it, sign):
    adder = Adder(3)
    compiled = compile_it(adder)
    for amount in (3, 4.5):
        adder.amount = amount
        assert compiled(1.0) == 1 + sign * amount


class Cell:
    def __init__(self):
        self.state, self.latest = 1.0, None

    @qjit
    def kept(self, x):
        self.state = self.state * x
        return self.state

    @qjit
    def intermediate(self, x):
        self.latest = 2 * x
        return self.latest + self.state


def test_state_is_refused_but_not_what_is_set_before_it_is_read():
    cell = Cell()
    with pytest.raises(TypeError, match="attribute state of Cell is read, and then holds"):
        cell.kept(2.0)
    assert cell.state == 1.0
    assert (cell.intermediate(3.0), cell.intermediate(4)) == (7.0, 9.0)
    assert qjit(lambda x: cell.kept(x) + cell.kept(x))(3.0) == 12.0


class Slotted:
    __slots__ = ("__weakref__", "total")


class Nothing:
    pass


def add_to_slot(self, x):
    self.total = self.total + x
    return self.total


def add_to_item(self, x):
    self.kept["total"] = [self.kept["total"][0] + x]
    return self.kept["total"][0]


def add_to_part(self, x):
    self.part.new = x
    self.part.total = self.part.total + x
    return self.part.total


def add_to_list(self, x):
    self.new = x
    self.items.append(x)
    return sum(self.items)


def add_to_class(self, x):
    self.shared = self.shared + x
    return self.shared


def add_to_absent(self, x):
    if not hasattr(self, "first"):
        self.first = x
    self.first = self.first + x
    return self.first


def fill_constant(self, x):
    if self.constant is None:
        self.constant = jnp.eye(2)
    return self.constant * x


STATE = {
    "total": add_to_slot, "kept": add_to_item, "part": add_to_part, "items": add_to_list,
    "shared": add_to_class, "first": add_to_absent, "constant": fill_constant,
}  # fmt: skip


@pytest.mark.parametrize("name", STATE)
def test_state_is_refused_wherever_it_is_and_nothing_of_it_stays(name):
    class Owner(Slotted):
        shared = 1.0

        def __init__(self):
            self.total, self.kept, self.items, self.part = 1.0, {"total": [1.0]}, [1.0], Nothing()
            self.part.total, self.constant = 1.0, None

        run = qjit(STATE[name])

    owner = Owner()
    with pytest.raises(TypeError, match=f"attribute {name} of .*Owner is read") as error:
        owner.run(2.0)
    assert "in __init__, or with NumPy" in str(error.value)
    assert (owner.total, owner.kept, owner.items) == (1.0, {"total": [1.0]}, [1.0])
    assert (vars(owner.part), owner.shared, owner.constant) == ({"total": 1.0}, 1.0, None)
    assert vars(owner).keys() == {"kept", "items", "part", "constant"}
