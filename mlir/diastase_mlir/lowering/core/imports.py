"""What programs ask of functions that they do not hold: passes import these."""

from diastase_runtime.abi import ImportedLibrary


class Imports:
    """How often a function of each library was asked for so far."""

    def __init__(self) -> None:
        self._asked_for: dict[str, int] = {}

    @property
    def counts(self) -> dict[str, int]:
        """The numbers, by the name of the library."""
        return dict(self._asked_for)

    def note(self, library: ImportedLibrary) -> None:
        """Count a function that a pass will import."""
        self._asked_for[library] = self._asked_for.get(library, 0) + 1
