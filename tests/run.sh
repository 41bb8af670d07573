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
browser=(); [ -n "$(find_chromium)" ] || { browser=(-m "not browser"); left_out+=("the browser tests (no Chromium; install the package 'chromium')"); }

$bin/ruff check .
$bin/ruff format --check -q .
$bin/mypy
status=0
$bin/pytest -q -p no:cacheprovider "${browser[@]}" "$@" || status=$?
for what in "${left_out[@]:-}"; do [ -z "$what" ] || echo "NOT RUN: $what"; done
exit $status
