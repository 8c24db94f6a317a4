# What a person types. `make help` lists it. Everything made lands in build/ and .venv/.

PYTHON ?= python3
JOBS ?= $(shell nproc)
VENV := .venv
BIN := $(VENV)/bin
REPORTS := build/reports
WITH_PYTHON := -D GPUSCHED_BUILD_PYTHON=ON -D Python_EXECUTABLE=$(CURDIR)/$(BIN)/python

# First, so that a CMake that had to be installed there is found.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)

# What the Python package is made from, folders too (a file may be deleted). It is installed again
# when one of these is newer.
PACKAGE_SOURCES := CMakeLists.txt pyproject.toml $(shell find cmake include src bindings python \
  -not -path '*/__pycache__*' 2>/dev/null)
CXX_FILES = $(shell find include src bindings benchmarks examples tests -name '*.h' -o -name '*.cc')

.DEFAULT_GOAL := help
.PHONY: help demo test bench lint lint-format lint-types lint-tidy format clean venv cpp packages

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

demo: $(VENV)/.package  ## install what is missing, fill a cluster with jobs, show the table and plot
	@mkdir -p build/demo
	$(BIN)/libgpusched fill --plot build/demo/fill.png

test: cpp $(VENV)/.package  ## install what is missing, run all C++ and Python tests
	@rm -rf $(REPORTS) && mkdir -p $(REPORTS)
	@status=0; \
	ctest --preset release -j $(JOBS) --output-junit $(CURDIR)/$(REPORTS)/cpp.xml || status=1; \
	$(BIN)/python -m pytest --junit-xml=$(REPORTS)/python.xml || status=1; \
	$(BIN)/python .ci/summarize_tests.py C++=$(REPORTS)/cpp.xml Python=$(REPORTS)/python.xml \
	  && exit $$status

bench: $(VENV)/.tools  ## build and run the benchmarks
	cmake --preset bench
	cmake --build --preset bench
	build/bench/benchmarks/gpusched_benchmarks \
	  --benchmark_out=build/bench/results.json --benchmark_out_format=json

lint: lint-format lint-types lint-tidy  ## check formatting and types, run the linters

lint-format: $(VENV)/.tools
	@.ci/install-packages lint
	clang-format-14 --dry-run --Werror $(CXX_FILES)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

lint-types: $(VENV)/.tools
	$(BIN)/mypy

# Also compiles every public header alone, with clang.
lint-tidy: $(VENV)/.tools
	@.ci/install-packages lint
	cmake --preset tidy $(WITH_PYTHON)
	cmake --build --preset tidy
	find src bindings -name '*.cc' | xargs -P $(JOBS) -n 1 clang-tidy-14 --quiet -p build/tidy

format: $(VENV)/.tools  ## format all sources in place
	@.ci/install-packages lint
	clang-format-14 -i $(CXX_FILES)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:  ## remove everything that was made
	rm -rf build $(VENV) dist

venv: $(VENV)/.tools  ## make the virtual environment, without our package

cpp: $(VENV)/.tools
	cmake --preset release
	cmake --build --preset release

# Asked every time, since it is quick: the environment may outlive the machine's packages.
packages:
	@PYTHON=$(PYTHON) .ci/install-packages build test

# Tools and dependencies. Old CMake (Ubuntu 22.04 has 3.22) is replaced inside the environment.
$(VENV)/.tools: pyproject.toml .ci/python_requirements.py | packages
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python .ci/python_requirements.py > $(VENV)/requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $(VENV)/requirements.txt
	@touch $@

# No build isolation: the next build reuses this one's objects.
$(VENV)/.package: $(VENV)/.tools $(PACKAGE_SOURCES)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps .
	@touch $@
