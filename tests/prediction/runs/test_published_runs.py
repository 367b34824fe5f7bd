"""Published runs and rates, each with its source, against what is expected here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from engine_runs import expected, failures_of, job_of

from dse.base.errors import InputError
from dse.inputs.accelerators import Cluster
from dse.inputs.models.counts import parameters
from dse.inputs.models.settings import models_of_conf
from dse.native import _engine
from dse.prediction.frameworks.checks.check import cluster_of_name
from dse.prediction.runs.asked import asked_run
from dse.prediction.runs.checkpoints import Store, checkpoint_bytes
from dse.prediction.runs.energy import energy_of
from dse.prediction.runs.power import Facility
from dse.prediction.runs.reliability import reliability_named, reliability_names
from dse.prediction.runs.run import PlannedStops, Question, Run, run_of
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import predict
from tests.references.runs.job import plain_run
from tests.references.runs.renewal import Checkpoints
from tests.references.runs.repairs import FailureClass

DAY_S = 86400.0
SIZE = 16_384
PLAN = Plan(
    dp=128, tp=8, pp=16, micro_batch=1, sequence_parallel=True, schedule="interleaved", chunks=8
)  # fmt: skip
"""Grattafiori et al. 2024, table 4: 8 x 1 x 16 x 128 on 16,384 GPUs, 2,048 sequences of 8,192 a step."""
STORAGE = Store(total_gbps=2000, node_gbps=50)
"""The same, section 3.3.1: 2 TB/s sustained."""


def _grand_teton(npus: int = SIZE) -> Cluster:
    return cluster_of_name("grand_teton", npus, [])


def _llama(**changes: object) -> Run:
    model = replace(dict(models_of_conf())["llama3_405b"], batch_size=2048)
    steps = round(15.6e12 / (model.batch_size * model.seq_len))
    asked = Question(model, PLAN, _grand_teton(), steps, reliability_named("llama3"), STORAGE)
    return run_of(replace(asked, **changes), predict(model, PLAN, _grand_teton()))  # type: ignore[arg-type]


def test_54_days_of_llama_3_have_419_unexpected_interruptions() -> None:
    """Table 5 of arXiv 2407.21783."""
    classes = failures_of(reliability_named("llama3"), _grand_teton())
    assert sum(one.rate for one in classes) * 54 * DAY_S == pytest.approx(419, rel=1e-9)
    gpus = [one.rate for one in classes if one.name in ("gpu", "hbm", "gpu_parts", "silent_corruption")]
    assert sum(gpus) * 54 * DAY_S == pytest.approx(268, rel=1e-9)


def test_llama_3_computes_for_more_than_nine_tenths_of_its_time() -> None:
    """The same, section 3.3.4: over 90 % effective training time; a planned stop about once a day."""
    run = _llama(spares=32, stops=PlannedStops(every_s=54 / 47 * DAY_S, for_s=1800.0))
    assert 0.90 < run.effective_ratio < 0.97


def test_llama_3_405b_takes_the_published_gpu_hours() -> None:
    """Its model card: 30.84 million GPU-hours; table 4: 400 TFLOPS a GPU at this size."""
    run = _llama(spares=32, stops=PlannedStops(every_s=54 / 47 * DAY_S, for_s=1800.0))
    assert run.npu_hours == pytest.approx(30.84e6, rel=0.15)
    assert run.time_s.low is not None
    assert run.time_s.high is not None
    assert run.time_s.low / 3600 * SIZE < 30.84e6 < run.time_s.high / 3600 * SIZE


def test_llama_3_405b_takes_the_published_energy_and_emits_the_published_co2() -> None:
    """Its model card: 30.84 million GPU-hours at 700 W, 8,930 t of CO2 by location.

    The card counts boards at their limit. Meta states a PUE of 1.08 for 2023, the EPA 0.37 to 0.39 kg a kWh
    for the grid of the USA in these years.
    """
    run = _llama(spares=32, stops=PlannedStops(every_s=54 / 47 * DAY_S, for_s=1800.0))
    boards = energy_of(run, Facility(at_limit=True)).energy_mwh
    assert boards.value == pytest.approx(30.84e6 * 0.7 / 1000, rel=0.15)
    emissions = energy_of(run, Facility(pue=1.08, grid_kg_per_kwh=0.38, at_limit=True)).emissions_t
    assert emissions is not None
    assert emissions.value == pytest.approx(8930, rel=0.15)
    assert emissions.low is not None
    assert emissions.high is not None
    assert emissions.low < 8930 < emissions.high


def test_power_follows_phases() -> None:
    """By hand: 1.0, 0.5 and 0.2 of 700 W by phase, 300 W of hosts, and a quarter more for the facility."""
    run = _llama()
    computing = run.parts_s["compute"] + run.parts_s["lost work"]
    communicating = run.parts_s["pipeline bubble"] + run.parts_s["exposed communication"]
    idle = run.time_s.value - computing - communicating
    joules = 700 * (computing + 0.5 * communicating + 0.2 * idle) + 300 * run.time_s.value
    found = energy_of(run, Facility(host_w=300, pue=1.25))
    assert found.energy_mwh.value == pytest.approx(1.25 * joules * SIZE / 3.6e9, rel=1e-12)
    assert found.mean_power_mw == pytest.approx(1.25 * joules * SIZE / run.time_s.value / 1e6, rel=1e-12)
    assert found.emissions_t is None
    assert found.energy_mwh.low is not None
    assert found.energy_mwh.high is not None
    assert found.energy_mwh.low < found.energy_mwh.value < found.energy_mwh.high


@pytest.mark.parametrize(
    ("facility", "message"),
    [
        ({"pue": 0.9}, "pue is 0.9"),
        ({"host_w": -1.0}, "host_w is -1.0"),
        ({"grid_kg_per_kwh": -0.1}, "grid is"),
    ],
)
def test_impossible_facilities_are_refused(facility: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Facility(**facility)  # type: ignore[arg-type]


@pytest.mark.parametrize(("npus", "hours"), [(16_384, 1.8), (131_072, 0.23)])
def test_jobs_live_as_long_as_published(npus: int, hours: float) -> None:
    """Kokolis et al. 2024 (arXiv 2410.21680): mean time to failure projected from RSC-1's rate."""
    classes = failures_of(reliability_named("rsc1"), cluster_of_name("dgx_a100", npus, []))
    assert 1 / sum(one.rate for one in classes) / 3600 == pytest.approx(hours, rel=0.03)


