# make run     sets up, builds and runs p04-first-run, and says where its text is
# make test    every test: unit and functional
# make check   format, lint, types, import contracts, generated docs, `fixturegen check`
# make bench   what fixturegen costs beside a bare loop, hyperfine and cargo; about three minutes
# make clean   removes what was built; fixtures/ stays

PYTHON ?= python3
BIN = .venv/bin

.PHONY: run test check bench docs clean

run: .venv/.tool
	$(BIN)/fixturegen run p04-first-run

test: .venv/.dev
	$(BIN)/python -m pytest

check: .venv/.dev
	$(BIN)/ruff format --check fixturegen tests bench docs
	$(BIN)/ruff check fixturegen tests bench docs
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m docs.generate --check
	$(BIN)/fixturegen check

bench: .venv/.dev
	$(BIN)/python bench/bench.py

docs: .venv/.dev
	$(BIN)/python -m docs.generate

.venv/.tool: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'fixturegen needs Python 3.11 or newer; give one: make PYTHON=python3.12' >&2; exit 2; }
	$(PYTHON) -m venv .venv || \
	  { echo 'no venv module (Debian: apt-get install python3-venv)' >&2; exit 2; }
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/.dev: .venv/.tool
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

clean:
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
