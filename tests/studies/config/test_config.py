"""The configuration: conf/ as it stands, overrides that work, and errors in one line."""

import subprocess
import sys
from pathlib import Path

import pytest

from dse.base.errors import InputError
from dse.base.files import conf_folder
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import AXES, Strategy
from dse.inputs.systems import CollectiveAlgorithms, Dimension, RemoteMemory, SystemSpec
from dse.studies.config import Config, compose_config, resolved_yaml

POWERS = (1, 2, 4, 8, 16, 32, 64)


def _algorithms(*names: str) -> CollectiveAlgorithms:
    return CollectiveAlgorithms(names, names, names, names)


def _system(
    name: str,
    network: tuple[Dimension, ...],
    algorithms: tuple[str, ...],
    peak_tflops: float,
    memory_bandwidth_gbps: float,
) -> SystemSpec:
    return SystemSpec(
        name=name,
        network=network,
        collectives=_algorithms(*algorithms),
        peak_tflops=peak_tflops,
        memory_bandwidth_gbps=memory_bandwidth_gbps,
        network_model="congestion_unaware",
        scheduling_policy="LIFO",
        endpoint_delay_ns=10,
        active_chunks_per_dimension=4,
        preferred_dataset_splits=10,
        collective_optimization="localBWAware",
        roofline_enabled=True,
        track_local_memory=True,
        replay_only=False,
        trace_enabled=True,
        local_memory_trace_filename="local_mem_trace",
        model_shared_bus=False,
        queues_per_dimension=1,
        rendezvous_protocol=False,
        injection_scale=1.0,
        remote_memory=RemoteMemory("NO_MEMORY_EXPANSION", 0, 0, None, None),
        inert=(),
    )


SYSTEMS = {
    "system1": (64, _system("system1", (Dimension("Ring", 4, 100, 50),) * 3, ("ring",) * 3, 450, 3000)),
    "system2": (64, _system("system2", (Dimension("Ring", 4, 2000, 50),) * 3, ("ring",) * 3, 45, 300)),
    "dgx16": (
        16,
        _system(
            "dgx16",
            (Dimension("FullyConnected", 8, 128.5714, 20), Dimension("Switch", 2, 25, 100)),
            ("direct", "halvingDoubling"),
            900,
            3000,
        ),
    ),
    "dgx_2k": (
        2048,
        _system(
            "dgx_2k",
            (
                Dimension("FullyConnected", 8, 128.5714, 20),
                Dimension("Switch", 16, 100, 300),
                Dimension("Ring", 4, 25, 700),
                Dimension("Ring", 4, 6.25, 1000),
            ),
            ("direct", "halvingDoubling", "ring", "ring"),
            900,
            3000,
        ),
    ),
    "tpu_512": (
        512,
        _system(
            "tpu_512",
            (*(Dimension("Ring", 4, 100, 50),) * 3, Dimension("Switch", 8, 50, 2000)),
            ("ring", "ring", "ring", "halvingDoubling"),
            459,
            2765,
        ),
    ),
    "torus_4x4": (16, _system("torus_4x4", (Dimension("Ring", 4, 100, 50),) * 2, ("ring",) * 2, 450, 3000)),
}
MODELS = {
    "llama70b": ModelSpec("llama70b", 32000, 32000, 8192, 28672, 64, 1024, 512, 80, 8, True),
    "gpt175b": ModelSpec("gpt175b", 50257, 50257, 12288, 49152, 96, 1024, 512, 96),
    "tiny": ModelSpec("tiny", 4096, 4096, 1024, 4096, 16, 512, 32, 4),
}


@pytest.fixture(scope="module")
def default() -> Config:
    return compose_config([])


def _choices(group: str) -> set[str]:
    return {file.stem for file in (conf_folder() / group).glob("*.yaml")}


def test_every_system_is_the_one_of_the_lab() -> None:
    assert _choices("system") >= set(SYSTEMS)
    for name, (npus, expected) in SYSTEMS.items():
        system = compose_config([f"system={name}"]).system
        assert system == expected
        assert system.npus == npus


def test_every_model_is_the_one_of_the_lab() -> None:
    assert _choices("model") >= set(MODELS)
    assert {name: compose_config([f"model={name}"]).model for name in MODELS} == MODELS


@pytest.mark.parametrize("group", ["model", "system", "space", "search", "executor", "simulator", "workload"])
def test_every_choice_of_a_group_composes_under_its_own_name(group: str) -> None:
    for name in _choices(group):
        assert getattr(compose_config([f"{group}={name}"]), group).name == name


