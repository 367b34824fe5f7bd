"""ASTRA-sim's configuration files: lossless round trips, strict reading."""

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.inputs.systems import (
    CollectiveAlgorithms,
    Dimension,
    RemoteMemory,
    SystemSpec,
    read_system,
    write_system,
)

SYSTEM: dict[str, Any] = {
    "scheduling-policy": "LIFO",
    "endpoint-delay": 10,
    "active-chunks-per-dimension": 4,
    "preferred-dataset-splits": 10,
    "collective-optimization": "localBWAware",
    "all-reduce-implementation": ["direct", "halvingDoubling"],
    "all-gather-implementation": ["direct", "halvingDoubling"],
    "reduce-scatter-implementation": ["direct", "halvingDoubling"],
    "all-to-all-implementation": ["direct"],
    "peak-perf": 900,
    "local-mem-bw": 50.5,
    "roofline-enabled": 1,
    "track-local-mem": 1,
    "replay-only": 0,
    "trace-enabled": 1,
    "local-mem-trace-filename": "memory",
    "model-shared-bus": 0,
    "boost-mode": 0,
    "intra-dimension-scheduling": "FIFO",
    "inter-dimension-scheduling": "baseline",
}
REQUIRED = {
    key: SYSTEM[key] for key in ("scheduling-policy", "preferred-dataset-splits", "collective-optimization")
}
NETWORK = (
    "topology: [FullyConnected, Switch]\nnpus_count: [8, 2]\nbandwidth: [128.5714, 25]\nlatency: [20, 0.5]\n"
)
REMOTE_MEMORY = {"memory-type": "MEMORY_POOL", "remote-mem-latency": 100, "remote-mem-bw": 50}


def _read(folder: Path, *, remote_memory: bool = True, **options: Any) -> SystemSpec:
    return read_system(
        folder / "system.json",
        folder / "network.yml",
        folder / "remote_memory.json" if remote_memory else None,
        **({"name": "any", "network_model": "congestion_unaware"} | options),
    )


def _contents(folder: Path) -> tuple[Any, Any, Any]:
    return (
        json.loads((folder / "system.json").read_text()),
        yaml.safe_load((folder / "network.yml").read_text()),
        json.loads((folder / "remote_memory.json").read_text()),
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "system.json").write_text(json.dumps(SYSTEM))
    (tmp_path / "network.yml").write_text(NETWORK)
    (tmp_path / "remote_memory.json").write_text(json.dumps(REMOTE_MEMORY))
    return tmp_path


def _set(folder: Path, **changes: Any) -> None:
    """Change keys of system.json; None removes one."""
    content = SYSTEM | {key.replace("_", "-"): value for key, value in changes.items()}
    kept = {key: value for key, value in content.items() if value is not None}
    (folder / "system.json").write_text(json.dumps(kept))


def test_files_become_a_specification(folder: Path) -> None:
    both = ("direct", "halvingDoubling")
    assert _read(
        folder, name="dgx", queues_per_dimension=2, rendezvous_protocol=True, injection_scale=1.5
    ) == (
        SystemSpec(
            name="dgx",
            network=(Dimension("FullyConnected", 8, 128.5714, 20.0), Dimension("Switch", 2, 25.0, 0.5)),
            network_model="congestion_unaware",
            collectives=CollectiveAlgorithms(both, both, both, ("direct",)),
            peak_tflops=900,
            memory_bandwidth_gbps=50.5,
            scheduling_policy="LIFO",
            endpoint_delay_ns=10,
            active_chunks_per_dimension=4,
            preferred_dataset_splits=10,
            collective_optimization="localBWAware",
            roofline_enabled=True,
            track_local_memory=True,
            replay_only=False,
            trace_enabled=True,
            local_memory_trace_filename="memory",
            model_shared_bus=False,
            queues_per_dimension=2,
            rendezvous_protocol=True,
            injection_scale=1.5,
            remote_memory=RemoteMemory("MEMORY_POOL", 100, 50),
            inert=(
                ("boost-mode", 0),
                ("intra-dimension-scheduling", "FIFO"),
                ("inter-dimension-scheduling", "baseline"),
            ),
        )
    )


