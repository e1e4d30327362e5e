from diastase import qjit, switch


def program():
    @qjit
    def chosen(n):
        choose = switch(n)(lambda: 0)
        choose.branch(n)(lambda: 1)
        return choose()

    chosen(2)
