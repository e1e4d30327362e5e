"""One pass of a transform of mixed radix over a group, by Stockham: it sorts as it goes.

With `length = radix * m` still to be transformed in `s` interleaved parts, and `w` a primitive root
of unity of that order, a pass computes

    target[q + s * (radix * p + k)] = w**(p * k) * sum_j source[q + s * (p + m * j)] u**(j * k)

for all p < m, q < s, where `u` is a root of order `radix`.
"""

from math import cos, pi, sin, sqrt

from diastase_engine.language import *

RADICES = (8, 4, 2, 3, 5, 7, 11, 13)
LARGEST = 61
"""Radix; from here on a convolution is faster."""
_OUTPUTS = {8: (0, 2, 4, 6, 1, 3, 5, 7)}
"""Where an in-place transform leaves its results, if not in order."""
_HALF = sqrt(0.5)


def _output(radix: int, k: int) -> int:
    return _OUTPUTS[radix][k] if radix in _OUTPUTS else k


def _cosine(radix: int, k: int) -> float:
    return -0.5 if radix == 3 and k % 3 else cos(2 * pi * (k % radix) / radix)


def _sine(radix: int, k: int) -> float:
    return sin(2 * pi * (k % radix) / radix)


@inline
def two(re: list[vector], im: list[vector], a: i64, b: i64) -> None:
    """Transform two elements."""
    x, y = re[a], im[a]
    u, v = re[b], im[b]
    re[a], im[a] = x + u, y + v
    re[b], im[b] = x - u, y - v


@inline
def four(re: list[vector], im: list[vector], a: i64, b: i64, c: i64, d: i64) -> None:
    """Transform four elements."""
    two(re, im, a, c)
    two(re, im, b, d)
    x, y = re[a], im[a]
    u, v = re[b], im[b]
    f, g = re[c], im[c]
    p, q = re[d], im[d]
    re[a], im[a] = x + u, y + v
    re[c], im[c] = x - u, y - v
    re[b], im[b] = f + q, g - p
    re[d], im[d] = f - q, g + p


@inline
def eight(re: list[vector], im: list[vector]) -> None:
    """Transform eight elements; results are where `_OUTPUTS` says."""
    four(re, im, 0, 2, 4, 6)
    four(re, im, 1, 3, 5, 7)
    x, y = re[3], im[3]
    re[3], im[3] = (x + y) * _HALF, (y - x) * _HALF
    u, v = re[5], im[5]
    re[5], im[5] = v, -u
    p, q = re[7], im[7]
    re[7], im[7] = (q - p) * _HALF, (p + q) * -_HALF
    for k in static((0, 2, 4, 6)):
        two(re, im, k, k + 1)


@inline
def odd(re: list[vector], im: list[vector], radix: i64) -> None:
    """Transform an odd number of elements, by pairs of which one is the other's conjugate."""
    half = radix // 2
    real_sums, imaginary_sums = registers(vector, half + 1), registers(vector, half + 1)
    real_rests, imaginary_rests = registers(vector, half + 1), registers(vector, half + 1)
    x, y = re[0], im[0]
    real_total, imaginary_total = re[0], im[0]
    for j in static(range(1, half + 1)):
        real_sums[j], imaginary_sums[j] = re[j] + re[radix - j], im[j] + im[radix - j]
        real_rests[j], imaginary_rests[j] = re[j] - re[radix - j], im[j] - im[radix - j]
        real_total += real_sums[j]
        imaginary_total += imaginary_sums[j]
    re[0], im[0] = real_total, imaginary_total
    for k in static(range(1, half + 1)):
        a, b = x + real_sums[1] * _cosine(radix, k), y + imaginary_sums[1] * _cosine(radix, k)
        c, d = imaginary_rests[1] * _sine(radix, k), real_rests[1] * _sine(radix, k)
        for j in static(range(2, half + 1)):
            a += real_sums[j] * _cosine(radix, j * k)
            b += imaginary_sums[j] * _cosine(radix, j * k)
            c += imaginary_rests[j] * _sine(radix, j * k)
            d += real_rests[j] * _sine(radix, j * k)
        re[k], im[k] = a + c, b - d
        re[radix - k], im[radix - k] = a - c, b + d


@inline
def transform(re: list[vector], im: list[vector], radix: i64) -> None:
    """Transform as many elements as there are."""
    if radix == 2:
        two(re, im, 0, 1)
    elif radix == 4:
        four(re, im, 0, 1, 2, 3)
    elif radix == 8:
        eight(re, im)
    else:
        odd(re, im, radix)


@inline
def butterfly(
    source: ptr[vector], target: ptr[vector], m: i64, s: i64, at: i64, to: i64, roots: ptr[stored],
    radix: i64, is_first: i1,
) -> None:  # fmt: skip
    """One butterfly, from elements `at`, `at + s * m` ... to elements `to`, `to + s` ..."""
    re, im = registers(vector, radix), registers(vector, radix)
    for j in static(range(radix)):
        re[j], im[j] = source[2 * (at + s * m * j)], source[2 * (at + s * m * j) + 1]
    transform(re, im, radix)
    for k in static(range(radix)):
        place = _output(radix, k)
        x, y = re[place], im[place]
        if k > 0 and not is_first:
            c, d = broadcast(roots[2 * k - 2]), broadcast(roots[2 * k - 1])
            u, v = x * c - y * d, x * d + y * c
            target[2 * (to + s * k)], target[2 * (to + s * k) + 1] = u, v
        else:
            target[2 * (to + s * k)], target[2 * (to + s * k) + 1] = x, y


