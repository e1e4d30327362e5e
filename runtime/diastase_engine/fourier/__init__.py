"""Discrete Fourier transforms of any length, along any axis, of complex and of real arrays.

A *group* is as many transforms as a vector has lanes, one in each lane: every length has the same
code then, and butterflies need no shuffles (`lanes`, `passes`). One long transform is two groups
of transforms of its factors (`long`); a length with a large prime factor is a convolution
(`plans`). `axis` has what programs call.
"""
