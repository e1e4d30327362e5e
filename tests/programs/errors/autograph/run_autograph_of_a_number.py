from diastase import run_autograph


def program():
    run_autograph(3)
