# ruff: noqa: F821
from diastase import qjit


@qjit(autograph=True)
def differences(n):
    total = 0
    for i in range(n):
        total += i - before
        before = i
    return total + before


def program():
    differences(3)
