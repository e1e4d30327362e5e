from diastase import qjit

namespace = {}
exec("def sign(x):\n    return 1 if x > 0 else -1\n", namespace)


def program():
    qjit(namespace["sign"], autograph=True)(1.0)
