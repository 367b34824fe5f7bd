"""Source distribution and wheel: nothing is left out, and the commands run where there is no checkout."""

from __future__ import annotations

import base64
import gzip
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dse.answers.explorer.page import engine_file
from tests.project.engine_build import build_lock

pytest.importorskip("scikit_build_core", reason="scikit-build-core is not installed: pip install -e '.[dev]'")

ROOT = Path(__file__).parents[2]
_PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])  # as once activated
_NOT_PACKAGED = ("__pycache__", ".so")
# Compiled without optimisation, which takes half the time and changes no figure.
_BUILD = ("--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check")
VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
# Without precompiled headers, whose paths differ by folder, ccache gives one Python what another compiled.
_SETTINGS = (
    "cmake.build-type=Release",
    "cmake.args=-DCMAKE_CXX_FLAGS_RELEASE=-O0",
    f"cmake.define.CMAKE_DISABLE_PRECOMPILE_HEADERS={'ON' if shutil.which('ccache') else 'OFF'}",
)


def sources(folder: str) -> set[str]:
    """The files of a folder of the checkout, but for what is compiled."""
    files = (path for path in (ROOT / folder).rglob("*") if path.is_file())
    names = (path.relative_to(ROOT).as_posix() for path in files)
    return {name for name in names if not any(part in name for part in _NOT_PACKAGED)}


def source_distribution(folder: Path) -> Path:
    program = "import sys; from scikit_build_core.build import build_sdist; print(build_sdist(sys.argv[1]))"
    line = [sys.executable, "-c", program, str(folder)]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / done.stdout.splitlines()[-1]


