# Every target sets up what it needs: .venv from Python 3.11 to 3.13, pinned packages, the encoder's model.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
CACHE := .cache
DATA_FOLDER ?= $(CACHE)/data
MODE ?= active

export REMEMBRANCER_MODEL_CACHE ?= $(CURDIR)/$(CACHE)/models
export PIP_DISABLE_PIP_VERSION_CHECK := 1

PROTOS := $(sort $(wildcard protos/remembrancer/*/*.proto protos/remembrancer/*/*/*.proto))
STUBS := remembrancer/v1 remembrancer/internal/v1
RUNTIME := $(VENV)/.runtime
DEV := $(VENV)/.dev
GOOGLE_PROTOS := $(CACHE)/protos/.copied

.PHONY: help demo up down status test test-long test-pythons check gen bench-quality clean

help: ## Show this list.
	@if [ -t 1 ]; then bold=$$'\033[1m' plain=$$'\033[0m'; else bold= plain=; fi; \
	awk -F':.*## ' -v bold="$$bold" -v plain="$$plain" \
	  '/^[a-z-]+:.*## /{printf "  %s%-14s%s %s\n", bold, $$1, plain, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(RUNTIME) ## Start a throw-away service, tell a story with it, stop it.
	$(BIN)/remembrancer demo

up: $(RUNTIME) ## Start the service on this machine (data in .cache/data, or DATA_FOLDER=dir).
	@$(BIN)/remembrancer up --data $(DATA_FOLDER)

down: $(RUNTIME) ## Stop it.
	@$(BIN)/remembrancer down --data $(DATA_FOLDER)

status: $(RUNTIME) ## Show what runs; fails unless all is ready (make exits with 2, its last line has the command's own code).
	@$(BIN)/remembrancer status --data $(DATA_FOLDER)

test: $(DEV) ## Run all tests but the long forms.
	$(BIN)/python -m pytest -m "not long" --numprocesses 2 --dist loadscope

test-long: $(DEV) ## Run all tests, long forms included.
	$(BIN)/python -m pytest --numprocesses 2 --dist loadscope

test-pythons: ## Run `make demo` in a copy of this folder with every Python 3.11 to 3.13 that is here.
	@.ci/pythons

check: $(DEV) $(GOOGLE_PROTOS) ## Lint, format check, types, protos, and that the stubs fit the protos.
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/buf lint
	@rm -rf $(CACHE)/gen && mkdir -p $(CACHE)/gen
	@$(call generate,$(CACHE)/gen)
	@for folder in $(STUBS); do for stub in $(CACHE)/gen/$$folder/*_pb2*; do \
	  diff -q "$$stub" "$$folder/$$(basename "$$stub")" || { echo "the stubs do not fit the protos: run make gen"; exit 1; }; \
	done; done

gen: $(DEV) ## Generate the Python stubs from the protos.
	$(call generate,.)

bench-quality: $(RUNTIME) ## Measure recall: DATA=dir OUT=file [MODE=active|deep].
	@test -n "$(DATA)" -a -n "$(OUT)" || { echo "usage: make bench-quality DATA=dir OUT=file [MODE=active|deep]"; exit 2; }
	$(BIN)/python -m bench.quality --data "$(DATA)" --out "$(OUT)" --mode $(MODE)

clean: ## Remove the virtual environment and all caches, the data in .cache/data included.
	rm -rf $(VENV) $(CACHE) .mypy_cache .ruff_cache .pytest_cache .hypothesis

define generate
	$(BIN)/python -m grpc_tools.protoc -Iprotos -I$$($(BIN)/python -c 'import google.rpc, pathlib; print(pathlib.Path(list(google.rpc.__path__)[0]).parents[1])') \
	  --plugin=protoc-gen-mypy=$(BIN)/protoc-gen-mypy --plugin=protoc-gen-mypy_grpc=$(BIN)/protoc-gen-mypy_grpc \
	  --python_out=$(1) --grpc_python_out=$(1) --mypy_out=quiet:$(1) --mypy_grpc_out=quiet:$(1) $(PROTOS)
endef

$(VENV)/.created:
	@test -n "$(PYTHON)" && $(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' || { \
	  echo "Python 3.11, 3.12 or 3.13 is needed (3.14 may do); name one: make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(RUNTIME): requirements.txt pyproject.toml | $(VENV)/.created
	@echo "installing what the service needs (once; some minutes on a slow line)"
	@$(BIN)/pip install --quiet --no-deps -r requirements.txt
	@$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	@$(BIN)/remembrancer --version > /dev/null
	@touch $@

$(DEV): requirements-dev.txt $(RUNTIME)
	@echo "installing what checks and tests need (once)"
	@$(BIN)/pip install --quiet --no-deps -r requirements-dev.txt
	@touch $@

$(GOOGLE_PROTOS): $(DEV)
	rm -rf $(@D) && mkdir -p $(@D)/google
	google=$$($(BIN)/python -c 'import google.rpc, pathlib; print(pathlib.Path(list(google.rpc.__path__)[0]).parent)'); \
	for folder in api rpc; do mkdir -p $(@D)/google/$$folder; done; \
	cp "$$google"/api/{field_behavior,annotations,http}.proto $(@D)/google/api/; \
	cp "$$google"/rpc/{status,error_details,code}.proto $(@D)/google/rpc/
	@touch $@
