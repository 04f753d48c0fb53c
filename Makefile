PYTHON ?= python3
SECONDS ?= 60
SEEDS ?= 1000
IMAGES ?= 1000
SIZES ?= 10000,100000,1000000
VERSION := $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' daemon/__init__.py)

BIN := .venv/bin
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet
PREFIX_PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 "$(PREFIX)/bin/python" -m pip install --quiet
COMPILE := .venv/lock/bin/uv pip compile pyproject.toml --extra speed --quiet --universal --generate-hashes \
	--python-version 3.11 --no-emit-index-url --no-annotate --custom-compile-command 'make lock'
COMPILE_GROUP := .venv/lock/bin/uv pip compile --quiet --universal --generate-hashes \
	--python-version 3.11 --no-emit-index-url --no-annotate --custom-compile-command 'make lock'
# The distribution was called penstock up to 0.1.0. It goes first, so that it takes no file of penstockd along.
without_penstock = $(1) -m pip uninstall --quiet --yes --disable-pip-version-check penstock 2>/dev/null
SUPPLY := .venv/supply/bin
DEPLOY := .venv/deploy/bin
# What the property tests draw differs from run to run, so the coverage gate does not count them.
PURE_TESTS := tests/core tests/golden
PAGE_TESTS := tests/ui tests/page_speed
HOUSE_TESTS := tests/house
RIG_TESTS := $(addprefix tests/,agents attack audit bench cluster cost crash effects fuzz linear power reports scale sim swarm timers)
# What packages, what stands in front of the service, the library's own rig, long forms, and what measures memory,
# turns and kills.
RIG_TESTS += $(addprefix tests/,deploy library proxies actors/test_memory.py bpmn/test_round_trips.py evaluation/test_places.py \
	notifications/test_kills.py web/test_large_runs.py webhooks/test_kills.py)

# How long each test took is printed, and kept for each target.
PYTEST = $(BIN)/python -m pytest --durations=25 --durations-min=0.5 --junitxml=build/durations/$@.xml

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install run demo test test-rigs test-ui test-postgres coverage check house patches ui ui-check screenshots load bench cost gateway crash cluster failover upgrade demotion preview panels throughput footprint growth effects sim power startup page-speed publishing linear deadlines clocks timers reports swarm calibration library tamper attack fuzz wheel client image deploy-check sbom audit prefix docs reference openapi schemathesis lock clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

install: $(if $(PREFIX),prefix,.venv/installed $(if $(TRACING),.venv/traced) $(if $(MCP),.venv/with-mcp)) ## make .venv and install the service into it, or into PREFIX= with its units; TRACING=1 for traces, MCP=1 for agents, too

run: .venv/installed ## serve on 127.0.0.1:8080, data in ./var
	@$(BIN)/penstock serve --data-dir ./var

demo: .venv/installed ## drive a process from start to end, in this terminal
	@$(BIN)/penstock demo

test: .venv/developed ## run the tests, those of the pure modules with the coverage gate
	@$(PYTEST) $(addprefix --ignore ,$(PURE_TESTS) $(PAGE_TESTS) $(HOUSE_TESTS) $(RIG_TESTS))
	@$(MAKE) --no-print-directory coverage

test-rigs: .venv/developed .venv/agents/made ## run the tests that kill, attack, fill disks, tamper and package: each rig in its short form
	@$(PYTEST) $(RIG_TESTS)

coverage: .venv/developed ## hold the pure modules at 100 % branch coverage
	@$(PYTEST) --quiet $(PURE_TESTS) --cov --cov-report=term

check: .venv/developed ## format, lint, types, imports
	@$(BIN)/ruff format --check
	@$(BIN)/ruff check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

house: .venv/developed ## print the measures of the tree and try its rules, and fail where one is not held; LOWER=1 lowers bounds to what is found
	@$(BIN)/python -m tests.house $(if $(LOWER),--lower)
	@$(PYTEST) --quiet $(HOUSE_TESTS)

patches: .venv/developed ## try the stored patches on copies of the tree, or write one from what the tree has: ONLY= RENEW=
	@$(BIN)/python -m tests.patches $(if $(RENEW),--renew $(RENEW),$(ONLY))

test-ui: .venv/developed ## try the page in Chromium
	@command -v chromium chromium-browser >/dev/null || { echo "There is no Chromium here: apt-get install chromium" >&2; exit 1; }
	@$(PYTEST) --dist loadfile $(PAGE_TESTS)

