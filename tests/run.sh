#!/usr/bin/env bash
# All tests, cheapest first. What cannot be run on this machine is said in the last lines.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=.venv/bin
left_out=()

find_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome || true; }
if [ -z "$(find_chromium)" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "Installing Chromium for the browser tests"
  { apt-get update -q && apt-get install -y -q --no-install-recommends chromium; } >/dev/null 2>&1 || true
fi
slow="(spark or broker or kinesis or browser) and not soak"
if [ -z "$(find_chromium)" ]; then
  slow="(spark or broker or kinesis) and not browser and not soak"
  left_out+=("the browser tests (no Chromium here; install the package 'chromium')")
fi

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  left_out+=("the tests on kinesis-local (no node or npm here); those on moto have run")
fi

$bin/ruff check .
$bin/ruff format --check -q .
$bin/mypy
status=0
$bin/pytest -q -p no:cacheprovider -m "not (spark or broker or kinesis or browser)" "$@" || status=$?
$bin/pytest -q -p no:cacheprovider -m "$slow" "$@" || status=$?
for what in "${left_out[@]:-}"; do [ -z "$what" ] || echo "NOT RUN: $what"; done
exit $status