def test_a_checkpoint_has_weights_and_states_of_the_optimizer() -> None:
    """405.85 billion parameters at 2 + 12 bytes."""
    model = dict(models_of_conf())["llama3_405b"]
    assert checkpoint_bytes(model, PLAN) == pytest.approx(14 * 405.85e9, rel=1e-4)


def test_a_checkpoint_is_moved_at_the_rate_of_nodes_or_storage() -> None:
    cluster = _grand_teton(64)
    job = job_of(8e11, cluster, Store(1000, 10, "sync"))
    assert (job.checkpoints[:2], job.load_s) == ((10.0, 0.0), 10.0)  # 8 nodes of 10 GB/s
    job = job_of(8e11, cluster, Store(20, 10, "async"))
    blocking_s, writing_s, flush_s, _ = job.checkpoints
    assert blocking_s == pytest.approx(8e11 / 64 / 64e9)  # PCIe Gen5 of an H100
    assert (writing_s, job.load_s, flush_s) == (40.0, 40.0, None)
    assert all(near_s is None for *_, near_s in job.classes)


@pytest.mark.parametrize("npus", [1024, 4096, 8192])
@pytest.mark.parametrize("rates", ["rsc1", "rsc2"])
def test_ratios_at_rates_of_research_clusters_are_the_first_order_estimate(rates: str, npus: int) -> None:
    """Rates of Kokolis et al. 2024 (arXiv 2410.21680): a failure costs 5 min of recovery and half of the hour
    between checkpoints.
    """
    cluster = cluster_of_name("dgx_a100", npus, [])
    (one,) = failures_of(reliability_named(rates), cluster)
    classes = [FailureClass(one.name, one.rate, 300.0, one.nodes)]
    estimate = 1 - one.rate * (300.0 + 1800.0)
    assert 1 / expected(3600.0, Checkpoints(0.0), classes).total == pytest.approx(estimate, rel=0.05)
    assert 1 / expected(3600.0, Checkpoints(0.0), classes).total > estimate


