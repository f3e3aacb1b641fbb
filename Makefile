# Each target does its own set-up, says what it installs before it does, and is quick when run again.
SHELL := /bin/bash
VENV := .venv
WRIGHT := $(VENV)/bin/wright
OUT ?= build/demo

.PHONY: install dev demo test test-lab test-long check docs man messages golden campaign lab-down bench dist cast pictures clean

install:            ## .venv with every command but the training's PyTorch: 150 MB
	@tools/setup base

dev:                ## .venv with every extra and the tools of the developers: 2.4 GB
	@tools/setup base dev

demo:               ## the whole path on one machine: lab, apply, check, train, a host killed, a report
	@tools/setup base lab dev
	@$(WRIGHT) demo --out $(OUT)

test:               ## every test without a lab, and the core of those on one; what cannot run here is skipped by name
	@tools/setup base lab dev test
	@tools/test

test-lab:           ## every test on real hosts: an hour
	@tools/setup base lab dev test
	@tools/test --labs

test-long:          ## those that take minutes each: benches, twenty kills, bursts in a row, guides of benches
	@tools/setup base lab dev test zabbix
	@.venv/bin/pytest -q -p no:randomly -m long

check: dev          ## lint, types, docs that have drifted, code that is unsafe, secrets
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/python -m clusterwright.cli._reference --check
	$(VENV)/bin/python tools/messages --check
	$(VENV)/bin/python tools/coverage-pages --check
	$(VENV)/bin/bandit -q -c pyproject.toml -r src tools/build_hook.py tools/messages tools/slurm-keys
	@git ls-files -z | xargs -0 -P 2 -n 400 $(VENV)/bin/detect-secrets-hook --baseline .secrets.baseline

docs: dev           ## write the generated references
	$(VENV)/bin/python -m clusterwright.cli._reference --write
	$(VENV)/bin/python tools/coverage-pages

man: docs           ## write the man pages (docs/man), which the wheel installs in share/man/man1; read one: man docs/man/wright.1
	@for page in docs/man/*.1; do man --warnings -E UTF-8 -l -Tutf8 -Z "$$page" >/dev/null; done

messages: dev       ## extract the texts into the Chinese catalog and compile it
	$(VENV)/bin/python tools/messages

golden: dev         ## rewrite the golden trees; read the diff like code
	$(VENV)/bin/pytest -q -m "not lab" tests/provision tests/launch tests/config --golden

bench: dev          ## every figure we claim, measured here
	@$(VENV)/bin/python -m bench --all

campaign:           ## 200 faults on eight hosts, hours long: SEED=1 FAULTS=200, a page in build/campaign
	@tools/setup base lab dev
	@$(WRIGHT) lab campaign examples/campaign/cluster.yaml --seed $(or $(SEED),1) --faults $(or $(FAULTS),200) --out build/campaign
	@$(WRIGHT) lab down campaign --yes

cast:               ## record the demo, a lab whose host loses power, as docs/demo.cast and docs/demo.svg
	@tools/setup base lab dev
	@$(VENV)/bin/python tools/cast docs/demo $(WRIGHT) demo --out $(OUT)

pictures:           ## draw docs/web/*.png: the page of a living lab with two jobs and a host that lost power
	@tools/setup base lab dev
	@$(VENV)/bin/python tools/pictures

dist:               ## a release in dist/: wheel, source archive, one-file executable, .deb, .rpm, bill of materials, notes, checksums
	@tools/setup base dist dev
	@tools/dist

lab-down:           ## remove the lab of examples/lab, whatever state it is in
	@$(WRIGHT) lab down lab

clean:              ## everything that make has made in this folder
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis $(VENV)
