"""The engine of small state vectors side by side: each register is one lane of vectors.

A *lane register* holds K registers of the same wires (K a multiple of 8, `records.WIDTH`), which
have the same gates on the same wires at the same time, each with its own parameters, outcomes and
random numbers. Vectors go across registers, so no amplitude moves within one, and a sine costs an
eighth. Registers whose lane is not *active* (`memory.activate`) are left alone: control flow that
differs from lane to lane is a mask.

`exports` has the C functions. The handle is a `State` of `state_vector`, so that a call releases it
as any other.
"""
