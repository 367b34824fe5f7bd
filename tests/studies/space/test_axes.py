"""Axes over fields of model and system: what they yield, in which order, and what is refused."""

from dataclasses import replace
from typing import Any

import pytest
from two_rings import TINY, rings

from dse.base.errors import InputError
from dse.inputs.systems import LinkFault
from dse.studies.config import compose_config
from dse.studies.space import DesignSpace, SpaceSurvey

SYSTEM = rings(2, 2)
SPACE = DesignSpace(
    "small",
    {"dp": (1, 2, 4), "tp": (1, 2, 4), "activation_recompute": (True,)},
    ("dp * tp * sp * pp == npus",),
)


def with_axes(*axes: tuple[str, tuple[object, ...]], constraints: tuple[str, ...] = ()) -> DesignSpace:
    return replace(SPACE, axes=axes, constraints=SPACE.constraints + constraints)


def test_models_vary_slowest_then_systems_then_axes_then_strategies() -> None:
    space = with_axes(("system.network.1.bandwidth_gbps", (400, 50)), ("model.seq_len", (128, 64)))
    models, systems = [TINY, replace(TINY, name="other")], [SYSTEM, rings(4)]
    systems[1] = replace(rings(2, 2), name="other")
    found = [
        (model.name, system.name, system.network[1].bandwidth_gbps, model.seq_len, [s.dp for s in strategies])
        for model, system, strategies in space.scenarios(models, systems)
    ]
    assert found == [
        (model, system, gbps, tokens, [1, 2, 4])
        for model in ("tiny", "other")
        for system in ("rings", "other")
        for gbps in (400.0, 50.0)
        for tokens in (128, 64)
    ]


def test_without_axes_specs_are_the_given_ones_and_lists_are_shared() -> None:
    scenarios = list(SPACE.scenarios([TINY, replace(TINY, seq_len=64)], [SYSTEM]))
    assert scenarios[0].model is TINY
    assert scenarios[0].system is SYSTEM
    assert scenarios[0].strategies is scenarios[1].strategies
    assert scenarios[0].strategies == SPACE.strategies(TINY, SYSTEM)


def test_scenarios_are_enumerated_lazily() -> None:
    space = with_axes(("model.batch_size", tuple(range(1, 10**5))))
    first = next(space.scenarios([TINY], [SYSTEM]))
    assert first.model.batch_size == 1


def test_strategies_follow_the_fields_that_constraints_read() -> None:
    space = with_axes(
        ("system.network.0.npus", (2, 4)), ("model.num_heads", (1, 4)), constraints=("num_heads % tp == 0",)
    )
    found = [
        (system.npus, model.num_heads, [s.label()[:7] for s in strategies])
        for model, system, strategies in space.scenarios([TINY], [SYSTEM])
    ]
    assert found == [
        (4, 1, ["dp4 tp1"]),
        (4, 4, ["dp1 tp4", "dp2 tp2", "dp4 tp1"]),
        (8, 4, ["dp2 tp4", "dp4 tp2"]),
    ]


def test_axes_of_the_strategy_replace_those_of_the_space() -> None:
    space = with_axes(("strategy.tp", (4,)), ("strategy.activation_recompute", (False, True)))
    assert (space.choices["tp"], space.choices["activation_recompute"]) == ((4,), (False, True))
    assert space.axes == ()
    assert [s.label() for s in space.strategies(TINY, SYSTEM)] == [
        "dp1 tp4 sp1 pp1",
        "dp1 tp4 sp1 pp1 recompute",
    ]


def test_faults_are_an_axis() -> None:
    fault = {"source": 0, "destination": 1, "removed": True}
    space = with_axes(("system.faults", ([], [fault])))
    aware = replace(SYSTEM, network_model="congestion_aware")
    faults = [system.faults for _, system, _ in space.scenarios([TINY], [aware])]
    assert faults == [(), (LinkFault(0, 1, removed=True),)]


def test_fields_that_belong_together_are_checked_together() -> None:
    space = with_axes(("system.network.0.topology", ("Torus2D",)), ("system.network.0.shape", ([2, 1],)))
    ((_, system, _),) = space.scenarios([TINY], [SYSTEM])
    assert (system.network[0].topology, system.network[0].shape) == ("Torus2D", (2, 1))