def test_absent_keys_have_the_defaults_of_the_reference(folder: Path) -> None:
    (folder / "system.json").write_text(json.dumps(REQUIRED))
    spec = _read(folder, remote_memory=False, injection_scale=3.0)
    assert spec.endpoint_delay_ns == 10
    assert spec.scaled_endpoint_delay_ns == 10  # the reference scales only a delay that the file states
    assert spec.active_chunks_per_dimension == 1
    assert spec.collectives == CollectiveAlgorithms((), (), (), ())
    assert (spec.peak_tflops, spec.memory_bandwidth_gbps) == (0, 0)
    assert not any(
        [
            spec.roofline_enabled,
            spec.track_local_memory,
            spec.replay_only,
            spec.trace_enabled,
            spec.model_shared_bus,
        ]
    )
    assert spec.local_memory_trace_filename == "local_mem_trace"
    assert spec.remote_memory == RemoteMemory("NO_MEMORY_EXPANSION", 0, 0)


@pytest.mark.parametrize("system", [SYSTEM, REQUIRED, REQUIRED | {"peak-perf": 1.5, "L": 0.25, "o": 3}])
@pytest.mark.parametrize(
    "remote_memory",
    [
        REMOTE_MEMORY,
        {"memory-type": "NO_MEMORY_EXPANSION"},
        {"memory-type": "NO_MEMORY_EXPANSION", "remote-mem-bw": 0, "num-nodes": 2, "num-npus-per-node": 8},
    ],
)
def test_written_files_have_the_content_of_those_read(
    folder: Path, system: dict[str, Any], remote_memory: dict[str, Any]
) -> None:
    (folder / "system.json").write_text(json.dumps(system))
    (folder / "remote_memory.json").write_text(json.dumps(remote_memory))
    write_system(_read(folder), folder / "new" / "copy")
    assert _contents(folder / "new" / "copy") == _contents(folder)
    names = sorted(file.name for file in (folder / "new" / "copy").iterdir())
    assert names == ["network.yml", "remote_memory.json", "system.json"]


def test_a_changed_default_is_written(folder: Path) -> None:
    (folder / "system.json").write_text(json.dumps(REQUIRED))
    spec = replace(_read(folder), active_chunks_per_dimension=8, injection_scale=2.0)
    write_system(spec, folder / "copy")
    expected = REQUIRED | {"active-chunks-per-dimension": 8, "endpoint-delay": 10}
    assert json.loads((folder / "copy" / "system.json").read_text()) == expected


def test_whole_numbers_are_written_without_a_fraction(folder: Path) -> None:
    write_system(_read(folder), folder / "copy")
    assert (folder / "copy" / "network.yml").read_text() == NETWORK


NAMES = st.sampled_from(["ring", "direct", "direct7", "halvingDoubling", "doubleBinaryTree", "oneRing"])
POSITIVE = st.floats(min_value=0, max_value=1e15, exclude_min=True)


