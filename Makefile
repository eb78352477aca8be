# Every target sets itself up: it makes .venv from PYTHON (3.11 or newer) and installs sorosim there, editable,
# with the extra that a target needs (`film`, `test`, `docs`, `robots`); again only when pyproject.toml has changed.
#
#   make test PYTEST_ARGS="-n 0 -k tendon"
#
# The tests run on all cores: tests/conftest.py compiles what all of them need before they begin. One process: -n 0.

PYTHON ?= python3
PYTEST_ARGS ?= -n auto
MACHINES_ARGS ?=
BENCH_ARGS ?=
FUZZ_ARGS ?=
DEMO_ARGS ?=
SPHINX_ARGS ?=

BIN := .venv/bin
INSTALLED := .venv/.installed
INSTALLED_TEST := .venv/.installed_test
INSTALLED_DOCS := .venv/.installed_docs
INSTALLED_ROBOTS := .venv/.installed_robots
PYTEST := $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: demo demo-all test test-all test-machines validation strangers fuzz bench docs editor lint dist clean help

demo: $(INSTALLED) ## simulate the cable-driven manipulator, plot it, film it, find an equilibrium
	@mkdir -p demo
	$(BIN)/sorosim simulate cable_manipulator --out demo/cable_manipulator.h5
	$(BIN)/sorosim plot demo/cable_manipulator.h5 --out demo
	$(BIN)/sorosim movie demo/cable_manipulator.h5 --out demo/cable_manipulator.mp4
	$(BIN)/sorosim statics cable_manipulator --u cable1=10 --out demo/equilibrium.h5
	@echo
	@echo "The results are in $(CURDIR)/demo:"
	@ls -1 demo | sed 's/^/  /'

demo-all: $(INSTALLED) ## simulate the robots of Mathew et al., with snapshots, plots, film, page and glTF of each, into demo/
	$(BIN)/python docs/make_paper_robots.py $(DEMO_ARGS)

test: $(INSTALLED_TEST) ## run the tests that are not slow
	$(PYTEST) -m "not slow" $(PYTEST_ARGS)

# The checked and the uncompiled subset say where an index runs out of an array; a folder that is not there yet is left out.
CHECKED := $(wildcard tests/lie tests/kernels)
UNCOMPILED := $(wildcard tests/lie)
# code with bounds checks is other code: numba's index does not tell the two apart, so it has its own cache
CHECKED_CACHE := $(CURDIR)/.cache/boundscheck

test-all: $(INSTALLED_ROBOTS) ## run all tests, then kernels with bounds checks, then a subset uncompiled
	$(PYTEST) $(PYTEST_ARGS)
	$(if $(CHECKED),NUMBA_BOUNDSCHECK=1 SOROSIM_CACHE_DIR="$(CHECKED_CACHE)" $(PYTEST) $(CHECKED) $(PYTEST_ARGS) -n 0)
	$(if $(UNCOMPILED),NUMBA_DISABLE_JIT=1 $(PYTEST) $(UNCOMPILED) $(PYTEST_ARGS) -n 0)

test-machines: $(INSTALLED_TEST) ## run the tests as other processors would; print error over tolerance
	$(BIN)/python tests/machines.py $(MACHINES_ARGS) $(PYTEST_ARGS)

validation: $(INSTALLED_ROBOTS) ## run the comparisons of docs/validation.md and write its tables anew
	@mkdir -p build
	$(PYTEST) tests/validation --agreements=build/agreements.json $(PYTEST_ARGS)
	$(BIN)/python docs/make_validation.py build/agreements.json validation_table.inc

strangers: $(INSTALLED_ROBOTS) ## run the public problems of others, tests/strangers, and write their table anew
	@mkdir -p build
	$(PYTEST) tests/strangers --agreements=build/strangers.json $(PYTEST_ARGS)
	$(BIN)/python docs/make_validation.py build/strangers.json strangers_table.inc

fuzz: $(INSTALLED_TEST) ## statics and motion of 2000 random robots, an hour on two cores; FUZZ_ARGS="--count 100 --seed 1"
	PYTHONPATH=tests $(BIN)/python -m helpers.fuzz $(FUZZ_ARGS)

bench: $(INSTALLED_TEST) ## time the cases and run the studies of benchmarks/; BENCH_ARGS="--list" lists them
	$(BIN)/python -m benchmarks $(or $(BENCH_ARGS),--all)

docs: $(INSTALLED_DOCS) ## build the documentation: build/docs/index.html; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs $(SPHINX_ARGS)
	@echo "$(CURDIR)/build/docs/index.html"

EDITOR := sorosim/view/interactive/web_editor

editor: ## bundle the page of the editor anew, after an edit of its sources; needs node
	cd $(EDITOR) && npm ci --ignore-scripts --no-audit --no-fund && node node_modules/esbuild/install.js && node build.mjs

lint: $(INSTALLED_TEST) ## ruff check, ruff format --check, mypy
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy sorosim benchmarks

dist: $(INSTALLED_TEST) ## build dist/: the sources, and a wheel with code compiled for this Python and kind of processor
	$(BIN)/sorosim compile --all --portable
	$(BIN)/python -m hatchling build -d dist -t sdist -t wheel
	rm -rf sorosim/base/compiled/shipped
	@ls -l dist

clean: ## remove the environment, caches, builds and demo/
	rm -rf .venv demo build dist docs/gallery .cache .pytest_cache .mypy_cache .ruff_cache .benchmarks .hypothesis
	find sorosim benchmarks tests examples docs -name __pycache__ -type d -prune -exec rm -rf {} +

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|' 2>/dev/null \
		|| sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1: \2/p' $(MAKEFILE_LIST)

# a half-made environment (no ensurepip, for example) must not pass for a finished one
.venv/bin/python:
	$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

$(INSTALLED): pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[film]'
	@touch $@

$(INSTALLED_TEST): pyproject.toml $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

$(INSTALLED_ROBOTS): pyproject.toml $(INSTALLED_TEST)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[robots]'
	@touch $@

$(INSTALLED_DOCS): pyproject.toml $(INSTALLED_TEST)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@
