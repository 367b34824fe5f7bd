"""Texts on one line and within a width, powers of two, and files of the configuration by their names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dse.base.errors import InputError
from dse.base.files import conf_file, conf_names, is_file, regular_file
from dse.base.numbers import powers_of_two
from dse.base.texts import cut, one_line


def test_a_text_that_is_too_wide_ends_with_a_mark() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdefg", 6) == "abcde…"


def test_line_ends_and_blanks_become_single_blanks() -> None:
    assert one_line(ValueError("a \n\t b")) == "a b"


@pytest.mark.parametrize(("most", "powers"), [(0, []), (1, [1]), (7, [1, 2, 4]), (8, [1, 2, 4, 8])])
def test_powers_of_two_end_at_the_most(most: int, powers: list[int]) -> None:
    assert powers_of_two(most) == powers


def test_every_name_of_a_group_has_its_file() -> None:
    assert "llama70b" in conf_names("model")
    assert all(conf_file("model", name).is_file() for name in conf_names("model"))


def test_a_name_that_no_file_can_have_is_no_file(tmp_path: Path) -> None:
    assert not is_file(tmp_path / ("x" * 5000))
    assert not is_file(Path("a\0b"))


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is a pipe or a device"), regular_file(tmp_path / "pipe"):
        pass
