"""Seeds of elements: random numbers that depend on the seed of the map and on the index alone.

SplitMix64 of Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014,
doi:10.1145/2660193.2660195): number `index` of the generator that is started with the mixed seed.
For one seed, different indices have different results; each is the key of a stream of Philox, which
is what programs draw from. So streams of elements are as independent as those of different seeds.
"""

_WORD = 2**64 - 1
_STEP = 0x9E3779B97F4A7C15


def element_seed(seed: int, index: int) -> int:
    """The seed of the program for an element, both below 2**64.

    With repetitions, the index is `element * repeats + repetition`.
    """
    return _mixed(_mixed(seed) + (index + 1) * _STEP & _WORD)


def _mixed(word: int) -> int:
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB & _WORD
    return word ^ word >> 31
