"""Secrets at rest: sealed with a key that lies in a file of its own, which only its owner may read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken

from millpond.errors import MillpondError

KEY_FILE = "secret.key"


class SecretBox:
    """Seals and opens small maps of text. `path` is where the key lies, for messages."""

    def __init__(self, key: bytes, path: Path = Path(KEY_FILE)) -> None:
        try:
            self._fernet = Fernet(key)
        except ValueError as error:
            raise MillpondError("SECRET_KEY_UNREADABLE", path=path, reason=error) from None
        self._path = path

    @classmethod
    def in_folder(cls, folder: Path) -> SecretBox:
        """With the key of this data folder, made on first use. Raises SECRET_KEY_UNREADABLE."""
        path = folder / KEY_FILE
        try:
            if not path.exists():
                _make_key(path)
            return cls(path.read_bytes(), path)
        except OSError as error:
            raise MillpondError("SECRET_KEY_UNREADABLE", path=path, reason=error.strerror) from None

    @classmethod
    def ephemeral(cls) -> SecretBox:
        """With a key that nobody keeps, for a catalog that nobody keeps."""
        return cls(Fernet.generate_key())

    def seal(self, secrets: Mapping[str, str]) -> bytes:
        return self._fernet.encrypt(json.dumps(dict(secrets)).encode())

    def open(self, sealed: bytes, what: str, name: str) -> Mapping[str, str]:
        """The secrets of the store or registry `name`; `what` says which of the two.

        Raises SECRETS_UNREADABLE if they were sealed with another key.
        """
        try:
            found: Mapping[str, str] = json.loads(self._fernet.decrypt(sealed))
        except InvalidToken:
            raise MillpondError("SECRETS_UNREADABLE", what=what, name=name, path=self._path) from None
        return found


def _make_key(path: Path) -> None:
    """Write a new key: 1. to a file beside it, on the disk; 2. renamed into place, the folder on the disk.

    A crash before 2 leaves no key, and nothing sealed with it; the next open makes another one.
    """
    beside = path.with_suffix(".new")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(Fernet.generate_key())
        file.flush()
        os.fsync(file.fileno())
    beside.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
