"""Schedules of pipelines in torch's CSV: which are known, and which ranks cannot run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dse.prediction.frameworks.jobs import Reading, read_job
from dse.prediction.frameworks.reading import read_document
from dse.prediction.frameworks.writing.schedules import schedule_csv

WORDS = (
    "torchrun --nproc_per_node 8 train.py --module llama3 --config llama3_8b --training.local_batch_size 4 "
    "--parallelism.pipeline_parallel_microbatch_size 1 --training.disable_cuda_graphs "
    "--parallelism.pipeline_parallel_degree 2 --parallelism.pipeline_parallel_schedule {} "
    "--parallelism.pipeline_parallel_schedule_csv {}"
)


def read(folder: Path, name: str, text: str, file: str = "own.csv") -> Reading:
    (folder / "own.csv").write_text(text, encoding="utf-8")
    (folder / "train.sh").write_text(WORDS.format(name, file), encoding="utf-8")
    return read_job(read_document([str(folder / "train.sh")]))


@pytest.mark.parametrize(
    ("name", "ours", "chunks"),
    [("1F1B", "1f1b", 1), ("GPipe", "gpipe", 1), ("1F1B", "zb-h1", 1), ("Interleaved1F1B", "interleaved", 2),
     ("PipelineScheduleMulti", "interleaved", 2), ("ZBVZeroBubble", "zb-v", 2)],
)  # fmt: skip
def test_a_schedule_is_known_by_what_its_file_says(name: str, ours: str, chunks: int, tmp_path: Path) -> None:
    reading = read(tmp_path, name, schedule_csv(ours, 2, chunks, 4))
    assert reading.job is not None, (reading.broken, reading.no_job)
    assert (reading.job.plan.schedule, reading.job.plan.chunks) == (ours, chunks)
    assert not any("by the name of its file" in each for each in reading.assumed)


def test_a_name_does_not_make_a_schedule_of_another_order(tmp_path: Path) -> None:
    (tmp_path / "zb-h1.csv").write_text("0F0,0F1,0F2,0F3,0B1,0B0,0B2,0B3\n1F0,1F1,1F2,1F3,1B1,1B0,1B2,1B3\n")
    reading = read(tmp_path, "1F1B", "", "zb-h1.csv")
    assert reading.is_legal
    assert reading.no_job.startswith("the schedule zb-h1.csv is not modelled; known are 1F1B, ")


Lines = list[str]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda lines: lines[::-1], "line 1: 1F0 is of no stage of this rank, which has 0"),
        (lambda lines: lines[:1], "has 1 lines; each of 2 ranks needs one"),
        (lambda lines: ["0F0;0B0", lines[1]], "line 1: '0F0;0B0' is no action such as 0F0, 1I2 or 1W2"),
        (lambda lines: [lines[0].replace("0B3", ""), lines[1]],
         "line 1: stage 0 has F of micro-batch 3; it needs F, and B or I with W"),
        (lambda lines: [lines[0] + ",0F4,0B4", lines[1]],
         "line 1: 0F4 is of no micro-batch: there are 4, numbered from 0"),
        (lambda lines: [lines[0] + ",0B3", lines[1]], "line 1: 0B3 is there twice"),
        (lambda lines: ["0B0,0F0" + lines[0].replace("0F0", "").replace("0B0", ""), lines[1]],
         "waits for ever: 0B0 for 0F0"),
    ],
)  # fmt: skip
def test_a_file_that_ranks_cannot_run_is_illegal(
    change: Callable[[Lines], Lines], problem: str, tmp_path: Path
) -> None:
    lines = ["0F0,0F1,,0B0,0F2,0B1,0F3,0B2,,0B3", ",1F0, 1B0,1F1,1B1,1F2,1B2,1F3,1B3"]
    assert read(tmp_path, "1F1B", "\n".join(lines)).is_legal
    reading = read(tmp_path, "1F1B", "\n".join(change(lines)))
    assert [(breach.rule, breach.says) for breach in reading.broken] == [
        ("T7-csv", f"the schedule own.csv: {problem}")
    ]
