"""The locked packages: hashes, no addresses, the versions of constraints.txt; nothing else is installed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
_REQUIREMENT = re.compile(r"[A-Za-z0-9._-]+==\S+(?: ; .+?)?")
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def entries(lock: Path) -> dict[str, list[str]]:
    """Each requirement with its marker, and its hashes."""
    lines = lock.read_text().replace("\\\n", "").splitlines()
    parts = [re.split(r"\s+(?=--hash)", line.strip()) for line in lines if not line.startswith("#")]
    return {requirement: hashes for requirement, *hashes in parts}


def names(lock: Path) -> set[str]:
    """The packages of a lock."""
    return {requirement.partition("==")[0] for requirement in entries(lock)}


def test_what_a_sweep_needs_is_all_that_it_installs() -> None:
    base = names(ROOT / "requirements" / "base.lock")
    assert {"hydra-core", "jinja2", "numpy", "pandas", "pyarrow", "pyyaml", "ray", "tqdm"} <= base
    assert not base & {"optuna", "sqlalchemy", "alembic", "matplotlib", "pytest", "mkdocs"}
    assert {"optuna", "matplotlib", "pytest"} <= names(ROOT / "requirements" / "dev.lock")


def test_there_is_a_lock_for_each_target_that_installs() -> None:
    stems = ["arbiters", "base", "cpu", "cuda", "dev", "docs", "pip", "torch", "wasm"]
    assert [lock.stem for lock in LOCKS] == stems
    assert names(ROOT / "requirements" / "base.lock") < names(ROOT / "requirements" / "dev.lock")
    assert "onnx" in names(ROOT / "requirements" / "torch.lock")


def test_make_and_ci_install_by_hash_only() -> None:
    """`pip install uv` makes new locks, and runs for who writes them."""
    lines = [*(ROOT / "Makefile").read_text().splitlines(), *(ROOT / ".ci" / "run").read_text().splitlines()]
    installed = [
        line.strip()
        for line in lines
        if re.search(r"^(?!PIP :=).*(\$\(PIP\)|pip install|npm ci|npm install|npx) ", line)
    ]
    own = ("--require-hashes --no-deps -r requirements/", "--editable .", "npm ci --ignore-scripts")
    locking = ("pip install --quiet uv", "npm install --package-lock-only")
    assert len(installed) > 7
    assert [line for line in installed if not any(text in line for text in (*own, *locking))] == []


def test_what_comes_from_npm_has_hashes_and_no_address() -> None:
    folder = ROOT / "requirements" / "npm"
    wanted = json.loads((folder / "package.json").read_text())["devDependencies"]
    text = (folder / "package-lock.json").read_text()
    packages = {name: entry for name, entry in json.loads(text)["packages"].items() if name}
    assert "://" not in text
    assert all(re.fullmatch(r"sha512-[\w+/]{86}==", entry["integrity"]) for entry in packages.values())
    assert {name.partition("/")[2]: entry["version"] for name, entry in packages.items()} == wanted
    assert set(wanted) == {"axe-core", "binaryen"}


def test_both_files_of_pytorch_are_of_one_version() -> None:
    (built_for_cpus,) = entries(ROOT / "requirements" / "cpu.lock")
    (torch,) = (text for text in entries(ROOT / "requirements" / "cuda.lock") if text.startswith("torch=="))
    assert built_for_cpus == f"{torch}+cpu"


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_every_package_has_hashes_and_the_version_of_the_constraints(lock: Path) -> None:
    assert "://" not in lock.read_text()
    packages = entries(lock)
    constraints = {line for line in (ROOT / "constraints.txt").read_text().splitlines() if line[:1] != "#"}
    assert packages
    for requirement, hashes in packages.items():
        assert _REQUIREMENT.fullmatch(requirement), requirement
        assert hashes, requirement
        assert all(_HASH.fullmatch(text) for text in hashes), requirement
    versions = {requirement.split(" ; ")[0].removesuffix("+cpu") for requirement in packages}
    known = {requirement.split(" ; ")[0] for requirement in constraints}
    assert versions <= known | {requirement for requirement in packages if lock.stem in ("arbiters", "wasm")}
