import diastase


def program():
    @diastase.passes.register_pass("round_angles")
    def round_angles(circuit, *, digits):
        return circuit, digits

    diastase.passes.apply_pass("round_angles")
