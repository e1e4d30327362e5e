"""A loaded program, ready to be called with flat arguments: one path, whatever arrays are wanted.

In: an executable; for each argument what describes it in a frame (`Placer`), for each result what
makes an array of its descriptor (`Taker`), and the function from flat results to what the user
gets. `diastase` gives those of JAX's arrays, `saved` those of NumPy's. Programs that draw random
numbers get their own seed, or a new one in each call.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

from diastase_runtime.loader import Executable, Placer

Taker = Callable[[Any, list[int], bool, bool], Any]
"""From the reader of a result, the words of all, whether it owns its memory, and whether it is
committed to its device (of which JAX alone knows), to the array."""


class PreparedCall:
    """One compiled program; safe to share by threads."""

    def __init__(
        self,
        executable: Executable,
        placers: Sequence[Placer],
        takers: Sequence[Taker],
        in_pytree: Callable[[Sequence[Any]], Any],
        seed: int | None,
        *,
        is_one_array: bool,
    ) -> None:
        self.executable, self.in_pytree = executable, in_pytree
        self._is_one_array = is_one_array
        self._placers, self._takers = tuple(placers), tuple(takers)
        self._seed = seed

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Run the program."""
        return self.run(leaves, False)

    def run(self, leaves: Sequence[Any], committed: bool) -> Any:
        """The same, with results that are committed to their device or not."""
        executable, seed = self.executable, self._seed
        if not executable.uses_context:
            seed = None
        elif seed is None:
            seed = random.getrandbits(63)
        return executable.run(leaves, seed, self._placers, self._take, committed)

    def flat_results(self, leaves: Sequence[Any], seed: int) -> list[Any]:
        """Run the program with a seed of the caller's; what it gives, before it is a pytree."""
        executable = self.executable
        own = seed if executable.uses_context else None
        return executable.run(leaves, own, self._placers, self._take_all, False)

    def _take(self, words: list[int], committed: bool) -> Any:
        """Make the results of their descriptors."""
        if self._is_one_array:
            return self._takers[0](self.executable.readers[0], words, True, committed)
        return self.in_pytree(self._take_all(words, committed))

    def _take_all(self, words: list[int], committed: bool) -> list[Any]:
        executable = self.executable
        return [
            take(reader, words, own, committed)
            for take, reader, own in zip(
                self._takers, executable.readers, executable.owners(words), strict=True
            )
        ]
