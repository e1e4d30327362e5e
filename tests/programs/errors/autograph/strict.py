import diastase


def program():
    diastase.autograph_strict_conversion = True
    try:

        @diastase.qjit(autograph=True)
        def total(x):
            for text in ["1", "2"]:
                x = x + int(text)
            return x

        total(1.0)
    finally:
        diastase.autograph_strict_conversion = False