def _racks(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "racks.yaml"
    file.write_text(f"components: {{power: {{{text}}}}}\ndetection: 1 min\nrestart: 5 min\nrepair: 1 day\n")
    return file


@pytest.mark.parametrize(
    ("unit", "domains", "units", "nodes"),
    [
        ("rack", "{rack: 32}", 512, 4),
        ("rail", "{rail: 64}", 256, 64),
        ("nvlink-domain", "{}", 2048, 1),
        ("nvlink-domain", "{nvlink-domain: 72}", 228, 9),
    ],
)
def test_a_domain_fails_with_all_its_nodes(
    tmp_path: Path, unit: str, domains: str, units: int, nodes: int
) -> None:
    """16,384 NPUs in nodes of 8; a rail has an NPU of each of its nodes."""
    file = _racks(tmp_path, f"rate: 2 per 1000 {unit}-days, takes_node: true")
    with file.open("a") as out:
        out.write(f"domains: {domains}\n")
    (found,) = failures_of(reliability_named(str(file)), _grand_teton())
    assert found.rate * DAY_S == pytest.approx(2e-3 * units, rel=1e-12)
    assert found.nodes == nodes


def test_keys_give_the_sizes_of_domains(tmp_path: Path) -> None:
    file = _racks(tmp_path, "rate: 2 per 1000 rack-days, takes_node: true")
    with pytest.raises(InputError, match=r"components\.power\.rate is of a rack, .*: write domains=rack=64"):
        failures_of(reliability_named(str(file)), _grand_teton())
    asked = asked_run({"tokens": "1T", "reliability": str(file), "domains": "rack=64"})
    assert failures_of(asked.reliability, _grand_teton())[0].nodes == 8


def test_a_near_copy_is_written_and_read_at_its_own_rate() -> None:
    """800 GB of 8 nodes: 100 GB each; 50 GB/s of NICs of 400 Gbit/s, or a disk of 4 GB/s."""
    cluster = _grand_teton(64)
    copied_s = 8e11 / 64 / 64e9
    node_gbps = 8 * cluster.tiers[-1].bandwidth_gbps

    def saved_s(job: _engine.TrainingJob) -> set[float]:
        """How much sooner those recover that read the near copy."""
        return {round(far_s - near_s, 6) for _, far_s, _, near_s in job.classes if near_s is not None}

    peer = job_of(8e11, cluster, Store(20, 10, place="peer"))
    assert peer.checkpoints == pytest.approx((copied_s, 100 / node_gbps, 40.0, 1))
    assert peer.load_s == 40.0
    assert saved_s(peer) == {round(40 - 100 / node_gbps, 6)}
    disk = job_of(8e11, cluster, Store(20, 10, "sync", "local", 4.0))
    assert disk.checkpoints == pytest.approx((copied_s + 25, 0.0, 40.0, 1))
    assert saved_s(disk) == {15.0}
    memory = job_of(8e11, cluster, Store(20, 10, place="local"))
    assert saved_s(memory) == {round(40 - copied_s, 6)}
    with pytest.raises(InputError, match="checkpoint_at is peer, but grand_teton has one node"):
        job_of(8e11, _grand_teton(8), Store(20, 10, place="peer"))


def test_near_copies_are_lost_with_nodes_but_not_those_of_peers() -> None:
    """Software and switches leave the memory of hosts; only a rack takes a node and its peer."""
    llama = reliability_named("llama3")
    local = failures_of(llama, _grand_teton(), Store(20, 10, place="local"))
    assert {one.name for one in local if one.near_recovery_s is not None} == {"switch", "software"}
    peer = failures_of(llama, _grand_teton(), Store(20, 10, place="peer"))
    assert all(one.near_recovery_s is not None for one in peer)


def test_copies_at_peers_lose_less_than_those_in_slow_storage() -> None:
    slow = [
        _llama(store=Store(20, 50, place=place))
        for place in ("storage", "local", "peer")  # type: ignore[arg-type]
    ]
    lost = [run.parts_s["lost work"] for run in slow]
    assert lost[0] > lost[1] > 3 * lost[2]
    assert slow[0].time_s.value > slow[1].time_s.value > slow[2].time_s.value


@pytest.mark.parametrize("place", ["local", "peer"])
@pytest.mark.parametrize("factor", [0.8, 1.25, 3.0])
def test_no_other_interval_in_whole_steps_beats_that_of_two_places(place: str, factor: float) -> None:
    store = Store(200, 50, place=place)  # type: ignore[arg-type]
    chosen = _llama(store=store)
    steps = max(1, round(factor * chosen.interval_s / chosen.prediction.step_s))
    other = _llama(store=store, interval_s=steps * chosen.prediction.step_s)
    assert chosen.time_s.value <= other.time_s.value * (1 + 1e-4)


def test_a_run_that_chooses_is_the_shorter_of_waiting_and_shrinking() -> None:
    """With 4 spares and 6 nodes in repair it waits for a third of its time, with 32 hardly ever."""
    for spares in (4, 12, 32):
        for reconfigure_s in (60.0, 7200.0):
            settings = {"spares": spares, "reconfigure_s": reconfigure_s}
            best = _llama(elastic="best", **settings)
            assert best.time_s.value == min(best.choices_s.values())
            shrinks = _llama(elastic="shrink", **settings)
            assert best.choices_s == shrinks.choices_s
            assert shrinks.time_s.value == shrinks.choices_s["shrink"]
            assert best.choices_s["wait"] == _llama(spares=spares).time_s.value
            assert sum(shrinks.parts_s.values()) == pytest.approx(shrinks.time_s.value, rel=1e-12)


def test_a_job_of_one_replica_cannot_shrink() -> None:
    alone = replace(PLAN, dp=1)
    with pytest.raises(InputError, match="elastic=shrink needs a replica to give up"):
        _llama(spares=1, elastic="shrink", plan=alone)
    assert list(_llama(spares=1, elastic="best", plan=alone).choices_s) == ["wait"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"checkpoint_at": "moon"}, "checkpoint_at is 'moon'; allowed are storage, peer, local"),
        ({"near_gbps": "5"}, "near_gbps has no effect on checkpoint_at=storage"),
        ({"storage_every": "3"}, "storage_every has no effect on checkpoint_at=storage"),
        ({"checkpoint_at": "peer", "near_gbps": "0"}, "near_gbps is '0'; it must be a number above 0"),
        ({"checkpoint_at": "peer", "storage_every": "0"}, "storage_every is '0'; it must be a whole"),
        ({"domains": "rack=64"}, "domains has 'rack', but llama3 has no rate of it"),
        ({"domains": "rack"}, "domains is ''; it must be a whole number of at least 1"),
        ({"elastic": "shrink"}, "elastic=shrink has no effect where a failed node is replaced at once"),
        ({"elastic": "maybe"}, "elastic is 'maybe'; allowed are wait, shrink, best"),
        ({"reconfigure": "1 min"}, "reconfigure has no effect on a run that waits"),
        ({"elastic": "best", "spares": "1", "reconfigure": "soon"}, "reconfigure is 'soon'"),
    ],
)
def test_wrong_keys_of_runs_are_one_line(words: dict[str, str], message: str) -> None:
    with pytest.raises(InputError) as error:
        asked_run({"tokens": "1T", **words})
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_wrong_domains_of_a_file_are_refused(tmp_path: Path) -> None:
    file = _racks(tmp_path, "rate: 2 per 1000 rack-days, takes_node: true")
    with file.open("a") as out:
        out.write("domains: {row: 64}\n")
    with pytest.raises(
        InputError, match=r"reliability\.domains has row: 64; allowed are nvlink-domain, rack"
    ):
        reliability_named(str(file))


