"""What-ifs of recorded steps: what each changes, what none can change, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded_steps import Row, step_of, steps, two_ranks

from dse.base.errors import InputError
from dse.simulation.recorded.changes import Changes, changed
from dse.simulation.recorded.classes import CLASSES, Speeds, class_of_name, classes_of
from dse.simulation.recorded.critical import bounds_of
from dse.simulation.recorded.replay import replayed
from dse.simulation.recorded.step import NodeKind, RecordedStep
from dse.simulation.recorded.times import is_communication, rank_index_of
from dse.simulation.recorded.trust import doubt_of_missing_ranks

REDUCE = {"communication": 0, "kind": NodeKind.COLLECTIVE}


def end_ns(step: RecordedStep, **changes: Any) -> int:
    played = replayed(step, Changes(**changes))
    assert played.status == "ok"
    return played.step_ns


def speeds_in(step: RecordedStep, **speeds: float) -> Speeds:
    """Return the speeds of those classes that a step has."""
    present = set(classes_of(step).tolist())
    return Speeds(**{name: speed for name, speed in speeds.items() if CLASSES.index(name) in present})


@settings(max_examples=50)
@given(steps(), st.sampled_from(CLASSES[:-1]), st.floats(1, 100))
def test_faster_work_never_makes_a_step_longer(step: RecordedStep, name: str, speed: float) -> None:
    assert end_ns(step, speeds=speeds_in(step, **{name: speed})) <= end_ns(step)


@settings(max_examples=50)
@given(steps(), st.floats(1, 100), st.integers(0, 1000), st.sampled_from(["communication", "step"]))
def test_links_make_a_step_no_longer_or_no_shorter(
    step: RecordedStep, factor: float, latency_ns: int, per: str
) -> None:
    faster, slower = end_ns(step, bandwidth_factor=factor), end_ns(step, bandwidth_factor=1 / factor)
    assert faster <= end_ns(step) <= slower
    assert end_ns(step) <= end_ns(step, latency_added_ns=latency_ns, latency_per=per)


@settings(max_examples=50)
@given(steps(), st.floats(1, 10))
def test_more_work_never_makes_a_step_shorter(step: RecordedStep, factor: float) -> None:
    assert end_ns(step, work_factor=1 / factor) <= end_ns(step) <= end_ns(step, work_factor=factor)
    last = end_ns(step, work_factor=factor, work_ranks=(len(step.ranks) - 1,))
    assert end_ns(step) <= last <= end_ns(step, work_factor=factor)


@settings(max_examples=50)
@given(steps())
def test_perfect_overlap_is_a_bound_and_so_is_none(step: RecordedStep) -> None:
    assert end_ns(step, overlap="perfect") <= end_ns(step) <= end_ns(step, overlap="none")


@settings(max_examples=50)
@given(steps())
def test_without_overlap_a_rank_does_nothing_while_it_communicates(step: RecordedStep) -> None:
    played = replayed(step, Changes(overlap="none"))
    devices = {lane.rank for lane in step.lanes if lane.is_device}
    for index, rank in enumerate(step.ranks):
        own = np.flatnonzero(rank_index_of(step) == index)
        talks = [node for node in own if is_communication(step)[node]]
        works = [node for node in own if node not in talks]
        works = [node for node in works if rank not in devices or step.lanes[step.lane[node]].is_device]
        for talk in talks:
            for other in [*works, *[each for each in talks if each > talk]]:
                apart = (
                    played.end_ns[other] <= played.run_ns[talk] or played.end_ns[talk] <= played.run_ns[other]
                )
                assert apart


@settings(max_examples=50)
@given(steps())
def test_bounds_are_at_most_the_replay(step: RecordedStep) -> None:
    bounds = bounds_of(step)
    assert max(bounds.work_ns, bounds.communication_ns) <= end_ns(step)
    assert bounds.communication_ns <= bounds.critical_path_ns <= end_ns(step)


def changes_in_order(step: RecordedStep) -> list[dict[str, Any]]:
    return [
        {"bandwidth_factor": 1.7, "latency_added_ns": 30, "latency_per": "step"},
        {"speeds": speeds_in(step, matmul=2.3, elementwise=1.4)},
        {"work_factor": 1.9, "work_ranks": (0,)},
        {"overlap": "none"},
    ]


@settings(max_examples=50)
@given(steps())
def test_changes_together_are_those_one_after_the_other_and_leave_their_step(step: RecordedStep) -> None:
    before = {name: np.array(column) for name, column in vars(step).items() if hasattr(column, "dtype")}
    in_order = changes_in_order(step)
    one_by_one = step
    for fields in in_order:
        one_by_one = changed(one_by_one, Changes(**fields))
    together = {name: value for fields in in_order for name, value in fields.items()}
    assert replayed(step, Changes(**together)).end_ns.tolist() == replayed(one_by_one).end_ns.tolist()
    assert all((before[name] == getattr(step, name)).all() for name in before)


@settings(max_examples=50)
@given(steps(), st.sampled_from(["fastest", "median"]))
def test_ranks_that_run_alike_take_the_same_time(step: RecordedStep, rule: str) -> None:
    twin = _twice(step)
    level = changed(twin, Changes(stragglers=rule))  # type: ignore[arg-type]
    half = level.node_count // 2
    work = ~is_communication(level)[:half]
    for column in (level.duration_ns, level.gap_ns):
        assert column[:half][work].tolist() == column[half:][work].tolist()
    if rule == "fastest":
        assert end_ns(level) <= end_ns(twin)


def _twice(step: RecordedStep) -> RecordedStep:
    """The ranks of a step without their communications, and once more, three times as slow."""

    def rows(index: int, factor: int) -> list[Row]:
        nodes = range(*step.rank_first[index : index + 2].tolist())
        return [
            Row(
                f"{index} {step.names[step.name[node]]}",
                factor * int(step.duration_ns[node]),
                factor * int(step.gap_ns[node]),
            )
            for node in nodes
        ]

    ranks = range(len(step.ranks))
    # Each rank has a node, so that it runs like its twin.
    alone = [Row("aten::mm", 1)]
    return step_of(*[rows(rank, 1) + alone for rank in ranks], *[rows(rank, 3) + alone for rank in ranks])


def test_each_change_by_hand() -> None:
    """Rank 1 comes last, after 9 of matmul and a gap of 2; 7 of all-reduce and 2 of add follow."""
    step = two_ranks()
    assert end_ns(step) == 20
    assert end_ns(step, bandwidth_factor=0.5) == 27
    assert end_ns(step, latency_added_ns=100) == 120
    assert end_ns(step, latency_added_ns=100, latency_per="step") == 220
    assert end_ns(step, speeds=Speeds(matmul=3)) == 14
    assert end_ns(step, speeds=Speeds(elementwise=2)) == 19
    assert end_ns(step, work_factor=2, work_ranks="half") == 33
    assert end_ns(step, work_factor=2, work_ranks=(0,)) == 23
    assert end_ns(step, stragglers="fastest") == 16
    assert end_ns(step, stragglers="median") == 18
    assert end_ns(step, overlap="perfect") == 18
    assert end_ns(step, rank_factor=2) == 23  # 2 (n - 1) / n: 1.5 times the bytes, 10 of 10.5
    assert end_ns(step, bandwidth_factor=0.5, speeds=Speeds(matmul=3), work_factor=2, work_ranks=(1,)) == 28


def test_without_overlap_work_waits_for_the_collective() -> None:
    step = step_of(
        *[
            [
                Row("aten::mm", 10),
                Row("nccl", 6, lane="stream 1", before=(0,), **REDUCE),
                Row("aten::mm", 20),
            ]
        ]
        * 2,
        communications=[("all_reduce", 8, (0, 1))],
    )
    assert end_ns(step) == 30
    assert end_ns(step, overlap="perfect") == 30
    assert end_ns(_without_devices(step), overlap="none") == 36


def _without_devices(step: RecordedStep) -> RecordedStep:
    return replace(step, lanes=tuple([replace(lane, is_device=False) for lane in step.lanes]))


def test_launches_of_a_device_are_no_kernels() -> None:
    kernel = Row("ampere_sgemm_nn", 50, lane="stream 7", before=(0,), kind=NodeKind.KERNEL)
    step = step_of([Row("aten::mm", 10), kernel])
    assert end_ns(step, speeds=Speeds(matmul=5)) == 20
    assert end_ns(step, speeds=Speeds(launch=5)) == 52
    with pytest.raises(InputError, match=r"kernels.launch is 2, but no rank of the step has a stream"):
        changed(two_ranks(), Changes(speeds=Speeds(launch=2)))


def test_messages_that_do_not_wait_are_on_no_link() -> None:
    sends = {"communication": 0, "waits": False, "kind": NodeKind.SEND}
    receives = {"communication": 0, "kind": NodeKind.RECEIVE}
    step = step_of(
        [Row("send", 3, **sends)], [Row("recv", 5, **receives)], communications=[("message", 8, (0, 1))]
    )
    played = replayed(step, Changes(latency_added_ns=10, latency_per="step"))
    assert played.end_ns.tolist() == [3, 15]


def test_ranks_that_others_waited_for_are_a_doubt_if_they_are_missing() -> None:
    ranks = [[Row("nccl", 1, **REDUCE), Row("nccl", 1, **{**REDUCE, "communication": 1})]] * 3
    both = [("all_reduce", 8, (0, 1, 2, 3, 4)), ("all_gather", 8, (1, 3))]
    step = step_of(*ranks, communications=both, world_size=6, numbers=(0, 1, 2))
    assert step.missing_ranks == (3, 4, 5)
    assert doubt_of_missing_ranks(step).startswith("ranks 3, 4 without files: the others' time of waiting")
    assert doubt_of_missing_ranks(replace(two_ranks(), world_size=3)) == ""  # nobody waits for the third


def test_more_ranks_have_larger_groups_and_a_note() -> None:
    ranks = [[Row("nccl", 100, **{**REDUCE, "communication": each}) for each in range(4)]] * 2
    both = (0, 1)
    step = step_of(
        *ranks,
        communications=[
            ("all_reduce", 80, both),
            ("all_gather", 80, both),
            ("reduce_scatter", 80, both),
            ("barrier", 0, both),
        ],
    )
    more = changed(step, Changes(rank_factor=3))
    assert more.world_size == 6
    assert {each.members for each in more.communications} == {(0, 1, 2, 3, 4, 5)}
    assert [each.size_bytes for each in more.communications] == [80, 27, 80, 0]
    assert more.duration_ns[:4].tolist() == [167, 169, 167, 100]  # 5/3, 27 * 5 / 80, 5/3
    assert more.notes == (
        "4 ranks were added by symmetry: each behaves as a recorded one, and there are 3 times as many "
        "members in the process groups 'group0_1'.",
    )


def test_only_named_groups_grow_where_some_are_not_of_all_ranks() -> None:
    rows = [[Row("nccl", 100, **REDUCE)], [Row("nccl", 100, **REDUCE)], [Row("aten::mm", 5)]]
    step = step_of(*rows, communications=[("all_reduce", 80, (0, 1))])
    with pytest.raises(InputError, match=r"name the groups of data parallelism among 'group0_1' \(2 ranks\)"):
        changed(step, Changes(rank_factor=2))
    more = changed(step, Changes(rank_factor=2, grown_groups=("group0_1",)))
    assert more.communications[0].members == (0, 1, 3, 4)
    with pytest.raises(InputError, match=r"ranks.groups has 'dp'; the groups of collectives are 'group0_1'"):
        changed(step, Changes(rank_factor=2, grown_groups=("dp",)))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"bandwidth_factor": 0}, "bandwidth_factor is 0; it must be a number greater than 0"),
        ({"work_factor": float("nan")}, "work_factor is nan; it must be a number greater than 0"),
        ({"latency_added_ns": -1}, "latency_added_ns is -1; it must be a whole number of at least 0"),
        ({"rank_factor": True}, "rank_factor is True; it must be a whole number of at least 1"),
        ({"latency_per": "hop"}, "latency_per is 'hop'; it must be one of communication, step"),
        ({"stragglers": "mean"}, "stragglers is 'mean'; it must be one of recorded, median, fastest"),
        ({"overlap": "full"}, "overlap is 'full'; it must be one of recorded, none, perfect"),
        ({"work_ranks": "third"}, "work_ranks is 'third'; it must be one of all, half"),
        ({"grown_groups": ("dp",)}, "ranks.groups is given, but ranks.factor is 1: no group grows"),
    ],
)
def test_values_are_checked(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Changes(**fields)
    assert str(caught.value) == message


def test_speeds_are_checked() -> None:
    with pytest.raises(InputError, match=r"speeds.copy is -2; it must be a number greater than 0"):
        Speeds(copy=-2)


@pytest.mark.parametrize(
    ("step", "fields", "message"),
    [
        (
            two_ranks(),
            {"work_factor": 2, "work_ranks": (2,)},
            "work.ranks has 2; the recorded ranks are 0, 1",
        ),
        (step_of([Row("a", 1)]), {"work_factor": 2, "work_ranks": "half"}, "1 ranks were recorded; name"),
        (step_of([Row("a", 1)]), {"stragglers": "median"}, "no two of the 1 recorded ranks run alike"),
        (step_of([Row("a", 1)], [Row("b", 1)]), {"stragglers": "median"}, "no two of the 2 recorded ranks"),
        (step_of([Row("a", 1)]), {"rank_factor": 2}, "the step has none"),
        (
            two_ranks(),
            {"speeds": Speeds(convolution=2.5)},
            "kernels.convolution is 2.5, but no node of the step has this class; it has matmul, elementwise",
        ),
        (
            step_of([Row("nccl", 1, **REDUCE)], communications=[("all_reduce", 8, (0,))]),
            {"rank_factor": 2},
            "group 'group0' has one rank, so that no time of its all_reduce among more was measured",
        ),
    ],
)
def test_a_step_that_cannot_take_a_change_says_why(
    step: RecordedStep, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        changed(step, Changes(**fields))


def test_ranks_without_nodes_take_every_change() -> None:
    fields: list[dict[str, Any]] = [
        *[{"overlap": each} for each in ("none", "perfect")],
        *[{"stragglers": each} for each in ("median", "fastest")],
        {"bandwidth_factor": 2, "latency_added_ns": 5, "work_factor": 3},
    ]
    assert [end_ns(step_of([], []), **each) for each in fields] == [0] * 5


def test_changes_name_what_differs() -> None:
    assert Changes().named == ()
    assert Changes(overlap="none", speeds=Speeds(copy=2)).named == ("speeds", "overlap")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("aten::addmm", "matmul"),
        ("autograd::engine::evaluate_function: BmmBackward0", "matmul"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>", "matmul"),
        ("Cijk_Ailk_Bljk_HHS_BH_MT256x128x32_MI16x16x16x1", "matmul"),
        ("aten::_scaled_dot_product_flash_attention", "attention"),
        ("aten::cudnn_convolution", "convolution"),
        ("NativeLayerNormBackward0", "normalisation"),
        ("aten::_softmax", "normalisation"),
        ("GeluBackward0", "elementwise"),
        ("Memcpy HtoD (Pinned -> Device)", "copy"),
        ("torch::autograd::AccumulateGrad", "copy"),
        ("Optimizer.step#AdamW.step", "optimizer"),
        ("aten::_foreach_add_", "optimizer"),
        ("aten::view", "other"),
        ("DistributedDataParallel.forward", "other"),
    ],
)
def test_classes_by_name(name: str, expected: str) -> None:
    assert class_of_name(name) == expected
