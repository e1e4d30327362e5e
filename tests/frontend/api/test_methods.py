"""Methods, callable objects, and how long instances live."""

import dataclasses
import functools
import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit


class Model:
    traces = 0

    def __init__(self, weight):
        self.weight = weight

    @qjit
    def predict(self, x):
        Model.traces += 1
        return self.weight * x

    @qjit(static_argnums=0)
    def predict_static(self, x):
        return self.weight * x

    @functools.partial(qjit, static_argnums=(0, 2))
    def power(self, x, n):
        return self.weight * x**n

    @qjit(static_argnames="n")
    def power_by_name(self, x, n):
        return self.weight * x**n

    @qjit(static_argnums=-1)
    def power_from_the_end(self, x, n):
        return self.weight * x**n

    @staticmethod
    @qjit
    def double(x):
        return 2 * x


def test_each_instance_has_its_own_programs():
    Model.traces = 0
    first, second = Model(2.0), Model(3.0)
    for _ in range(3):
        assert first.predict(1.0) == 2
        assert second.predict(1.0) == 3
        assert second.predict(x=1.0) == 3
    assert Model.traces == 3
    assert first.predict_static(4.0) == 8
    assert Model.double(3) == 6


def test_static_arguments_of_methods():
    model = Model(2.0)
    for method in (model.power, model.power_by_name, model.power_from_the_end):
        assert method(3.0, 2) == 18
        assert method(3.0, 3) == 54
    assert model.power_by_name(3.0, n=2) == 18


def test_called_through_the_class():
    assert Model.predict_static(Model(2.0), 3.0) == 6


def test_stages_of_a_method():
    model = Model(2.0)
    traced = model.predict.trace(1.5)
    assert traced.lower().compile()(2.0) == 4
    assert "mul" in str(traced.jaxpr)


def test_instances_are_not_kept_alive():
    model = Model(2.0)
    model.predict(1.0)
    model.power(1.0, 2)
    dead = weakref.ref(model)
    del model
    gc.collect()
    assert dead() is None


def test_equal_instances_share_programs():
    traces = []

    @dataclasses.dataclass(frozen=True)
    class Scale:
        factor: float

        @qjit
        def __call__(self, x):
            traces.append(x)
            return self.factor * x

    scales = [Scale(2.0), Scale(2.0), Scale(3.0)]
    assert [float(scale(1.0)) for scale in scales] == [2, 2, 3]
    assert len(traces) == 2


def test_unhashable_instances_are_refused():
    @dataclasses.dataclass
    class Scale:
        factor: float

        @qjit
        def apply(self, x):
            return self.factor * x

    with pytest.raises(TypeError, match="static argument self of apply is a Scale"):
        Scale(2.0).apply(1.0)


@functools.partial(jax.tree_util.register_dataclass, data_fields=["weight"], meta_fields=[])
@dataclasses.dataclass
class Layer:
    weight: jax.Array

    @qjit
    def apply(self, x):
        assert isinstance(self.weight, jax.core.Tracer)
        return self.weight @ x


def test_an_instance_that_is_a_pytree_is_traced():
    layer = Layer(jnp.ones((2, 3)))
    np.testing.assert_array_equal(layer.apply(np.ones(3)), [3, 3])
    layer.weight = 2 * layer.weight
    np.testing.assert_array_equal(layer.apply(np.ones(3)), [6, 6])
    assert layer.apply.eval_shape(np.ones(3)).shape == (2,)


def test_callable_objects_and_bound_methods():
    class Adder:
        def __init__(self, amount):
            self.amount = amount

        def __call__(self, x):
            return x + self.amount

        def subtract(self, x):
            return x - self.amount

    adder = Adder(3)
    assert qjit(adder)(1) == 4
    assert qjit(adder.subtract)(1) == -2
    assert repr(qjit(adder)) == "<qjit Adder(x), not compiled yet>"
