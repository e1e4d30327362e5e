from diastase import for_loop


def program():
    @for_loop(0, 3, 1)
    def loop(i, total):
        return total + i

    loop.operation  # noqa: B018