ui: daemon/ui/node_modules/installed ## build the page from daemon/ui; needs node
	@cd daemon/ui && npm run --silent build

ui-check: daemon/ui/node_modules/installed ## whether the page in the tree is what its source builds; needs node
	@cd daemon/ui && npm run --silent check

screenshots: .venv/developed ## write docs/img anew; needs Chromium
	@$(BIN)/python -m tests.ui.screenshots

load: .venv/developed ## concurrent resumes against a running service: RUNS= CALLERS= CONNECTIONS=
	@$(BIN)/python -m tests.load $(if $(RUNS),--runs $(RUNS)) $(if $(CALLERS),--callers $(CALLERS)) \
		$(if $(CONNECTIONS),--connections $(CONNECTIONS))

bench: .venv/developed ## measure speed, beside a bare server, stored runs and other engines: ONLY= PLAN= WRITE=docs/explanation/performance.md
	@$(BIN)/python -m tests.bench $(if $(ONLY),--only $(ONLY)) $(if $(PLAN),--plan $(PLAN)) $(if $(WRITE),--write $(WRITE))

cost: .venv/developed ## what a request, an idle second and a start cost, beside another commit: BESIDE=HEAD~1 ROUNDS=5 INSTRUCTIONS=1
	@$(BIN)/python -m tests.cost $(if $(BESIDE),--beside $(BESIDE)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(INSTRUCTIONS),--instructions)

gateway: .venv/developed ## what the gateway adds to an allowed read of a tool, beside the server itself: CALLERS=64 CALLS=10 RATE=64 ROUNDS=5 REVISION=
	@$(BIN)/python -m tests.gateway.rig $(if $(CALLERS),--callers $(CALLERS)) $(if $(CALLS),--calls $(CALLS)) \
		$(if $(RATE),--rate $(RATE)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(REVISION),--revision $(REVISION))

crash: .venv/developed ## kill the service under load, again and again, and have a checker compare: SECONDS=60
	@$(BIN)/python -m tests.crash --seconds $(SECONDS)

power: .venv/developed ## cut the power at so many places, and look at what a disk could have kept: IMAGES=1000
	@$(BIN)/python -m tests.power --images $(IMAGES)

linear: .venv/developed ## concurrent verdicts with kills in between, checked for linearizability: GATES= CALLERS=
	@$(BIN)/python -m tests.linear $(if $(GATES),--gates $(GATES)) $(if $(CALLERS),--callers $(CALLERS))

deadlines: .venv/developed ## verdicts at the deadlines of so many gates, while the clock jumps and daemons are killed: GATES=10000 DAEMONS=1
	@$(BIN)/python -m tests.timers --gates $(or $(GATES),10000) $(if $(DAEMONS),--daemons $(DAEMONS))

clocks: .venv/developed ## runs of each shipped process that has clocks, decided at each last moment with kills between: RUNS=20 DAEMONS=1
	@$(BIN)/python -m tests.timers --lawful $(or $(RUNS),20) $(if $(DAEMONS),--daemons $(DAEMONS)) $(if $(ONLY),--only $(ONLY))

timers: .venv/developed ## so many timers that are due within one minute: COUNT=100000
	@$(BIN)/python -m tests.timers $(if $(COUNT),--count $(COUNT))

swarm: .venv/developed ## agents that want so many calls, people who decide, pauses and kills, and a count of what reached the outside: ACTIONS=10000 AGENTS=50 DAEMONS=1
	@$(BIN)/python -m tests.swarm --actions $(or $(ACTIONS),10000) --agents $(or $(AGENTS),50) --daemons $(or $(DAEMONS),1) \
		$(if $(SEED),--seed $(SEED))

calibration: .venv/developed ## what is cleared by synthetic judges, and how often that is wrong: SEEDS=20
	@$(BIN)/python -m tests.calibration $(SEEDS)

reports: .venv/developed ## random histories, whose reports are compared with a recount from the events: HISTORIES=10000
	@$(BIN)/python -m tests.reports --histories $(or $(HISTORIES),10000)

library: .venv/developed ## judge the shipped processes by their standard, in RUNS=1000 random runs of each, SERVED=20 of them on a real service, and SCORE=95 % of what enforces a rule by changes of it that its rehearsals have to miss: ONLY=
	@$(BIN)/python -m tests.library $(if $(RUNS),--runs $(RUNS)) $(if $(SCORE),--score $(SCORE)) --served $(or $(SERVED),20) $(ONLY)

