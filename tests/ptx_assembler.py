"""NVIDIA's assembler, `ptxas`, which needs no GPU: what it says of the registers of kernels.

It comes with the package `nvidia-cuda-nvcc`; tests that need it are skipped without.
"""

import re
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from diastase_toolchain.checked.switch import checks

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
"""Of A100, H100 and B200: the driver of each compiles the same text."""

_KERNEL = re.compile(
    r"Compiling entry function '(\w+)' for '\w+'.*?(\d+) bytes spill stores, "
    r"(\d+) bytes spill loads.*?Used (\d+) registers",
    re.DOTALL,
)


@dataclass(frozen=True)
class Usage:
    """What a thread of a kernel has."""

    registers: int
    spilled: int
    """Bytes written and read back for lack of registers."""


def assembler() -> str | None:
    """Where the assembler is, if there is one, and kernels are as they are for a GPU."""
    if checks():
        return None
    packages = Path(sysconfig.get_paths()["purelib"]) / "nvidia"
    found = sorted(packages.glob("*/bin/ptxas"))
    return str(found[-1]) if found else shutil.which("ptxas")


def assembled(text: str, architecture: str, folder: Path) -> dict[str, Usage]:
    """Assemble PTX for an architecture; raises where the assembler refuses it."""
    source, program = folder / f"{architecture}.ptx", assembler()
    assert program is not None
    source.write_text(text)
    command = [program, "-v", f"-arch={architecture}", str(source), "-o", f"{source}.cubin"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return {
        name: Usage(int(registers), int(stored) + int(loaded))
        for name, stored, loaded, registers in _KERNEL.findall(done.stderr)
    }