@st.composite
def _systems(draw: st.DrawFn) -> SystemSpec:
    counts = st.integers(1, 2**31 - 1)
    dimension = st.builds(
        Dimension,
        st.sampled_from(["Ring", "FullyConnected", "Switch"]),
        st.integers(2, 40),
        POSITIVE,
        POSITIVE,
    )
    network = tuple(draw(st.lists(dimension, min_size=1, max_size=4)))
    names = st.lists(NAMES, max_size=len(network)).map(tuple)
    inert = {
        "boost-mode": st.integers(),
        "intra-dimension-scheduling": st.text(max_size=5),
        "G": st.floats(allow_nan=False, allow_infinity=False),
    }
    return SystemSpec(
        name="any",
        network=network,
        collectives=draw(st.builds(CollectiveAlgorithms, names, names, names, names)),
        peak_tflops=draw(POSITIVE),
        memory_bandwidth_gbps=draw(POSITIVE),
        network_model=draw(st.sampled_from(["congestion_unaware", "congestion_aware"])),
        scheduling_policy=draw(st.sampled_from(["LIFO", "FIFO", "EXPLICIT"])),
        endpoint_delay_ns=draw(st.integers(0, 1000)),
        active_chunks_per_dimension=draw(counts),
        preferred_dataset_splits=draw(st.integers(1, 2**16)),
        collective_optimization=draw(st.sampled_from(["baseline", "localBWAware"])),
        roofline_enabled=draw(st.booleans()),
        track_local_memory=draw(st.booleans()),
        replay_only=draw(st.booleans()),
        trace_enabled=draw(st.booleans()),
        local_memory_trace_filename=draw(st.text(min_size=1, max_size=5)),
        queues_per_dimension=draw(st.integers(1, 4)),
        rendezvous_protocol=draw(st.booleans()),
        injection_scale=draw(st.sampled_from([1.0, 2.0, 0.5])),
        remote_memory=draw(
            st.builds(
                RemoteMemory,
                st.sampled_from(["NO_MEMORY_EXPANSION", "PER_NPU_MEMORY_EXPANSION", "MEMORY_POOL"]),
                counts,
                counts,
                st.none() | counts,
                st.none() | counts,
            )
        ),
        inert=tuple(draw(st.fixed_dictionaries({}, optional=inert)).items()),
        omitted_keys=draw(
            st.sampled_from([(), ("endpoint-delay", "track-local-mem", "all-reduce-implementation")])
        ),
    )


@settings(max_examples=50, deadline=None)
@given(_systems())
def test_every_system_survives_writing_and_reading(spec: SystemSpec) -> None:
    with tempfile.TemporaryDirectory() as name:
        write_system(spec, Path(name))
        read = _read(
            Path(name),
            name=spec.name,
            network_model=spec.network_model,
            queues_per_dimension=spec.queues_per_dimension,
            rendezvous_protocol=spec.rendezvous_protocol,
            injection_scale=spec.injection_scale,
        )
    assert read == spec


def test_a_fractional_endpoint_delay_is_truncated(folder: Path) -> None:
    _set(folder, endpoint_delay=10.9)
    assert _read(folder).endpoint_delay_ns == 10


