"""Records whose fields are keys, too: their schemas, and how mypy sees them."""

from __future__ import annotations

from dataclasses import MISSING as NO_DEFAULT
from dataclasses import dataclass, field, fields
from pathlib import Path

import pytest

import dse.inputs.models.blocks as module
from dse.base.settings import MISSING
from dse.base.settings.schemas import schema_of, stated


@dataclass(frozen=True)
class Inner:
    size: int = field(metadata=stated("a size"))
    names: tuple[str, ...] = field(default=(), metadata=stated("names"))


@dataclass(frozen=True)
class Outer:
    count: int = field(metadata=stated("a count"))
    rate: float = field(default=2.5, metadata=stated("a rate", in_files=True))
    shift: float = field(default=0.5, metadata=stated("a shift"))
    inner: Inner | None = None
    parts: tuple[Inner, ...] = field(default=(), metadata=stated("parts"))
    hidden: int = 0


def test_a_key_has_the_default_of_its_field_unless_files_must_have_it() -> None:
    found = {each.name: each for each in fields(schema_of(Outer))}
    assert [*found] == ["count", "rate", "shift", "inner", "parts"]
    assert [found[name].default for name in ("count", "rate", "shift")] == [MISSING, MISSING, 0.5]
    assert found["parts"].default is NO_DEFAULT
    assert found["parts"].default_factory() == []
    assert found["shift"].metadata["meaning"] == "a shift"


def test_keys_of_a_record_that_may_be_absent_are_null() -> None:
    inner = schema_of(Outer)(count=1).inner
    assert (inner.size, inner.names) == (None, None)


def test_mypy_notices_an_argument_that_a_record_lacks(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api")
    asked = tmp_path / "asked.py"
    asked.write_text(
        "from dse.inputs.models.blocks import MixtureOfExperts\n"
        "MixtureOfExperts(8, 2)\n"
        "MixtureOfExperts(8, 2, 512)\n"
    )
    options = ["--follow-imports=skip", "--ignore-missing-imports", f"--cache-dir={tmp_path / 'cache'}"]
    text, _, _ = api.run([*options, str(asked), str(module.__file__)])
    errors = [line.split(": ", 1)[0] for line in text.splitlines() if '"MixtureOfExperts"' in line]
    assert errors == [f"{asked}:2"]
    assert 'Missing positional argument "d_ff"' in text
