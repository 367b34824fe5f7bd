"""Build the engine of a page, dse/answers/explorer/dse_engine.wasm: the same bytes wherever it is built."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ENGINE = Path(__file__).resolve().parents[1]
ROOT = ENGINE.parent
REQUIREMENTS = ROOT / "requirements"
FOLDERS = (
    *("base", "inputs/networks", "simulation/networks", "simulation/algorithms", "simulation/simulators"),
    *("simulation/workloads", "prediction", "prediction/inputs", "prediction/kernels", "prediction/links"),
    *("prediction/memory", "prediction/pipeline", "prediction/runs", "prediction/steps", "answers/explorer"),
)
FILES = (
    *(f"src/inputs/files/{name}.cpp" for name in ("json", "text", "rules", "dimension_rules")),
    *("src/simulation/systems/algorithm_rules.cpp", "src/collectives/schedules/replay.cpp"),
)
LEFT_OUT = tuple([f"src/simulation/workloads/{name}.cpp" for name in ("trace_import", "node_links")])

# WebAssembly's exceptions, which all browsers have had since 2022; the compiler's driver forgets to ask for
# the instructions. Its library has the parts that throw and catch as sources only.
EXCEPTIONS = ("-fwasm-exceptions", "-mllvm", "-wasm-enable-eh", "-mexception-handling")
TARGET = ("-target", "wasm32-wasi", "-mcpu=generic+exception_handling")
SHARED = (*TARGET, "-O3", "-DNDEBUG", "-g0", "-fno-ident", *EXCEPTIONS)
ENGINE_FLAGS = (*SHARED, "-std=c++20", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror")
# What the compiler's default for WebAssembly has, and exceptions.
FEATURES = (
    *("--mvp-features", "--enable-exception-handling", "--enable-bulk-memory", "--enable-sign-ext"),
    *("--enable-nontrapping-float-to-int", "--enable-mutable-globals", "--enable-multivalue"),
    *("--enable-reference-types", "--enable-bulk-memory-opt"),
)
STACK_BYTES = 4 * 2**20
MOST_BYTES = 2 * 2**30
LINK = (
    *("-mexec-model=reactor", "-Wl,--gc-sections", "-Wl,--strip-all"),
    *(f"-Wl,-z,stack-size={STACK_BYTES}", f"-Wl,--max-memory={MOST_BYTES}"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, and say how large it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dse/answers/explorer/dse_engine.wasm")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    require_compiler()
    with tempfile.TemporaryDirectory() as folder:
        module = build(Path(folder), options.jobs)
        optimised = optimise(module, Path(folder))
        options.out.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(optimised, options.out)
    print(f"{options.out.name}: {options.out.stat().st_size} bytes")
    return 0


def require_compiler() -> None:
    """End with a message unless the compiler is the one whose bytes are known."""
    try:
        found = version("ziglang")
    except PackageNotFoundError:
        found = "none"
    needed = locked_compiler()
    if found != needed:
        raise SystemExit(f"this needs ziglang {needed}, but there is {found}: make wasm installs it")


def locked_compiler() -> str:
    """The version of ziglang in its lock."""
    return (REQUIREMENTS / "wasm.lock").read_text().removeprefix("ziglang==").partition(" ")[0]


def locked_optimiser() -> str:
    """The version of binaryen in the lock of npm."""
    lock = json.loads((REQUIREMENTS / "npm" / "package-lock.json").read_text())
    return str(lock["packages"]["node_modules/binaryen"]["version"])


def build(folder: Path, jobs: int) -> Path:
    """Compile and link, and return the module."""
    release = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert release is not None
    include = (f"-I{ENGINE / 'src'}", f'-DDSE_VERSION="{release[1]}"')
    library = _library()
    # First, so that the linker takes these and not what the compiler's library has in their place.
    steps = [
        (library / "libcxxabi/src" / f"{name}.cpp", "c++", (*SHARED, "-std=c++23", "-w", *_abi(library)))
        for name in ("cxa_exception", "cxa_personality", "cxa_aux_runtime")
    ]
    unwinder = (f"-I{library}/libunwind/include", "-D_LIBUNWIND_HIDE_SYMBOLS", "-D_LIBUNWIND_HAS_NO_THREADS")
    steps.append((library / "libunwind/src/Unwind-wasm.c", "cc", (*SHARED, "-w", *unwinder)))
    steps.append((ENGINE / "wasm/exception_tag.s", "cc", TARGET))
    steps += [(path, "c++", (*ENGINE_FLAGS, *include)) for path in sources()]
    with ThreadPoolExecutor(jobs) as pool:
        objects = [
            pool.submit(_compile, source, driver, flags, folder / f"{index}.o")
            for index, (source, driver, flags) in enumerate(steps)
        ]
        built = [str(each.result()) for each in objects]
    module = folder / "engine.wasm"
    _zig("c++", *TARGET, *LINK, *built, "-o", str(module))
    return module


def sources() -> list[Path]:
    """The sources of the engine that a page needs, in a fixed order."""
    found = [path for folder in FOLDERS for path in sorted((ENGINE / "src" / folder).glob("*.cpp"))]
    found += [ENGINE / file for file in FILES]
    found += sorted((ENGINE / "wasm").glob("*.cpp"))
    left_out = {ENGINE / file for file in LEFT_OUT}
    return [path for path in found if path not in left_out]


def optimise(module: Path, folder: Path) -> Path:
    """Return the module as `wasm-opt` makes it smaller and faster, or as it is where that cannot be had."""
    command = optimiser()
    if not command:
        print(
            f"no wasm-opt {locked_optimiser()}, nor npm that fetches it (make npm): "
            "the module stays about a third larger",
            file=sys.stderr,
        )
        return module
    optimised = folder / "optimised.wasm"
    flags = ("-O3", *FEATURES, "--strip-producers", "--strip-target-features")
    subprocess.run([*command, *flags, str(module), "-o", str(optimised)], check=True)
    return optimised


def optimiser() -> list[str]:
    """Return the command of `wasm-opt` in the version whose bytes are known, empty where there is none."""
    for command in ("wasm-opt", str(ROOT / "build/npm/node_modules/.bin/wasm-opt")):
        if shutil.which(command) is None:
            continue
        said = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
        if said.returncode == 0 and f"version {locked_optimiser().partition('.')[0]}" in said.stdout:
            return [command]
    return []


def _compile(source: Path, driver: str, flags: Sequence[str], into: Path) -> Path:
    _zig(driver, *flags, "-c", str(source), "-o", str(into))
    return into


def _zig(*arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", "ziglang", *arguments], check=False)
    if done.returncode:
        raise SystemExit(f"the compiler ends with code {done.returncode}")


def _library() -> Path:
    import ziglang

    return Path(ziglang.__file__).parent / "lib"


def _abi(library: Path) -> list[str]:
    folders = ("libcxxabi/src", "libcxx/src", "libunwind/include")
    defined = (
        "LIBCXXABI_NON_DEMANGLING_TERMINATE",
        "_LIBCXXABI_BUILDING_LIBRARY",
        "_LIBCPP_BUILDING_LIBRARY",
    )
    return [*[f"-I{library / folder}" for folder in folders], *[f"-D{name}" for name in defined]]


if __name__ == "__main__":
    sys.exit(main())
