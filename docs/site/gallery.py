"""The gallery: programs of `examples/`, run when the site is built, with the pictures they draw.

An example that fails stops the build, with what it printed.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sources import ROOT

EXAMPLES = {
    "lih_vqe": {
        "lih_vqe": (
            "Lithium hydride",
            "Ten qubits, 24 excitations, Adam: the whole training is one compiled program.",
        ),
    },
    "qaoa_maxcut": {
        "qaoa_maxcut": (
            "Largest cut of a graph",
            "QAOA of 14 nodes, trained and sampled, beside the largest cut by trying all.",
        ),
    },
    "digits_classifier": {
        "digits_classifier": (
            "Handwritten digits",
            "A data-reuploading classifier of six qubits for ten classes, batched by `vmap`.",
        ),
    },
    "noise": {
        "noise_fidelity": (
            "Decay of a GHZ state",
            "Density matrices beside trajectories, with two standard errors.",
        ),
        "noise_zne": (
            "Noise, and less of it",
            "Zero-noise extrapolation of an energy after a quench.",
        ),
    },
    "sweep_cluster": {
        "sweep_cluster": (
            "A phase diagram on a cluster",
            "1600 elements of a sweep on Dask workers, which load one saved function.",
        ),
    },
}
"""By the name of a program its pictures, each with a title and a sentence."""


class FailedExampleError(Exception):
    """A program of the gallery did not end well."""


def run_all(folder: Path) -> None:
    """Run all examples, two at a time; their pictures are then in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(lambda name: _run(name, folder), EXAMPLES))


def _run(name: str, folder: Path) -> None:
    command = [sys.executable, str(ROOT / "examples" / f"{name}.py"), "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    missing = [picture for picture in EXAMPLES[name] if not (folder / f"{picture}.png").exists()]
    if done.returncode or missing:
        raise FailedExampleError(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")


def cards(folder: str) -> str:
    """The cards of the page, in Markdown of sphinx-design."""
    made = []
    for name, pictures in EXAMPLES.items():
        for picture, (title, says) in pictures.items():
            image = f":img-top: {folder}/{picture}.png\n:img-alt: {says}"
            link = f":link: files/examples/{name}.py\n:link-type: doc"
            made.append(f":::{{grid-item-card}} {title}\n{image}\n{link}\n\n{says}\n:::\n")
    return "::::{grid} 1 1 2 2\n:gutter: 3\n\n" + "\n".join(made) + "::::\n"
