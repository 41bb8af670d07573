"""Ivy's download cache: what a crash or a bad disk left broken in it is removed, so that Ivy fetches it again."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from xml.etree import ElementTree


def sweep(cache: Path) -> list[str]:
    """Remove the entry of every module with a broken jar or descriptor; the names of what was broken."""
    broken = [p for p in cache.rglob("*") if p.is_file() and not _is_sound(p)]
    for path in broken:
        shutil.rmtree(_module_folder(path, cache), ignore_errors=True)
    return [path.name for path in broken]


def is_sound_jar(path: Path) -> bool:
    """Whether a jar opens and every entry's checksum is right."""
    try:
        with zipfile.ZipFile(path) as jar:
            return jar.testzip() is None
    except (OSError, zipfile.BadZipFile, EOFError, ValueError, NotImplementedError):
        return False


def _is_sound(path: Path) -> bool:
    if path.suffix == ".jar":
        return is_sound_jar(path)
    if path.suffix in (".xml", ".original"):
        return _is_sound_xml(path)
    return path.suffix != ".part"


def _is_sound_xml(path: Path) -> bool:
    try:
        ElementTree.parse(path)
    except (OSError, ElementTree.ParseError):
        return False
    return True


def _module_folder(path: Path, cache: Path) -> Path:
    """`<cache>/<organisation>/<module>`; a file nearer to the top is only itself."""
    parts = path.relative_to(cache).parts
    if len(parts) > 2:
        return cache / parts[0] / parts[1]
    path.unlink(missing_ok=True)
    return path
