# The front door: make demo, make test, make check, make verify, make bench. Everything installs into .venv.
PYTHON ?= python3
DATA ?= ../shared/arqmath-mini
VERIFIER ?= ../shared/verify/verify.py
ASK ?=
NAME ?=
ARGS ?=

BIN := .venv/bin
# PYTHON also tells build.sh and serve.sh which interpreter to use.
RUN := PYTHON="$(CURDIR)/$(BIN)/python" $(BIN)/python
PIP := $(BIN)/python -m pip --disable-pip-version-check
INSTALL := $(PIP) install --quiet --require-hashes
# Groups that the tests use beside the core. Without one of them its tests are skipped, with the reason.
TESTED := $(patsubst %,.venv/%.stamp,evaluation weights collect $(patsubst requirements/%.lock,%,$(wildcard requirements/http.lock requirements/browser.lock)))

.DEFAULT_GOAL := help
.PHONY: help install katex demo test check verify bench clean
.DELETE_ON_ERROR:

help:
	@echo "make demo    gather formulas from docstrings, build, serve, ask; ASK='x^2' asks that instead"
	@echo "make install what ./formdex needs: the core, readers of documents, the local page"
	@echo "make katex   KaTeX for the local page, by npm; without it formulas show as LaTeX"
	@echo "make test    the tests (pytest), with ARGS='-m slow' the slow ones"
	@echo "make check   ruff and mypy"
	@echo "make verify  the consumer's black-box check on DATA=$(DATA)"
	@echo "make bench   list the benchmarks; NAME=quality ARGS='...' runs one"
	@echo "make clean   remove .venv and .demo"

.venv/made.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Formdex needs Python 3.11 or later: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	@touch $@

.venv/core.stamp: requirements.lock .venv/made.stamp
	@echo "installing the core; hnswlib is compiled, which takes a minute or two" >&2
	$(INSTALL) -r $<
	@touch $@

.venv/%.stamp: requirements/%.lock .venv/core.stamp
	$(INSTALL) -r $<
	@touch $@

install: .venv/core.stamp .venv/collect.stamp .venv/http.stamp

katex:
	npm ci --ignore-scripts --prefix page

test: .venv/core.stamp $(TESTED)
	$(RUN) -m pytest -q $(ARGS)

check: .venv/core.stamp $(TESTED) .venv/check.stamp
	$(BIN)/ruff check .
	$(BIN)/mypy .

# Downloaded, not installed: the demo reads the packages' text.
.demo/wheels.stamp: requirements/demo.lock .venv/made.stamp
	@rm -rf .demo/wheels && mkdir -p .demo
	$(PIP) download --no-deps --only-binary :all: --require-hashes --dest .demo/wheels -r $<
	@touch $@

.demo/formulas.tsv: .demo/wheels.stamp .venv/core.stamp $(wildcard demo/*.py collect/*.py collect/formats/*.py encoder/*.py)
	$(RUN) -m demo.gather .demo/wheels .demo
	@touch $@

.demo/index/formdex.index: .demo/formulas.tsv $(wildcard index/*.py weights/model.onnx weights/tokenizer.json)
	PYTHON="$(CURDIR)/$(BIN)/python" ./build.sh --data-dir .demo --index-dir .demo/index

demo: .demo/index/formdex.index
	@$(RUN) -m demo.show .demo .demo/index $(if $(ASK),'$(ASK)')

verify: .venv/core.stamp
	@PYTHON="$(CURDIR)/$(BIN)/python" bench/verify.sh "$(VERIFIER)" "$(DATA)" $(ARGS)

bench: .venv/core.stamp
ifeq ($(NAME),)
	@$(RUN) -m bench
else
	$(RUN) -m bench.$(NAME) $(ARGS)
endif

clean:
	rm -rf .venv .demo