def test_an_invalid_combination_is_named() -> None:
    space = with_axes(("model.seq_len", (64,)), ("system.network.0.npus", (2, 3)),
                      ("system.network.0.topology", ("Ring", "Hypercube")))  # fmt: skip
    scenarios = space.scenarios([TINY], [SYSTEM])
    assert [next(scenarios).system.npus for _ in range(2)] == [4, 4]
    with pytest.raises(InputError) as caught:
        list(scenarios)
    assert str(caught.value) == (
        "system.network.0.npus is 3; a Hypercube needs a power of two (with model.seq_len=64, "
        "system.network.0.npus=3, system.network.0.topology=Hypercube, of tiny on rings)"
    )


def test_heads_of_models_that_axes_give_have_a_whole_width() -> None:
    """As those that a configuration gives: a step would be that of narrower heads."""
    words = ["system=dgx_h100", "model=llama3_8b", "space.tp=[1]"]
    with pytest.raises(InputError) as caught:
        list(points_of([*words, "space.axes={model.d_model:[4096,4100]}"]))
    assert str(caught.value) == (
        "model.d_model is 4100, which model.num_heads, 32, does not divide; change one, or write "
        "model.head_dim, the width of a head (with model.d_model=4100, of llama3_8b on dgx_h100)"
    )
    assert list(points_of([*words, "model.head_dim=128", "space.axes={model.d_model:[4096,4100]}"]))


def points_of(words: list[str]) -> Any:
    config = compose_config(words, command="sweep")
    return config.space.scenarios(config.models, config.systems)


def test_a_survey_counts_points_and_what_each_constraint_removes() -> None:
    space = with_axes(
        ("model.seq_len", (64, 128, 256)),
        constraints=("model.seq_len < 256", "strategy.tp <= 2", "system.network.1.npus == 2"),
    )
    assert space.survey([TINY], [SYSTEM]) == SpaceSurvey(
        points=4,
        combinations=27,
        removed=(
            ("dp * tp * sp * pp == npus", 12),
            ("model.seq_len < 256", 9),
            ("strategy.tp <= 2", 2),
            ("system.network.1.npus == 2", 0),
        ),
    )
    counted = sum(len(scenario.strategies) for scenario in space.scenarios([TINY], [SYSTEM]))
    assert counted == 4


def test_an_empty_space_over_several_scenarios_says_which_constraint_removed_the_last() -> None:
    space = with_axes(("model.seq_len", (64, 128)), constraints=("dp > 4",))
    message = (
        "space 'small' is empty: space.constraints.1 'dp > 4' removes the last 6 of 18 combinations; "
        "there are 2 combinations of models and systems; space.constraints=[...] replaces all"
    )
    for enumerate_all in (space.survey, lambda *given: list(space.scenarios(*given))):
        with pytest.raises(InputError) as caught:
            enumerate_all([TINY], [SYSTEM])
        assert str(caught.value) == message


ALLOWED = (
    "axes are strategy.<field>, model.<field>, system.<field>, model and system, "
    "in braces such as {strategy.tp:[1,2]}"
)
ERRORS: list[tuple[str, Any, str]] = [
    ("model.seq_len", (), "space.axes.model.seq_len is empty; it must list at least one value"),
    ("model.seq_len", 4, "space.axes.model.seq_len is 4; it must be a list of values"),
    ("model.seq_len", (4, 8.5), "space.axes.model.seq_len.1 is 8.5; it must be an integer"),
    ("model.seq_len", (4, 8, 4), "space.axes.model.seq_len lists 4 more than once; its values must differ"),
    ("system.peak_tflops", (1, 1.0), "space.axes.system.peak_tflops lists 1.0 more than once; its values"),
    ("model.name", ("a",), "space.axes.model.name cannot be an axis: it changes no result"),
    ("system.name", ("a",), "space.axes.system.name cannot be an axis: it changes no result"),
    ("system.inert", ([],), "space.axes.system.inert cannot be an axis: it changes no result"),
    ("system.network.0.bandwith_gbps", (1,), "unknown key space.axes.system.network.0.bandwith_gbps; did you "
     "mean 'bandwidth_gbps'? Keys of space.axes.system.network.0 are topology, npus, bandwidth_gbps, "
     "latency_ns, shape, routing, file, routes"),
    ("strategy.tq", (1,), "unknown key space.axes.strategy.tq; keys of strategy are dp, tp, sp, pp, cp, "
     "weight_sharded, activation_recompute"),
    ("strategy.tp", (0,), "space.axes.strategy.tp lists 0; its values must be integers from 1 to 2147483647"),
    ("strategy.weight_sharded", (1,), "space.axes.strategy.weight_sharded lists 1; its values must be true"),
    ("strategy", (1,), f"space.axes.strategy is no axis; {ALLOWED}"),
    ("model", ("tiny",), f"space.axes.model is no axis; {ALLOWED}"),
    ("sytem.x", (1,), f"space.axes.sytem.x is no axis; {ALLOWED}; did you mean 'system'?"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "values", "message"), ERRORS)
