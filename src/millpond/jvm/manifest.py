"""What a complete set of fetched jars looks like: each file's size and SHA-256, kept beside them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

MANIFEST = "manifest.json"


def write_manifest(folder: Path, source: str) -> None:
    """Describe every jar below `folder`; `source` is the digest of the list that they were fetched by."""
    jars = {str(p.relative_to(folder)): _describe(p) for p in sorted(folder.rglob("*.jar"))}
    text = json.dumps({"source": source, "jars": jars}, indent=1)
    (folder / MANIFEST).write_text(text, "utf-8")


def is_complete(folder: Path, source: str) -> bool:
    """Whether every jar of the manifest is there as it was fetched, by the same list."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        jars = dict(manifest["jars"])
        return manifest["source"] == source and all(_describe(folder / n) == jars[n] for n in jars)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def digest(content: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(content).hexdigest()


def _describe(path: Path) -> list[object]:
    return [path.stat().st_size, digest(path.read_bytes())]
