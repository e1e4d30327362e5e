from diastase import qjit


def program():
    @qjit
    def describe(x):
        return {"value": x, "unit": "hartree"}

    describe(1.0)
