# The two commands of the README are `make demo` and `make test`; both set themselves up.
PYTHON ?= python3
PORT ?= 8080
BIN := .venv/bin

.PHONY: demo test torture check audit bench format lock clean

demo: .venv/run.stamp
	@$(BIN)/postroom demo --port $(PORT)

test: .venv/dev.stamp
	@$(BIN)/python -m tests.support.browser >/dev/null
	$(BIN)/pytest -n 2 --dist worksteal

# Proof by breaking: longer than a test run, and bounded. Needs root and a C compiler.
torture: .venv/dev.stamp
	$(BIN)/pytest -n 2 --dist worksteal tests/torture
	$(BIN)/pytest -n 2 --dist worksteal -m hypothesis --hypothesis-profile torture --timeout 900

check: .venv/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.support.dependencies

# Asks osv.dev whether a locked version has a known hole; the one target that needs the network beyond loopback.
audit: .venv/dev.stamp
	$(BIN)/python -m tests.support.dependencies --holes

bench: .venv/dev.stamp
	$(BIN)/python -m bench
	$(BIN)/python -m bench.console
	$(BIN)/python -m bench.gateways
	$(BIN)/python -m bench.backlog

format: .venv/dev.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/run.stamp: requirements/run.txt pyproject.toml | .venv/bin/python
	@echo "Setting up (once, about a minute) …"
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements/run.txt
	@$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

.venv/dev.stamp: requirements/dev.txt pyproject.toml | .venv/bin/python
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@ .venv/run.stamp

# Resolve again and write both locks: hashes, no index addresses. Needs uv on the PATH.
lock:
	uv pip compile pyproject.toml --group build --universal --generate-hashes --no-emit-index-url --no-header -q --python-version 3.11 -o requirements/run.txt
	uv pip compile pyproject.toml --group dev --group build --universal --generate-hashes --no-emit-index-url --no-header -q --python-version 3.11 -c requirements/run.txt -o requirements/dev.txt

clean:
	rm -rf .venv
