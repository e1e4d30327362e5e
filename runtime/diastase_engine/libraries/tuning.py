"""Numbers that fit the engine to a processor: parameters of its generation.

In: LLVM's description of the processor. Out: the settings of the kernels. All but
the precision decide about speed only; a test runs the engine with others.

* `slots`: a tile holds 2^slots blocks of 16 numbers in registers. AVX-512 has room for eight
  blocks, the coefficients and what is being computed; AVX2 and NEON for two (four or eight were
  measured to be slower, as registers are spilled).
* `single`: 1 for amplitudes in single precision, whose vectors have twice as many lanes.
* `chunk_bits`: 2^chunk_bits amplitudes are half of the second-level cache; the other
  half is for the plan, and for the part of the state from which a chunk is fetched.
"""

from pathlib import Path

from diastase_toolchain.processor import HostProcessor

_CACHE_SIZE = Path("/sys/devices/system/cpu/cpu0/cache/index2/size")
_DEFAULT_CACHE_BYTES = 1 << 20
"""Where the system does not say: what most processors have at least."""
_SMALLEST_CHUNK, _LARGEST_CHUNK = 12, 17
"""In double precision; of a chunk in single precision the bytes are the same."""
_AMPLITUDE_BYTES = 16


def settings_for(host: HostProcessor, *, single: bool = False) -> dict[str, int]:
    """Return the settings of the kernels for a processor, with this machine's caches."""
    wide_registers = "+avx512f" in host.features.split(",")
    chunk_bits = (_cache_bytes() // 2 // _AMPLITUDE_BYTES).bit_length() - 1
    return {
        "slots": 3 if wide_registers else 1,
        "chunk_bits": min(max(chunk_bits, _SMALLEST_CHUNK), _LARGEST_CHUNK) + single,
        "single": int(single),
    }


def _cache_bytes() -> int:
    """Size of the second-level cache, where Linux says so."""
    try:
        text = _CACHE_SIZE.read_text().strip()
    except OSError:
        return _DEFAULT_CACHE_BYTES
    return (
        int(text[:-1]) << 10 if text[:-1].isdigit() and text.endswith("K") else _DEFAULT_CACHE_BYTES
    )
