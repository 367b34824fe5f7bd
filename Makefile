# Every target sets itself up: a virtual environment with pinned packages and the compiled engine.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
BASE := $(VENV)/.base
STAMP := $(VENV)/.installed
PIP_FROM = PATH="$(abspath $(BIN)):$$PATH" PYTHONUNBUFFERED=1 PIP_DISABLE_PIP_VERSION_CHECK=1 $(abspath $(BIN))/python $1 install --progress-bar off --no-compile
PIP := $(call PIP_FROM,-m pip)
# The wheel of pip that Python brings, which runs as it is; none where a distribution keeps it elsewhere.
BUNDLED = $(wildcard $(shell $(PYTHON) -c 'import ensurepip; print(*ensurepip.__path__)' 2> /dev/null)/_bundled/pip-*.whl)
MODULES = --config-settings=cmake.define.DSE_SOLVERS=$1 --config-settings=cmake.define.DSE_EXPLORER=$1
ENGINE := $(shell find engine -name '*.cpp' -o -name '*.hpp' -o -name CMakeLists.txt -o -name '*.cmake')
BUILT = build/$$($(BIN)/python -c 'import sys; print(sys.implementation.cache_tag)')
SYSTEM ?= system1
MODEL ?= llama70b
JOBS ?= 2
GOLDEN ?= tests/golden
FUZZ_SECONDS ?= 160
FUZZ_COMPILER ?= $(or $(shell command -v clang++),$(shell command -v c++))

# Where Python may not keep modules that it compiled, it compiles them at each of the thousands of starts of tests.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install sweep bench test lint types unit nightly engine-test sanitize wheels coverage format stubs lock clean
.PHONY: torch arbiters npm wasm build-astrasim validate-cli fuzz chaos docs news release-notes reference calibrate

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.10 or newer is needed" if sys.version_info < (3, 10) else 0)'
	@echo 'creating the environment $(VENV)'
	@$(PYTHON) -m venv $(if $(BUNDLED),--without-pip) $(VENV)

# What a sweep needs, by hashes, and the engine; solvers, and the engine of pages that tests use, only if they are there already.
# Python compiles modules when they are imported first, which saves 100 MB and a fifth of the time. So a new pip comes
# from the wheel that Python brings: venv would compile an old and slower one. And setuptools comes with it, for the one
# package that is built from source. Says what pip and the compiler are doing meanwhile.
$(BASE): $(BIN)/python pyproject.toml requirements/pip.lock requirements/base.lock $(ENGINE)
	@echo 'installing dse and what a sweep needs:'
	@$(BIN)/python engine/install_progress.py $(VENV)/install.log sh -c ' \
		$(call PIP_FROM,$(or $(addsuffix /pip,$(BUNDLED)),-m pip)) --require-hashes --no-deps -r requirements/pip.lock \
		&& $(PIP) --verbose --no-build-isolation --require-hashes --no-deps -r requirements/base.lock \
		&& $(PIP) --verbose --no-deps --no-build-isolation --editable . \
			$(call MODULES,$(if $(wildcard $(STAMP)),ON,OFF))'
	@touch $@

$(STAMP): $(BASE) requirements/dev.lock
	@echo 'installing the solvers of schedules, plans and partitions, and what tests, lint and builds of the engine need'
	@$(PIP) --quiet --require-hashes --no-deps -r requirements/dev.lock
	@$(BIN)/python -c 'import dse.native._explorer, dse.native._solvers' 2> /dev/null || \
		$(PIP) --quiet --no-deps --no-build-isolation --editable . $(call MODULES,ON)
	@touch $@

install: $(STAMP)  ## make the virtual environment and build the engine

# CMake is a seventh of what is installed, and no sweep needs it once the engine is built; make install brings it back.
sweep: $(BASE)  ## the main job: every strategy of MODEL on SYSTEM (system1, llama70b)
	@test -e $(STAMP) || rm -rf $(addprefix $(BIN)/,cmake ccmake cpack ctest) $(VENV)/lib/python3*/site-packages/cmake $(VENV)/lib/python3*/site-packages/cmake-*.dist-info
	$(BIN)/python -m dse sweep system=$(SYSTEM) model=$(MODEL)

bench: $(STAMP)  ## measure everything, into benchmarks/results (docs/performance.md); takes minutes
	$(BIN)/python -m benchmarks

