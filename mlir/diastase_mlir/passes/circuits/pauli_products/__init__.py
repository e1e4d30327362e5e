"""Circuits as rotations about Pauli words and measurements of Pauli words, and passes on these.

    exp(-i angle/2 P)    angle  pi/4, 3 pi/4, …   a T gate about P, the "pi/8 rotation" of papers
                                pi/2, 3 pi/2, …   Clifford, a "pi/4 rotation"
                                pi                P itself, a "pi/2 rotation"

`to_ppr` makes all gates such rotations; `commute_ppr` moves Clifford ones to the end of each
block, `merge_ppr_ppm` through measurements, too; `reduce_t_depth` puts the others into layers that
commute; `ppr_to_ppm` makes them measurements.

Litinski, "A Game of Surface Codes", arXiv:1808.02892, is where all of this is from.
"""