def test_without_a_chosen_cap_it_is_the_memory_of_the_accelerator() -> None:
    caps = {
        name: (config.memory_cap, config.memory_cap_bytes, config.chosen_cap_bytes)
        for name in ("system1", "dgx_b200")
        for config in [compose_config([f"system={name}", "memory_cap=null"])]
    }
    assert caps == {
        "system1": ("80GB", 80 * 10**9, 80 * 10**9),
        "dgx_b200": (None, (183_359 - 730) * 2**20, None),
    }
    both = compose_config(["space.axes={system:[dgx_b200,system1]}"])
    assert (both.memory_cap, both.memory_cap_bytes) == (None, 80 * 10**9)
    assert compose_config(["system=dgx_b200", "memory_cap=1GB"]).chosen_cap_bytes == 10**9


def test_the_defaults_are_the_main_job(default: Config) -> None:
    assert default.study == "llama70b-system1"
    assert default.results_dir == Path("results")
    assert (default.memory_cap, default.memory_cap_bytes) == ("80GB", 80_000_000_000)
    assert default.divisibility is None
    assert (default.export, default.output_format) == (None, "table")
    assert default.strategy == Strategy(1, 1, 1, 1, False, False)
    assert (default.search.name, default.search.samples) == ("exhaustive", None)
    assert (default.executor.name, default.executor.threads) == ("auto", None)
    assert default.simulator.name == "native"


def test_the_lab_space_has_56_points_and_the_full_one_336(default: Config) -> None:
    space = default.space
    plain = {axis.name for axis in AXES if axis.since == 1}
    assert {name: values for name, values in space.choices.items() if name in plain} == {
        "dp": POWERS,
        "tp": POWERS,
        "sp": POWERS,
        "pp": (1,),
        "weight_sharded": (False,),
        "activation_recompute": (True, False),
    }
    younger = [axis for axis in AXES if axis.since > 1]
    assert [space.choices[axis.name] for axis in younger] == [(axis.default,) for axis in younger]
    assert space.constraints == ("dp * tp * sp * pp == npus",)
    assert len(space.strategies(default.model, default.system)) == 56
    full = compose_config(["space=full"]).space
    chosen = [full.choices[axis] for axis in ("dp", "pp", "weight_sharded")]
    assert chosen == [None, None, (False, True)]
    assert len(full.strategies(default.model, default.system)) == 336


def test_overrides_reach_every_part() -> None:
    config = compose_config(
        [
            "system=system1",
            "model=llama70b",
            "study=x",
            "space.tp=[1,2,4]",
            "space.pp=[1,2,4]",
            "system.network.0.bandwidth_gbps=200",
            "model.num_layers=16",
            "memory_cap=80GiB",
            "search=random",
            "search.samples=7",
            "search.seed=3",
            "strategy.dp=4",
            "strategy.activation_recompute=true",
            "workload.divisibility=strict",
            "executor.threads=2",
            "export=traces",
            "format=json",
            "results_dir=/tmp/studies",
        ]
    )
    assert config.study == "x"
    assert [config.space.choices[axis] for axis in ("dp", "tp", "pp")] == [POWERS, (1, 2, 4), (1, 2, 4)]
    assert [dimension.bandwidth_gbps for dimension in config.system.network] == [200, 100, 100]
    assert config.model == ModelSpec("llama70b", 32000, 32000, 8192, 28672, 64, 1024, 512, 16, 8, True)
    assert config.memory_cap_bytes == 85_899_345_920
    assert (config.search.name, config.search.samples, config.search.seed) == ("random", 7, 3)
    assert config.strategy == Strategy(dp=4, activation_recompute=True)
    assert config.divisibility == "strict"
    assert config.executor.threads == 2
    assert (config.export, config.output_format) == (Path("traces"), "json")
    assert config.results_dir == Path("/tmp/studies")


def test_random_search_draws_20_points_unless_told() -> None:
    search = compose_config(["search=random"]).search
    assert (search.name, search.samples, search.seed) == ("random", 20, 0)


def test_a_network_can_be_written_in_an_override() -> None:
    network = "[{topology: Switch, npus: 8, bandwidth_gbps: 50, latency_ns: 0.5}]"
    collectives = [f"system.collectives.{name}=[]" for name in ("all_gather", "reduce_scatter", "all_to_all")]
    system = compose_config(
        [f"system.network={network}", "system.collectives.all_reduce=[direct4]", *collectives]
    ).system
    assert system.network == (Dimension("Switch", 8, 50, 0.5),)
    assert system.collectives == CollectiveAlgorithms(all_reduce=("direct4",))


