import diastase


def program():
    diastase.qjit(lambda x: x, collect_decomp_rules=False)
