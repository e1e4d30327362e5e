from diastase import mitigate_with_zne


def program():
    mitigate_with_zne(3, scale_factors=[1, 3])
