"""`dse size`: machines for a training run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_lines import error_of, run_dse, run_ok

ASKED = ("systems=dgx_h100,dgx_h200", "npus=64-256", "model=llama3_8b", "model.batch_size=256", "tokens=1T")


def test_the_answer_names_winners_the_front_and_the_gain(tmp_path: Path) -> None:
    done = run_ok("size", *ASKED, "prices=dgx_h100=2,dgx_h200=3", cwd=tmp_path)
    assert done.out.startswith("fastest: 256 NPUs of dgx_h200, ")
    assert "\ncheapest: " in done.out
    assert "\nleast energy: " in done.out
    assert "one more node" in done.out
    everything = run_ok("size", *ASKED, "--all", cwd=tmp_path)
    assert everything.out.count("dgx_h100  ") == 3
    (data,) = [json.loads(run_ok("size", *ASKED, "--json", cwd=tmp_path).out)]
    assert [size["npus"] for size in data["sizes"]] == [64, 128, 256] * 2
    assert data["winners"].keys() == {"time", "energy"}


def test_a_loss_becomes_tokens(tmp_path: Path) -> None:
    words = (*ASKED[:-1], "loss=2.1", "--json")
    sizes = json.loads(run_ok("size", *words, cwd=tmp_path).out)["sizes"]
    older = json.loads(run_ok("size", *words, "law=hoffmann", cwd=tmp_path).out)["sizes"]
    steps = sizes[0]["run"]["steps"]
    assert 0.2e12 < steps * 256 * 8192 < 5e12
    assert older[0]["run"]["steps"] != steps


def test_without_a_size_in_the_limits_the_exit_code_is_1(tmp_path: Path) -> None:
    done = run_dse("size", *ASKED, "deadline=1 h", cwd=tmp_path)
    assert done.code == 1
    assert done.out.startswith("no size keeps all limits")


def test_a_range_has_its_last_size_and_names_what_was_not_tried(tmp_path: Path) -> None:
    asked = ("systems=dgx_h100", *ASKED[2:])
    done = run_ok("size", *asked, "npus=40-56", "--all", cwd=tmp_path)
    rows = [line.split("dgx_h100")[1].split()[0] for line in done.out.splitlines() if "  dgx_h100  " in line]
    assert rows == ["40", "56"]
    said = "of 40-56 NPUs dgx_h100 was tried with 40, 56 only; a list tries more, such as npus=40,48"
    assert said in done.err
    for whole in ("npus=40,56", "npus=32-40", "npus=64"):
        assert "was tried with" not in run_ok("size", *asked, whole, cwd=tmp_path).err


def test_a_deadline_that_a_larger_size_misses_is_not_kept_from_the_smaller_one_on(tmp_path: Path) -> None:
    """7 nodes have fewer replicas than 6, as 512 sequences are no multiple of 7."""
    asked = ("systems=dgx_h100", "npus=40,48,56", "model=llama3_8b", "model.batch_size=512", "tokens=1T")
    done = run_ok("size", *asked, "deadline=30 d", cwd=tmp_path)
    assert "dgx_h100 keeps the deadline with 48 NPUs only" in done.out
    done = run_ok("size", *asked, "deadline=35 d", cwd=tmp_path)
    assert "dgx_h100 keeps the deadline from 48 NPUs on" in done.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (ASKED[1:], "systems is missing; write systems=dgx_h100,dgx_b200 npus=64-4096"),
        (ASKED[:1] + ASKED[2:], "npus is missing"),
        (ASKED[:-1], "tokens is missing; write tokens=15.6T, steps=N, or loss=2.0"),
        ((*ASKED, "npus=64-8"), "npus"),
        (
            (*ASKED[:1], "npus=64..256", *ASKED[2:]),
            "npus is '64..256'; write sizes such as 64,128, or a range such as 64-4096",
        ),
        (
            (*ASKED[:1], "npus=256-64", *ASKED[2:]),
            "npus is 256-64; the first number must not be above the last",
        ),
        ((*ASKED, "prices=dgx_b200=1"), "prices has dgx_b200, which is none of systems"),
        ((*ASKED, "prices=dgx_h100=-1"), "prices.dgx_h100 is '-1'"),
        ((*ASKED, "spares=101"), "spares is '101'; it must be a number from 0 to 100"),
        ((*ASKED, "budget=5"), "budget has no effect without prices"),
        ((*ASKED, "law=hoffmann"), "law has no effect without loss"),
        ((*ASKED, "deadline=soon"), "deadline is 'soon'; write a number and a unit of time"),
        (("systems=torus_4x4", *ASKED[1:]), "systems has torus_4x4, which is no cluster of accelerators"),
        ((*ASKED[:-1], "loss=1.8"), "loss is 1.8; a model of"),
    ],
)
def test_wrong_questions_about_sizes_are_one_line(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    assert message in error_of("size", *words, cwd=tmp_path)
