# Lanemark. `make help` lists the targets; each target does its own set-up.

LANEMARK := target/release/lanemark
DEMO     := demo
ENDURANCE := results/endurance
export CARGO_TERM_COLOR ?= auto

.DEFAULT_GOAL := help
.PHONY: help targets hook demo page site test axe python python-env python-test python-bench wheels mysql serve-soak crash serve-verdict serve-bench gate check lints bench instructions golden mutants agreement ladders validate fuzz library fit grids endurance oltp-kills oltp-live oltp-bench build install static dist dist-test examples release-check tools dist-tools clean docs

help:            ## the targets that most people need; `make targets` lists all
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

targets:         #: all targets
	@awk -F':.*#[#:] ' '/^[a-z-]+:.*#[#:] /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

hook:            #: check formatting and the house rules before each commit
	git config core.hooksPath .githooks

demo: page build    ## measure this machine, run the first study, show both (under two minutes)
	@mkdir -p $(DEMO)
	$(LANEMARK) bench $(DEMO) crystaldiskmark-5 --size 128MiB --duration 1s --repeats 3 \
	    --out $(DEMO)/measured.json
	@echo
	$(LANEMARK) study studies/sata-vs-nvme-crystaldiskmark.toml --measured $(DEMO)/measured.json \
	    --out $(DEMO)/study.json --html $(DEMO)/lanemark.html
	@echo
	@echo "The page with the charts: $(abspath $(DEMO))/lanemark.html"

# The Python environment is downloaded while the first crates compile. Instructions are counted while the Python tests
# run, because the count does not depend on other programs.
test: tools page ## all tests, and a short run of each benchmark
	@$(MAKE) --no-print-directory python-env & \
	    python3 crates/lanemark-testbed/run.py --workspace --all-features --locked && wait
	cargo test --workspace --all-features --locked --doc
	cargo test --workspace --all-features --locked --bench simulator --bench agreement --bench engine --bench goals \
	    --bench serve --bench reading
	$(MAKE) -j2 --output-sync=target instructions python-test

# The tests use the package in the tree, with the extension that cargo builds together with the command.
PYTHON := target/python/bin/python
python-env:
	@[ -x $(PYTHON) ] || python3 -m venv target/python
	@cmp -s python/requirements.txt target/python/requirements.txt || \
	    { $(PYTHON) -m pip install -q --disable-pip-version-check -r python/requirements.txt && \
	    cp python/requirements.txt target/python/requirements.txt; }

python: python-env ## the environment of the Python package, with the extension in python/lanemark
	cargo build --locked --workspace --all-features --lib --bins --example one_run
	@cmp -s target/debug/lib_lanemark.so python/lanemark/_lanemark.abi3.so || \
	    { cp target/debug/lib_lanemark.so python/lanemark/_lanemark.new && \
	    mv python/lanemark/_lanemark.new python/lanemark/_lanemark.abi3.so; }

python-test: python #: the tests of the Python package
	PYTHONPATH=$(abspath python) $(PYTHON) -m pytest

# The release's extension is in a copy of the package, so that the tree keeps the extension that the tests use.
python-bench: python build #: compare the package with the command; sweeps on two cores and on Dask (five minutes)
	cargo build --release --locked -p lanemark-python -p lanemark-lab --lib --example one_run
	rm -rf target/bench-package && mkdir -p target/bench-package
	cp -r python/lanemark target/bench-package/
	cp target/release/lib_lanemark.so target/bench-package/lanemark/_lanemark.abi3.so
	PYTHONPATH=$(abspath target/bench-package) $(PYTHON) python/bench/speed.py
	PYTHONPATH=$(abspath target/bench-package) $(PYTHON) python/bench/sweeps.py