def test_a_switch_is_on_if_it_is_not_zero(folder: Path) -> None:
    _set(folder, roofline_enabled=2, track_local_mem=0.0)
    spec = _read(folder)
    assert (spec.roofline_enabled, spec.track_local_memory) == (True, False)


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize(
    "key", ["roofline-enabled", "replay-only", "track-local-mem", "trace-enabled", "model-shared-bus"]
)
def test_a_boolean_switch_is_refused_because_the_reference_takes_false_as_on(
    folder: Path, key: str, value: bool
) -> None:
    _set(folder, **{key: value})
    with pytest.raises(InputError) as caught:
        _read(folder)
    assert str(caught.value) == (
        f"{folder / 'system.json'}: {key} is {json.dumps(value)}; it must be 0 (off) or 1 (on); "
        "ASTRA-sim takes even the boolean false as on"
    )


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("scheduling-policy", None, "scheduling-policy is missing; it is required"),
        ("preferred-dataset-splits", None, "preferred-dataset-splits is missing; it is required"),
        ("collective-optimization", None, "collective-optimization is missing; it is required"),
        ("scheduling-policy", 1, "scheduling-policy is 1; it must be a string"),
        ("scheduling-policy", "SJF", "scheduling-policy is 'SJF'; allowed are LIFO, FIFO, EXPLICIT"),
        ("endpoint-delay", "10", 'endpoint-delay is "10"; it must be a number'),
        ("endpoint-delay", -3, "endpoint-delay is -3; it must be an integer from 0"),
        ("active-chunks-per-dimension", 1.5, "active-chunks-per-dimension is 1.5; it must be an integer"),
        ("active-chunks-per-dimension", 0, "active-chunks-per-dimension is 0; it must be an integer from 1"),
        ("preferred-dataset-splits", 0, "preferred-dataset-splits is 0; it must be an integer from 1"),
        ("all-reduce-implementation", "ring", 'all-reduce-implementation is "ring"; it must be a list'),
        ("all-reduce-implementation", ["ring"] * 3, "all-reduce-implementation lists 3 algorithms for 2"),
        ("all-to-all-implementation", ["rign"], "all-to-all-implementation.0 is 'rign'; allowed are"),
        (
            *("all-gather-implementation-chakra", ["x"]),
            "all-gather-implementation-chakra is not supported: astra-sim-2025-04 cannot run it; name an "
            "algorithm such as ring in all-gather-implementation, or write all-gather-implementation-custom",
        ),
        (
            *("all-reduce-implementation-custom", ["a", "b"]),
            'all-reduce-implementation-custom is ["a", "b"]; it must be a list of one path prefix, such as',
        ),
        (
            *("per-node-custom-implementation", ""),
            "per-node-custom-implementation is empty; it must be the path of a YAML file",
        ),
        ("peak-perf", -1, "peak-perf is -1; it must be a number 0 or greater"),
        ("peak-perf", None, "peak-perf is missing, so 0; it must be greater than 0 unless the roofline"),
        ("local-mem-bw", 0, "local-mem-bw is 0; it must be greater than 0 unless the roofline"),
        ("model-shared-bus", 1, "model-shared-bus is on; the bus model is not supported, set it to 0"),
        ("local-mem-trace-filename", 1, "local-mem-trace-filename is 1; it must be a string"),
        ("boost-mode", [1], "boost-mode is [1]; it must be a string or a number"),
        ("peak-pref", 1, "unknown key peak-pref; did you mean 'peak-perf'?"),
        ("zzz", 1, "unknown key zzz; known keys are scheduling-policy, endpoint-delay"),
    ],
)
def test_a_bad_key_of_system_json_is_named_with_its_file(
    folder: Path, key: str, value: Any, problem: str
) -> None:
    _set(folder, **{key: value})
    with pytest.raises(InputError) as caught:
        _read(folder)
    assert str(caught.value).startswith(f"{folder / 'system.json'}: {problem}")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("latency: [20, 0.5]\n", "", "latency is missing; it must be a list"),
        ("[8, 2]", "8", "npus_count is 8; it must be a list"),
        ("[8, 2]", "[8]", "npus_count has 1 entries and topology 2; all lists must have one entry"),
        ("[20, 0.5]", "[20, 0.5, 1]", "latency has 3 entries and topology 2"),
        ("[8, 2]", "[8, 1]", "npus_count.1 is 1; it must be an integer from 2"),
        ("[8, 2]", "[8, 2.5]", "npus_count.1 is '2.5'; it must be an integer"),
        ("[8, 2]", "[8, [2]]", "npus_count.1 is ['2']; it must be an integer"),
        ("128.5714", "-5", "bandwidth.0 is -5; it must be a number greater than 0"),
        ("128.5714", ".nan", "bandwidth.0 is '.nan'; it must be a number"),
        ("128.5714", "1_0", "bandwidth.0 is '1_0'; it must be a number"),
        ("[20, 0.5]", "[20, -0.5]", "latency.1 is -0.5; it must be a number 0 or greater"),
        ("Switch", "Torus", "topology.1 is 'Torus'; allowed are Ring, FullyConnected, Switch"),
        ("topology: [FullyConnected, Switch]", "topology: []", "npus_count has 2 entries and topology 0"),
        (NETWORK, "topology: []\nnpus_count: []\nbandwidth: []\nlatency: []\n", "topology is empty"),
        ("npus_count", "npu_count", "unknown key npu_count; did you mean 'npus_count'?"),
        ("latency:", "latency: [1, 2]\nlatency:", "latency occurs twice"),
        ("latency: [20, 0.5]", "latency: [20,", "malformed YAML at line 5"),
        (NETWORK, "- 1\n", "malformed YAML at line 1, column 1: expected a key"),
        (NETWORK, "", "must hold a YAML mapping"),
    ],
)
def test_a_bad_key_of_network_yml_is_named_with_its_file(
    folder: Path, old: str, new: str, problem: str
) -> None:
    (folder / "network.yml").write_text(NETWORK.replace(old, new))
    with pytest.raises(InputError) as caught:
        _read(folder)
    assert str(caught.value).startswith(f"{folder / 'network.yml'}: {problem}")


