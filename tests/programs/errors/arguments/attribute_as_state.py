from diastase import qjit


class Sum:
    def __init__(self):
        self.total = 0.0

    @qjit
    def add(self, x):
        self.total = self.total + x
        return self.total


def program():
    Sum().add(1.0)
