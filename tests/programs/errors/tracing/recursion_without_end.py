from diastase import qjit


def program():
    def countdown(x):
        return countdown(x - 1)

    qjit(countdown)(3.0)
