"""Pipeline schedules: published bubbles and memory, bounds, and the fast evaluation against the recursion."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.inputs.strategies import InfeasibleStrategy
from dse.inputs.strategies.schedules import SCHEDULES
from dse.prediction.steps.schedules import PipelineTimes, StageTimes, pipeline
from tests.references.prediction.recurrence import Recurrence

Stages = list[list[StageTimes]]


def uniform(stages: int, chunks: int, forward: int, backward: int, weight: int = 0) -> Stages:
    return [[StageTimes(forward, backward, weight)] * chunks] * stages


@st.composite
def cases(draw: st.DrawFn, whole: bool = False) -> tuple[str, Stages, int, list[float]]:
    """A schedule with uneven stages, micro-batches and uneven links, some of them slower than computing."""
    name = draw(st.sampled_from(sorted(SCHEDULES)))
    count = draw(st.integers(1, 6))
    chunks = SCHEDULES[name].chunks or draw(st.integers(2, 4))
    batches = draw(st.integers(1, 3)) * count if name == "interleaved" else draw(st.integers(1, 14))
    time = st.integers(1, 50) if whole else st.floats(0.01, 9)
    stages = []
    for _ in range(count):
        stages.append([])
        for _ in range(chunks):
            weight = draw(time)
            stages[-1].append(StageTimes(draw(time), draw(time) + weight, weight))
    links = draw(st.lists(st.integers(0, 80) if whole else st.floats(0, 9), min_size=count, max_size=count))
    return name, stages, batches, links


@settings(max_examples=300, deadline=None)
@given(cases())
def test_the_fast_evaluation_is_the_recursion_to_the_bit(case: tuple[str, Stages, int, list[float]]) -> None:
    name, stages, batches, links = case
    assert pipeline(name, stages, batches, links) == Recurrence(SCHEDULES[name], stages, batches, links).run()


@pytest.mark.parametrize("stages", [3, 20])
@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_delays_of_every_length_are_the_recursion_to_the_bit(name: str, stages: int) -> None:
    """One without messages, one whose messages never wait, one whose messages do."""
    chunks = SCHEDULES[name].chunks or 2
    case = [[StageTimes(1 + s / 7, 2.1 + s / 9, 0.9)] * chunks for s in range(stages)]
    sends = [0.0, 0.3, [2.5 + s / 3 for s in range(stages)]]
    alone = [pipeline(name, case, 2 * stages, send) for send in sends]
    for times, send in zip(alone, sends, strict=True):
        links = send if isinstance(send, list) else [send] * stages
        assert times == Recurrence(SCHEDULES[name], case, 2 * stages, links).run()
    assert len({times.makespan_s for times in alone}) == 3


@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_many_uneven_stages_are_the_recursion_to_the_bit(name: str) -> None:
    chunks = SCHEDULES[name].chunks or 2
    stages = [[StageTimes(1 + s / 7 + c / 3, 2.1 + s / 9, 0.9)] * chunks for s in range(20) for c in [s % 3]]
    links = [0.1 * (stage % 4) for stage in range(20)]
    assert pipeline(name, stages, 40, links) == Recurrence(SCHEDULES[name], stages, 40, links).run()


@settings(max_examples=200, deadline=None)
@given(cases(whole=True))
def test_no_step_is_shorter_than_its_busiest_stage_or_its_longest_chain(
    case: tuple[str, Stages, int, list[float]],
) -> None:
    name, stages, batches, links = case
    times = pipeline(name, stages, batches, links)
    for stage, busy in enumerate(times.busy_s):
        assert busy == batches * sum(part.forward_s + part.backward_s for part in stages[stage])
        assert times.bubble_s[stage] == times.makespan_s - busy >= 0
    schedule = SCHEDULES[name]
    messages = sum(links[message.link] for message in schedule.messages(len(stages), len(stages[0])))
    parts = [part for stage in stages for part in stage]
    late = schedule.splits_backward
    chain = sum(part.forward_s + part.backward_s - (part.weight_s if late else 0) for part in parts)
    assert times.makespan_s >= chain + messages


@settings(max_examples=100, deadline=None)
@given(cases(whole=True))
def test_gradients_are_complete_after_the_last_backward_starts(
    case: tuple[str, Stages, int, list[float]],
) -> None:
    name, stages, batches, links = case
    times = pipeline(name, stages, batches, links)
    for stage, gradients in enumerate(times.gradients_s):
        assert max(gradients) == times.finish_s[stage] <= times.makespan_s
        assert times.last_backward_start_s[stage] < max(gradients)


sizes = st.tuples(st.integers(1, 8), st.integers(1, 40), *[st.integers(1, 9)] * 3)


@given(sizes)
def test_bubble_of_gpipe_is_of_huang_2019(size: tuple[int, int, int, int, int]) -> None:
    """Huang et al. 2019, section 2.3: a share of (p - 1) / (m + p - 1) of the step."""
    p, m, forward, backward, _ = size
    times = pipeline("gpipe", uniform(p, 1, forward, backward), m)
    assert times.bubble_s == ((p - 1) * (forward + backward),) * p
    assert times.bubble_s[0] * (m + p - 1) == (p - 1) * times.makespan_s


@given(sizes)
def test_bubble_of_1f1b_is_of_narayanan_2021(size: tuple[int, int, int, int, int]) -> None:
    """Narayanan et al. 2021, section 2.2.1: (p - 1) (tf + tb), as of GPipe."""
    p, m, forward, backward, _ = size
    times = pipeline("1f1b", uniform(p, 1, forward, backward), m)
    assert times.bubble_s == ((p - 1) * (forward + backward),) * p


@given(sizes, st.integers(2, 4))
def test_bubble_of_interleaving_is_of_narayanan_2021(
    size: tuple[int, int, int, int, int], chunks: int
) -> None:
    """Narayanan et al. 2021, section 2.2.2: (p - 1) (tf + tb) / v, here times of a chunk."""
    p, m, forward, backward, _ = size
    times = pipeline("interleaved", uniform(p, chunks, forward, backward), p * (1 + m % 4))
    assert times.bubble_s == ((p - 1) * (forward + backward),) * p


@given(sizes)
def test_bubble_of_zb_h1_is_of_qi_2023(size: tuple[int, int, int, int, int]) -> None:
    """Qi et al. 2023, section 2.3: (p - 1) (tf + tb - tw); exact if tw <= tf, tw <= tb and m >= p."""
    p, m, forward, backward, weight = size
    weight = min(weight, forward, backward)
    times = pipeline("zb-h1", uniform(p, 1, forward, backward + weight, weight), m + p - 1)
    assert times.bubble_s[0] == (p - 1) * (forward + backward - weight)


def test_zb_h1_leaves_a_third_of_the_bubble_of_1f1b_when_all_passes_take_the_same() -> None:
    stages = uniform(8, 1, 5, 10, 5)
    assert pipeline("1f1b", stages, 32).bubble_s[0] == 7 * 15
    assert pipeline("zb-h1", stages, 32).bubble_s[0] == 7 * 5


@pytest.mark.parametrize(("stages", "batches"), [(2, 4), (4, 8), (8, 15), (8, 64)])
def test_zb_v_has_no_bubble_but_the_way_to_the_stage_when_all_passes_take_the_same(
    stages: int, batches: int
) -> None:
    """Qi et al. 2023, section 6: no stage is idle between its first and its last operation."""
    case = uniform(stages, 2, 5, 10, 5)
    spans = Recurrence(SCHEDULES["zb-v"], case, batches, [0] * stages)
    times = spans.run()
    for stage, passes in enumerate(spans.spans):
        assert min(start for start, _ in passes.values()) == 5 * stage
        assert times.finish_s[stage] == 5 * stage + times.busy_s[stage]


@pytest.mark.parametrize("stages", range(1, 34))
def test_v_half_and_v_min_hold_as_many_micro_batches_as_published(stages: int) -> None:
    """Qi et al. 2024, table of V schedules: (p + 2) // 2 and (p + 4) // 3 micro-batches, of two chunks."""
    case = uniform(stages, 2, 5, 10, 5)
    for name, micro_batches in (("v-half", (stages + 2) // 2), ("v-min", (stages + 4) // 3)):
        assert max(pipeline(name, case, 4 * stages).in_flight) == 2 * micro_batches
        assert max(pipeline(name, case, 4 * stages + 1).in_flight) == 2 * micro_batches


@pytest.mark.parametrize(
    ("name", "stages", "batches", "held"),
    [
        ("v-half", 4, 1, (2, 2, 2, 2)),
        ("v-half", 4, 3, (4, 5, 5, 6)),
        ("v-half", 4, 64, (6, 6, 6, 6)),
        ("v-half", 8, 3, (4, 5, 5, 6, 6, 6, 6, 6)),
        ("v-half", 8, 64, (10, 10, 10, 10, 10, 10, 10, 10)),
        ("v-min", 4, 1, (2, 2, 2, 2)),
        ("v-min", 4, 2, (3, 3, 4, 4)),
        ("v-min", 4, 64, (4, 4, 4, 4)),
        ("v-min", 8, 3, (4, 5, 5, 5, 6, 6, 6, 6)),
        ("v-min", 8, 64, (6, 8, 8, 6, 8, 8, 6, 8)),
    ],
)
def test_chunks_that_each_stage_of_a_v_holds(
    name: str, stages: int, batches: int, held: tuple[int, ...]
) -> None:
    assert pipeline(name, uniform(stages, 2, 5, 10, 5), batches).in_flight == held


@pytest.mark.parametrize("batches", [32, 63])
def test_bubbles_of_v_half_and_v_min_are_half_and_two_thirds_of_1f1b(batches: int) -> None:
    """Qi et al. 2024 with equal passes: about p / 2m and 2p / 3m of the step, where 1F1B has p / m.

    Squeezed and not reordered, V-Half has 7 p / 2 - 3 passes of a chunk, of which half of 1F1B are 3 (p - 1).
    """
    case = uniform(8, 2, 1, 2, 1)
    assert pipeline("1f1b", uniform(8, 1, 2, 4, 2), batches).bubble_s[0] == 42
    assert pipeline("v-half", case, batches).bubble_s[0] == 25
    assert pipeline("v-min", case, batches).bubble_s[0] == 27


@given(st.integers(1, 8), *[st.integers(1, 9)] * 3)
def test_v_half_waits_only_in_warm_up_and_drain_under_the_published_condition(
    p: int, forward: int, backward: int, weight: int
) -> None:
    """Qi et al. 2024: tw + 2 tb >= 2 tf and tw + 2 tf >= 2 tb."""
    assume(weight + 2 * backward >= 2 * forward and weight + 2 * forward >= 2 * backward)
    case = uniform(p, 2, forward, backward + weight, weight)
    few, many = (pipeline("v-half", case, count).bubble_s[0] for count in (4 * p, 5 * p))
    assert few == many


def test_v_min_waits_in_every_period_where_passes_take_unequal_times() -> None:
    case = uniform(8, 2, 2, 5, 2)
    few, many = (pipeline("v-min", case, count).bubble_s[0] for count in (64, 128))
    assert many - few == 64 * 4


def test_activations_in_flight_are_the_published_ones() -> None:
    """GPipe m, 1F1B p - s, interleaved one more than its warm-up, ZB-H1 p, ZB-V 2p (halves of stages)."""

    def held(name: str, chunks: int) -> tuple[int, ...]:
        return pipeline(name, uniform(4, chunks, 1, 2, 1), 16).in_flight

    assert held("gpipe", 1) == (16, 16, 16, 16)
    assert held("1f1b", 1) == (4, 3, 2, 1)
    assert held("interleaved", 2) == (11, 9, 7, 5)
    assert held("zb-h1", 1) == (4, 4, 4, 4)
    assert held("zb-v", 2) == (8, 8, 8, 8)


def test_a_worked_step_with_uneven_stages_and_messages() -> None:
    """Two stages, three micro-batches: the second stage, slower by its logits, decides.

    Its forwards and backwards follow each other from 10 + 1 on: 11 + 3 x (14 + 28) = 137; then a message of
    1 and the last backward of 20.
    """
    times = pipeline("1f1b", [[StageTimes(10, 20)], [StageTimes(14, 28)]], 3, 1)
    assert times == PipelineTimes(
        makespan_s=158,
        busy_s=(90, 126),
        bubble_s=(68, 32),
        last_backward_start_s=(138, 109),
        gradients_s=((158,), (137,)),
        finish_s=(158, 137),
        in_flight=(2, 1),
    )


def test_messages_of_a_stage_wait_for_each_other() -> None:
    """Messages of 30 after forwards of 10: the k-th arrives at 10 + 30k, and stage 1 waits for each."""
    times = pipeline("gpipe", [[StageTimes(10, 10)], [StageTimes(1, 1)]], 3, 30)
    assert times.last_backward_start_s[1] == 100 + 1 + 2
    assert times.makespan_s == 100 + 1 + 3 * 30 + 1 + 10


def test_zero_bubble_schedules_need_the_part_of_the_weights_and_others_ignore_it() -> None:
    assert pipeline("1f1b", uniform(2, 1, 4, 8, 4), 4) == pipeline("1f1b", uniform(2, 1, 4, 8), 4)
    assert pipeline("zb-h1", uniform(2, 1, 4, 8), 4).makespan_s == 4 * 12 + 12


@pytest.mark.parametrize(
    ("name", "chunks", "batches", "reason"),
    [
        ("interleaved", 2, 10, "10 micro-batches: schedule=interleaved needs a multiple of the 4 stages"),
        (
            "interleaved",
            1,
            8,
            "chunks is 1: schedule=interleaved has at least 2 chunks a stage; with 1 it is 1f1b",
        ),
        ("1f1b", 2, 8, "chunks is 2: schedule=1f1b has one chunk a stage"),
        ("zb-v", 3, 8, "chunks is 3: schedule=zb-v has exactly 2 chunks a stage"),
        ("gpipe", 1, 0, "0 micro-batches; a step has at least one"),
    ],
)
def test_what_a_schedule_cannot_run_is_infeasible(name: str, chunks: int, batches: int, reason: str) -> None:
    with pytest.raises(InfeasibleStrategy) as error:
        pipeline(name, uniform(4, chunks, 1, 2), batches)
    assert str(error.value) == reason


def test_an_unknown_schedule_is_named_with_the_nearest() -> None:
    with pytest.raises(
        InputError, match=r"schedule is '1fb1'; it must be one of 1f1b, .*did you mean '1f1b'"
    ):
        pipeline("1fb1", uniform(2, 1, 1, 2), 2)


@settings(max_examples=100)
@given(st.sampled_from(sorted(SCHEDULES)), st.integers(1, 7), st.integers(2, 4), st.integers(1, 20))
def test_ticks_order_all_operations(name: str, stages: int, chunks: int, batches: int) -> None:
    """A stage has one operation a tick; what an operation needs has a lower tick, here or elsewhere."""
    schedule = SCHEDULES[name]
    chunks = schedule.chunks or chunks
    batches = stages * batches if name == "interleaved" else batches
    forward, backward, weight = schedule.timetable(stages, chunks, batches)
    for stage in range(stages):
        kinds = [kind[stage].ravel() for kind in (forward, backward, weight) if kind is not None]
        ticks = [tick for kind in kinds for tick in kind.tolist()]
        assert len(set(ticks)) == len(ticks) == len(kinds) * chunks * batches
    places = schedule.positions(stages, chunks)
    for here, there in pairwise(places):
        assert (forward[here] < forward[there]).all()
        assert (backward[here] > backward[there]).all()
    assert (forward[places[-1]] < backward[places[-1]]).all()
    if weight is not None:
        assert all((backward[place] < weight[place]).all() for place in places)


@pytest.mark.parametrize("name", ["gpipe", "1f1b"])
def test_more_operations_than_memory_has_room_for_are_refused(name: str) -> None:
    with pytest.raises(InfeasibleStrategy, match="2 stages x 1 chunks x 4294967296 micro-batches are more"):
        pipeline(name, uniform(2, 1, 1, 2), 1 << 32)
