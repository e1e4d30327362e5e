from diastase import accelerate


def program():
    accelerate(lambda x, unit: x)(1.0, "cm")
