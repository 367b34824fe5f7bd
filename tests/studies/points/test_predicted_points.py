"""Points on clusters under model.fidelity=realistic: rows of the predictor, their keys, what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from predicted_points import predicted_point, predicted_scenario

from dse.answers.explain import explain_prediction, render
from dse.base.errors import InputError
from dse.inputs.models.flops import training_flops
from dse.inputs.strategies import Strategy
from dse.prediction.steps.predict import PARTS, PREDICTION_VERSION, Prediction, predict
from dse.prediction.steps.strategies import plan_of
from dse.studies.points import PREDICTION, SIMULATION, evaluate, point_of_row, prediction_of, record_point
from dse.studies.points.methods.predicted_columns import COMPUTE_PARTS, parts_ns, wall_time_ns
from dse.studies.points.predicted_traces import predicted_traces

PIPELINED = Strategy(dp=2, tp=4, pp=2, micro_batch=2, sequence_parallel=True, recompute="full")


def test_a_row_is_the_prediction_of_the_plan() -> None:
    point = predicted_point(PIPELINED)
    on = point.scenario
    assert on.system.cluster is not None
    found = predict(on.model, plan_of(on.model, PIPELINED), on.system.cluster)
    row = evaluate(point)
    assert (row.status, row.reason, row.fractional, row.npus) == ("ok", "", False, 16)
    assert row.wall_time_ns == round(found.step_s * 1e9)
    assert row.peak_memory_bytes == found.peak_memory_bytes
    assert row.gpu_time_ns is not None
    assert row.gpu_time_ns == pytest.approx(1e9 * sum(found.parts_s[part] for part in COMPUTE_PARTS), abs=11)
    assert row.exposed_comm_ns == row.wall_time_ns - row.gpu_time_ns
    assert row.tokens_per_s == pytest.approx(64 * 4096 / found.step_s)
    assert row.mfu_pct == pytest.approx(100 * training_flops(on.model) / (found.step_s * 16 * 989.4e12))
    assert row.label() == PIPELINED.label()
    measured_only = (
        row.comm_time_ns,
        row.compute_bound_pct,
        row.last_rank,
        row.rank_classes,
        row.rank0_wall_time_ns,
    )
    assert measured_only == (None,) * 5


def test_what_a_prediction_rests_on_is_in_its_row() -> None:
    point = predicted_point(PIPELINED)
    notes = prediction_of(point).notes
    assert evaluate(point).prediction_notes == ("; ".join(notes) or None)


def test_parts_in_ns_sum_to_the_wall_time_whatever_is_rounded() -> None:
    parts_s = {name: 0.1 + 0.3e-9 * index for index, name in enumerate(PARTS)}
    made = Prediction(sum(parts_s.values()), parts_s, 0, {}, 0.0, 1.0)
    assert sum(parts_ns(made).values()) == wall_time_ns(made) == round(made.step_s * 1e9)
    for name, ns in parts_ns(made).items():
        assert abs(ns - 1e9 * parts_s[name]) <= 1


@pytest.mark.parametrize(
    ("strategy", "reason"),
    [
        (Strategy(dp=4), "needs dp*tp*sp*pp = 4 NPUs, but system dgx_h100 has 16"),
        (Strategy(dp=10**20), "needs dp*tp*sp*pp = 100000000000000000000 NPUs, but system dgx_h100 has 16"),
        (Strategy(dp=4, cp=2), "needs dp*tp*sp*pp*cp = 8 NPUs"),
        (Strategy(dp=16, micro_batch=8), "must divide the batch of 64"),
        (
            Strategy(dp=2, tp=2, pp=2, cp=2, order="tp-cp-ep-pp-dp"),
            "order tp-cp-ep-pp-dp puts stages of experts on other NPUs",
        ),
        (Strategy(dp=4, sp=4), "strategy.sp is 4, which is STAGE's sequence parallelism"),
        (
            Strategy(dp=4, pp=4, schedule="interleaved", chunks=4),
            "pp 4 x chunks 4 is 16; it must be at most the 8 layers",
        ),
    ],
)
def test_plans_that_cannot_run_are_rows_with_a_reason(strategy: Strategy, reason: str) -> None:
    point = predicted_point(strategy)
    row = evaluate(point)
    assert (row.status, row.wall_time_ns) == ("infeasible", None)
    assert reason in row.reason
    assert not point.is_feasible


@pytest.mark.parametrize("seq_len", [2**36, 2**50])
def test_figures_that_no_whole_number_holds_are_a_reason(seq_len: int) -> None:
    point = predicted_point(Strategy(dp=16))
    scenario = replace(point.scenario, model=replace(point.scenario.model, seq_len=seq_len))
    row = evaluate(replace(point, scenario=scenario))
    assert (row.status, row.wall_time_ns, row.peak_memory_bytes) == ("infeasible", None, None)
    assert "a step takes 146 years or more, or an NPU needs 4.6e18 bytes or more" in row.reason


def test_a_model_of_more_parameters_than_are_counted_is_refused() -> None:
    point = predicted_point(Strategy(dp=16))
    scenario = replace(point.scenario, model=replace(point.scenario.model, input_dim=2**60))
    with pytest.raises(InputError, match=r"has 4\.72e\+21 parameters; at most 9\.01e\+15 are predicted"):
        evaluate(replace(point, scenario=scenario))


def test_feasible_is_what_is_predicted() -> None:
    scenario = predicted_scenario()
    for tp, pp, chunks, micro_batch in [
        (1, 2, 1, 1),
        (2, 4, 2, 2),
        (8, 2, 1, 32),
        (4, 2, 3, 1),
        (16, 1, 1, 1),
    ]:
        schedule = "interleaved" if chunks > 1 else "1f1b"
        strategy = Strategy(
            dp=16 // tp // pp, tp=tp, pp=pp, chunks=chunks, schedule=schedule, micro_batch=micro_batch
        )
        point = predicted_point(strategy)
        assert point.scenario is scenario
        assert point.is_feasible == (evaluate(point).status == "ok"), strategy.label()


def test_keys_tell_predictions_from_simulations_and_plans_apart() -> None:
    point = predicted_point(PIPELINED)
    assert json.loads(point.scenario.options)["predictor"] == PREDICTION_VERSION
    keys = {
        point.key,
        predicted_point(replace(PIPELINED, micro_batch=4)).key,
        predicted_point(replace(PIPELINED, schedule="gpipe")).key,
        predicted_point(PIPELINED, "system.tiers.1.latency_us=6").key,
        predicted_point(PIPELINED, "system.accelerator=h200").key,
    }
    assert len(keys) == 5


def test_a_row_is_a_point_again() -> None:
    row = evaluate(predicted_point(PIPELINED))
    again = point_of_row(row)
    assert (again.key, again.strategy) == (row.key, PIPELINED)
    assert again.scenario.method is PREDICTION
    assert evaluate(again) == row


def test_rows_of_another_version_of_the_predictor_are_refused() -> None:
    row = evaluate(predicted_point(PIPELINED))
    assert row.options is not None
    old = row.options.replace(f'"predictor":{PREDICTION_VERSION}', '"predictor":0')
    with pytest.raises(InputError, match="has a prediction of version 0, and those of this program are of"):
        point_of_row(replace(row, options=old))


def test_a_cluster_without_realistic_fidelity_is_simulated() -> None:
    point = predicted_point(Strategy(dp=4, tp=4), "model.fidelity=stage", "model.num_layers=2")
    assert point.scenario.method is SIMULATION
    row = evaluate(point)
    assert (row.status, row.rank_classes, row.prediction_notes) == ("ok", 1, None)
    assert evaluate(predicted_point(Strategy(dp=4, cp=4), "model.fidelity=stage")).reason.startswith(
        "strategy.cp=4: only the predictor knows that"
    )


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("model.repairs.loss=false", "model.repairs.loss"),
        ("workload.divisibility=strict", "workload.divisibility"),
        ("system.deratings=[{npu:0,compute_factor:0.5}]", "system.deratings"),
        ("system.network_model=congestion_aware", "system.network_model"),
        ("system.switch_adds=false", "system.switch_adds"),
        ("system.collectives.all_gather=[synthesized]", "system.collectives"),
        ("system.collectives.all_reduce=[direct,ring]", "system.collectives"),
    ],
)
def test_settings_of_traces_and_engine_are_refused(override: str, key: str) -> None:
    with pytest.raises(
        InputError, match=f"{key} changes no prediction, and llama70b on dgx_h100 is predicted"
    ):
        evaluate(predicted_point(PIPELINED, override))


def test_algorithms_of_predictions_are_refused_where_an_engine_simulates() -> None:
    chosen = ("model.fidelity=stage", "model.num_layers=2", "system.group_algorithms.tp=in_switch")
    with pytest.raises(InputError, match=r"system\.group_algorithms changes predictions only, and llama70b"):
        evaluate(predicted_point(Strategy(dp=4, tp=4), *chosen))


def test_abilities_of_switches_need_a_synthesised_collective() -> None:
    chosen = ("model.fidelity=stage", "model.num_layers=2", "system.switch_copies=false")
    with pytest.raises(InputError, match=r"system\.switch_copies=false is of synthesised collectives"):
        evaluate(predicted_point(Strategy(dp=4, tp=4), *chosen))


def test_switches_that_sum_make_tensor_parallelism_cheaper() -> None:
    """Between points of one study only the algorithm differs, so their keys do too."""
    plain, chosen = (
        predicted_point(Strategy(dp=2, tp=8), *more)
        for more in ((), ("system.group_algorithms.tp=in_switch",))
    )
    before, after = evaluate(plain), evaluate(chosen)
    assert before.wall_time_ns is not None
    assert after.wall_time_ns is not None
    assert after.wall_time_ns < before.wall_time_ns
    assert plain.key != chosen.key
    assert evaluate(point_of_row(after)) == after
    text = render(explain_prediction(chosen))
    assert "  tp             8 ranks  all-reduce of 33.55 MB: in_switch, " in text
    assert explain_prediction(chosen).to_json()["collectives"][0]["algorithm"] == "in_switch"


def test_nothing_is_recorded_of_a_prediction() -> None:
    with pytest.raises(InputError, match="is predicted from the structure of the step, so no engine records"):
        record_point(predicted_point(PIPELINED))


def test_an_explanation_sums_to_the_row() -> None:
    point = predicted_point(PIPELINED)
    row, found = evaluate(point), explain_prediction(point)
    assert list(found.time.parts) == list(PARTS)
    assert sum(found.time.parts.values()) == found.time.wall_time_ns == row.wall_time_ns
    assert found.memory is not None
    assert sum(found.memory.categories.values()) == found.memory.peak_memory_bytes == row.peak_memory_bytes
    assert found.time.parts["pp_bubble"] > 0
    assert found.memory.categories["activations"] > 0


def test_traces_of_a_prediction_are_its_step_on_every_rank(tmp_path: Path) -> None:
    """Collectives of 4 layers a stage in 16 micro-batches, forward, twice backward, and of gradients."""
    point = predicted_point(replace(PIPELINED, sequence_parallel=False, recompute="none"))
    found = predicted_traces(point)
    assert (len(found.workload.export(tmp_path)), found.system.npus) == (16 + 1, 16)
    counts = found.workload.counts(0)
    assert (counts.send, counts.recv, counts.coll) == (16, 16, 16 * (8 + 8) + 2)
    # On links without launch costs and efficiencies a step is faster than predicted, but not by half.
    assert 0.5 < found.simulated_ns / wall_time_ns(prediction_of(point)) < 1


def test_what_traces_cannot_place_or_hold_is_refused() -> None:
    with pytest.raises(InputError, match="write pp last"):
        predicted_traces(predicted_point(replace(PIPELINED, order="pp-tp-cp-ep-dp")))
    large = predicted_point(
        Strategy(dp=2048, tp=4, pp=2, micro_batch=1), "system.nodes=2048", "model.batch_size=65536"
    )
    with pytest.raises(InputError, match=r"16384 ranks have \d+ nodes, and at most 10000000 are written"):
        predicted_traces(large)
