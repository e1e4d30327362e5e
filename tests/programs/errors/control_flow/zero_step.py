from diastase import for_loop, qjit


def program():
    @qjit
    def count(step):
        @for_loop(0, 10, step)
        def body(i, total):
            return total + i

        return body(0)

    count(0)