cluster: .venv/developed ## three daemons on one PostgreSQL, faults in turn, then 30 verdicts at each of GATES=5000: SECONDS=60 PROCESSES=1
	@$(BIN)/python -m tests.cluster --seconds $(SECONDS) $(if $(GATES),--gates $(GATES)) $(if $(PROCESSES),--processes)

failover: .venv/developed ## three daemons on a database that fails over, with a real standby, case by case: ONLY=killed
	@$(BIN)/python -m tests.cluster.failover $(if $(ONLY),--only $(ONLY))

upgrade: .venv/developed ## roll three daemons from the last release to this version under load
	@$(BIN)/python -m tests.cluster.upgrade

demotion: .venv/developed ## requests that race with the end of a right, and reads with CHANGES=10000 of who reads, on one daemon and on three: REQUESTS=10000
	@$(BIN)/python -m tests.cluster.demotion $(if $(REQUESTS),--requests $(REQUESTS)) $(if $(CHANGES),--changes $(CHANGES))

preview: .venv/developed ## previews of decisions against what happens, over so many templates: TEMPLATES=10000
	@$(BIN)/python -m tests.property $(or $(TEMPLATES),10000)

panels: .venv/developed ## random outcomes of panels, which clear no high step and none below its floor: OUTCOMES=100000
	@$(BIN)/python -m tests.property panels $(or $(OUTCOMES),100000)

throughput: .venv/developed ## one daemon on SQLite beside one and two on PostgreSQL, in loops a second
	@$(BIN)/python -m tests.cluster.throughput

growth: .venv/developed ## what requests, start-up, backup and verify cost beside ever more stored runs: SIZES= PLAN= KEPT=folder
	@$(BIN)/python -m tests.bench --only growth --sizes $(SIZES) $(if $(PLAN),--plan $(PLAN)) $(if $(KEPT),--kept $(KEPT))

footprint: .venv/developed ## what one and three daemons, an idle one and a webhook cost PostgreSQL
	@$(BIN)/python -m tests.cluster.footprint

test-postgres: .venv/developed ## the tests of the public contract against so many daemons on PostgreSQL: DAEMONS=3
	@TESTS_ON=postgres TESTS_DAEMONS=$(if $(DAEMONS),$(DAEMONS),3) $(PYTEST) tests/web tests/aap

effects: .venv/developed ## count what reaches the outside, at full scale: at most once, shadow, what was shown
	@$(BIN)/python -m tests.effects

sim: .venv/developed ## play seeds on a virtual clock, with faults, against what is always true: SEEDS=1000
	@$(BIN)/python -m tests.sim --seeds $(SEEDS)

startup: .venv/developed ## start on 10,000 parked runs and a log of 64 MiB after a kill, and measure
	@$(BIN)/python -m tests.scale.startup

publishing: .venv/developed ## publish so many versions while runs start and go on, and a kill behind the last: COUNT=1000
	@$(BIN)/python -m tests.scale.publishing --count $(or $(COUNT),1000)

page-speed: .venv/developed ## measure the lists of the page in Chromium beside RUNS=100000 and GATES=10000, kept in FOLDER=
	@$(BIN)/python -m tests.page_speed $(if $(RUNS),--runs $(RUNS)) $(if $(GATES),--gates $(GATES)) \
		$(if $(FOLDER),--folder $(FOLDER))

tamper: .venv/developed ## tamper with a stored history, and count what verification finds and names: COUNT=1000
	@$(BIN)/python -m tests.audit --count $(or $(COUNT),1000)

attack: .venv/developed ## attack a service in every way known, alone and all at once, in 10 minutes: ONLY=
	@$(BIN)/python -m tests.attack $(if $(ONLY),--only $(ONLY))

wheel: .venv/installed ## build the wheel and the source distribution into dist/, the same bytes from the same commit
	@$(BIN)/python -m tests.house.packages dist

client: daemon/client/typescript/node_modules/installed ## check the TypeScript client, and pack it into dist/; needs node
	@cd daemon/client/typescript && npm run --silent check >/dev/null
	@mkdir -p dist && cd daemon/client/typescript && npm pack --silent --ignore-scripts --pack-destination "$(CURDIR)/dist"

image: .venv/installed ## build the container image, and try it as compose.yaml runs it; exit 2 where no engine runs one: BUILD= RUN= are its options
	@$(BIN)/python -m tests.deploy.image $(if $(BUILD),--build "$(BUILD)") $(if $(RUN),--run "$(RUN)")

