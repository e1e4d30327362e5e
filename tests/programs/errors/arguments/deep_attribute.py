from diastase import qjit


class Node:
    def __init__(self, value, following):
        self.value = value
        self.following = following


class Sequence:
    def __init__(self, count):
        self.first = None
        for value in range(count):
            self.first = Node(value, self.first)

    @qjit
    def scaled(self, x):
        return self.first.value * x


def program():
    Sequence(200).scaled(1.0)
