"""ASTRA-sim's configuration files: lossless round trips, strict reading."""

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from astrasim_folder import NETWORK, REMOTE_MEMORY, SYSTEM, read_folder, written_folder
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.inputs.systems import (
    CollectiveAlgorithms,
    Dimension,
    RemoteMemory,
    SystemSpec,
    write_system,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written_folder(tmp_path)


REQUIRED = {
    key: SYSTEM[key] for key in ("scheduling-policy", "preferred-dataset-splits", "collective-optimization")
}


def _contents(folder: Path) -> tuple[Any, Any, Any]:
    return (
        json.loads((folder / "system.json").read_text()),
        yaml.safe_load((folder / "network.yml").read_text()),
        json.loads((folder / "remote_memory.json").read_text()),
    )


def test_files_become_a_specification(folder: Path) -> None:
    both = ("direct", "halvingDoubling")
    assert read_folder(
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
    spec = read_folder(folder, remote_memory=False, injection_scale=3.0)
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
    write_system(read_folder(folder), folder / "new" / "copy")
    assert _contents(folder / "new" / "copy") == _contents(folder)
    names = sorted(file.name for file in (folder / "new" / "copy").iterdir())
    assert names == ["network.yml", "remote_memory.json", "system.json"]


def test_a_changed_default_is_written(folder: Path) -> None:
    (folder / "system.json").write_text(json.dumps(REQUIRED))
    spec = replace(read_folder(folder), active_chunks_per_dimension=8, injection_scale=2.0)
    write_system(spec, folder / "copy")
    expected = REQUIRED | {"active-chunks-per-dimension": 8, "endpoint-delay": 10}
    assert json.loads((folder / "copy" / "system.json").read_text()) == expected


def test_whole_numbers_are_written_without_a_fraction(folder: Path) -> None:
    write_system(read_folder(folder), folder / "copy")
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
        read = read_folder(
            Path(name),
            name=spec.name,
            network_model=spec.network_model,
            queues_per_dimension=spec.queues_per_dimension,
            rendezvous_protocol=spec.rendezvous_protocol,
            injection_scale=spec.injection_scale,
        )
    assert read == spec
