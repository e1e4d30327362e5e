from diastase import qjit


@qjit
def energy(x):
    print(f"energy: {x:.3f}")
    return x**2


def program():
    energy(0.5)