def run(*line: str | Path, cwd: Path, timeout_s: float = 120, path: str = _PATH) -> str:
    """Run a command that knows nothing of the checkout; return what it prints."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "COV"))}
    environment["PATH"] = path
    if shutil.which("ccache"):
        environment |= {  # hits whatever the names of temporary folders
            "CMAKE_CXX_COMPILER_LAUNCHER": "ccache",
            "CCACHE_BASEDIR": tempfile.gettempdir(),
            "CCACHE_NOHASHDIR": "1",
        }
    done = subprocess.run(
        list(map(str, line)),
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=timeout_s,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def wheel(
    source: Path, folder: Path, python: str | Path = sys.executable, options: tuple[str, ...] = _SETTINGS
) -> Path:
    """Build the wheel for a Python whose environment has the build tools."""
    settings = (f"--config-settings={option}" for option in options)
    line = (
        python,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        *_BUILD,
        *settings,
        "--wheel-dir",
        folder,
        source,
    )
    tools = os.pathsep.join([str(Path(python).parent), _PATH])
    run(*line, cwd=folder.parent, timeout_s=1800, path=tools)
    (built,) = folder.glob("*.whl")
    return built


def tag(version: str) -> str:
    """How the name of a wheel for a Python begins: from 3.12 on one wheel is for all later versions."""
    name = f"cp{version.replace('.', '')}"
    return f"{name}-{name}-" if version in ("3.10", "3.11") else "cp312-abi3-"


def interpreter(version: str) -> str | None:
    """The Python of a version on the PATH; None where there is none, or only a name without a program."""
    found = shutil.which(f"python{version}")
    line = [found or "", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    if found is None or subprocess.run(line, capture_output=True, check=False).returncode:
        return None
    return found


def locked_environment(folder: Path, interpreter: str) -> Path:
    """Make an environment with the locked packages of a sweep and of builds; return its Python."""
    run(interpreter, "-m", "venv", folder, cwd=folder.parent)
    python = folder / "bin" / "python"
    line = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    for lock in ("pip.lock", "base.lock"):  # setuptools first, for the package that is built from source
        options = ("--no-build-isolation", "--require-hashes", "--no-deps", "-r")
        run(*line, *options, ROOT / "requirements" / lock, cwd=folder, timeout_s=900)
    return python


def clean_environment(folder: Path, built: Path) -> Path:
    """Make an environment with the wheel that borrows all other packages of this one; return its Python.

    A folder that a .pth file adds is searched, but the .pth files in it, such as that of an editable
    installation, are not read.
    """
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    python = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", built, cwd=folder)
    purelib = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder)
    borrowed = dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
    (Path(purelib.strip()) / "borrowed.pth").write_text("".join(f"{path}\n" for path in borrowed))
    return python


def is_live(page: Path) -> bool:
    """Whether a page of the explorer has the engine inside, ready for its worker."""
    text = page.read_text(encoding="utf-8")
    data = json.loads(text.split('id="data">', 1)[1].split("</script>", 1)[0])
    packed = text.split('id="wasm">', 1)[1].split("</script>", 1)[0]
    return bool(data["live"]) and gzip.decompress(base64.b64decode(packed)).startswith(b"\0asm")


def test_the_source_distribution_has_every_file_that_is_compiled_or_packaged(tmp_path: Path) -> None:
    with tarfile.open(source_distribution(tmp_path)) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    needed = sources("dse") | sources("conf") | sources("engine") | {"pyproject.toml", "README.md", "LICENSE"}
    assert needed - names == set()
    assert not [name for name in names if name.startswith(("results/", "workloads/", "build/"))]


@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which("cmake", path=_PATH) and shutil.which("c++")), reason="needs a compiler"
)
def test_the_wheel_is_complete_and_works_in_a_clean_environment(tmp_path: Path) -> None:
    dist, empty = tmp_path / "dist", tmp_path / "empty"
    dist.mkdir()
    empty.mkdir()
    with build_lock():  # the checkout has the objects; `make wheels` takes the source distribution
        built = wheel(ROOT, dist, options=())

    with zipfile.ZipFile(built) as archive:
        packaged = {name for name in archive.namelist() if ".dist-info/" not in name}
    expected = sources("dse") | {f"dse/{name}" for name in sources("conf")}
    assert {name for name in packaged if not name.endswith(".so")} == expected
    assert {Path(name).name.split(".")[0] for name in packaged - expected} == {"_engine", "_solvers"}

    this = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"-{tag(this)}" in built.name

    python = clean_environment(tmp_path / "clean", built)
    place = run(python, "-c", "import dse; print(dse.__file__)", cwd=empty).strip()
    assert Path(place).is_relative_to(tmp_path / "clean")

    def dse(verb: str, *arguments: str) -> str:
        return run(python, "-m", "dse", verb, *arguments, cwd=empty)

    answer = run(python.with_name("dse"), "sweep", "system=system1", "model=llama70b", cwd=empty)
    assert "56 points: 56 ok" in answer
    assert pq.read_table(empty / "results" / "llama70b-system1", columns=["key"]).num_rows == 56
    assert run(python.with_name("dse"), "--version", cwd=empty).startswith("dse 0.")

    point = json.loads(
        dse("point", "system=dgx16", "model=tiny", "strategy.dp=4", "strategy.tp=4", "format=json")
    )
    assert [entry["metrics"]["wall_time_ns"] for entry in point["rank_classes"]] == [724_891]

    sweep = ("sweep", "system=torus_4x4", "model=tiny", "space.sp=[1]", "executor.workers=1")
    dse("sweep", "system=torus_4x4", "model=tiny", "space.sp=[1]", "study=here")
    dse(*sweep, "executor=ray", "study=elsewhere")
    here, elsewhere = (pq.read_table(empty / "results" / name) for name in ("here", "elsewhere"))
    assert here.num_rows > 4
    assert set(here["status"].to_pylist()) == {"ok"}
    order = [("key", "ascending")]
    columns = ["key", "status", "wall_time_ns"]
    assert here.select(columns).sort_by(order) == elsewhere.select(columns).sort_by(order)

    assert "best" in dse("best", "results/here")
    assert "proven optimal" in dse("plan", "cluster=a100_v100", "model=megatron_1.7b", "gbs=128")
    if engine_file() is not None:
        assert "dse/answers/explorer/dse_engine.wasm" in packaged
        dse("explore", "system=torus_4x4", "model=tiny", "--no-open", "--output=explorer.html")
        assert is_live(empty / "explorer.html")
    dse("report", "results/here", "-o", "report.html")
    page = (empty / "report.html").read_text()
    assert page.startswith("<!")
    assert "Chart.js" in page


def test_a_name_without_a_program_is_no_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert interpreter("3.10") is None
    (tmp_path / "python3.10").write_text("#!/bin/sh\nexit 127\n")
    (tmp_path / "python3.10").chmod(0o755)
    assert interpreter("3.10") is None
    (tmp_path / "python3.10").write_text("#!/bin/sh\necho 3.10\n")
    assert interpreter("3.10") == str(tmp_path / "python3.10")


@pytest.fixture(scope="module")
def wheels() -> dict[str, Path]:
    """The wheels that were built so far, by tag."""
    return {}


@pytest.mark.slow
@pytest.mark.skipif("DSE_WHEELS" not in os.environ, reason="make wheels builds a wheel for every Python")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_sweep_gives_the_same_times_under_every_python(
    tmp_path: Path, version: str, wheels: dict[str, Path]
) -> None:
    """A Python from 3.12 on takes the wheel that the first of them has built."""
    found = interpreter(version)
    if found is None:
        pytest.skip(f"there is no python{version} on the PATH")
    (tmp_path / "dist").mkdir()
    python = locked_environment(tmp_path / "environment", found)
    if tag(version) not in wheels:
        wheels[tag(version)] = wheel(source_distribution(tmp_path), tmp_path / "dist", python)
    built = wheels[tag(version)]
    assert f"-{tag(version)}" in built.name
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", built, cwd=tmp_path)
    dse = python.with_name("dse")
    answer = run(dse, "sweep", "system=system1", "model=llama70b", cwd=tmp_path)
    assert "best              64   1   1   1    no       no     3.18 s" in answer
    assert "56 points: 56 ok" in answer
    if engine_file() is not None:
        run(
            dse,
            "explore",
            "system=system1",
            "model=llama70b",
            "--no-open",
            "--output=live.html",
            cwd=tmp_path,
        )
        assert is_live(tmp_path / "live.html")
    run(dse, "report", "results/llama70b-system1", "-o", "report.html", cwd=tmp_path)
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!")
