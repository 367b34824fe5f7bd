"""The locked packages: all have hashes, none an address, and the versions are those of constraints.txt."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
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


def test_there_is_a_lock_for_use_for_development_and_for_the_guide() -> None:
    assert [lock.stem for lock in LOCKS] == ["base", "dev", "docs"]
    assert names(LOCKS[0]) < names(LOCKS[1])


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_every_package_has_hashes_and_the_version_of_the_constraints(lock: Path) -> None:
    assert "://" not in lock.read_text()
    packages = entries(lock)
    constraints = {line for line in (ROOT / "constraints.txt").read_text().splitlines() if line[:1] != "#"}
    assert len(packages) > 40
    for requirement, hashes in packages.items():
        assert _REQUIREMENT.fullmatch(requirement), requirement
        assert hashes, requirement
        assert all(_HASH.fullmatch(text) for text in hashes), requirement
    versions = {requirement.split(" ; ")[0] for requirement in packages}
    assert versions <= {requirement.split(" ; ")[0] for requirement in constraints}
