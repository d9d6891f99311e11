# Everything a fresh machine with Python and make needs: `make demo` runs the main job, `make test` runs the tests.
# PYTHON=python3.12 chooses the interpreter that makes the environment; WORKERS sets the number of test processes.

PYTHON ?= python3
WORKERS ?= 2
VENV := .venv
RUN := $(VENV)/bin/python -m
# Wheels only: a package that comes as source alone fails here, and would want tools that are not pinned. Only textassay
# itself is built, with the tools of constraints.txt, which is why its build is not isolated: a C compiler makes its
# kernels. Where there is none, the package ziglang is one (100 MB).
INSTALL := $(RUN) pip install --quiet --disable-pip-version-check --only-binary :all: --no-compile --constraint constraints.txt
BUILD_TOOLS := cython setuptools
ifeq ($(shell command -v $(or $(CC),cc) gcc clang 2>/dev/null),)
BUILD_TOOLS += ziglang
export CC := $(CURDIR)/$(VENV)/bin/python -m ziglang cc
export LDSHARED := $(CC) -shared
endif
BUILT_FROM := pyproject.toml constraints.txt setup.py $(shell find src -name '*.p[yx][xd]')
# pip compiles on one core; this does on all. Files that no Python can compile are left as they are, as pip leaves them.
COMPILE := $(RUN) compileall -q -j 0 $(CURDIR)/$(VENV)/lib >/dev/null 2>&1 || true

# An environment does not survive being moved: one made in another folder is installed into again.
ifneq ($(shell cat $(VENV)/.home 2>/dev/null),$(CURDIR))
.PHONY: $(VENV)/.core $(VENV)/.dev
endif

.PHONY: help demo test test-slow test-alone alone test-lowest lint types docs check gpu-check coverage-list release-check release-tools build clean
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-16s%s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.core ## compare five small generators with real text, write demo-report/
	$(RUN) textassay demo

# Tests start hundreds of interpreters, and each would compile the package anew where bytecode is not written.
test test-slow: export PYTHONDONTWRITEBYTECODE :=

test: $(VENV)/.dev ## run the tests, but for the slow ones
	$(RUN) pytest -q -n $(WORKERS) --dist worksteal -m "not slow"

test-slow: $(VENV)/.dev ## run the slow tests
	$(RUN) pytest -q -n $(WORKERS) --dist worksteal -m slow

test-alone: $(VENV)/.core ## try every command and public name where the wheel is installed alone, in .venv-alone
	@rm -rf .venv-alone dist
	$(RUN) pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	@$(MAKE) --no-print-directory VENV=.venv-alone alone

alone: $(VENV)/bin/python
	@$(INSTALL) dist/*.whl
	$(VENV)/bin/python tests/support/every_command.py

LOWEST := tests/report tests/comparison tests/cli/test_compare.py tests/cli/test_main.py
# its libraries of the lowest versions load others
LOWEST += --deselect tests/cli/test_main.py::test_a_metric_that_counts_loads_no_library_that_others_need

test-lowest: $(VENV)/.dev ## the same and some tests, with the lowest versions that pyproject.toml declares, in .venv-lowest
	@rm -rf .venv-lowest
	$(VENV)/bin/uv venv --quiet --python $(VENV)/bin/python .venv-lowest
	$(VENV)/bin/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct --requirements pyproject.toml
	$(VENV)/bin/uv pip install --quiet --python .venv-lowest/bin/python --no-deps .
	.venv-lowest/bin/python tests/support/every_command.py
	$(VENV)/bin/uv pip install --quiet --python .venv-lowest/bin/python hypothesis pandas==2.2.1 polars pyarrow==15 pytest
	.venv-lowest/bin/python -m pytest -q -m "not slow" --ignore tests/report/test_csv_files.py --ignore tests/report/test_narrow_terminals.py $(LOWEST)

lint: $(VENV)/.dev ## check style, formatting and which room imports which
	$(RUN) ruff check
	$(VENV)/bin/lint-imports --no-cache
	$(RUN) ruff format --check

types: $(VENV)/.dev ## check types
	$(RUN) mypy

docs: $(VENV)/.dev ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs build --strict

check: lint types docs test ## all of the above but the slow tests

snapshots: $(VENV)/.dev ## compute tests/snapshots anew: what users see of every command and study
	PYTHONPATH=tests/support $(VENV)/bin/python tests/support/snapshots.py

gpu-check: $(VENV)/.dev ## on a machine with a GPU: print a table of what only it can show
	@$(VENV)/bin/python benchmarks/gpu_check.py

coverage-list: $(VENV)/bin/python ## print the ids of tests/features.txt that no test proves
	@$(VENV)/bin/python tests/support/coverage_list.py

# In the repository the address is not known: the release workflow gives that of the repository which it runs in.
ADDRESS ?= https://example.org/textassay
RELEASE_TOOLS := build cython setuptools twine 'readme-renderer[md]'

release-check: ## prove that what would be published is right: build, look, install alone, run the demo; publishes nothing
	@rm -rf .venv-release
	@$(MAKE) --no-print-directory VENV=.venv-release release-tools
	.venv-release/bin/python .ci/release.py check --address $(ADDRESS)

release-tools: $(VENV)/bin/python
	@$(INSTALL) $(RELEASE_TOOLS)

build: $(VENV)/.dev ## build the wheel and the source archive into dist/
	$(RUN) build --no-isolation --outdir dist .

clean: ## remove the environment and everything that was made
	rm -rf $(VENV) .venv-alone .venv-lowest .venv-release build site dist demo-report .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -exec rm -rf {} +
	find src -name '*.so' -delete

$(VENV)/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "no $(PYTHON) here: install Python 3.11 or newer, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "textassay needs Python 3.11 or newer, $(PYTHON) is $$($(PYTHON) --version 2>&1); name another: make PYTHON=python3.12" >&2; exit 1; }
	@echo "making $(VENV)"
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/.core: $(BUILT_FROM) | $(VENV)/bin/python
	@echo "installing the core"
	@$(INSTALL) $(BUILD_TOOLS)
	@$(INSTALL) --no-build-isolation --editable .
	@$(COMPILE)
	@pwd > $(VENV)/.home
	@touch $@

$(VENV)/.dev: $(BUILT_FROM) | $(VENV)/bin/python
	@echo "installing the core and what the tests use"
	@$(INSTALL) $(BUILD_TOOLS)
	@$(INSTALL) --no-build-isolation --editable '.[boosting,dev,encoders,human,neural,parquet,prior,prior-lm,ray,segment]'
	@$(COMPILE)
	@pwd > $(VENV)/.home
	@touch $@ $(VENV)/.core
