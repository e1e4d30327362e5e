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
