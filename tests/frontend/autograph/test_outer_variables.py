"""Variables that others see: of functions around, of modules, attributes of classes and objects."""

import types

import pytest

from diastase import AutoGraphError, qjit

total = 0
module = types.ModuleType("settings_of_a_user")


class Counter:
    count = 0

    def __init__(self):
        self.own = 0

    def add(self):
        self.own += 1

    @staticmethod
    def add_to_all():
        Counter.count += 1


counter = Counter()


def add_to_total():
    global total
    total += 1


def test_variables_of_functions_around_are_carried():
    def f(x):
        n = 0.0
        double = lambda: 2 * n  # noqa: E731

        def add():
            nonlocal n
            for _ in range(3):
                n = n + x
            if n < 10 * x:  # n is read before the branch, but not after it in this function
                n = n * x

        add()
        if x > 1:
            n = n + 1
        return n, double()

    compiled = qjit(f, autograph=True)
    assert compiled(2.0) == f(2.0) == (13.0, 26.0)
    assert compiled(0.5) == f(0.5) == (0.75, 1.5)
    assert "for_loop[" in str(compiled.jaxpr)
    assert "branch" in str(compiled.jaxpr)


@pytest.mark.filterwarnings("ignore:Tracing of an AutoGraph")
def test_loops_that_change_what_outlives_the_program_are_unrolled():
    global total
    module.count, closed_over = 0, 0

    def f(x):
        global total
        nonlocal closed_over
        for _ in range(3):
            total += 1
        for _ in range(3):
            closed_over += 1
        for _ in range(3):
            Counter.count += 1
            counter.own += 1
            module.count += 1
        for _ in range(2):
            add_to_total()
            Counter.add_to_all()
            counter.add()
        return x + total + closed_over + counter.own

    assert qjit(f, autograph=True)(1.0) == 14.0
    assert (total, closed_over, module.count) == (5, 3, 3)
    assert (counter.own, Counter.count) == (5, 5)


def test_branches_that_are_known_assign_globals():
    global total

    def f(x):
        global total
        if x.ndim == 0:
            total = 7
        for letter in "ab":
            total = letter
        return x

    qjit(f, autograph=True)(1.0)
    assert total == "b"
    total = 0


@pytest.mark.parametrize("change", [add_to_total, Counter.add_to_all, counter.add])
def test_branches_on_traced_values_change_nothing_that_outlives_the_program(change):
    def f(x):
        if x > 0:
            change()
        return x

    before = total, Counter.count, counter.own
    with pytest.raises(AutoGraphError, match="is changed in code that may run many times"):
        qjit(f, autograph=True)(1.0)
    assert before == (total, Counter.count, counter.own)


def two_names_changed(x):
    first = [x, 1.0]
    second = first
    total = 0.0
    for _ in range(2):
        first[0] += 1
        second[0] += 10
        total += first[0]
    return first, second, total


def two_names_one_read(x):
    first = [x, 1.0]
    pair = (first, first)
    total = 0.0
    for _ in range(3):
        first[0] += 1
        total += pair[1][0]
    return first, pair, total


def a_name_given_in_the_loop(x):
    first, second = [x, 1.0], [0.0, 0.0]
    total = 0.0
    for _ in range(3):
        first[0] += 1
        total += second[0]
        second = first
    return first, second, total


@pytest.mark.filterwarnings("ignore:Tracing of an AutoGraph")
@pytest.mark.parametrize(
    "program", [two_names_changed, two_names_one_read, a_name_given_in_the_loop]
)
def test_a_list_with_two_names_is_one_list(program):
    assert qjit(program, autograph=True)(2.0) == program(2.0)


def test_a_list_with_two_names_is_not_changed_in_a_branch():
    @qjit(autograph=True)
    def f(x):
        first = [x, 1.0]
        second = first
        if x > 0:
            first[0] = 5.0
            second[1] = 7.0
        return first

    with pytest.raises(AutoGraphError, match="with two names is changed"):
        f(2.0)


def test_what_closures_read_is_not_dropped():
    class Slots:
        __slots__ = ("count", "more")

        def __init__(self):
            self.count = 0

        def add(self):
            self.count += 1
            self.more = 2

    def f(x):
        n, functions, slots = 1.0, [], Slots()

        class Reader:
            def read(self):
                return n

        functions.append(lambda: n)
        products = (n * i for i in range(3))
        if x > 0:
            n = x
        for _ in range(3):
            slots.add()
        return functions[0](), Reader().read(), sum(products), slots.count + slots.more

    compiled = qjit(f, autograph=True)
    with pytest.warns(match="slots is changed"):
        assert compiled(2.0) == f(2.0) == (2.0, 2.0, 6.0, 5)
    assert compiled(-2.0) == f(-2.0) == (1.0, 1.0, 3.0, 5)


@pytest.mark.filterwarnings("ignore:Tracing of an AutoGraph")
def test_setters_are_called_as_often_as_python_does():
    class Measured:
        def __init__(self):
            self._value, self.times = 0.0, 0

        @property
        def value(self):
            return self._value

        @value.setter
        def value(self, value):
            self._value = value
            self.times = self.times + 1

    def f(x):
        measured = Measured()
        for _ in range(3):
            measured.value = measured.value + x
        return measured.value, measured.times

    assert qjit(f, autograph=True)(2.0) == f(2.0) == (6.0, 3)


class Items(list):
    pass


items = Items([1.0, 2.0])


def test_objects_that_are_lists_too_are_as_they_were():
    @qjit(autograph=True)
    def f(x):
        return x + items[0] if x > 0 else x

    assert (f(2.0), items) == (3.0, [1.0, 2.0])


def test_variables_of_functions_around_are_not_changed_by_functions_that_branches_call():
    @qjit(autograph=True)
    def f(x):
        n = 0.0

        def add():
            nonlocal n
            n = n + x

        if x > 0:
            add()
        return n

    with pytest.raises(AutoGraphError, match="n is changed in code that may run many times"):
        f(2.0)
