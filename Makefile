# make demo: check the example answers and write demo/report.html; with the [local] extra in .venv
#            also let the embedded LLM answer a few prompts, and check those
# make test: lint, types and tests, WORKERS test files at a time; those marked alone after them
# make coverage: the share of the lines of veridical and veridical-lab that the tests run
# make release: build, hold to the rules and install what would be published, into dist; 15 minutes
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2
# files with tests marked alone: to collect all others again takes half a minute
ALONE = $$(grep -rl "pytest.mark.alone" tests packages/veridical-lab/tests --include=*.py)
# each of the processes that tests start would compile the package again
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test coverage release clean

$(BIN)/python:
	$(PYTHON) -m venv .venv

.venv/.core: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/.dev: .venv/.core packages/veridical-lab/pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[dev]' --editable packages/veridical-lab
	touch $@

.venv/.release: .venv/.core
	$(BIN)/python -m pip install --quiet --editable '.[release]'
	touch $@

demo: .venv/.core
	mkdir -p demo
	$(BIN)/veridical check examples/answers.jsonl --out demo/run --store demo/store --report demo/report.html
	@if $(BIN)/python -c "import xllamacpp" 2>/dev/null; then \
	  $(BIN)/veridical models get smollm2 && \
	  $(BIN)/veridical sample examples/prompts.jsonl --limit 5 --llm local --n 5 --logprobs 5 \
	    --max-tokens 64 --out demo/answers.jsonl --store demo/store && \
	  $(BIN)/veridical check demo/answers.jsonl --out demo/sampled --store demo/store \
	    --report demo/sampled.html && \
	  echo "Open demo/sampled.html for answers that were drawn just now."; \
	else \
	  echo "For answers drawn here: $(BIN)/pip install -e '.[local]', and make demo again."; \
	fi
	@echo "Open demo/report.html in a browser."

test: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src packages/veridical-lab/src
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest -m "not alone" -n $(WORKERS) --dist loadfile
	$(BIN)/pytest -m alone $(ALONE)

# what the tests run of both packages; several times as slow
coverage: .venv/.dev
	$(BIN)/pytest -m "not alone" -n $(WORKERS) --dist loadfile --cov --cov-report=
	$(BIN)/pytest -m alone $(ALONE) --cov --cov-append --cov-report=term

release: .venv/.release
	$(BIN)/python release/check.py --page docs/evidence/release.md

clean:
	rm -rf .venv demo build dist
