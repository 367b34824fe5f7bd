"""Notes of a sweep name values that an axis replaces, and factors of the NPUs that a batch lacks."""

from __future__ import annotations

import pytest

from dse.studies.config import compose_config
from dse.studies.sweeps.notes import missing_degrees, replaced_values, undivided_batches

CLUSTER = ("system=dgx_h100", "model=llama3_8b")


@pytest.mark.parametrize(
    ("overrides", "notes"),
    [
        (
            ("system.nodes=6", "model.batch_size=512"),
            [
                "a batch of 512 is no multiple of 3, a factor of the 48 NPUs, so dp is at most 16: "
                "model.batch_size=480 or 528 also allows 48"
            ],
        ),
        (
            ("system.nodes=7", "model.batch_size=32"),
            [
                "a batch of 32 is no multiple of 7, a factor of the 56 NPUs, so dp is at most 8: "
                "model.batch_size=56 also allows 56"
            ],
        ),
        (("system.nodes=6", "model.batch_size=528"), []),
        (("system.nodes=8", "model.batch_size=32"), []),  # small, but every factor of 64 is one of 32
        (("system.nodes=6", "model.batch_size=512", "space.dp=[16]"), []),
        (("system.nodes=6", "space.axes={model.batch_size:[512,528]}"), []),
        (("system.nodes=6", "model.batch_size=512", "model.fidelity=stage"), []),
        (("system.nodes=6", "model.batch_size=512", "space.axes={system.nodes:[1,2]}"), []),
        (
            (
                "system.nodes=6",
                "model.batch_size=512",
                "space.constraints=['dp*tp*sp*pp*cp == npus','dp <= 4']",
            ),
            [],
        ),
        (
            ("model.batch_size=512", "space.axes={system.nodes:[1,6],system.tiers.0.latency_us:[1,2]}"),
            [
                "a batch of 512 is no multiple of 3, a factor of the 48 NPUs, so dp is at most 16: "
                "model.batch_size=480 or 528 also allows 48"
            ],
        ),
    ],
)
def test_a_factor_of_the_npus_that_the_batch_lacks_is_named(
    overrides: tuple[str, ...], notes: list[str]
) -> None:
    assert undivided_batches(compose_config([*CLUSTER, *overrides], command="sweep")) == notes


def test_a_value_that_an_axis_replaces_has_no_effect_and_is_named() -> None:
    words = (*CLUSTER, "system.nodes=2", "model.seq_len=4096", "space.axes={system.nodes:[1,4]}")
    assert replaced_values(compose_config(words, command="sweep"), words) == [
        "system.nodes=2 has no effect: space.axes.system.nodes lists the values"
    ]
    assert replaced_values(compose_config(words[:-1], command="sweep"), words[:-1]) == []


def test_degrees_that_a_space_lacks_are_those_of_the_systems_that_axes_give() -> None:
    words = ["system=torus_4x4", "model=tiny"]
    larger = [*words, "space.axes={system.network.0.npus:[4,32],system.network.0.latency_ns:[1,2]}"]
    smaller = ["system=torus_4x4", "model=tiny", "system.network.0.npus=32"]
    note = "space.dp, space.tp, space.sp of space=lab leave out 128, but torus_4x4 has 128 NPUs"
    assert missing_degrees(compose_config(words, command="sweep"), ["dse"]) == []
    for given in (larger, smaller):
        (found,) = missing_degrees(compose_config(given, command="sweep"), ["dse"])
        assert found.startswith(note)
    back = [*smaller, "space.axes={system.network.0.npus:[4]}"]
    assert missing_degrees(compose_config(back, command="sweep"), ["dse"]) == []