SETTINGS: list[dict[str, object]] = [
    {},
    {"spares": 4, "stops": PlannedStops(30 * DAY_S, 8 * 3600.0)},
    {"spares": 0, "spares_share": 0.001, "interval_s": 1800.0},
    {"spares": 4, "elastic": "shrink", "reconfigure_s": 60.0},
    {"spares": 12, "elastic": "best", "facility": Facility(300.0, 1.25)},
    {"spares": 1, "elastic": "shrink", "speeds": (0.9,), "facility": Facility(at_limit=True)},
    {"store": Store(20, 50, place="local"), "reliability": reliability_named("rsc2")},
    {"store": Store(200, 5, "sync", "peer", every=3), "spares": 2},
    {"store": Store(200, 50, "sync", "local", 4.0), "plan": replace(PLAN, optimizer_bytes=6)},
    {"store": Store(2, 50)},
]


@pytest.mark.parametrize("changes", SETTINGS)
@pytest.mark.parametrize("npus", [SIZE, 4096])
def test_a_run_is_that_of_the_plain_evaluation(changes: dict[str, object], npus: int) -> None:
    """Every figure within 1e-12."""
    run = _llama(cluster=_grand_teton(npus), **changes)
    plain = plain_run(run.question, run.prediction)
    assert run.interval_s == pytest.approx(plain.interval_s, rel=1e-12)
    assert (run.time_s.value, run.time_s.low, run.time_s.high) == pytest.approx(plain.time_s, rel=1e-12)
    assert run.parts_s == pytest.approx(plain.parts_s, rel=1e-12, abs=1e-12 * run.time_s.value)
    assert run.choices_s == pytest.approx(plain.choices_s, rel=1e-12)
    figures = run.effective_ratio, run.failures, run.goodput
    assert figures == pytest.approx((plain.effective_ratio, plain.failures, plain.goodput), rel=1e-12)
    energy = energy_of(run, run.question.facility).energy_mwh
    assert (energy.value, energy.low, energy.high) == pytest.approx(plain.energy_mwh, rel=1e-12)