docs: $(STAMP)  ## the guide as a site, into build/docs; nothing in it is loaded from elsewhere
	$(PIP) --quiet --require-hashes --no-deps -r requirements/docs.lock
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

news: $(STAMP)  ## print what the fragments of news/ would add to the changelog
	@$(BIN)/towncrier build --draft

release-notes: $(STAMP)  ## move the fragments of news/ into CHANGELOG.md, under the version of pyproject.toml
	$(BIN)/towncrier build --yes

calibrate: $(STAMP)  ## fit the shipped constants to the published runs, into conf/
	$(BIN)/python -m dse calibrate --all -o conf
	$(BIN)/python -m dse calibrate dse/prediction/measured/data/published.csv accelerator=h100_hbm2e \
		constants=matrix -o conf/accelerator/h100_hbm2e.yaml
	for type in tpu_v5p tpu_v6e; do $(BIN)/python -m dse calibrate dse/prediction/measured/data/published.csv \
		accelerator=$$type constants=matrix -o conf/accelerator/$$type.yaml || exit 1; done
	$(BIN)/python -m dse calibrate --unseen -o dse/prediction/intervals/data
	$(BIN)/python -m dse.prediction.calibration.memory_margins  # for the key margin of conf/framework, by hand

reference: $(STAMP)  ## write docs/reference.md from the schema of conf/
	$(BIN)/python -m docs.hooks.reference > docs/reference.md

# From the package index only where pip finds no file that is built for CPUs.
torch: $(STAMP)  ## add PyTorch and onnx, for the tests of partitions; 200 MB for CPUs, 3 GB with CUDA's libraries
	$(PIP) --quiet --require-hashes --no-deps -r requirements/torch.lock
	$(PIP) --quiet --require-hashes --no-deps -r requirements/cpu.lock 2> /dev/null || \
		$(PIP) --quiet --require-hashes --no-deps -r requirements/cuda.lock

# Without their own dependencies, of which they need few here, and DeepSpeed without its kernels. From Python 3.11.
arbiters: torch  ## add torchtitan, DeepSpeed and megatron-core, which judge configurations in tests, mlc-chakra, which reads traces, and infragraph; 100 MB
	DS_BUILD_OPS=0 $(PIP) --quiet --no-build-isolation --require-hashes --no-deps -r requirements/arbiters.lock

