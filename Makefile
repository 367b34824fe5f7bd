# Every target sets itself up: a virtual environment with pinned packages and the compiled engine.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
ENGINE := $(shell find engine -name '*.cpp' -o -name '*.hpp' -o -name CMakeLists.txt)
SYSTEM ?= system1
MODEL ?= llama70b
JOBS ?= 2
GOLDEN ?= tests/golden
FUZZ_SECONDS ?= 160
FUZZ_COMPILER ?= $(or $(shell command -v clang++),$(shell command -v c++))

.DEFAULT_GOAL := help
.PHONY: help install sweep bench test lint types unit nightly engine-test sanitize coverage format stubs lock clean
.PHONY: build-astrasim validate-cli fuzz chaos docs reference

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.10 or newer is needed" if sys.version_info < (3, 10) else 0)'
	$(PYTHON) -m venv $(VENV)

$(STAMP): $(BIN)/python pyproject.toml constraints.txt $(ENGINE)
	PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 \
		$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

install: $(STAMP)  ## make the virtual environment and build the engine

sweep: $(STAMP)  ## the main job: every strategy of MODEL on SYSTEM (system1, llama70b)
	$(BIN)/python -m dse.sweep system=$(SYSTEM) model=$(MODEL)

bench: $(STAMP)  ## measure everything, into benchmarks/results (docs/performance.md); takes minutes
	PIP_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet matplotlib
	$(BIN)/python -m benchmarks

docs: $(STAMP)  ## the guide as a site, into build/docs; nothing in it is loaded from elsewhere
	PIP_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet \
		mkdocs mkdocs-material
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

reference: $(STAMP)  ## write docs/reference.md from the schema of conf/
	$(BIN)/python -m dse.config.reference > docs/reference.md

test: lint types engine-test unit  ## lint, types, the engine's tests and all Python tests with coverage

lint: $(STAMP)  ## ruff and clang-format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(filter %.cpp %.hpp,$(ENGINE))

types: $(STAMP)  ## mypy, strict
	$(BIN)/mypy

engine-test: $(STAMP)  ## the C++ tests of the engine
	PATH="$(abspath $(BIN)):$$PATH" cmake -S engine -B build/engine -DCMAKE_BUILD_TYPE=Release > /dev/null
	PATH="$(abspath $(BIN)):$$PATH" cmake --build build/engine --parallel $(JOBS)
	PATH="$(abspath $(BIN)):$$PATH" ctest --test-dir build/engine --output-on-failure --quiet

build-astrasim: $(STAMP)  ## stand-alone simulators with ASTRA-sim's command line, into build/bin
	PATH="$(abspath $(BIN)):$$PATH" cmake -S engine -B build/engine -DCMAKE_BUILD_TYPE=Release > /dev/null
	PATH="$(abspath $(BIN)):$$PATH" cmake --build build/engine --parallel $(JOBS) \
		--target astrasim-unaware astrasim-aware

validate-cli: build-astrasim  ## the recorded cases in GOLDEN through the stand-alone simulators, on files
	$(BIN)/python -m dse.validate --binary-folder build/bin $(wildcard $(GOLDEN)/*.jsonl $(GOLDEN)/*.tar.gz)

fuzz: $(STAMP)  ## the readers of files on mutated input, FUZZ_SECONDS each; libFuzzer if there is clang
	PATH="$(abspath $(BIN)):$$PATH" cmake -S engine -B build/fuzz -DCMAKE_BUILD_TYPE=RelWithDebInfo -DDSE_FUZZ=ON \
		-DDSE_SANITIZE=address,undefined \
		-DCMAKE_CXX_COMPILER=$(FUZZ_COMPILER) > /dev/null
	PATH="$(abspath $(BIN)):$$PATH" cmake --build build/fuzz --parallel $(JOBS) \
		--target et_fuzz json_fuzz yaml_fuzz csv_fuzz
	mkdir -p $(foreach format,et json yaml csv,build/fuzz/corpus/$(format))
	printf '%s\n' et json yaml csv | xargs -P $(JOBS) -I '{}' sh -c 'build/fuzz/{}_fuzz \
		-max_total_time=$(FUZZ_SECONDS) -timeout=10 -print_final_stats=1 -artifact_prefix=build/fuzz/{}- \
		build/fuzz/corpus/{} engine/fuzz/seeds/{} engine/tests/regressions/{}'

unit: $(STAMP)  ## pytest with coverage of dse/
	$(BIN)/python -m pytest -n $(JOBS) --cov --cov-report=term

chaos: $(STAMP)  ## a sweep of 2,000 points killed 20 times equals one that nobody disturbed; about a minute
	$(BIN)/python tests/sweeps/chaos.py --points 2000 --kills 20

nightly: $(STAMP)  ## the shortcut against the general engine on tens of thousands of random points
	DSE_NIGHTLY=1 $(BIN)/python -m pytest -n $(JOBS) tests/simulators

sanitize: build/asan/.clean build/tsan/.clean  ## the engine's tests under ASan + UBSan and under TSan

build/asan/.clean: SANITIZERS := address,undefined
build/tsan/.clean: SANITIZERS := thread
build/%/.clean: $(STAMP) $(ENGINE)
	PATH="$(abspath $(BIN)):$$PATH" cmake -S engine -B $(@D) -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
		-DDSE_SANITIZE=$(SANITIZERS) > /dev/null
	PATH="$(abspath $(BIN)):$$PATH" cmake --build $(@D) --parallel $(JOBS)
	PATH="$(abspath $(BIN)):$$PATH" UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		ctest --test-dir $(@D) --output-on-failure --quiet
	@touch $@

format: $(STAMP)  ## put all sources into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(filter %.cpp %.hpp,$(ENGINE))

stubs: $(STAMP)  ## write dse/_engine.pyi from the compiled module
	$(BIN)/python -m nanobind.stubgen -q -m dse._engine -o dse/_engine.pyi

lock: $(BIN)/python  ## choose new versions for constraints.txt
	$(BIN)/python -m pip install --quiet uv
	echo '# Versions that the project is built and tested with; made by `make lock`.' > constraints.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.10 --extra dev --extra bench --extra docs --upgrade \
		--no-annotate --no-header --no-emit-index-url pyproject.toml >> constraints.txt

clean:  ## remove the virtual environment and all builds
	rm -rf $(VENV) build