deploy-check: .venv/deploy/made ## have Dockerfile, compose.yaml, manifests and workflows judged by the linters of their kind
	@if test -x $(DEPLOY)/hadolint; then $(DEPLOY)/hadolint Dockerfile; else echo "There is no hadolint for this machine"; fi
	@$(DEPLOY)/check-jsonschema --quiet --builtin-schema vendor.compose-spec compose.yaml
	@$(DEPLOY)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(DEPLOY)/kubernetes-validate --strict --quiet $(filter-out %/kustomization.yaml,$(wildcard docs/deploy/kubernetes/*/*.yaml))
	@$(DEPLOY)/zizmor --offline --quiet --config .github/zizmor.yml .github/workflows

sbom: .venv/supply/made ## write CycloneDX documents of what the service and the page consist of into build/sbom/
	@mkdir -p build/sbom
	@sed 's/^dynamic = .*/version = "$(VERSION)"/' pyproject.toml > build/sbom/pyproject.toml
	@$(SUPPLY)/cyclonedx-py requirements requirements.txt --pyproject build/sbom/pyproject.toml --output-reproducible --validate \
		--short-PURLs --output-file build/sbom/service.cdx.json 2>/dev/null
	@cd daemon/ui && npm sbom --silent --package-lock-only --omit dev --sbom-format cyclonedx > ../../build/sbom/page.cdx.json
	@rm build/sbom/pyproject.toml
	@ls -l build/sbom

audit: .venv/supply/made ## look for known vulnerabilities in what is locked; exit 2 where no database of them can be reached
	@$(SUPPLY)/python tests/house/advisories.py

fuzz: .venv/developed ## send whatever strangers may send, to the service and its parsers: SECONDS=600 SEED=
	@$(BIN)/python -m tests.fuzz $(if $(filter command line,$(origin SECONDS)),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED))

docs: .venv/developed reference ## build the site of the docs into build/docs, and fail on a dead link
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --config-file docs/site/mkdocs.yml

reference: .venv/developed ## write the parts of docs anew that are made from code
	@$(BIN)/python -m tests.house.reference

openapi: .venv/developed ## write docs/openapi.json anew, for a change of the contract that is meant
	@$(BIN)/python -m tests.web.contract_file
	@$(BIN)/python -m tests.house.reference

schemathesis: .venv/developed .venv/schemathesis/made ## all examples of the contract, then schemathesis with all its checks on the running service: EXAMPLES=
	@TESTS_EXAMPLES=$(or $(EXAMPLES),30) $(PYTEST) --quiet tests/web/test_contract.py
	@$(BIN)/python -m tests.schemathesis --program .venv/schemathesis/bin/schemathesis $(if $(EXAMPLES),--examples $(EXAMPLES))

# The locks of what is installed take their versions from the widest one, so that all agree.
lock: .venv/made ## write the lock files anew from pyproject.toml
	@rm -rf .venv/lock && $(PYTHON) -m venv .venv/lock
	@PIP_DISABLE_PIP_VERSION_CHECK=1 .venv/lock/bin/python -m pip install --quiet --only-binary :all: uv
	@$(COMPILE) --extra mcp --extra tracing --group dev --upgrade --output-file requirements-dev.txt
	@$(COMPILE) --extra tracing --group build --constraint requirements-dev.txt --upgrade --output-file requirements-tracing.txt
	@$(COMPILE) --extra mcp --group build --constraint requirements-dev.txt --upgrade --output-file requirements-mcp.txt
	@$(COMPILE) --group build --constraint requirements-dev.txt --upgrade --output-file requirements.txt
	@$(COMPILE_GROUP) --group pyproject.toml:supply --upgrade --output-file requirements-supply.txt
	@$(COMPILE_GROUP) --group pyproject.toml:deploy --upgrade --output-file requirements-deploy.txt
	@$(COMPILE_GROUP) --group pyproject.toml:agents --upgrade --output-file tests/agents/frameworks.txt
	@rm -rf .venv/lock

clean: ## remove what was made: .venv and caches; ./var stays
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage .coverage.* build dist
	@find actors daemon tests -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment that is there is kept, so that this upgrades, too. The units name the prefix that they stand in.
prefix:
	@case "$(PREFIX)" in /*) ;; *) echo "PREFIX names a folder from the root on, such as /opt/penstock, and not $(PREFIX)" >&2; exit 1 ;; esac
	@test -x "$(PREFIX)/bin/python" || "$(PYTHON)" -m venv "$(PREFIX)"
	@$(PREFIX_PIP) --require-hashes --no-deps --only-binary :all: --requirement requirements.txt \
		$(if $(TRACING),--requirement requirements-tracing.txt) $(if $(MCP),--requirement requirements-mcp.txt)
	@$(call without_penstock,"$(PREFIX)/bin/python")
	@$(PREFIX_PIP) --no-build-isolation --no-deps --force-reinstall .
	@sed -i 's|/opt/penstock|$(PREFIX)|g' "$(PREFIX)"/lib/systemd/system/penstock.*
	@echo "penstock $$("$(PREFIX)/bin/penstock" version) is in $(PREFIX); docs/guides/install.md says how to go on"

# The files below mark what is done, so that a second call does nothing. The locks are whole, so pip looks for nothing
# beside them: where one package asks for an extra of another, it would look at releases that are newer than the lock.

.venv/made:
	@command -v "$(PYTHON)" >/dev/null || { echo "Penstock needs Python 3.11 or newer, and there is no $(PYTHON) here; name one with make PYTHON=…" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Penstock needs Python 3.11 or newer, and $(PYTHON) is $$("$(PYTHON)" -V 2>&1); name a newer one with make PYTHON=…" >&2; exit 1; }
	@"$(PYTHON)" -m venv --clear .venv
	@touch $@

.venv/installed: .venv/made requirements.txt pyproject.toml
	@$(PIP) --require-hashes --no-deps --only-binary :all: --requirement requirements.txt
	@$(call without_penstock,$(BIN)/python)
	@$(PIP) --no-build-isolation --no-deps --editable .
	@touch $@

.venv/with-mcp: .venv/installed requirements-mcp.txt
	@$(PIP) --require-hashes --no-deps --only-binary :all: --requirement requirements-mcp.txt
	@touch $@

.venv/traced: .venv/installed requirements-tracing.txt
	@$(PIP) --require-hashes --no-deps --only-binary :all: --requirement requirements-tracing.txt
	@touch $@

# In an environment of its own: what it needs is nothing that the service or its tests do.
.venv/schemathesis/made: .venv/made
	@"$(PYTHON)" -m venv --clear .venv/schemathesis
	@PIP_DISABLE_PIP_VERSION_CHECK=1 .venv/schemathesis/bin/python -m pip install --quiet --only-binary :all: 'schemathesis>=4,<5'
	@touch $@

# In an environment of its own, too.
.venv/supply/made: .venv/made requirements-supply.txt
	@"$(PYTHON)" -m venv --clear .venv/supply
	@PIP_DISABLE_PIP_VERSION_CHECK=1 .venv/supply/bin/python -m pip install --quiet --require-hashes --no-deps --only-binary :all: \
		--requirement requirements-supply.txt
	@touch $@

# In an environment of its own, too.
.venv/deploy/made: .venv/made requirements-deploy.txt
	@"$(PYTHON)" -m venv --clear .venv/deploy
	@PIP_DISABLE_PIP_VERSION_CHECK=1 .venv/deploy/bin/python -m pip install --quiet --require-hashes --no-deps --only-binary :all: \
		--requirement requirements-deploy.txt
	@touch $@

# In an environment of its own, too: the frameworks of agents need other releases of what the service needs.
.venv/agents/made: .venv/made tests/agents/frameworks.txt
	@"$(PYTHON)" -m venv --clear .venv/agents
	@PIP_DISABLE_PIP_VERSION_CHECK=1 .venv/agents/bin/python -m pip install --quiet --require-hashes --no-deps --only-binary :all: \
		--requirement tests/agents/frameworks.txt
	@touch $@

daemon/ui/node_modules/installed: daemon/ui/package.json daemon/ui/package-lock.json
	@command -v npm >/dev/null || { echo "Building the page needs node and npm, and there is no npm here" >&2; exit 1; }
	@cd daemon/ui && npm ci --silent --no-audit --no-fund
	@touch $@

daemon/client/typescript/node_modules/installed: daemon/client/typescript/package.json daemon/client/typescript/package-lock.json
	@command -v npm >/dev/null || { echo "Building the TypeScript client needs node and npm, and there is no npm here" >&2; exit 1; }
	@cd daemon/client/typescript && npm ci --silent --no-audit --no-fund
	@touch $@

.venv/developed: .venv/installed requirements-dev.txt
	@$(PIP) --require-hashes --no-deps --only-binary :all: --requirement requirements-dev.txt
	@touch $@