# What the lock of npm names, by its hashes; nothing of it is run while it is installed.
NPM := build/npm/.installed
npm: $(NPM)  ## add wasm-opt for make wasm, and axe-core for the tests of pages
$(NPM): $(wildcard requirements/npm/*)
	@mkdir -p $(@D) && cp requirements/npm/*.json $(@D)
	npm ci --ignore-scripts --silent --no-audit --no-fund --prefix $(@D)
	@touch $@

wasm: dse/answers/explorer/dse_engine.wasm  ## the engine for live pages (dse explore); with npm it gets smaller and faster

# The versions are those of the locks: the same bytes everywhere.
dse/answers/explorer/dse_engine.wasm: $(BASE) requirements/wasm.lock engine/wasm/build.py engine/wasm/exception_tag.s $(filter engine/src/% engine/wasm/%,$(ENGINE))
	$(PIP) --quiet --require-hashes --no-deps -r requirements/wasm.lock
	-@command -v npm > /dev/null && $(MAKE) --no-print-directory npm
	$(BIN)/python engine/wasm/build.py --jobs $(JOBS)

# Python tests leave cores idle while they wait, so types and the engine's tests are checked meanwhile.
test: $(STAMP) lint  ## lint, types, the engine's tests and all Python tests
	@$(MAKE) --no-print-directory --jobs=3 types engine-test unit

lint: $(STAMP)  ## ruff and clang-format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(filter %.cpp %.hpp,$(ENGINE))

# For the oldest Python, where the packages that are installed know it: those for 3.12 and newer have newer syntax.
types: $(STAMP)  ## mypy, strict
	$(BIN)/mypy --python-version $$($(BIN)/python -c 'import sys; print("3.%d" % (sys.version_info[1] if sys.version_info > (3, 12) else 10))')

# From the objects of the Python modules, as the simulators are, with the lock of tests that compile there. `make
# sanitize` compiles each source alone, so that a missing #include is found.
engine-test: $(STAMP)  ## the C++ tests of the engine
	PATH="$(abspath $(BIN)):$$PATH" flock build/.lock cmake --build $(BUILT) --parallel $(JOBS) --target engine_tests
	PATH="$(abspath $(BIN)):$$PATH" ctest --test-dir $(BUILT) --output-on-failure --quiet

build-astrasim: $(STAMP)  ## stand-alone simulators with ASTRA-sim's command line, into build/bin
	PATH="$(abspath $(BIN)):$$PATH" cmake --build $(BUILT) --parallel $(JOBS) --target astrasim-unaware astrasim-aware

validate-cli: build-astrasim  ## the recorded cases in GOLDEN through the stand-alone simulators, on files
	$(BIN)/python -m dse validate binary_folder=build/bin $(wildcard $(GOLDEN)/*.jsonl $(GOLDEN)/*.tar.gz)

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

# Tests wait for commands, browsers and clocks in half of their time: two workers more than there are cores for. Each
# takes neighbours in turn, so that what they share is made once, and from the longest queue when its own is empty.
PYTEST = $(BIN)/python -m pytest -n $$(($(JOBS) + 2)) --dist worksteal
unit: $(STAMP)  ## pytest
	$(PYTEST)

coverage: $(STAMP)  ## pytest with coverage of dse/, which takes a third longer
	$(PYTEST) --cov --cov-report=term

chaos: $(STAMP)  ## kills and Ctrl-C at random moments: no row lost or doubled, always one line; takes minutes
	$(BIN)/python tests/studies/sweeps/chaos.py

nightly: $(STAMP)  ## random points by both engines; constants fitted; every switch of a page; 10 CPU-minutes of hostile files
	DSE_NIGHTLY=1 $(BIN)/python -m pytest -n $(JOBS) tests/simulation/simulators tests/prediction/measured/test_landed_constants.py \
		tests/prediction/steps/test_engine_predictions.py tests/planner/test_step_plans.py tests/answers/explorer/test_explorer_browser.py tests/hostile/test_readers.py \
		tests/prediction/frameworks/test_torchtitan_arbiter.py tests/prediction/runs/test_renewal.py tests/studies/sweeps/test_orphans.py

# With the engine for pages where it can be built.
wheels: $(STAMP)  ## a wheel for every Python from 3.10 to 3.14 on the PATH, built and tried; takes minutes
	-$(MAKE) --no-print-directory wasm
	DSE_WHEELS=1 $(BIN)/python -m pytest tests/project/test_wheel.py -k every_python

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

stubs: $(STAMP)  ## write dse/_*.pyi from the compiled modules
	$(BIN)/python -m nanobind.stubgen -q -m dse.native._engine -o dse/native/_engine.pyi
	$(BIN)/python -m nanobind.stubgen -q -m dse.native._solvers -o dse/native/_solvers.pyi
	$(BIN)/python -m nanobind.stubgen -q -m dse.native._explorer -o dse/native/_explorer.pyi

COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.10 --no-annotate --no-header --no-emit-index-url
LOCK := $(COMPILE) pyproject.toml
lock: $(BIN)/python  ## choose new versions for constraints.txt, with hashes in requirements/*.lock
	$(BIN)/python -m pip install --quiet uv
	echo '# Versions that the project is built and tested with; made by `make lock`.' > constraints.txt
	$(LOCK) --upgrade --all-extras >> constraints.txt
	printf '%s\n' pip setuptools | $(COMPILE) --generate-hashes -c constraints.txt - -o requirements/pip.lock
	$(LOCK) --generate-hashes -c constraints.txt --extra build -o requirements/base.lock
	$(LOCK) --generate-hashes -c constraints.txt --extra dev -o requirements/dev.lock
	$(LOCK) --generate-hashes -c constraints.txt --extra docs -o requirements/docs.lock
	$(LOCK) --generate-hashes -c constraints.txt --extra torch --extra onnx -o build/torch.lock
	$(BIN)/python requirements/torch_lock.py build/torch.lock
	echo ziglang==0.17.1 | $(COMPILE) --generate-hashes - -o requirements/wasm.lock
	$(subst 3.10,3.11,$(COMPILE)) --no-deps --generate-hashes requirements/arbiters.txt -o requirements/arbiters.lock
	npm install --package-lock-only --ignore-scripts --silent --prefix requirements/npm

clean:  ## remove the virtual environment and all builds
	rm -rf $(VENV) build dse/answers/explorer/dse_engine.wasm
