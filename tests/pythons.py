"""The Pythons of this computer, for checks in environments of their own."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path


def pythons(versions: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each of these versions that runs, and its interpreter; pyenv's shims name others, too."""
    homes = Path.home() / ".pyenv" / "versions"
    for version in versions:
        found = [shutil.which(f"python{version}")]
        found += [str(home / "bin" / "python") for home in homes.glob(f"{version}.*")]
        for command in filter(None, found):
            if subprocess.run([command, "-c", ""], capture_output=True).returncode == 0:
                yield version, command
                break