wheels:          #: the Python package as a wheel in target/wheels, installed and tested in a fresh environment
	@[ -x target/python/bin/maturin ] || { python3 -m venv target/python && \
	    $(PYTHON) -m pip install -q --disable-pip-version-check -r python/requirements.txt; }
	rm -rf target/wheels target/wheel-try
	target/python/bin/maturin build --release --locked --out target/wheels
	python3 -m venv target/wheel-try
	target/wheel-try/bin/pip install -q --disable-pip-version-check target/wheels/*.whl
	cd target/wheel-try && bin/python ../../python/tests/try_wheel.py

serve-soak: tools #: served systems: a million operations, full file systems, a thousand kills, ninety power cuts (root; ten minutes)
	LANEMARK_SERVE_SOAK=1 cargo test --locked -p lanemark-cli --test serve -- --nocapture

crash: tools     #: attack served data with an independent client: 100 crashes of the host, 200 kills, 200 power cuts, a full disk (root; ten minutes)
	LANEMARK_CRASH=1 cargo test --locked --workspace --all-features --test serve crash -- --nocapture --test-threads=1

serve-verdict: tools #: compare served runs with fio's figures (six drives, eight loads) and with simulations on the measured host (four drives; ten minutes, a quiet machine)
	LANEMARK_SERVE_VERDICT=1 cargo test --release --locked -p lanemark-cli --test serve -- --nocapture verdict

gate: build       #: false alarms and detections of the gate of `compare --baseline`, 100 runs each (five minutes, a quiet machine)
	python3 crates/lanemark-testbed/gate.py $(CURDIR)/target/release/lanemark

serve-bench: build tools #: compare served systems with nbdkit, and delivered latency with modelled latency (four minutes, a quiet machine)
	cargo bench --locked -p lanemark-cli --bench serve

mysql: tools     #: the OLTP tests on MariaDB
	cargo test --locked -p lanemark-oltp --features mysql --test mysql -- --nocapture

# A test of lanemark-validation, which `make test` runs too, fails if a table in README or docs/validation differs from
# the figures that `make validate` or `make grids` saved last.
check: lints     ## formatting, lints, docs, the house rules, and the accuracy tables in the documents
	cargo test --workspace --all-features --locked --test tidy --test references --test documents

lints:           #: the part of `check` without tests
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --all-features --no-deps --locked
	$(MAKE) python
	target/python/bin/ruff check python crates/lanemark-testbed
	target/python/bin/ruff format --check python crates/lanemark-testbed
	target/python/bin/pyright --pythonpath $(PYTHON)

bench: build tools ## speed of the simulator and the readers; the engine's cost and figures compared with fio (ten minutes)
	cargo bench --locked -p lanemark-study --bench simulator
	cargo bench --locked -p lanemark-trace --bench reading
	cargo bench --locked -p lanemark-cli --bench agreement
	cargo bench --locked -p lanemark-cli --bench engine
	cargo bench --locked -p lanemark-cli --bench goals
	$(MAKE) python-bench

instructions: tools #: the simulator's instructions per request, counted by valgrind and compared with the recorded counts
	cargo bench --locked -p lanemark-study --bench instructions

AGREEMENT := 2880
AGREEMENT_SEED := 2
agreement:       #: compare converged runs with whole runs, 2,880 cases (fifteen minutes on two free cores)
	LANEMARK_AGREEMENT=$(AGREEMENT) LANEMARK_AGREEMENT_SEED=$(AGREEMENT_SEED) cargo test --locked --release -p lanemark-study --test agreement -- --nocapture

LADDERS := 3000
ladders:         #: make parts of the library's drives faster step by step, a few thousand times: no step may lose throughput
	LANEMARK_LADDERS=$(LADDERS) cargo test --locked --release -p lanemark-study --test ladders -- --nocapture

# Each target starts from files in the tree and keeps its findings in target/fuzz/; `FUZZ_TARGETS=trace` runs one target,
# and `FUZZ_RUNS=10000000` takes a night. The canary breaks its promise, so that a fuzzer that finds nothing is noticed.
FUZZ_RUNS    := 100000
FUZZ_TARGETS := $(filter-out canary, $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs))))
FUZZ = PATH="$(abspath target/tools/bin):$$PATH" CARGO_TARGET_DIR=$(abspath target/fuzz) cargo fuzz run -s none $(1) \
    $(abspath target/fuzz/corpus)/$(1) -- -runs=$(FUZZ_RUNS) -timeout=20 -rss_limit_mb=2048 \
    -artifact_prefix=$(abspath target/fuzz)/$(1)- -print_final_stats=1 >target/fuzz/$(1).log 2>&1
fuzz:            #: run libFuzzer on each reader of foreign bytes, starting from valid inputs (100,000 executions each)
	@[ -x target/tools/bin/cargo-fuzz ] || \
	    cargo install --locked --root target/tools --target-dir target/tools/build cargo-fuzz@0.13.2
	@mkdir -p $(FUZZ_TARGETS:%=target/fuzz/corpus/%) target/fuzz/corpus/canary
	LANEMARK_FUZZ_SEEDS=$(abspath target/fuzz/corpus) cargo test --locked --workspace --all-features --test readers seeds
	@! { $(call FUZZ,canary); } && grep -q 'the canary is dead' target/fuzz/canary.log || \
	    { tail -40 target/fuzz/canary.log; echo "the fuzzer did not find the canary's broken promise"; exit 1; }
	@for target in $(FUZZ_TARGETS); do \
	    { $(call FUZZ,$$target); } || { tail -40 target/fuzz/$$target.log; exit 1; }; \
	    echo "$$target: $$(grep -o 'number_of_executed.*' target/fuzz/$$target.log)"; \
	done

golden:          #: rewrite studies/golden/ after an intended change of the model
	LANEMARK_GOLDEN=write cargo test --locked -p lanemark-cli --test golden

# All changes are compiled once, and a switch selects the active change; only the tests that reach a change run with
# that change. `MUTANTS_SHARD=1` selects the next sample; a complete run covers all samples. mutants/reasons.csv lists
# the changes that no test needs to detect, with the reason. `MUTANTS_MODE=--witnesses` counts the changes that only
# one fast test detects, by test, in target/mutants/witnesses.csv.
MUTANTS       := 200
MUTANTS_SHARD := 0
MUTANTS_MODE  :=
mutants: tools python-env #: make two hundred small changes to the program, one at a time, and report the changes that no test detects (forty minutes)
	cargo test --quiet --locked --manifest-path mutants/Cargo.toml --target-dir target/mutants/tool
	cargo run --quiet --locked --manifest-path mutants/Cargo.toml --target-dir target/mutants/tool -- \
	    --count $(MUTANTS) --shard $(MUTANTS_SHARD) $(MUTANTS_MODE)

library:         #: compare every drive with its ratings, and write docs/library.md (five minutes)
	cargo build --release --locked -p lanemark-lab --example ratings
	target/release/examples/ratings library reference/drive-ratings.toml > docs/library.md.new
	mv docs/library.md.new docs/library.md

# `validate` and `grids` save their figures in reference/validation/ and write the tables of README and docs/validation.
validate:        #: compare predictions with published measurements and their pairs (four minutes on two free cores)
	cargo build --release --locked -p lanemark-validation --bin lanemark-validate
	target/release/lanemark-validate published

fit:             #: fit thirty randomly generated drives in one port and predict each in another (ten minutes on two free cores)
	LANEMARK_FIT_DRIVES=30 cargo test --release --locked -p lanemark-predict --test recovery fitted_drives -- --nocapture

grids:           #: fit twenty drives to noisy grids on one path and predict each on another (half an hour on two free cores)
	cargo build --release --locked -p lanemark-validation --bin lanemark-validate
	target/release/lanemark-validate grids --drives=20

oltp-kills:      #: kill database drivers and servers fifty times each, and check the remaining data (five minutes)
	LANEMARK_OLTP_KILLS=50 cargo test --locked -p lanemark-oltp --test kills -- --nocapture

oltp-live: build #: document 004 live: PostgreSQL over its served SATA and SAS systems (root; a quarter of an hour, a quiet machine)
	@mkdir -p results/oltp-live
	$(LANEMARK) trial --database studies/oltp-value-sas.toml --out results/oltp-live \
	    --csv results/oltp-live/table.csv $(LIVE)

endurance: build #: a day of random writes on a modelled 1 TB drive (a minute on a free core)
	@mkdir -p $(ENDURANCE)
	$(LANEMARK) sim samsung-860-qvo-1tb@workstation-z170:sata random-write-24h \
	    --set drive.state.condition=purged --set drive.pseudo_slc.capacity=0B --set drive.pseudo_slc.growth=0B \
	    --out $(ENDURANCE)/endurance.json \
	    --series $(ENDURANCE)/endurance.csv --html $(ENDURANCE)/endurance.html

oltp-bench:      #: compare loading with COPY and a transaction with go-tpc (its path in LANEMARK_GO_TPC); a thousand users (half an hour)
	cargo bench --locked -p lanemark-cli --bench oltp

MDBOOK := 0.4.52
docs:            #: the book, target/book/index.html; installs mdbook into target/tools (minutes, once)
	@[ "$$(target/tools/bin/mdbook --version 2>/dev/null)" = "mdbook v$(MDBOOK)" ] || \
	    cargo install --locked --root target/tools --target-dir target/tools/build mdbook@$(MDBOOK)
	target/tools/bin/mdbook build docs

page:            ## the laboratory as one HTML file, target/page/lanemark.html (three minutes at first)
	packaging/page.sh

site: page docs build #: the page, the book and the studies as a static site, target/site
	packaging/site.sh $(LANEMARK)

build:           ## the program in the release profile, target/release/lanemark
	cargo build --release --locked -p lanemark-cli

# `make install PREFIX=$HOME/.local` does not need root. For packages, DESTDIR is prepended to PREFIX.
PREFIX  ?= /usr/local
SHARE   := $(DESTDIR)$(PREFIX)/share
install: build   ## the program, its completions and manual pages to PREFIX (/usr/local)
	install -Dm755 $(LANEMARK) $(DESTDIR)$(PREFIX)/bin/lanemark
	install -d $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	$(LANEMARK) completions bash >$(SHARE)/bash-completion/completions/lanemark
	$(LANEMARK) completions zsh >$(SHARE)/zsh/site-functions/_lanemark
	$(LANEMARK) completions fish >$(SHARE)/fish/vendor_completions.d/lanemark.fish
	$(LANEMARK) completions man $(SHARE)/man/man1

# Release packages contain MariaDB and MySQL. `MAINTAINER="Name <address>"` signs the Debian package.
CYCLONEDX := 0.5.7
VERSION   := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
STATIC    := x86_64-unknown-linux-musl aarch64-unknown-linux-musl
static:          #: the program without shared libraries for x86-64 and arm64, target/*-musl/release (twelve minutes)
	packaging/static.sh $(STATIC)

dist: dist-tools page wheels static ## the packages of a release, target/dist: archives, Debian packages, wheel, SBOM, checksums (half an hour)
	@[ "$$(target/tools/bin/cargo-cyclonedx cyclonedx --version 2>/dev/null)" = "cargo-cyclonedx-cyclonedx $(CYCLONEDX)" ] || \
	    cargo install --locked --root target/tools --target-dir target/tools/build cargo-cyclonedx@$(CYCLONEDX)
	cargo build --release --locked -p lanemark-cli --features mysql
	packaging/dist.sh $(VERSION) $(abspath target/tools/bin)

dist-test: dist-tools #: run README's and the book's commands from the Debian package, and the static programs, in empty roots (five minutes, after `dist`)
	packaging/try.sh

examples:        #: package the crates for other projects, and test their examples with the packages (two minutes)
	packaging/crates.sh

release-check:   #: everything that a release does, except the upload (an hour)
	packaging/release-check.sh $(VERSION)

tools axe dist-tools: #: install the programs that the tests need, or list those that are missing
	@scripts/tools.sh $@

clean:           ## remove build products and the demo's results
	cargo clean
	rm -rf $(DEMO)
