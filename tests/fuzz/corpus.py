"""What was found: a file each, with the oracle, what was drawn for it, shrunk, and the error."""

import hashlib
import json
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent / "corpus"


def finding(name: str, drawn: dict[str, Any], error: str) -> Path:
    """Write a program into the corpus; equal ones share a file."""
    text = json.dumps({"oracle": name, "drawn": drawn, "error": error}, indent=1)
    digest = hashlib.sha256(json.dumps(drawn, sort_keys=True).encode()).hexdigest()[:8]
    path = CORPUS / f"{name}-{digest}.json"
    CORPUS.mkdir(exist_ok=True)
    path.write_text(text + "\n")
    return path