def test_a_bad_axis_is_refused_with_the_space(key: str, values: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        with_axes((key, values))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        ("tp < 8 and system.network.0.npu > 1",
         "'tp < 8 and system.network.0.npu > 1', column 12: unknown name 'system.network.0.npu' "
         "(unknown key system.network.0.npu; did you mean 'npus'? Keys of system.network.0 are topology, "
         "npus, bandwidth_gbps, latency_ns, shape, routing, file, routes); allowed are"),
        ("system.name == 1", "'system.name == 1', column 1: unknown name 'system.name' (system.name is not a "
         "number); allowed are"),
        ("sys.x == 1", "'sys.x == 1', column 1: unknown name 'sys.x' (a path starts with strategy, "),
        ("model > 1", "'model > 1', column 1: unknown name 'model' (it needs a field, such as "),
    ],
)  # fmt: skip
def test_an_unknown_name_of_a_constraint_is_explained(constraint: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        replace(SPACE, constraints=(constraint,))
    assert str(caught.value).startswith(f"space.constraints.0 {message}")


def test_a_constraint_on_an_entry_that_does_not_exist_is_an_error() -> None:
    space = with_axes(constraints=("system.network.2.npus > 1",))
    with pytest.raises(InputError) as caught:
        space.survey([TINY], [SYSTEM])
    assert str(caught.value) == (
        "space.constraints.1: system.network.2 does not exist: system.network has 2 entries, 0 to 1, in rings"
    )
    nodes = with_axes(constraints=("system.remote_memory.num_nodes > 1",))
    with pytest.raises(InputError, match=r"space\.constraints\.1: .*num_nodes of rings is null"):
        nodes.survey([TINY], [SYSTEM])


def test_short_and_dotted_names_of_one_field_are_equal() -> None:
    space = with_axes(constraints=("tp == strategy.tp and model.seq_len == seq_len",))
    assert space.strategies(TINY, SYSTEM) == SPACE.strategies(TINY, SYSTEM)


def test_axes_are_written_in_an_override() -> None:
    axes = "space.axes={strategy.tp:[1,2],system.network.0.bandwidth_gbps:[100,400],model.seq_len:[2048]}"
    space = compose_config(["model=tiny", "system=torus_4x4", axes]).space
    assert space.choices["tp"] == (1, 2)
    assert space.axes == (("system.network.0.bandwidth_gbps", (100.0, 400.0)), ("model.seq_len", (2048,)))
    assert compose_config([]).space.axes == ()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("space.axes=4", "space.axes is '4'; it must be lists by key such as {strategy.tp:[1,2],"),
        ("space.axes={model.seq_len:4}", "space.axes.model.seq_len is wrong in "
         "'space.axes={model.seq_len:4}'; it must be a list"),
        ("space.axes={model.seq_len:[4,x]}", "space.axes.model.seq_len.1 is 'x'; it must be an integer"),
        ("space.axes.strategy.tp=[1,2]", "override 'space.axes.strategy.tp=[1,2]' names no key; write "
         "space.axes={strategy.tp:[1,2]}"),
    ],
)  # fmt: skip
def test_a_wrong_override_is_one_line(override: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        compose_config([override])
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
