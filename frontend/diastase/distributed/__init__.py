"""A compiled function on every element of a batch: on a Dask cluster, or in this process.

parts_of_shots   a compiled QNode with fewer shots, and its results put together again
mapping          `map`
"""

from diastase.distributed.mapping import map

__all__ = ["map"]
