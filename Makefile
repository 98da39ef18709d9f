# make run     sets up, builds and runs p04-first-run, and says where its text is
# make test    every test: unit and functional, a file at a time on each CPU; about eleven minutes on two
# make test-newest   the unit tests once more, on the newest Python that is found
# make check   format, lint, types, import contracts, generated docs, `fixturegen check`
# make flame   adds what draws profile-cost's flame graphs
# make bench   what fixturegen costs beside a bare loop, hyperfine and cargo; about three minutes
# make lock    the newest versions into requirements-dev.lock; needs uv (pip install uv)
# make clean   removes what was built; fixtures/ stays

PYTHON ?= python3
UV ?= uv
VENV = .venv
BIN = $(VENV)/bin
TESTS = tests
PIP = $(BIN)/pip install --quiet --disable-pip-version-check

.PHONY: run test test-newest check flame bench docs lock clean

run: $(VENV)/.tool
	$(BIN)/fixturegen run p04-first-run

test: $(VENV)/.dev
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder $(TESTS)

test-newest: $(VENV)/.dev
	@if newest=$$($(BIN)/python tests/newest.py); then \
	  $(MAKE) VENV=.venv-newest PYTHON="$$newest" TESTS=tests/unit test; fi

check: $(VENV)/.dev
	$(BIN)/ruff format --check hatch_build.py fixturegen tests bench docs
	$(BIN)/ruff check hatch_build.py fixturegen tests bench docs
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m docs.generate --check
	$(BIN)/fixturegen check

flame: $(VENV)/.tool
	$(PIP) --editable '.[flame]'

bench: $(VENV)/.dev
	$(BIN)/python bench/bench.py

docs: $(VENV)/.dev
	$(BIN)/python -m docs.generate

$(VENV)/.tool: pyproject.toml | $(BIN)/pip
	$(PIP) --editable .
	@touch $@

# What checks and tests is what requirements-dev.lock names, to the byte, and wheels only: an sdist
# would be built with tools that no lock names.
$(VENV)/.dev: pyproject.toml requirements-dev.lock | $(BIN)/pip
	$(PIP) --require-hashes --only-binary :all: --requirement requirements-dev.lock
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $(VENV)/.tool $@

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'fixturegen needs Python 3.11 or newer; give one: make PYTHON=python3.12' >&2; exit 2; }
	$(PYTHON) -m venv $(VENV) || \
	  { echo 'no venv module (Debian: apt-get install python3-venv)' >&2; exit 2; }

# The oldest versions that pyproject.toml allows are tried by tests/functional/test_lower_bounds.py.
lock:
	$(UV) pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	  --no-annotate --custom-compile-command 'make lock' --extra dev --extra flame \
	  --output-file requirements-dev.lock pyproject.toml

clean:
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
