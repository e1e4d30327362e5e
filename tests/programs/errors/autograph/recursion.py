from diastase import qjit


@qjit(autograph=True)
def factorial(n):
    if n <= 1:
        return 1
    return n * factorial.original_function(n - 1)


def program():
    factorial(5)
