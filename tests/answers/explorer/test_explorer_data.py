"""The data of the explorer's page: keys that the configuration takes, bounds that agree, presets."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from command_lines import TINY, run_ok

from dse.answers.explorer.data import Subject, Words, page_data, space_choices
from dse.answers.explorer.fields import Field, fields_of
from dse.answers.explorer.presets import why_not_live
from dse.answers.explorer.study import subject_of_study
from dse.base.errors import InputError
from dse.inputs.models.settings import models_of_conf
from dse.inputs.systems.settings import systems_of_conf
from dse.studies.config import compose_config
from dse.studies.points import Scenario, scenario_of
from dse.studies.points.inputs import model_json, system_json
from dse.studies.space.fields import replace_field
from dse.studies.store import StudyStore

FAULTY = (
    "system=mesh_8x8",
    "system.faults=[{source:0,destination:1,bandwidth_factor:0.5}]",
    "system.deratings=[{npu:3,compute_factor:0.5}]",
)
SCENARIOS = {
    "lab": ("system=system1", "model=llama70b"),
    "switches": ("system=dgx16", "model=gpt175b"),
    "realistic": ("system=torus_4x4", "model=llama70b", "model.fidelity=realistic"),
    "faulty": FAULTY,
    "cluster": ("system=dgx_h100", "model=tiny"),
    "types": ("system=mixed_a100_v100", "model=tiny"),
}


def scenario(*overrides: str) -> Scenario:
    return scenario_of(compose_config(overrides))


def subject(*overrides: str) -> Subject:
    config = compose_config(overrides)
    return Subject(
        scenario_of(config),
        space_choices(config.space),
        config.space.constraints,
        Words(tuple(overrides)),
        config.memory_cap_bytes,
    )


def other_value(field: Field) -> Any:
    """Another value that the field allows, and that agrees with the others."""
    if field.kind == "flag":
        return not field.value
    if field.kind == "choice":
        return next(choice for choice in field.choices if choice != field.value)
    value = 1 if field.value is None else field.value
    assert isinstance(value, int | float)
    assert field.most is not None
    if field.key in LINKED and field.value is not None:
        return value // 2
    return value * 2 if value else 7


def replaced(value: Any, path: list[str | int], new: Any) -> Any:
    """As explorer.scenario.withChanges."""
    if not path:
        return new
    copy = list(value) if isinstance(value, list) else dict(value)
    copy[path[0]] = replaced(copy[path[0]], path[1:], new)
    return copy


def hydra(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("name", [name for name in SCENARIOS if name != "types"])
def test_every_key_is_an_override_and_makes_the_scenario_of_its_path(name: str) -> None:
    overrides = SCENARIOS[name]
    before = scenario(*overrides)
    as_json = {
        "model": json.loads(before.model_spec),
        "system": json.loads(before.system_spec),
        "divisibility": before.resolved_divisibility,
    }
    found = fields_of(before)
    assert len({field.key for field in found}) == len(found)
    expected, words = as_json, []
    for field in found:
        value = other_value(field)
        expected = replaced(expected, list(field.path), value)
        words.append(f"{field.key}={hydra(value)}")
        assert field.label
        assert field.allowed
    after = scenario(*overrides, *words)
    assert json.loads(model_json(after.model)) == expected["model"]
    assert json.loads(system_json(after.system)) == expected["system"]
    assert after.resolved_divisibility == expected["divisibility"]


def test_the_fields_of_the_lab_are_every_number_of_its_model_and_system() -> None:
    found = fields_of(scenario("system=system1", "model=llama70b"))
    numbers = [field.key for field in found if field.kind == "number"]
    assert numbers == [
        *("model.batch_size", "model.seq_len", "model.num_layers", "model.d_model", "model.d_ff"),
        *("model.num_heads", "model.input_dim", "model.output_dim", "model.repairs.bytes_per_element"),
        *("system.peak_tflops", "system.memory_bandwidth_gbps"),
        *(f"system.network.0.{name}" for name in ("npus", "bandwidth_gbps", "latency_ns")),
        *(f"system.network.1.{name}" for name in ("npus", "bandwidth_gbps", "latency_ns")),
        *(f"system.network.2.{name}" for name in ("npus", "bandwidth_gbps", "latency_ns")),
        *("system.endpoint_delay_ns", "system.injection_scale"),
        *("system.preferred_dataset_splits", "system.active_chunks_per_dimension"),
        "system.queues_per_dimension",
    ]
    batch = found[0]
    assert (batch.group, batch.value, batch.least, batch.slider_least, batch.slider_most) == (
        "Model",
        512,
        1,
        8,
        32768,
    )
    rate = next(field for field in found if field.key == "system.network.0.bandwidth_gbps")
    assert (rate.unit, rate.resource, rate.is_log) == ("GiB/s", "bandwidth of network dimension 0", True)


def test_a_realistic_model_has_what_only_repairs_show() -> None:
    keys = {field.key for field in fields_of(scenario(*SCENARIOS["realistic"]))}
    assert {"model.num_kv_heads", "model.gated_mlp", "model.micro_batches"} <= keys


def test_what_follows_from_an_accelerator_or_from_types_is_no_field() -> None:
    cluster = {field.key for field in fields_of(scenario(*SCENARIOS["cluster"]))}
    types = {field.key for field in fields_of(scenario(*SCENARIOS["types"]))}
    assert not {key for key in cluster if key.startswith("system.network.")}
    assert "system.peak_tflops" not in cluster | types
    assert "system.network.0.bandwidth_gbps" in types


def accepts(on: Scenario, field: Field, value: float) -> bool:
    spec: Any = on.model if field.path[0] == "model" else on.system
    try:
        replace_field(spec, tuple(map(str, field.path[1:])), value)
    except InputError:
        return False
    return True


LINKED = {  # bounds that the others of the scenario move, or that have to divide
    *("model.num_heads", "model.num_kv_heads", "model.micro_batches"),
}


@pytest.mark.parametrize("name", ["lab", "realistic", "faulty"])
def test_the_bounds_are_those_of_the_configuration(name: str) -> None:
    """Of integers the next one beyond is refused; a page has smaller integers than the engine has."""
    on = scenario(*SCENARIOS[name])
    for field in fields_of(on):
        if field.kind != "number" or field.key in LINKED:
            continue
        assert field.least is not None
        assert field.most is not None
        assert accepts(on, field, field.least), field.key
        assert accepts(on, field, field.most), field.key
        below = field.least - 1 if field.is_integer or not field.least else 0
        assert not accepts(on, field, below), field.key
        if field.is_integer and field.most < 2**53 - 1:
            assert not accepts(on, field, field.most + 1), field.key


def test_models_and_systems_of_conf_are_read_as_hydra_composes_them() -> None:
    models, systems = dict(models_of_conf()), dict(systems_of_conf())
    assert {"llama70b", "gpt175b", "tiny", "mixtral_8x7b"} <= models.keys()
    assert {"system1", "system2", "dgx_h100", "mixed_a100_v100"} <= systems.keys()
    for model, system in zip(sorted(models), [*sorted(systems), "system1"], strict=False):
        config = compose_config([f"model={model}", f"system={system}"])
        assert (config.model, config.system) == (models[model], systems[system])


def test_presets_are_what_can_be_live_beside_the_scenario() -> None:
    data = page_data(subject("system=system1", "model=llama70b"))
    models = [entry["name"] for entry in data["presets"]["models"]]
    systems = [entry["name"] for entry in data["presets"]["systems"]]
    assert models == ["gpt175b", "tiny"]
    assert {"system2", "dgx16", "torus_4x4", "tpu_512", "mesh_8x8"} <= set(systems)
    assert not {"system1", "mixed_a100_v100", "switch_128k"} & set(systems)
    for entry in data["presets"]["systems"]:
        own = scenario(f"system={entry['name']}", "model=llama70b")
        assert entry["spec"] == json.loads(own.system_spec)
        assert entry["words"] == [f"system={entry['name']}"]
        assert [each for each in entry["fields"] if each["group"] != "Model"] == entry["fields"]


def test_a_changed_scenario_has_the_one_of_conf_as_a_preset() -> None:
    data = page_data(subject("system=system1", "model=llama70b", "system.peak_tflops=900"))
    assert "system1" in [entry["name"] for entry in data["presets"]["systems"]]
    assert data["scenario"]["system"]["peak_tflops"] == 900


def test_the_data_is_the_contract_of_the_page() -> None:
    data = page_data(subject("system=system1", "model=llama70b"))
    assert data["live"] is True
    assert data["why_static"] == ""
    assert data["command"] == "dse sweep system=system1 model=llama70b"
    assert data["point_command"] == "dse point system=system1 model=llama70b"
    assert data["memory_cap_bytes"] == 80_000_000_000
    assert data["strategy_fields"] == ["dp", "tp", "sp", "pp", "weight_sharded", "activation_recompute"]
    assert data["space"]["choices"]["tp"] == [1, 2, 4, 8, 16, 32, 64]
    assert [each["text"] for each in data["space"]["constraints"]] == ["dp * tp * sp * pp == npus"]
    assert data["rows"] == []
    assert data["study"] is None
    json.dumps(data, allow_nan=False)


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        (("system=dgx_h100", "model=llama3_8b"), "is predicted .* write model.fidelity=stage"),
        (("system=system1", "model=mixtral_8x7b"), r"model.experts.* choose another model"),
        (("system=mixed_a100_v100", "model=tiny"), "NPUs of several types"),
        (("system=torus_4x4", "system.collectives.all_gather=[synthesized]"), "synthesises none"),
    ],
)
def test_what_cannot_be_live_says_why_and_what_to_write(overrides: tuple[str, ...], reason: str) -> None:
    assert re.search(reason, why_not_live(scenario(*overrides)))


def test_a_graph_from_a_file_cannot_be_live(tmp_path: Path) -> None:
    links = tmp_path / "links.csv"
    links.write_text("source,destination,bandwidth_gbps,latency_ns\n0,1,10,10\n1,0,10,10\n")
    network = f"system.network=[{{topology:Graph,npus:2,bandwidth_gbps:1,latency_ns:0,file:'{links}'}}]"
    kinds = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
    algorithms = [f"system.collectives.{kind}=[ring]" for kind in kinds]
    assert "a page reads no files" in why_not_live(scenario(network, *algorithms))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("space.axes={system.peak_tflops:[1,2]}", "space.axes.system.peak_tflops has no effect"),
        ("space.cp=[1,2]", "space.cp has no effect on dse explore"),
    ],
)
def test_a_space_of_more_than_traces_is_refused(override: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        space_choices(compose_config([override]).space)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explorer")
    run_ok("sweep", *TINY, "space.sp=[1,2]", "study=small", "memory_cap=1GB", cwd=folder)
    axes = "space.axes={system.network.0.bandwidth_gbps:[100,400],model:[tiny,llama70b]}"
    run_ok("sweep", "system=torus_4x4", axes, "space.sp=[1]", "study=axes", cwd=folder)
    return folder / "results"


def test_a_study_gives_its_scenario_its_rows_and_its_commands(results: Path) -> None:
    found, notes = subject_of_study(StudyStore(results / "small"))
    data = page_data(found)
    assert notes == []
    assert data["study"] == "small"
    assert data["command"] == "dse sweep system=torus_4x4 model=tiny 'space.sp=[1,2]' memory_cap=1000000000B"
    assert data["point_command"] == "dse point system=torus_4x4 model=tiny"
    assert data["memory_cap_bytes"] == 10**9
    assert len(data["rows"]) == 18
    one, two = (data["mfu_notes"][f"multiply_add_as_{name}"] for name in ("one", "two"))
    assert one.startswith("MFU: operations of the reference's graph, one per multiply-add")
    assert two.startswith("MFU: a multiply-add is two FLOPs")
    assert data["mfu_notes"]["stored"] == [one]
    best = data["rows"][0]
    assert (best["status"], best["label"]) == ("ok", "dp16 tp1 sp1 pp1")
    assert set(best) == {
        *("dp", "tp", "sp", "pp", "weight_sharded", "activation_recompute", "label", "status", "reason"),
        *("wall_time_ns", "gpu_time_ns", "comm_time_ns", "exposed_comm_ns", "compute_bound_pct"),
        *("compute_utilization_pct", "memory_utilization_pct", "operation_intensity", "peak_memory_bytes"),
        *("rank0_wall_time_ns", "rank0_peak_memory_bytes", "last_rank", "rank_classes", "fractional"),
        *("mfu_pct", "tokens_per_s"),
        *("understated_comm", "impossible_split"),
    }


def test_the_other_models_and_systems_of_a_study_are_presets_with_their_words(results: Path) -> None:
    found, _ = subject_of_study(StudyStore(results / "axes"), max_points=3)
    data = page_data(found)
    assert len(data["rows"]) == 3
    names = {entry["name"]: entry["words"] for entry in data["presets"]["models"]}
    others = {entry["name"]: entry["words"] for entry in data["presets"]["systems"]}
    assert set(names) >= {"gpt175b"}
    assert len(names.keys() & {"tiny", "llama70b"}) == 1
    variants = [words for words in others.values() if any("network" in word for word in words)]
    assert "system.network" in data["command"] or variants
    rates = {
        compose_config([*words, "model=tiny"]).system.network[0].bandwidth_gbps for words in others.values()
    }
    assert {100, 400} <= rates | {data["scenario"]["system"]["network"][0]["bandwidth_gbps"]}


def test_a_study_without_an_engine_for_pages_is_static(results: Path) -> None:
    found, _ = subject_of_study(StudyStore(results / "small"), reason="write make wasm")
    data = page_data(found)
    assert (data["live"], data["why_static"], data["fields"]) == (False, "write make wasm", [])
    assert len(data["rows"]) == 18