def test_the_resolved_yaml_is_the_whole_configuration_and_composes_again() -> None:
    import yaml

    config = compose_config(["model=tiny", "system=dgx16", "model.d_ff=${.d_model}"])
    values = yaml.safe_load(resolved_yaml(config))
    assert values["study"] == "tiny-dgx16"
    assert values["model"]["d_ff"] == 1024
    assert values["system"]["network"][1] == {
        "topology": "Switch",
        "npus": 2,
        "bandwidth_gbps": 25.0,
        "latency_ns": 100.0,
        "shape": [],
        "routing": "",
        "file": None,
        "routes": None,
    }
    assert set(values) == {
        *("study", "results_dir", "memory_cap", "recompute", "export", "format", "objective", "run"),
        *("workload", "strategy", "system", "model", "space", "search", "executor", "simulator"),
    }


ERRORS = [
    # unknown choices and keys
    ("system=system3", "system 'system3' is unknown; did you mean 'system2'? Available are dgx16, dgx_2k, "),
    ("model=", "model '' is unknown; available are deepseek_v2, deepseek_v3, deepseek_v3_2, "),
    ("executor=slurm", "executor 'slurm' is unknown; available are auto, local, ray"),
    ("sytem=dgx16", "unknown key sytem; did you mean 'system'? Known keys are study, results_dir, "
     "memory_cap, recompute, export, format, objective, run, workload, strategy, system, model, space, "
     "search, executor, simulator"),
    ("dp=4", "unknown key dp; did you mean strategy.dp or space.dp?"),
    ("framework=nemo", "unknown key framework; did you mean strategy.framework or space.framework?"),
    ("kernels=b200", "unknown key kernels; known keys are study, results_dir"),
    ("model.dff=1", "unknown key model.dff; did you mean 'd_ff'? Keys of model are name, input_dim, "
     "output_dim, d_model, d_ff, num_heads, seq_len, batch_size, num_layers, num_kv_heads, gated_mlp, "
     "micro_batches, fidelity, repairs, head_dim, experts, latent_attention, tied_embeddings, biases, "
     "qkv_biases, query_key_norms, learned_positions, dropout, prediction_layers, windows, "
     "attention_sinks, sparse_attention, state_space, layer_pattern, rms_norm, lora"),
    ("system.network.0.npu=3", "unknown key system.network.0.npu; did you mean 'npus'? Keys of "
     "system.network.0 are topology, npus, bandwidth_gbps, latency_ns, shape, routing, file, routes"),
    ("system.network.3.npus=3", "system.network.3 does not exist: system.network has 3 entries, 0 to 2"),
    ("+model.foo=1", "unknown key model.foo; keys of model are name"),
    ("+foo=1", "unknown key foo; known keys are study"),
    ("hydra.foo=1", "unknown key hydra.foo"),
    ("system/foo=a", "unknown key system/foo"),
    ("+a@b=c", "override '+a@b=c' names no key; write key=value"),
    # wrong types
    ("model.d_ff=abc", "model.d_ff is 'abc'; it must be an integer"),
    ("model.d_ff=1.5", "model.d_ff is '1.5'; it must be an integer"),
    ("strategy.dp=true", "strategy.dp is 'true'; it must be an integer"),
    ("strategy.weight_sharded=maybe", "strategy.weight_sharded is 'maybe'; it must be true or false"),
    ("system.network.0.bandwidth_gbps=fast", "system.network.0.bandwidth_gbps is 'fast'; it must be"),
    ("system.network=4", "system.network is '4'; it must be a list of entries with the keys topology, npus"),
    ("system.network.0=3", "system.network.0 is '3'; it must be a group with the keys topology, npus"),
    ("system.network=[{npus: 3}]", "system.network.0.topology has no value; it must be a text"),
    ("system.network.a.npus=3", "system.network.a does not exist: the entries of "
     "system.network are numbered, system.network.0"),
    ("space.tp=4", "space.tp is '4'; it must be a list of integers such as [1,2,4]"),
    ("space.tp=[1,x]", "space.tp.1 is wrong in 'space.tp=[1,x]'; it must be an integer"),
    ("executor.threads=x", "executor.threads is 'x'; it must be an integer or null"),
    ("memory_cap=[1]", "memory_cap is '[1]'; it must be a text or null"),
    ("~model", "override '~model': model cannot be removed; write model=VALUE"),
    ("model=5", "model is 5; it must be the name of a file of conf/model"),
    # grammar and interpolation
    ("model.d_ff=[", "override 'model.d_ff=[' cannot be parsed: "),
    ("zz", "override 'zz' cannot be parsed: it has no '='; write key=value"),
    ("--help", "override '--help' cannot be parsed: "),
    ("model.d_ff=1,2", "override 'model.d_ff=1,2' lists several values: add -m for one sweep each; "),
    ("model.d_ff=${foo}", "model.d_ff: Interpolation key 'foo' not found"),
    ("model.d_ff=${oc.env:HOME}", "override 'model.d_ff=${oc.env:HOME}': ${…} may hold a key only, as in "
     "${model.d_model}; the shell puts in variables of the environment, written as $NAME"),
    ("system.accelerator.peak_tflops.bf16=900", "override 'system.accelerator.peak_tflops.bf16=900': an "
     "accelerator is chosen whole, by its name or a file; a sweep changes a figure of it as an axis, "
     "'space.axes={system.accelerator.peak_tflops.bf16:[VALUE]}'; for a point copy its file of "
     "conf/accelerator, change it, and write system.accelerator=FILE.yaml"),
    # values
    ("model.d_ff=0", "model.d_ff is 0; it must be an integer from 1 to 9223372036854775807"),
    ("model.num_layers=1", "model.num_layers is 1; it must be at least 2"),
    ("space.tp=[1,1]", "space.tp lists 1 more than once"),
    ("space.constraints=[\"dq == npus\"]", "space.constraints.0 'dq == npus', column 1: unknown name 'dq'"),
    ("system.network.1.bandwidth_gbps=-1", "system.network.1.bandwidth_gbps is -1.0; it must be a number"),
    ("system.model_shared_bus=true", "system.model_shared_bus is on; the bus model is not supported"),
    ("memory_cap=80", "memory_cap '80' has no unit; write 80GB (80e9 bytes) or 80GiB (80 x 2^30 bytes)"),
    ("workload.divisibility=stict", "workload.divisibility is 'stict'; allowed are stage, whole, strict; "),
    ("format=xml", "format is 'xml'; allowed are table, json"),
    ("search.name=grid", "search.name is 'grid'; allowed are exhaustive, random"),
    ("search.samples=3", "search.samples is 3, but search is exhaustive; write search=random too"),
    ("executor.name=slurm", "executor.name is 'slurm'; allowed are auto, local, ray"),
    ("simulator.name=x", "simulator.name is 'x'; allowed are native"),
    ("executor.threads=0", "executor.threads is 0; it must be from 1 to 4096, or null"),
    ("study=a/b", "study is 'a/b'; it names a folder"),
    ("study=..", "study is '..'; it names a folder"),
    ("results_dir=", "results_dir is empty; it must name a folder"),
    ("export=", "export is empty; it must name a folder"),
]  # fmt: skip