def test_numbers_in_yaml_are_read_as_cpp_does(folder: Path) -> None:
    (folder / "network.yml").write_text(NETWORK.replace("25", "1e3").replace("[8, 2]", "['8', 02]"))
    assert _read(folder).network[1] == Dimension("Switch", 2, 1000.0, 0.5)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({"remote-mem-bw": 1}, "memory-type is missing; it is required"),
        (
            {"memory-type": "PER_NODE_MEMORY_EXPANSION"},
            "memory-type is PER_NODE_MEMORY_EXPANSION, which is not",
        ),
        ({"memory-type": "MEMORY_POOL"}, "remote-mem-bw is 0; it must be an integer from 1"),
        (
            REMOTE_MEMORY | {"remote-mem-latency": -1},
            "remote-mem-latency is -1; it must be an integer from 0",
        ),
        (REMOTE_MEMORY | {"remote-mem-latency": 0.5}, "remote-mem-latency is 0.5; it must be an integer"),
        (REMOTE_MEMORY | {"memory_type": ""}, "unknown key memory_type; did you mean 'memory-type'?"),
    ],
)
def test_a_bad_key_of_remote_memory_json_is_named_with_its_file(
    folder: Path, content: dict[str, Any], problem: str
) -> None:
    (folder / "remote_memory.json").write_text(json.dumps(content))
    with pytest.raises(InputError) as caught:
        _read(folder)
    assert str(caught.value).startswith(f"{folder / 'remote_memory.json'}: {problem}")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "malformed JSON at line 1, column 1"),
        ('{"peak-perf": 1,}', "malformed JSON at line 1"),
        ("[]", "holds a list; it must hold a JSON object"),
        ('{"peak-perf": 1, "peak-perf": 2}', "peak-perf occurs twice"),
        ('{"peak-perf": NaN}', "NaN (line 1, column 15) is not a JSON number"),
        ('{"peak-perf": -Infinity}', "-Infinity (line 1, column 15) is not a JSON number"),
        ("[" * 100_000, "malformed JSON"),
    ],
)
def test_a_malformed_json_file_is_named(folder: Path, text: str, problem: str) -> None:
    (folder / "system.json").write_text(text)
    with pytest.raises(InputError) as caught:
        _read(folder)
    assert str(caught.value).startswith(f"{folder / 'system.json'}: {problem}")


@pytest.mark.parametrize("file", ["system.json", "network.yml", "remote_memory.json"])
def test_an_unreadable_file_is_named(folder: Path, file: str) -> None:
    (folder / file).write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=rf"{file}: is not UTF-8 text \(byte 0\)"):
        _read(folder)
    (folder / file).unlink()
    with pytest.raises(InputError, match=rf"{file}: cannot be read: No such file"):
        _read(folder)


def test_a_folder_that_cannot_be_made_is_named(folder: Path) -> None:
    with pytest.raises(InputError, match=r"cannot write .*system\.json: File exists"):
        write_system(_read(folder), folder / "system.json")


def test_a_file_that_cannot_be_written_is_named_and_leaves_nothing(folder: Path) -> None:
    (folder / "copy" / "network.yml").mkdir(parents=True)
    with pytest.raises(InputError, match=r"cannot write .*network\.yml: Is a directory"):
        write_system(_read(folder), folder / "copy")
    assert not list((folder / "copy").glob(".*"))
