"""Programs of the matrix that do not pass yet, and what they give; to become empty."""

WAITING: dict[str, str] = {
    "random_numbers: choice": "TracedConditionError",
    "random_numbers: choice with weights": "TracedConditionError",
    "random_numbers: choice without replacement": "TracedConditionError",
    "random_numbers: permutation": "UnknownSizeUnsupportedError",
    "random_numbers: permutation of rows": "compiles 6 times",
    "random_numbers: permutation, independent": "compiles 6 times",
    "linear_algebra: toeplitz": "compiles 2 times",
}
