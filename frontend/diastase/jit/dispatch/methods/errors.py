"""Errors about what compiled methods read of their objects."""

from typing import ClassVar

from diastase_runtime.errors import DiastaseError


class DeepAttributeError(DiastaseError, RecursionError):
    """An attribute that a compiled method reads, with too many objects inside of each other.

        @qjit
        def first(self, x):
            return self.linked_list.value * x

    A compiled method compares the attributes that it reads with what they were when it was
    compiled, down to the last object in them. Pass what the method needs as an argument, or keep
    it in an attribute of its own.
    """

    title: ClassVar[str] = "Attribute too deep"
    message: ClassVar[str] = (
        "attribute {attribute} of {owner} has more than {levels} levels of objects inside of each "
        "other, too many to see whether one has changed"
    )
    help: ClassVar[str] = "keep what the method reads in an attribute of its own, or pass it"
    attribute: str
    owner: str
    levels: int


class TracedAttributeError(DiastaseError, TypeError):
    """A compiled method reads an attribute of its object, which then holds a traced value.

        @qjit
        def step(self, x):
            self.total = self.total + x
            return self.total

    Python runs the method once, while it is traced, so calls would not see what earlier ones have
    set. Pass the value as an argument and return it; set the attribute where the method is called.
    An array that is made once and kept is traced, too, if `jax.numpy` makes it: make it in
    `__init__`, or with NumPy.
    """

    title: ClassVar[str] = "A compiled method has no state"
    message: ClassVar[str] = (
        "attribute {attribute} of {owner} is read, and then holds a traced value: later calls "
        "would not see it"
    )
    label: ClassVar[str] = "reads '{attribute}'"
    help: ClassVar[str] = (
        "pass {attribute} as an argument, return its new value, and set it where the method is "
        "called; make a constant in __init__, or with NumPy"
    )
    attribute: str
    owner: str
