from diastase import qjit


@qjit(autograph=True)
def label(x):
    if x > 5:
        y = "large"
    else:
        y = "small"
    return y


def program():
    label(0.5)
