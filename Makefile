# Two commands matter: `make up` starts a server, `make test` checks everything.
# Needs Python 3.11 or later, with its venv module, and make; the rest comes from the lock files.

.POSIX:
.SUFFIXES:

PYTHON =
BIN = .venv/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check
LOCKED = install --quiet --require-hashes --requirement
LOCK = $(BIN)/python -m piptools compile --quiet --generate-hashes --strip-extras --no-header \
	--no-emit-index-url --no-emit-trusted-host --no-emit-find-links --allow-unsafe --build-deps-for wheel

.PHONY: help up test lint bench wire lock clean

help:
	@echo 'make up      install into .venv and start a server on the embedded store'
	@echo 'make test    install the test tools, then lint, type-check and run every test'
	@echo 'make lint    only the static checks'
	@echo 'make bench   measure it'
	@echo 'make wire    replay recorded answers of a kube-apiserver: make wire ARGS=semantics'
	@echo 'make lock    pin the newest versions of all dependencies'
	@echo 'make clean   remove .venv and everything that was built'

up: .venv/installed
	$(BIN)/kapi up $(ARGS)

test: lint
	$(BIN)/python -m pytest $(ARGS)

lint: .venv/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/installed
	$(BIN)/python benchmarks/run.py $(ARGS)

wire: .venv/installed
	$(BIN)/python tools/recordings.py $(ARGS)

lock: .venv/installed-test
	$(PIP) install --quiet pip-tools
	$(LOCK) --upgrade --output-file requirements.lock pyproject.toml
	$(LOCK) --upgrade --extra test --constraint requirements.lock --output-file requirements-test.lock pyproject.toml

clean:
	rm -rf .venv build dist src/kapi.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps are newer than what they were made from, or the installation is repeated.
.venv/installed: .venv/bin/python requirements.lock pyproject.toml
	$(PIP) $(LOCKED) requirements.lock
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

.venv/installed-test: .venv/installed requirements-test.lock
	$(PIP) $(LOCKED) requirements-test.lock
	@touch $@

.venv/bin/python:
	@for python in $(PYTHON) python3 python3.13 python3.12 python3.11; do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    $$python -m venv .venv && exit 0; \
	    rm -rf .venv; \
	    $$python -m virtualenv --quiet .venv 2>/dev/null && exit 0; \
	    rm -rf .venv; \
	    echo "make: $$python cannot create .venv. On Debian and Ubuntu: sudo apt install python3-venv" >&2; \
	    exit 1; \
	  fi; \
	done; \
	echo 'make: kapi needs Python 3.11 or later. Install it, or name it: make PYTHON=/path/to/python3' >&2; \
	exit 1
