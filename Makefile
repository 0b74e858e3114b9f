# mine: the whole job on the examples.  test: checks and tests.  All of it in .venv, nothing else is touched.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: mine test check fix bench schema lock clean

mine: $(VENV)/.mine
	$(BIN)/python -m pipelines.mine_videos --rows examples/rows.jsonl --local-root examples --out out \
	    --workers $(WORKERS) || [ $$? -eq 1 ]  # 1: some rows failed, as some of these are made to

test: check
	$(BIN)/python -m pytest

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fix: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.decode
	$(BIN)/python -m benchmarks.see
	$(BIN)/python -m benchmarks.mine

# the published schema, from the types
schema: $(VENV)/.dev
	$(BIN)/video2gui schema > video2gui/trajectory-1.schema.json

# one set of versions for every extra, resolved together
lock:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --quiet --upgrade --all-extras --universal pyproject.toml -o requirements.lock

clean:
	rm -rf $(VENV) out

$(VENV)/.%: pyproject.toml requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[$*]'
	touch $@
