"""Commands whose one answer does not exist end alike; tables of a study say it in their rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_lines import run_dse, run_ok

LARGE = ("cluster=a100_v100", "model=llama3_405b", "gbs=128", "counts=doubling")
NO_PLAN = "no plan was found for this cluster; dse plan with the same keys says why"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("plan", *LARGE[:-1]), "no plan fits"),
        (("plan", "subsets", *LARGE), "none found"),
        (("plan", "front", *LARGE), "no subset of the nodes has a plan"),
        (("plan", "prices", *LARGE), "error: no subset of the nodes has a plan that fits"),
        (("plan", "grow", *LARGE[:-1]), f"error: {NO_PLAN}"),
        (("plan", "fail", *LARGE[:-1]), f"error: {NO_PLAN}"),
        (("partition", "model=tiny", "devices=2", "memory=1KB"), "error: device 0 needs 33554432 bytes"),
        (
            ("launch", "model=llama3_405b", "system=dgx_h100", "system.nodes=1", "framework=megatron-lm"),
            "error: none of 384 strategies that megatron-lm can run fits",
        ),
    ],
)
def test_without_any_answer_that_fits_the_exit_code_is_1(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    done = run_dse(*words, cwd=tmp_path)
    assert (done.code, said in done.out + done.err) == (1, True)


def test_the_table_of_a_study_in_which_nothing_fits_is_an_answer(tmp_path: Path) -> None:
    words = ("system=torus_4x4", "model=tiny", "memory_cap=1KB", "study=small")
    assert "nothing fits" in run_ok("sweep", *words, cwd=tmp_path).out
    assert "nothing fits" in run_ok("best", "results/small", cwd=tmp_path).out
