"""A saved function on every element of a batch: on a Dask cluster, or in this process.

    errors      what is wrong with a batch, a client, a worker, an element
    batches     pytrees of arrays that share their first axis
    seeds       random numbers of an element, by its index
    elements    a function on a range of elements, one after the other
    workers     what runs on workers: the function loaded once in a process, a chunk of elements
    threads     how many threads programs have meanwhile
    chunks      how many elements make a task
    results     results of chunks, as one
    fitness     whether scheduler and workers have this package
    futures     chunks on a cluster: given out, waited for, and what became of them
    mapping     `map`

What is computed depends on the function, the batch, the seed and the number of threads of a
program; not on the cluster, nor on how the batch is cut. Workers need this package and NumPy.
"""

from diastase_runtime.distributed.mapping import map, map_content

__all__ = ["map", "map_content"]
