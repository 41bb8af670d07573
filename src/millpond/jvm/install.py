"""`python -m millpond.jvm.install`: fetch and compile what runs on the JVM. A second run does nothing, quickly."""

from __future__ import annotations

import sys
import time

from millpond.errors import MillpondError
from millpond.jvm.compile import compile_operators
from millpond.jvm.fetch import fetch
from millpond.jvm.locate import fetched_jars, find_java, find_tool, jvm_dir
from millpond.jvm.lock import Report, install_lock


def install(report: Report) -> None:
    """Bring the JVM parts up to date. Raises MillpondError: JAVA_..., JDK_..., JVM_... ."""
    find_java()
    find_tool("javac")
    with install_lock(jvm_dir(), report):
        fetched = fetch(report)
        jars = sum(len(fetched_jars(conf)) for conf in ("spark", "broker"))
        report(f"{jars} jars {'fetched' if fetched else 'are there'}")
        compiled = compile_operators()
        report(f"Java operators {'compiled' if compiled else 'are up to date'}")


def main() -> int:
    """The exit code: 0, or 1 after one line that names the error."""
    start = time.monotonic()
    try:
        install(_report)
    except MillpondError as e:
        return _failed(e)
    except OSError as e:
        return _failed(MillpondError("JVM_INSTALL_FAILED", path=e.filename or jvm_dir(), reason=e.strerror or e))
    except KeyboardInterrupt:
        _report("interrupted; the next run goes on from here")
        return 130
    _report(f"done in {time.monotonic() - start:.1f} s, in {jvm_dir()}")
    return 0


def _report(line: str) -> None:
    sys.stdout.write(f"jvm: {line}\n")
    sys.stdout.flush()


def _failed(error: MillpondError) -> int:
    sys.stderr.write(f"jvm: [{error.name}] {error.sentence} {error.hint}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
