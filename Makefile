# diastase: `make help` lists the targets. Python >= 3.11, make and a linker are assumed.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo demo-training demo-noise demo-cluster test test-all canary fuzz fuzz-source mutants check format lint types imports bench bench-classical bench-compare docs sizes clean check-memory release-check workflows faults soak accuracy upstream site site-check

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

# One stamp a set of extras; pyproject.toml is the only source of what is installed.
$(BIN)/python:
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "Python 3.11 or newer is needed"'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

demo: $(VENV)/.installed-demo ## the ground-state energy of H2, compiled whole, with a plot
	$(BIN)/python examples/h2_vqe.py

demo-training: $(VENV)/.installed-demo ## three trainings, each one compiled program, with plots of the loss
	$(BIN)/python examples/lih_vqe.py
	$(BIN)/python examples/qaoa_maxcut.py
	$(BIN)/python examples/digits_classifier.py

demo-noise: $(VENV)/.installed-demo ## noise on density matrices and in trajectories, with two plots
	$(BIN)/python examples/noise.py

demo-cluster: $(VENV)/.installed-demo,cluster ## a phase diagram, swept on a cluster of this computer
	$(BIN)/python examples/sweep_cluster.py

test: $(VENV)/.installed-test ## all tests, of what is long a sample (tests/sampled.py)
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal --quiet

test-all: $(VENV)/.installed-test ## everything, half an hour: before a large change is called done
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal --quiet tests

SECONDS ?= 600

fuzz: $(VENV)/.installed-test ## look for wrong answers for SECONDS=600; ONLY="mapped split" for some oracles
	PYTHONPATH=tests $(BIN)/python -m fuzz --seconds $(SECONDS) --workers $(WORKERS) $(if $(ONLY),--only $(ONLY))

fuzz-source: $(VENV)/.installed-test ## the same by programs in text, for SECONDS=600; SEED=0 ONLY="circuit"
	PYTHONPATH=tests $(BIN)/python -m source_fuzz --seconds $(SECONDS) --seed $(or $(SEED),0) $(if $(ONLY),--only $(ONLY))

mutants: $(VENV)/.installed-test ## does the campaign find mistakes that are made in the compiler? SECONDS=600 for each
	PYTHONPATH=tests $(BIN)/python -m fuzz.mutants --seconds $(SECONDS) --workers $(WORKERS)

CHECKED := $(BIN)/python tests/checked.py
THREADS := test_threads.py test_parallel_engine.py
CACHE := DIASTASE_CACHE_DIR=$(CURDIR)/.checked

check-memory: $(VENV)/.installed-test ## the engine, and programs for SECONDS=600, in checked builds; GCC, Valgrind
	mkdir -p -m 700 .checked
	$(CACHE) $(CHECKED) address -m pytest --numprocesses 0 --quiet tests/engine
	$(CACHE) $(CHECKED) threads -m pytest --numprocesses 0 --quiet $(addprefix tests/engine/,$(THREADS))
	$(CACHE) PYTHONPATH=tests $(CHECKED) address -m fuzz --seconds $(SECONDS) --workers $(WORKERS)
	$(CACHE) DIASTASE_TARGET_CPU=x86-64-v3 $(BIN)/python tests/under_valgrind.py

faults: $(VENV)/.installed-test ## what fails in turn: files, memory, dlopen, linkers, clocks; ONLY="words" for some
	PYTHONPATH=tests $(BIN)/python -m faults --write $(if $(ONLY),--only "$(ONLY)")

SCALE ?= 1

soak: $(VENV)/.installed-test ## load: millions of calls, threads, forks, signals; SCALE=0.1 for a part, ONLY="fork compil"
	PYTHONPATH=tests $(BIN)/python -m soak --scale $(SCALE) --workers $(WORKERS) $(if $(ONLY),--only $(ONLY))

upstream: $(VENV)/.installed-test ## do the bugs of others that docs/upstream.md shows still stand? ONLY="words of a title"
	$(BIN)/python docs/upstream.py $(if $(ONLY),"$(ONLY)")

canary: $(VENV)/.installed-test ## the suite with the newest JAX, PennyLane and Python: what breaks
	$(BIN)/python tests/canary.py

release-check: $(VENV)/.installed-release ## what would be published: built, read, installed in new environments, tried
	PYTHONPATH=tests $(BIN)/python tests/release_check.py

check: format lint types imports workflows test ## everything that must hold before a commit

format: $(VENV)/.installed-check ## formatting, checked
	$(BIN)/ruff format --check .

lint: $(VENV)/.installed-check ## ruff
	$(BIN)/ruff check .

types: $(VENV)/.installed-check ## pyright
	$(BIN)/pyright

workflows: $(VENV)/.installed-release ## what the public CI runs: its files are well-formed, and safe
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor --offline --no-progress .github/workflows

imports: $(VENV)/.installed-check ## the contracts between the layers
	$(BIN)/lint-imports

bench: $(VENV)/.installed-demo ## speed beside its peers, how compiling grows; CASES="hea-20 qft" for a part
	$(BIN)/python benchmarks $(CASES)
	$(if $(CASES),,$(BIN)/python benchmarks/compile_scaling.py)

bench-classical: $(VENV)/.installed-demo ## the list of classical programs beside jax.jit; ONLY="fft sort" for a part
	$(BIN)/python benchmarks/classical_200 $(if $(ONLY),--only $(ONLY))

accuracy: $(VENV)/.installed-test ## errors of all functions, conversions, edges and derivatives beside XLA's: docs/accuracy.md (an hour)
	$(BIN)/python benchmarks/accuracy

bench-compare: $(VENV)/.installed-demo ## what got slower between the last two runs of make bench
	$(BIN)/python benchmarks --regressions

docs: $(VENV)/.installed-test ## draw the rooms and the tables of errors and oracles from the sources, run the tour
	$(BIN)/python docs/rooms.py
	$(BIN)/python docs/error_table.py
	$(BIN)/python docs/oracle_table.py
	$(BIN)/python docs/tour.py

site: $(VENV)/.installed-demo,cluster,site ## the documentation as a site, build/site: tutorials and examples run, links checked
	$(BIN)/python docs/site

site-check: $(VENV)/.installed-demo,cluster,site ## look at build/site in Chromium: links, searches, widths, the console
	$(BIN)/python docs/site/browser.py --screenshots build/site-screenshots

sizes: ## lines of each source file, largest first
	@find frontend mlir runtime -name '*.py' | xargs wc -l | sort -rn | head -40

clean: ## remove what make made; the user's compile cache stays
	rm -rf .venv .venv-canary build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
