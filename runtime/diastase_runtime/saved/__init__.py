"""Saved functions: compiled programs in a file, loaded and called where there is only NumPy.

    file          the zip archive: members with checksums, written at once or not at all
    manifest      what is in it, as JSON: programs with types and pytrees, targets with libraries
    pytrees       nested arguments and results, without JAX
    processors    what a target's machine code needs of a processor, and what this one has
    function      `load`: from a path to a function of arrays

A saved function is machine code, and is run with the rights of the process that loads it.
"""
