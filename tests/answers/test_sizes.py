"""Sizes: the best of each objective, the front, limits, and winners that failures change."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dse.answers.launched import best_job
from dse.answers.size_texts import sizes_data, sizes_text
from dse.answers.sizes import Limits, Size, SizeQuestion, front, next_sizes, sizes_of, winners
from dse.base.errors import InputError
from dse.inputs.systems import SystemSpec
from dse.prediction.runs.checkpoints import Store
from dse.prediction.runs.power import Facility
from dse.prediction.runs.reliability import reliability_named
from dse.prediction.steps.predict import predict
from dse.studies.config import compose_config

WORDS = ["model=llama3_70b", "model.batch_size=1024"]
TOKENS = 15e12


def _system(name: str) -> SystemSpec:
    return compose_config([f"system={name}", *WORDS], command="point").system


@pytest.fixture(scope="module")
def question() -> SizeQuestion:
    model = compose_config(["system=dgx_h100", *WORDS], command="point").model
    return SizeQuestion(
        model,
        round(TOKENS / model.seq_len / 1024),
        reliability_named("llama3"),
        Store(200, 20),
        Facility(),
        0.02,
        {"dgx_b200": 5.0, "gb200_nvl72": 6.0},
    )


@pytest.fixture(scope="module")
def sizes(question: SizeQuestion) -> list[Size]:
    return sizes_of(question, [_system("dgx_b200"), _system("gb200_nvl72")], [72, 1024, 2304, 4608])


def test_only_whole_nodes_are_sizes(sizes: list[Size]) -> None:
    assert [(size.system, size.npus) for size in sizes] == [
        ("dgx_b200", 72), ("dgx_b200", 1024), ("dgx_b200", 2304), ("dgx_b200", 4608),
        ("gb200_nvl72", 72), ("gb200_nvl72", 2304), ("gb200_nvl72", 4608),
    ]  # fmt: skip


def test_no_strategy_of_the_space_is_faster_on_a_size(sizes: list[Size], question: SizeQuestion) -> None:
    """The plan of a size is that of a sweep of it alone, and its step is that of the predictor."""
    system = compose_config(["system=dgx_b200", "system.nodes=128", *WORDS], command="point").system
    alone = best_job(question.model, system)
    size = next(size for size in sizes if size.npus == 1024)
    assert size.run is not None
    assert size.run.question.plan == alone.job.plan
    assert size.run.prediction.step_s == predict(alone.job.model, alone.job.plan, alone.cluster).step_s


def test_winners_are_least_and_the_front_is_beaten_by_none(sizes: list[Size]) -> None:
    best = winners(sizes)
    for objective, winner in best.items():
        assert all(winner.figure(objective) <= size.figure(objective) for size in sizes)
    shown = front(sizes)
    for size in shown:
        own = [size.figure(name) for name in ("time", "cost", "energy")]
        for other in sizes:
            figures = [other.figure(name) for name in ("time", "cost", "energy")]
            assert figures == own or any(left > right for left, right in zip(figures, own, strict=True))
    assert {id(size) for size in best.values()} <= {id(size) for size in shown}


def test_failures_change_the_fastest_machine_and_the_text_says_why(question: SizeQuestion) -> None:
    """One spare domain of 72: it is used up for hours, while a spare node of 8 is not missed."""
    systems = [_system("dgx_b200"), _system("gb200_nvl72")]
    found = sizes_of(replace(question, spares_share=0.005), systems, [9216])
    assert winners(found)["time"].system == "dgx_b200"
    assert winners(found, plain=True)["time"].system == "gb200_nvl72"
    assert "without failures 9216 NPUs of gb200_nvl72 would be the fastest" in sizes_text(found)
    assert "waiting for spares" in sizes_text(found)


def test_limits_exclude_and_say_which(question: SizeQuestion) -> None:
    system, day_s = _system("dgx_b200"), 86400.0
    cases = {
        "deadline": Limits(time_s=70 * day_s),
        "budget": Limits(cost=12e6),
        "power": Limits(power_mw=1.5),
        "npus": Limits(npus=1024),
    }
    for name, limits in cases.items():
        found = sizes_of(replace(question, limits=limits), [system], [1024, 2304])
        assert sorted(size.broken for size in found) == [(), (name,)], name
    none = sizes_of(replace(question, limits=Limits(time_s=1.0)), [system], [1024])
    assert winners(none) == {}
    assert sizes_text(none).startswith(
        "no size keeps all limits; 1024 NPUs of dgx_b200 come nearest: over the deadline, 83.6 days (up to "
    )


def test_what_does_not_fit_says_so(question: SizeQuestion) -> None:
    (size,) = sizes_of(question, [_system("dgx_h100")], [8])
    assert size.run is None
    assert "fits llama3_70b" in size.problem
    assert math.isinf(size.figure("time"))
    assert sizes_data([size])["sizes"][0]["run"] is None
    with pytest.raises(InputError, match="in 9: a node of dgx_h100 has 8 NPUs; change npus"):
        sizes_of(question, [_system("dgx_h100")], [9])


def test_what_one_more_node_brings_is_the_step_to_the_next_size(sizes: list[Size]) -> None:
    """By hand from the two sizes: days saved a node, the price of a day, and whether the step pays."""
    steps = next_sizes(sizes)
    assert {size for size in steps if size[1] > 72} == {
        ("dgx_b200", 1024), ("dgx_b200", 2304), ("gb200_nvl72", 2304),
    }  # fmt: skip
    small, large = (size for size in sizes if size.system == "dgx_b200" and size.npus in (1024, 2304))
    step = steps["dgx_b200", 1024]
    saved_s = small.figure("time") - large.figure("time")
    assert step.saved_s == pytest.approx(saved_s / ((2304 - 1024) / 8))
    assert step.day_costs == pytest.approx((large.figure("cost") - small.figure("cost")) / saved_s * 86400)
    assert step.faster == pytest.approx(small.figure("time") / large.figure("time"))
    assert step.pays
    assert sizes_data(sizes)["sizes"][sizes.index(small)]["next"]["npus"] == 2304


def test_a_size_beyond_which_nothing_pays_is_named(question: SizeQuestion) -> None:
    """Twice the machine for less than 1.25 times the speed; and the smallest size that keeps a deadline."""
    system = _system("gb200_nvl72")
    asked = replace(question, spares_share=0.005, limits=Limits(time_s=60 * 86400.0))
    found = sizes_of(asked, [system], [1152, 4608, 9216])
    steps = next_sizes(found)
    assert [step.pays for step in steps.values()] == [True, False]
    text = sizes_text(found, every=True)
    assert "gb200_nvl72 stops paying beyond 4608 NPUs: 2 times as many are 1.09 times as fast" in text
    late = [size.npus for size in found if size.broken]
    assert late == [1152]
    assert "gb200_nvl72 keeps the deadline from 4608 NPUs on" in text


def test_a_machine_that_shrinks_needs_fewer_spares(question: SizeQuestion) -> None:
    """Best of waiting and shrinking: never longer, and much shorter where domains of 72 wait for repairs."""
    systems = [_system("dgx_b200"), _system("gb200_nvl72")]
    waits = sizes_of(replace(question, spares_share=0.005), systems, [4608])
    best = sizes_of(replace(question, spares_share=0.005, elastic="best"), systems, [4608])
    for one, other in zip(waits, best, strict=True):
        assert other.figure("time") <= one.figure("time")
    assert best[1].figure("time") < 0.9 * waits[1].figure("time")


def test_data_names_winners_and_front_by_entry(sizes: list[Size]) -> None:
    data = sizes_data(sizes)
    assert data["sizes"][data["winners"]["time"]]["npus"] == winners(sizes)["time"].npus
    assert [data["sizes"][number]["npus"] for number in data["front"]] == [s.npus for s in front(sizes)]
