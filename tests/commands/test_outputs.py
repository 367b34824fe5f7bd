"""Files that commands write: one behaviour of all of them, and cells that no spreadsheet evaluates."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from command_lines import error_of, run_ok
from hypothesis import given
from hypothesis import strategies as st
from study_rows import row

from dse.base.errors import InputError
from dse.base.files import check_output, csv_text, write_output
from dse.base.texts import printable
from dse.prediction.measured.rows import FITTED
from dse.studies.store import StudyStore

STUDY = "results/tiny-torus_4x4"
WRITERS = [
    ("accuracy", ("runs.csv", "page=")),
    ("best", (STUDY, "csv=")),
    ("calibrate", ("runs.csv", "accelerator=h100_sxm", "constants=matrix", "--output=")),
    ("compare", (STUDY, STUDY, "csv=")),
    ("report", (STUDY, "--output=")),
    ("sensitivity", (STUDY, "--no-switches", "csv=")),
    ("timeline", (STUDY, "--output=")),
]


def writing(arguments: Sequence[str | Path], path: str | Path) -> list[str | Path]:
    """The arguments of a command with the path behind the last of them."""
    *others, last = arguments
    return [*others, f"{last}{path}"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outputs")
    run_ok("sweep", "system=torus_4x4", "model=tiny", "space.sp=[1]", cwd=folder)
    header, *rows = FITTED.read_text().splitlines(keepends=True)
    own = [row for row in rows if row.startswith("mosaic") and "H100" in row][:4]
    (folder / "runs.csv").write_text("".join([header, *own]))
    return folder


@pytest.mark.parametrize(("verb", "arguments"), WRITERS, ids=[verb for verb, _ in WRITERS])
def test_every_command_refuses_a_missing_folder_and_makes_none(
    folder: Path, verb: str, arguments: tuple[str, ...]
) -> None:
    before = sorted(folder.rglob("*"))
    message = error_of(verb, *writing(arguments, "nowhere/deep/x.html"), cwd=folder)
    assert message.startswith("cannot write nowhere/deep/x.html: the folder nowhere/deep does not exist")
    message = error_of(verb, *writing(arguments, "results"), cwd=folder)
    assert message.endswith(" is 'results'; it must name a file")
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(("verb", "arguments"), WRITERS, ids=[verb for verb, _ in WRITERS])
def test_every_command_keeps_a_link_and_replaces_what_it_leads_to(
    folder: Path, tmp_path: Path, verb: str, arguments: tuple[str, ...]
) -> None:
    link, target = tmp_path / "link.html", tmp_path / "target.html"
    target.write_text("old")
    link.symlink_to(target)
    run_ok(verb, *writing(arguments, link), cwd=folder)
    assert link.is_symlink()
    assert target.read_text() != "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.html", "target.html"]


def test_a_link_into_a_missing_folder_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "missing" / "x")
    with pytest.raises(InputError, match="/missing does not exist"):
        check_output(link, "csv")


def test_a_folder_that_is_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file is not a folder"):
        write_output(tmp_path / "file" / "x", b"", "csv")


def test_names_that_are_formulas_are_texts_in_every_csv(folder: Path, tmp_path: Path) -> None:
    name = "=cmd|calc!A1"
    for study in ("evil", "worse"):
        arguments = (
            "system=torus_4x4",
            "model=tiny",
            "space.sp=[1]",
            f"model.name='{name}'",
            f"study={study}",
        )
        run_ok("sweep", *arguments, f"results_dir={tmp_path}", cwd=folder)
    evil, worse = tmp_path / "evil", tmp_path / "worse"
    commands = {
        "best": (evil, "csv="),
        "compare": (evil, worse, "csv="),
        "sensitivity": (evil, "--no-switches", "csv="),
    }
    for verb, options in commands.items():
        path = tmp_path / f"{verb}.csv"
        run_ok(verb, *writing(options, path), cwd=folder)
        cells = [cell for line in csv.reader(path.read_text().splitlines()) for cell in line]
        assert any(cell.startswith(f"'{name}") for cell in cells), verb
        assert not [cell for cell in cells if cell.startswith("=")], verb


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0")), st.integers())
def test_no_text_begins_a_formula_and_numbers_stay_numbers(text: str, number: int) -> None:
    (_, (cell, digits)) = csv.reader([*csv_text(["text", "number"], [[text, number]]).split("\n")[:2]])
    assert cell.removeprefix("'") == text.removeprefix("'")
    assert not cell.startswith(("=", "+", "-", "@", "\t"))
    assert digits == str(number)


@given(st.text())
def test_what_is_printable_commands_no_terminal(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert (shown == text) == text.isprintable()


def test_a_study_of_anyone_does_not_command_the_terminal(tmp_path: Path) -> None:
    hostile = "red\x1b[31m\x07"
    StudyStore.create(tmp_path / "study").append([row(model=hostile, system=hostile, study=hostile)])
    for options in ((), ("top=1", "by=model"), ("--caps",)):
        out = run_ok("best", "study", *options, cwd=tmp_path).out
        assert "\x1b" not in out
        assert "\x07" not in out
    out = run_ok("best", "study", "top=1", "by=model", cwd=tmp_path).out
    assert out.startswith(
        "red\\x1b[31m\\x07 on red\\x1b[31m\\x07, 64 NPUs: model=red\\x1b[31m\\x07, as STAGE and"
    )
    assert "\x1b" not in error_of("best", "nowhere\x1b[31m", cwd=tmp_path)


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_output(pipe, b"all of it", "csv")
    assert os.read(reader, 100) == b"all of it"
    os.close(reader)
    assert pipe.is_fifo()