@pytest.mark.parametrize("name", dict(models_of_conf()))
def test_checkpoints_of_all_models_have_their_parameters(name: str) -> None:
    model = dict(models_of_conf())[name]
    counts = parameters(model)
    own = 2 * (counts.total + counts.prediction + counts.adapters) + 12 * counts.trained
    assert checkpoint_bytes(model, replace(PLAN, optimizer_bytes=12)) == own


def test_parts_of_a_run_sum_to_its_time() -> None:
    run = _llama(spares=4, stops=PlannedStops(30 * DAY_S, 8 * 3600.0))
    assert sum(run.parts_s.values()) == pytest.approx(run.time_s.value, rel=1e-12)
    assert all(seconds >= 0 for seconds in run.parts_s.values())
    assert run.parts_s["waiting for spares"] > run.parts_s["lost work"]


def test_checkpoints_are_between_steps() -> None:
    run = _llama()
    assert run.interval_s / run.prediction.step_s == pytest.approx(
        round(run.interval_s / run.prediction.step_s)
    )
    assert _llama(interval_s=1000.0).interval_s == 1000.0
    assert _llama(interval_s=1000.0).time_s.value >= run.time_s.value


def test_no_checkpoint_begins_before_the_last_is_written() -> None:
    """At 2 GB/s writing takes 47 min, far more than the interval of Young."""
    slow = _llama(store=Store(total_gbps=2, node_gbps=50))
    assert slow.checkpoints.writing_s <= slow.interval_s < slow.checkpoints.writing_s + slow.prediction.step_s
    assert slow.young_s < 0.01 * slow.interval_s
    with pytest.raises(
        InputError, match=r"interval is 60 s; a checkpoint is written for 2841 s, so it must be"
    ):
        _llama(store=Store(total_gbps=2, node_gbps=50), interval_s=60.0)
    with pytest.raises(InputError, match=r"interval is 3 s; a step takes 6\.107 s"):
        _llama(interval_s=3.0)


@pytest.mark.parametrize("factor", [1.1, 1.5, 3.0, 10.0])
def test_no_longer_interval_is_better_than_the_chosen_one(factor: float) -> None:
    for total_gbps in (2.0, 20.0, 2000.0):
        store = Store(total_gbps, node_gbps=50)
        chosen = _llama(store=store)
        other = _llama(store=store, interval_s=factor * chosen.interval_s)
        assert chosen.time_s.value <= other.time_s.value * (1 + 1e-3)  # whole steps


def test_a_job_without_progress_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "never.yaml"
    file.write_text(
        "components: {node: {rate: 1 per node-hour, takes_node: true}}\n"
        "detection: 1 min\nrestart: 10 min\nrepair: 1 h\n"
    )
    with pytest.raises(InputError, match=r"the job fails every 1\.758 s and needs "):
        _llama(reliability=reliability_named(str(file)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "rate: 5 per day, takes_node: true",
            "reliability.components.node.rate is '5 per day'; a rate has events",
        ),
        ("rate: 0.1, takes_node: true", "reliability.components.node.rate"),
        (
            "rate: 1 per npu-day, takes_node: true, detection: 5 parsec",
            "components.node.detection is '5 parsec'; write a number",
        ),
        ("rate: 1 per npu-day, takes_node: true, odd: 5", "odd"),
    ],
)
def test_wrong_files_are_refused_by_key(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"components: {{node: {{{text}}}}}\ndetection: 1 min\nrestart: 5 min\nrepair: 1 d\n")
    with pytest.raises(InputError) as error:
        reliability_named(str(file))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_files_of_conf_say_their_sources() -> None:
    assert reliability_names() == ("llama3", "rsc1", "rsc2")
    for name in reliability_names():
        assert {"rates", "detection", "restart", "repair"} <= set(reliability_named(name).sources)
