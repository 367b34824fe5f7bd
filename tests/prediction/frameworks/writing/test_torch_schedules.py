"""Schedules as torch's CSV: the passes of torch's own files, errors by line and cell, and torch itself."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch_pipelines import Written, passes_loaded, trained

from dse.base.errors import InputError
from dse.inputs.strategies.schedules import SCHEDULES
from dse.prediction.frameworks.writing.actions import Action, Cell
from dse.prediction.frameworks.writing.schedules import read_schedule_csv, schedule_csv

GOLDEN = Path(__file__).parents[3] / "golden" / "schedules"
SHAPES = {
    "1f1b": (2, 1, 4),
    "gpipe": (2, 1, 4),
    "interleaved": (2, 2, 4),
    "zb-h1": (2, 1, 4),
    "zb-v": (2, 2, 4),
}
TORCH = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs the extra torch: pip install 'dse[torch]'"
)
F1B = "0F0,0F1,,0B0,,0B1\n,1F0,1B0,1F1,1B1\n"


def passes(lines: list[list[Cell]]) -> list[set[Action]]:
    return [{one for cell in line for one in cell} for line in lines]


def shapes() -> st.SearchStrategy[tuple[str, int, int, int]]:
    def shape(name: str, stages: int, chunks: int, rounds: int) -> tuple[str, int, int, int]:
        has = SCHEDULES[name].chunks or chunks
        return name, stages, has, rounds * stages if name == "interleaved" else rounds

    return st.builds(
        shape, st.sampled_from(sorted(SHAPES)), st.integers(1, 6), st.integers(2, 4), st.integers(1, 5)
    )


def test_every_schedule_has_a_shape_here() -> None:
    assert set(SHAPES) == set(SCHEDULES)


@pytest.mark.parametrize(
    ("name", "file"),
    [("1f1b", "1f1b"), ("interleaved", "Interleaved1F1B"), ("zb-v", "ZBVZeroBubble")],
)
def test_passes_are_those_of_torchs_own_files(name: str, file: str) -> None:
    theirs = read_schedule_csv((GOLDEN / f"torch_{file}.csv").read_text(), name, *SHAPES[name])
    ours = read_schedule_csv(schedule_csv(name, *SHAPES[name]), name, *SHAPES[name])
    assert passes(theirs) == passes(ours)


def test_zb_v_is_torchs_own_file_cell_by_cell() -> None:
    assert schedule_csv("zb-v", 2, 2, 4) == (GOLDEN / "torch_ZBVZeroBubble.csv").read_text()


def test_idle_ticks_are_empty_cells() -> None:
    assert schedule_csv("1f1b", 2, 1, 2) == F1B
    assert schedule_csv("zb-h1", 2, 1, 1) == "0F0,,,0I0,0W0\n,1F0,1I0,1W0\n"


@given(shapes())
def test_a_written_file_is_read_again_and_holds_every_pass_once(shape: tuple[str, int, int, int]) -> None:
    name, stages, chunks, micro_batches = shape
    lines = read_schedule_csv(schedule_csv(*shape), name, stages, chunks, micro_batches)
    kinds = "FIW" if SCHEDULES[name].splits_backward else "FB"
    found = [one for line in lines for cell in line for one in cell]
    assert sorted(found) == sorted(
        Action(part, kind, batch)
        for part in range(stages * chunks)
        for kind in kinds
        for batch in range(micro_batches)
    )


@given(shapes(), st.randoms(use_true_random=False))
def test_a_pass_less_or_a_line_swapped_is_refused(shape: tuple[str, int, int, int], random: object) -> None:
    name, *counts = shape
    cells = [line.split(",") for line in schedule_csv(*shape).splitlines()]
    line = random.choice(cells)  # type: ignore[attr-defined]
    place = random.choice([n for n, cell in enumerate(line) if cell])  # type: ignore[attr-defined]
    kept, line[place] = line[place], ""
    with pytest.raises(InputError, match=r"^f\.csv, line \d+(, cell \d+)?: "):
        read_schedule_csv("\n".join(map(",".join, cells)), name, *counts, where="f.csv")
    line[place] = kept
    if len(cells) > 1:
        cells[0], cells[1] = cells[1], cells[0]
        with pytest.raises(InputError, match=r"which line [12] runs; with a (loop|V) this line has stages "):
            read_schedule_csv("\n".join(map(",".join, cells)), name, *counts)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (F1B + "0F0\n", "has 3 lines; it must have 2, one a rank in the order of ranks"),
        ("0F0\n", "has 1 line; it must have 2, one a rank in the order of ranks"),
        (F1B.replace("0B1", "0X1"), ", line 1, cell 6: '0X1' is no action: an action is a stage, one of "),
        (F1B.replace("1F0", "1RECV_F0"), ", line 2, cell 2: '1RECV_F0' is no action: torch adds messages "),
        (F1B.replace("0B1", "0UNSHARD"), "torch adds messages and shards itself; list passes only"),
        (F1B + "# by hand", "has 3 lines"),
        (F1B.replace(",0B1", ""), ", line 1: lacks 0B1, or 0I1 and 0W1"),
        (F1B.replace("0B1", "0I1"), ", line 1: lacks 0W1 to 0I1"),
        (F1B.replace("0F1,,0B0,,0B1", "0B1,,0B0,,0F1"), ", line 1, cell 2: 0B1 comes before 0F1"),
        (F1B.replace("1F0,1B0", "1B0,1F0"), ", line 2, cell 2: 1B0 comes before 1F0"),
        (F1B.replace("0B1", "0W1,0I1"), ", line 1, cell 6: 0W1 comes before 0I1"),
        (F1B.replace("0B1", "0B1,0W1"), ", line 1, cell 7: 0W1 repeats 0B1: B is I and W together"),
        (F1B.replace("0B1", "0B1,0B1"), ", line 1, cell 7: 0B1 is in cell 6 already"),
        (F1B.replace("0B1", "0B2"), ", line 1, cell 6: 0B2 is of micro-batch 2; they are 0 to 1"),
        (F1B.replace("0B1", "2B1"), ", line 1, cell 6: 2B1 is of stage 2; stages are 0 to 1"),
        (
            F1B.replace("0B1", "1B1"),
            "cell 6: 1B1 is of stage 1, which line 2 runs; with a loop this line has ",
        ),
        (
            "0F0,0B0,0F1,0B1\n1F0,1F1,1B1,1B0\n",
            ", line 1, cell 2: 0B0 waits for 1B0 in line 2, cell 4, which waits for this line: a deadlock",
        ),
    ],
)
def test_what_torch_could_not_run_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_schedule_csv(text, "1f1b", 2, 1, 2, where="mine.csv")
    assert str(error.value).startswith("mine.csv")
    assert message in str(error.value)


def test_a_v_is_not_a_loop() -> None:
    text = schedule_csv("zb-v", 2, 2, 4)
    with pytest.raises(
        InputError, match="3F0 is of stage 3, which line 2 runs; with a loop this line has stages 0, 2"
    ):
        read_schedule_csv(text, "interleaved", 2, 2, 4)


def test_blanks_overlaps_and_split_backwards_are_read() -> None:
    text = "0F0, 0F1,, 0I0 ,0W0,0B1\r\n,1F0,(1F1;1B0)OVERLAP_F_B,1B1\r\n\r\n"
    first, second = read_schedule_csv(text, "1f1b", 2, 1, 2)
    assert first[3] == (Action(0, "I", 0),)
    assert second[2] == (Action(1, "F", 1), Action(1, "B", 0))


def test_an_unknown_or_impossible_schedule_is_refused() -> None:
    with pytest.raises(InputError, match="schedule is '1f2b'"):
        schedule_csv("1f2b", 2, 1, 4)
    with pytest.raises(InputError, match="needs a multiple of the 2 stages"):
        schedule_csv("interleaved", 2, 2, 3)


def written(folder: Path, name: str) -> Written:
    ranks, chunks, micro_batches = SHAPES[name]
    assert ranks == 2
    path = folder / f"{name}.csv"
    path.write_text(schedule_csv(name, *SHAPES[name]))
    return Written(path, chunks, micro_batches, SCHEDULES[name].is_v_shaped)


@TORCH
@pytest.mark.slow
def test_torch_loads_what_is_written_and_refuses_what_is_refused_here(tmp_path: Path) -> None:
    """On a fake process group of two ranks: every pass of the first is there.

    Torch refuses all but lines that are swapped, which only this side sees.
    """
    jobs = {name: written(tmp_path, name) for name in SHAPES}
    for number, text in enumerate((F1B.replace(",0B1", ""), F1B.replace("0B1", "0X1"), "0F0\n")):
        path = tmp_path / f"refused{number}.csv"
        path.write_text(text)
        jobs[path.stem] = Written(path, 1, 2, False)
    said = dict(zip(jobs, passes_loaded(list(jobs.values()), 2), strict=True))
    assert [said.pop(f"refused{number}").partition(":")[0] for number in range(3)] == ["Error"] * 3
    assert said == {"1f1b": "8", "gpipe": "8", "interleaved": "16", "zb-h1": "12", "zb-v": "24"}


@TORCH
@pytest.mark.slow
def test_two_processes_train_by_it(tmp_path: Path) -> None:
    """Gradients of all layers are those of one process without a pipeline."""
    jobs = [written(tmp_path, name) for name in ("interleaved", "zb-h1", "zb-v")]
    stages = [("0 2", "0", "0 3"), ("1 3", "1", "1 2")]
    said = trained(jobs, 2, tmp_path / "meeting")
    assert said == [[f"equal gradients of {own}" for own in of_rank] for of_rank in stages]
