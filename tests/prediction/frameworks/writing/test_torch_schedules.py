"""Schedules as torch's CSV: the passes of torch's own files, and torch itself."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch_pipelines import Written, passes_loaded, trained

from dse.base.errors import InputError
from dse.inputs.strategies.schedules import SCHEDULES
from dse.prediction.frameworks.writing.schedules import Action, schedule_csv

GOLDEN = Path(__file__).parents[3] / "golden" / "schedules"
SHAPES = {
    "1f1b": (2, 1, 4),
    "gpipe": (2, 1, 4),
    "interleaved": (2, 2, 4),
    "zb-h1": (2, 1, 4),
    "zb-v": (2, 2, 4),
    "v-half": (2, 2, 4),
    "v-min": (2, 2, 4),
}
TORCH = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs the extra torch: pip install 'dse[torch]'"
)
F1B = "0F0,0F1,,0B0,,0B1\n,1F0,1B0,1F1,1B1\n"


def passes(text: str) -> list[list[Action]]:
    """Return the passes of each rank, in ascending order."""
    found = [re.findall(r"(\d+)([FBIW])(\d+)", line) for line in text.splitlines()]
    return [sorted(Action(int(stage), kind, int(batch)) for stage, kind, batch in line) for line in found]


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
    assert passes((GOLDEN / f"torch_{file}.csv").read_text()) == passes(schedule_csv(name, *SHAPES[name]))


def test_zb_v_is_torchs_own_file_cell_by_cell() -> None:
    assert schedule_csv("zb-v", 2, 2, 4) == (GOLDEN / "torch_ZBVZeroBubble.csv").read_text()


def test_idle_ticks_are_empty_cells() -> None:
    assert schedule_csv("1f1b", 2, 1, 2) == F1B
    assert schedule_csv("zb-h1", 2, 1, 1) == "0F0,,,0I0,0W0\n,1F0,1I0,1W0\n"


@given(shapes())
def test_a_file_holds_every_pass_once(shape: tuple[str, int, int, int]) -> None:
    name, stages, chunks, micro_batches = shape
    kinds = "FIW" if SCHEDULES[name].splits_backward else "FB"
    found = [one for line in passes(schedule_csv(*shape)) for one in line]
    assert sorted(found) == sorted(
        Action(part, kind, batch)
        for part in range(stages * chunks)
        for kind in kinds
        for batch in range(micro_batches)
    )


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
def test_torch_loads_what_is_written_and_refuses_less(tmp_path: Path) -> None:
    """On a fake process group of two ranks: every pass of the first is there, and none may be missing."""
    jobs = {name: written(tmp_path, name) for name in SHAPES}
    path = tmp_path / "less.csv"
    path.write_text(F1B.replace(",0B1", ""))
    jobs["less"] = Written(path, 1, 2, False)
    said = dict(zip(jobs, passes_loaded(list(jobs.values()), 2), strict=True))
    assert said.pop("less").startswith("Error")
    assert said == {"1f1b": "8", "gpipe": "8", "interleaved": "16", "zb-h1": "12"} | dict.fromkeys(
        ("zb-v", "v-half", "v-min"), "24"
    )


@TORCH
@pytest.mark.slow
def test_two_processes_train_by_it(tmp_path: Path) -> None:
    """Gradients of all layers are those of one process without a pipeline."""
    jobs = [written(tmp_path, name) for name in ("interleaved", "zb-h1", "zb-v", "v-half", "v-min")]
    stages = [("0 2", "0", "0 3", "0 3", "0 3"), ("1 3", "1", "1 2", "1 2", "1 2")]
    said = trained(jobs, 2, tmp_path / "meeting")
    assert said == [[f"equal gradients of {own}" for own in of_rank] for of_rank in stages]