@pytest.mark.parametrize(("override", "message"), ERRORS)
def test_an_error_is_one_line_that_names_the_key(override: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        compose_config([override])
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("samples", ["0", "null"])
def test_a_random_search_needs_samples(samples: str) -> None:
    with pytest.raises(InputError, match=r"search\.samples is .*; it must be an integer of at least 1"):
        compose_config(["search=random", f"search.samples={samples}"])


def test_the_last_override_of_a_key_is_the_one_that_is_named() -> None:
    with pytest.raises(InputError, match=r"^model\.d_ff is 'x'; it must be an integer$"):
        compose_config(["model.d_ff=8", "model=tiny", "model.d_ff=x"])


def test_a_mistake_in_a_file_of_conf_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    shutil.copytree(conf_folder(), tmp_path / "conf")
    monkeypatch.setattr("dse.base.files.__file__", str(tmp_path / "dse" / "base" / "files.py"))
    model = tmp_path / "conf" / "model" / "tiny.yaml"
    text = model.read_text()
    model.write_text(text.replace("d_ff: 4096", "d_ff: many"))
    with pytest.raises(
        InputError, match=r"^conf/model/tiny\.yaml: model\.d_ff is 'many'; it must be an integer$"
    ):
        compose_config(["model=tiny"])
    model.write_text(text.replace("d_ff", "dff"))
    with pytest.raises(
        InputError, match=r"^conf/model/tiny\.yaml: unknown key model\.dff; did you mean 'd_ff'"
    ):
        compose_config(["model=tiny"])
    model.write_text("a: [")
    with pytest.raises(InputError, match=r"tiny\.yaml") as caught:
        compose_config(["model=tiny"])
    assert "\n" not in str(caught.value)


def test_conf_is_found_inside_an_installed_package_or_else_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dse.base.files.__file__", str(tmp_path / "dse" / "base" / "files.py"))
    with pytest.raises(InputError, match=r"no configuration: neither .*conf nor .*conf has config\.yaml"):
        compose_config([])
    (tmp_path / "dse" / "conf").mkdir(parents=True)
    (tmp_path / "dse" / "conf" / "config.yaml").touch()
    assert conf_folder() == tmp_path / "dse" / "conf"


def test_hydra_is_imported_only_when_a_configuration_is_composed() -> None:
    code = (
        "import sys, dse.studies.config, dse.commands.cli; "
        "print(sorted({'hydra', 'omegaconf'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
