from diastase import qjit


def program():
    @qjit
    def absolute(x):
        if x < 0:
            return -x
        return x

    absolute(-1.0)