@inline
def run(
    source: ptr[vector], target: ptr[vector], m: i64, s: i64, roots: ptr[stored], radix: i64
) -> None:
    """A pass; where p is 0 all powers of `w` are 1."""
    for q in range(s):
        butterfly(source, target, m, s, q, q, roots, radix, True)
    for p in range(1, m):
        powers = roots + 2 * (radix - 1) * p
        for q in range(s):
            butterfly(source, target, m, s, q + s * p, q + s * radix * p, powers, radix, False)


@kernel
def pass_2(s: ptr[vector], t: ptr[vector], m: i64, step: i64, roots: ptr[stored]) -> None:
    """A pass of radix 2."""
    run(s, t, m, step, roots, 2)


@kernel
def pass_3(s: ptr[vector], t: ptr[vector], m: i64, step: i64, roots: ptr[stored]) -> None:
    """A pass of radix 3."""
    run(s, t, m, step, roots, 3)


@kernel
def pass_4(s: ptr[vector], t: ptr[vector], m: i64, step: i64, roots: ptr[stored]) -> None:
    """A pass of radix 4."""
    run(s, t, m, step, roots, 4)


@kernel
def pass_5(s: ptr[vector], t: ptr[vector], m: i64, step: i64, roots: ptr[stored]) -> None:
    """A pass of radix 5."""
    run(s, t, m, step, roots, 5)


@kernel
def pass_7(s: ptr[vector], t: ptr[vector], m: i64, step: i64, roots: ptr[stored]) -> None:
    """A pass of radix 7."""
    run(s, t, m, step, roots, 7)


@kernel
def pass_8(s: ptr[vector], t: ptr[vector], m: i64, step: i64, roots: ptr[stored]) -> None:
    """A pass of radix 8."""
    run(s, t, m, step, roots, 8)


@kernel
def pass_11(s: ptr[vector], t: ptr[vector], m: i64, step: i64, roots: ptr[stored]) -> None:
    """A pass of radix 11."""
    run(s, t, m, step, roots, 11)


@kernel
def pass_13(s: ptr[vector], t: ptr[vector], m: i64, step: i64, roots: ptr[stored]) -> None:
    """A pass of radix 13."""
    run(s, t, m, step, roots, 13)


PASSES = {
    2: pass_2, 3: pass_3, 4: pass_4, 5: pass_5, 7: pass_7, 8: pass_8, 11: pass_11, 13: pass_13,
}  # fmt: skip


@kernel
def pass_any(
    radix: i64, s: ptr[vector], t: ptr[vector], m: i64, step: i64, roots: ptr[stored]
) -> None:
    """A pass of any odd radix, as `odd`; the roots of its order come before those of the pass."""
    half = radix >> 1
    sums, rests = stack_array(vector, LARGEST + 1), stack_array(vector, LARGEST + 1)
    for p in range(m):
        powers = roots + 2 * (radix + (radix - 1) * p)
        for q in range(step):
            source, target = s + 2 * (q + step * p), t + 2 * (q + step * radix * p)
            x, y = source[0], source[1]
            total: vector = x
            imaginary_total: vector = y
            for j in range(1, half + 1):
                near, far = source + 2 * step * m * j, source + 2 * step * m * (radix - j)
                sums[2 * j], sums[2 * j + 1] = near[0] + far[0], near[1] + far[1]
                rests[2 * j], rests[2 * j + 1] = near[0] - far[0], near[1] - far[1]
                total += sums[2 * j]
                imaginary_total += sums[2 * j + 1]
            target[0], target[1] = total, imaginary_total
            for k in range(1, half + 1):
                a: vector = x
                b: vector = y
                c: vector = broadcast(0.0)
                d: vector = broadcast(0.0)
                power: i64 = 0
                for j in range(1, half + 1):
                    power = power + k if power + k < radix else power + k - radix
                    u, v = broadcast(roots[2 * power]), broadcast(roots[2 * power + 1])
                    a += sums[2 * j] * u
                    b += sums[2 * j + 1] * u
                    c += rests[2 * j + 1] * v
                    d += rests[2 * j] * v
                put(target, step * k, a - c, b + d, powers + 2 * (k - 1), p)
                put(target, step * (radix - k), a + c, b - d, powers + 2 * (radix - k - 1), p)


@inline
def put(target: ptr[vector], place: i64, x: vector, y: vector, power: ptr[stored], p: i64) -> None:
    """Write an element, rotated."""
    if p == 0:
        target[2 * place], target[2 * place + 1] = x, y
    else:
        c, d = broadcast(power[0]), broadcast(power[1])
        target[2 * place], target[2 * place + 1] = x * c - y * d, x * d + y * c


@kernel
def run_pass(
    radix: i64, source: ptr[vector], target: ptr[vector], m: i64, step: i64, roots: ptr[stored]
) -> None:
    """A pass of any radix that there is."""
    for known in static(RADICES):
        if radix == known:
            PASSES[known](source, target, m, step, roots)
            return
    pass_any(radix, source, target, m, step, roots)
