"""One server a folder, and room to write in it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from millpond.datadir import check_space, claim
from millpond.errors import MillpondError


def test_a_claimed_folder_is_refused_with_the_pid_of_its_owner(tmp_path: Path) -> None:
    with claim(tmp_path / "d"), pytest.raises(MillpondError) as caught:
        claim(tmp_path / "d")
    assert caught.value.name == "DATA_DIR_IN_USE"
    assert caught.value.params["pid"] == str(os.getpid())


def test_a_released_folder_is_free_again(tmp_path: Path) -> None:
    first = claim(tmp_path)
    first.release()
    first.release()
    claim(tmp_path).release()


def test_a_dead_owner_leaves_no_stale_lock(tmp_path: Path) -> None:
    script = "import os, sys; from pathlib import Path; from millpond.datadir import claim; "
    script += "c = claim(Path(sys.argv[1])); os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", script, tmp_path], check=False).returncode == -9
    claim(tmp_path).release()


def test_a_child_process_does_not_hold_the_claim(tmp_path: Path) -> None:
    with claim(tmp_path):
        child = subprocess.Popen(["sleep", "60"])
    try:
        claim(tmp_path).release()
    finally:
        child.kill()
        child.wait()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MillpondError) as caught:
        claim(tmp_path / "file" / "d")
    assert caught.value.name == "DATA_DIR_UNUSABLE"


def test_a_full_disk_is_named_even_before_the_folder_exists(tmp_path: Path) -> None:
    check_space(tmp_path / "not" / "yet", 1)
    with pytest.raises(MillpondError) as caught:
        check_space(tmp_path / "not" / "yet", 1 << 60)
    assert caught.value.name == "DISK_FULL"
    assert caught.value.params["needed"] == (1 << 40)
