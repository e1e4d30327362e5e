"""What machine code needs of a processor, and what this computer's has, in the words of Linux.

LLVM and `/proc/cpuinfo` have their own names for features. LLVM lists all that a processor has;
what ordinary code never uses (encryption of memory, control of caches) is not asked for, so that a
cluster's nodes need not be alike in it. A feature that we do not know is asked for.
"""

import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

PROCESSORS = Path("/proc/cpuinfo")

_FLAGS = {
    "avxifma": "avx_ifma", "avxneconvert": "avx_ne_convert", "avxvnni": "avx_vnni",
    "avxvnniint16": "avx_vnni_int16", "avxvnniint8": "avx_vnni_int8",
    "avx512bf16": "avx512_bf16", "avx512bitalg": "avx512_bitalg", "avx512fp16": "avx512_fp16",
    "avx512vbmi2": "avx512_vbmi2", "avx512vnni": "avx512_vnni",
    "avx512vp2intersect": "avx512_vp2intersect", "avx512vpopcntdq": "avx512_vpopcntdq",
    "bmi": "bmi1", "lzcnt": "abm", "pclmul": "pclmulqdq", "sahf": "lahf_lm", "sha": "sha_ni",
    "sse3": "pni", "sse4.1": "sse4_1", "sse4.2": "sse4_2",
}  # fmt: skip
"""From LLVM's name to that of Linux, where they differ."""

_EVERY_X86_64 = {"64bit", "cmov", "cx8", "fxsr", "mmx", "sse", "sse2", "x87"}
_UNUSED = {
    "cldemote", "clflushopt", "clwb", "clzero", "crc32", "enqcmd", "fsgsbase", "hreset", "invlpgb",
    "invpcid", "kl", "lwp", "movdir64b", "movdiri", "mwaitx", "pconfig", "pku", "prefetchi",
    "prefetchwt1", "prfchw", "ptwrite", "rdpid", "rdpru", "rdrnd", "rdseed", "rtm", "serialize",
    "sgx", "shstk", "tsxldtrk", "uintr", "usermsr", "waitpkg", "wbnoinvd", "widekl", "xsavec",
    "xsaveopt", "xsaves",
}  # fmt: skip
"""What takes an intrinsic function to use, of which our code has none."""


def platform() -> str:
    """System and machine: `linux-x86_64`."""
    return f"{sys.platform}-{os.uname().machine}"


def needed(llvm_features: str) -> tuple[str, ...]:
    """The flags that a processor must have for code that LLVM made with these features."""
    used = {name[1:] for name in llvm_features.split(",") if name.startswith("+")}
    return tuple(sorted(_FLAGS.get(name, name) for name in used - _EVERY_X86_64 - _UNUSED))


def needed_here(llvm_features: str) -> tuple[str, ...]:
    """The same for code that runs on this computer: what Linux has no word for is not asked for."""
    have = sorted(flags() or ())
    if not platform().endswith("x86_64"):
        return tuple(have)
    names = needed(llvm_features)
    return tuple(name for name in names if name in have) if have else names


@cache
def flags() -> frozenset[str] | None:
    """What this computer's processor has; None where the system does not say."""
    try:
        with PROCESSORS.open() as file:
            for line in file:
                if line.startswith(("flags", "Features")):
                    return frozenset(line.partition(":")[2].split())
    except OSError:
        pass
    return None


def missing(platform_of_code: str, features: Sequence[str]) -> str:
    """What this computer lacks for some code, in words; nothing where it can run."""
    if platform_of_code != platform():
        return f"is {platform()}"
    have = flags()
    if have is None:
        return f"does not say in {PROCESSORS} what its processor has"
    lacks = ", ".join(name for name in features if name not in have)
    return lacks and f"has no {lacks}"
