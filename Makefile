# Everything from nothing: `make quickstart` and `make test` create .venv, install into it and run.
PYTHON ?= python3
BIN := .venv/bin
# Two cores are shared by pytest's workers: one thread for each keeps them from fighting.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: quickstart test test-slow lint format bench docs site browser clean

quickstart: .venv/installed
	$(BIN)/condrisk quickstart

test: .venv/installed-dev
	$(ONE_THREAD) $(BIN)/pytest -n 2 --dist worksteal -q -m "not slow"

test-slow: .venv/installed-dev
	$(ONE_THREAD) $(BIN)/pytest -n 2 --dist worksteal -q -m slow

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/installed-dev
	$(ONE_THREAD) $(BIN)/python -m benchmarks

docs: .venv/installed-dev
	$(BIN)/python -m tools.build_docs
	$(BIN)/python -m tools.site_pages
	$(BIN)/python tools/update_readme.py

# The documentation as a site in build/site, from files that are here; nothing is fetched.
site: .venv/installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# What looks at pages in tests. Where it cannot be installed, those tests say so and are skipped.
browser:
	@command -v chromium >/dev/null || (command -v apt-get >/dev/null && apt-get update -qq \
	  && apt-get install -qq -y --no-install-recommends chromium >/dev/null) \
	  || echo "no chromium: tests that look at pages are skipped"

clean:
	rm -rf .venv build .mypy_cache .ruff_cache .hypothesis

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
