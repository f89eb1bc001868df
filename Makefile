# make demo: check the example answers and write demo/report.html
# make test: lint, types and tests
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test clean

$(BIN)/python:
	$(PYTHON) -m venv .venv

.venv/.core: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/.dev: .venv/.core
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

demo: .venv/.core
	mkdir -p demo
	$(BIN)/veridical check examples/answers.jsonl --out demo/run --store demo/store --report demo/report.html
	@echo "Open demo/report.html in a browser."

test: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src
	$(BIN)/pytest --cov --cov-report=term

clean:
	rm -rf .venv demo build dist
