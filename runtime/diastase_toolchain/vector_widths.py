"""How many numbers the vectors of this processor have, where functions have forms for vectors."""

from diastase_toolchain import machine_code

_BITS = {"f32": 32, "f64": 64}


def widths(kind: str) -> tuple[int, ...]:
    """Numbers in the vectors of this processor; none where products are not added in one step."""
    return tuple(bits // _BITS[kind] for bits in register_bits())


def register_bits() -> tuple[int, ...]:
    """Sizes of vector registers, for processors that we know to have `fma`."""
    host = machine_code.host_processor()
    features = set(host.features.split(","))
    if host.triple.startswith(("aarch64", "arm64")):
        return (128,)
    if not {"+fma", "+avx2"} <= features:
        return ()
    return (128, 256, 512) if "+avx512f" in features else (128, 256)
