# Two commands do everything: `make demo` and `make test`. `make help` lists the rest.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JVM_SOURCES := $(shell find src/millpond/jvm src/millpond/spark/operators/java -name '*.java' -o -name 'ivy.xml')
TEST ?=

.PHONY: help demo server test fast spark broker kinesis lint types install install-dev soak bench docs lock clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## / - /'

demo: install ## the clickstream demo: a page with live statistics at http://127.0.0.1:8088/demo/
	@$(BIN)/millpond demo

server: install ## an embedded server in ./millpond-data
	@$(BIN)/millpond server --embedded

install: $(VENV)/installed $(VENV)/jvm-installed ## everything that the product needs, in .venv

install-dev: install $(VENV)/dev-installed

# A virtual environment whose pip does not answer is half-made: it is made anew.
$(VENV)/installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: Python 3.11 or newer is needed; name one with make PYTHON=..."; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { echo "Making $(VENV)"; $(PYTHON) -m venv --clear $(VENV); }
	@echo "Installing the Python packages (about 450 MB the first time; pyspark is most of it)"
	@$(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --disable-pip-version-check -q --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/dev-installed: $(VENV)/installed requirements-dev.lock
	@echo "Installing the packages for tests"
	@$(BIN)/python -m pip install --disable-pip-version-check -q --require-hashes -r requirements-dev.lock
	@touch $@

$(VENV)/jvm-installed: $(VENV)/installed $(JVM_SOURCES)
	@$(BIN)/python -m millpond.jvm.install
	@touch $@

test: install-dev ## all tests: lint, types, then fast, Spark, broker, browser
	@bash tests/run.sh

fast: install-dev ## the tests that need no JVM and no broker
	@$(BIN)/pytest -q -m 'not spark and not broker and not kinesis and not browser' $(TEST)

spark: install-dev ## the tests on real Spark
	@$(BIN)/pytest -q -m 'spark and not soak' $(TEST)

broker: install-dev ## the tests on a real broker
	@$(BIN)/pytest -q -m 'broker and not soak' $(TEST)

kinesis: install-dev ## the tests on Kinesis emulators
	@$(BIN)/pytest -q -m 'kinesis and not soak' $(TEST)

lint: install-dev ## ruff
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: install-dev ## mypy, strict
	@$(BIN)/mypy

soak: install-dev ## kill -9 again and again for SOAK_MINUTES (10)
	@$(BIN)/pytest -q -m soak tests

bench: install-dev ## every figure of docs/benchmarks.md (about an hour)
	@for b in latency catchup join pull restart first_view memory; do $(BIN)/python bench/$$b.py || exit 1; done

docs: install-dev ## the generated parts of docs/
	@$(BIN)/python docs/generate.py

lock: install-dev ## the lock files, from pyproject.toml
	@$(BIN)/python -m pip install -q uv
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -o requirements.lock pyproject.toml
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --extra dev -o requirements-dev.lock pyproject.toml

clean: ## what make has made
	@rm -rf $(VENV) build
