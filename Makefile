# Every target sets up what it needs. SLURM=1 uses three real Slurm clusters on this machine (root).
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
PY := .venv/bin/python
OUT ?= screenshots
ARGS ?=
SEED ?=
ROUNDS ?= 600
RUNS ?= 500
TRACE ?=
REAL ?=
LOGS ?=
export PY
# The tests start hundreds of Pythons: what one of them has compiled, the others read.
unexport PYTHONDONTWRITEBYTECODE
WORKERS ?= 4
LIVE := $(if $(SLURM),--slurm)
# Files that pip copies at install: a change in them needs another install.
COPIED := pyproject.toml tests/constraints.txt jupyter_diamond/server/jupyter_server_config.json \
          $(wildcard jupyter_diamond/labextension/package.json)

.PHONY: help demo lab test lint chaos bench bench-lab bench-agent bench-placement bench-transfer bench-files screenshots clean debian

help:
	@echo 'make demo [SLURM=1]   run the example notebook on a Jupyter server of its own, print decision, log and result'
	@echo 'make lab [SLURM=1]    open JupyterLab with the extension on the example notebooks'
	@echo 'make test [ARGS=...] [WORKERS=4]  install what the tests need, run them all (ARGS go to pytest)'
	@echo 'make chaos [SEED=1 RUNS=500 TRACE=1 | REAL=50]   faults and kills: on virtual time, or on three real Slurm clusters'
	@echo 'make lint             ruff, mypy, and tsc where node is installed'
	@echo 'make bench            every benchmark, tables on stdout'
	@echo 'make bench-lab        JupyterLab in a browser: start, first paint, news, scrolling with 10,000 tasks'
	@echo 'make bench-placement [SEED= ROUNDS= LOGS=folder]   placement policies on simulated sites'
	@echo 'make bench-transfer [GB=2 TIMES=3]   durable transfers against bare rsync and Globus Transfer, between loopback sites'
	@echo 'make bench-files      the receipt of 10,000 files against sha256sum of the same'
	@echo 'make bench-agent      agents end to end on real Slurm: right, rigorous, tokens, model calls while jobs ran'
	@echo 'make screenshots [OUT=folder]   every view as a picture'
	@echo 'make clean            remove what make has made'

.venv/installed: $(COPIED)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed: make PYTHON=/path/to/python3")'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || bash tests/live/debian.sh python
	@[ -x .venv/bin/pip ] || $(PYTHON) -m venv --clear .venv
	@bash tests/live/install.sh
	@touch $@

debian: ; @bash tests/live/debian.sh $(if $(SLURM)$(REAL),slurm)

demo: .venv/installed $(if $(SLURM),debian)
	@$(PY) -m tests.live.demo $(LIVE)

lab: .venv/installed $(if $(SLURM),debian)
	@$(PY) -m tests.live.demo --lab $(LIVE)

# debian.sh prints the markers of the tests that cannot run here; in CI it fails instead.
test: .venv/installed
	@without="$$(bash tests/live/debian.sh tests)" && JUPYTER_DIAMOND_TESTS_WITHOUT="$$without" \
	  $(PY) -m pytest -n $(WORKERS) $(ARGS)

lint: ruff mypy tsc

.PHONY: ruff mypy tsc
ruff: .venv/installed
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .

mypy: .venv/installed
	.venv/bin/mypy

tsc: .venv/installed
	@if command -v node >/dev/null; then bash tests/live/tsc.sh; else echo 'tsc: left out, node is not installed'; fi

# A violation names its seed: SEED=x RUNS=1 TRACE=1 tells that run line by line. REAL=50 breaks real clusters instead.
chaos: .venv/installed $(if $(REAL),debian)
	@$(PY) -m tests.chaos $(if $(REAL),--real $(REAL),--runs $(RUNS)) --seed $(or $(SEED),1) $(if $(TRACE),--trace)

bench: .venv/installed
	@bash tests/live/debian.sh tests >/dev/null
	@set -e; for bench in tests/benchmarks/bench_*.py; do \
	  module="$${bench%.py}"; echo; echo "== $$(basename "$$module")"; $(PY) -m "$${module//\//.}"; done

# Scripted and obedient agents on real Slurm: right, rigorous, tokens, model calls while jobs ran; PLAY="oom group" for some.
bench-agent: .venv/installed debian
	@$(PY) -m tests.benchmarks.agent $(PLAY)

# What the extension costs at JupyterLab's start, and how its screens hold up with 12 sites x 10 partitions and 10,000 tasks.
bench-lab: .venv/installed
	@bash tests/live/debian.sh tests >/dev/null
	@PYTHONPATH=tests/labextension $(PY) -m tests.benchmarks.lab

# Policies of placement on simulated federations; LOGS is a folder of job logs (SWF files or tables), if there is one.
bench-placement: .venv/installed
	@$(PY) -m tests.benchmarks.placement --seed $(or $(SEED),7) --rounds $(ROUNDS) $(if $(LOGS),--logs $(LOGS))

# 1,000 small files and a large one, by every way there is, and by the bare program beside it in the same run.
bench-transfer: .venv/installed
	@bash tests/live/debian.sh tests >/dev/null
	@export GB=$(or $(GB),2) TIMES=$(or $(TIMES),3) && $(PY) -m tests.benchmarks.bench_transfer && \
	  $(PY) -m tests.benchmarks.transfer_globus

# What a job needs to name its files, with the code that runs at a site.
bench-files: .venv/installed
	@$(PY) -m tests.benchmarks.bench_files

screenshots: .venv/installed
	@bash tests/live/debian.sh tests >/dev/null
	@PYTHONPATH=tests/labextension $(PY) -m tests.live.screenshots $(OUT)

clean:
	rm -rf .venv build dist $(OUT) labextension/node_modules labextension/lib .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
