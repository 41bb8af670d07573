"""A benchmark's figures as JSON, with the machine and the options that they were measured on and with."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from harness.folders import BUILD
from harness.progress import progress
from millpond.jvm.locate import find_java

LOAD_AT_START = os.getloadavg()[0]
"""Who else was at work when the benchmark began: above a tenth or two, figures say more about them."""

BUSY = 0.5

PACKAGES = ("pyspark", "confluent-kafka", "starlette", "uvicorn")


def write_results(bench: str, options: dict[str, Any], figures: Any) -> Path:
    """Write `build/bench/results/<bench>.json`; its path."""
    path = BUILD / "results" / f"{bench}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = {
        "bench": bench,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "options": options,
        "figures": figures,
    }
    path.write_text(json.dumps(whole, indent=1) + "\n")
    if LOAD_AT_START > BUSY:
        print(f"The machine was busy before the start: load average {LOAD_AT_START:.1f}.")
    progress(f"figures in {path.relative_to(BUILD.parent.parent)}")
    return path


def machine() -> dict[str, Any]:
    """What the figures depend on besides the code."""
    return {
        "cores": len(os.sched_getaffinity(0)),
        "load_at_start": LOAD_AT_START,
        "processor": _processor(),
        "memory_mb": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20,
        "system": platform.platform(),
        "java": _java(),
        "python": sys.version.split()[0],
        **{name: _version(name) for name in PACKAGES},
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "?")


def _java() -> str:
    asked = subprocess.run([find_java(), "-version"], capture_output=True, text=True, check=False)
    return (asked.stderr.splitlines() or ["?"])[0]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "?"
