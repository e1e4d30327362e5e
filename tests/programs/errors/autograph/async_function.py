from diastase import qjit


@qjit(autograph=True)
async def f(x):
    return x


def program():
    f(1.0)
