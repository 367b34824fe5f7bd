"""ASTRA-sim's configuration files: each bad key is named with its file, numbers are read as it reads them."""

import json
from pathlib import Path
from typing import Any

import pytest
from astrasim_folder import NETWORK, REMOTE_MEMORY, SYSTEM, read_folder, written_folder

from dse.base.errors import InputError
from dse.inputs.systems import (
    Dimension,
    write_system,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written_folder(tmp_path)


def _set(folder: Path, **changes: Any) -> None:
    """Change keys of system.json; None removes one."""
    content = SYSTEM | {key.replace("_", "-"): value for key, value in changes.items()}
    kept = {key: value for key, value in content.items() if value is not None}
    (folder / "system.json").write_text(json.dumps(kept))


def test_a_fractional_endpoint_delay_is_truncated(folder: Path) -> None:
    _set(folder, endpoint_delay=10.9)
    assert read_folder(folder).endpoint_delay_ns == 10


def test_a_switch_is_on_if_it_is_not_zero(folder: Path) -> None:
    _set(folder, roofline_enabled=2, track_local_mem=0.0)
    spec = read_folder(folder)
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
        read_folder(folder)
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
        read_folder(folder)
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
        read_folder(folder)
    assert str(caught.value).startswith(f"{folder / 'network.yml'}: {problem}")


def test_numbers_in_yaml_are_read_as_cpp_does(folder: Path) -> None:
    (folder / "network.yml").write_text(NETWORK.replace("25", "1e3").replace("[8, 2]", "['8', 02]"))
    assert read_folder(folder).network[1] == Dimension("Switch", 2, 1000.0, 0.5)


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
        read_folder(folder)
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
        read_folder(folder)
    assert str(caught.value).startswith(f"{folder / 'system.json'}: {problem}")


@pytest.mark.parametrize("file", ["system.json", "network.yml", "remote_memory.json"])
def test_an_unreadable_file_is_named(folder: Path, file: str) -> None:
    (folder / file).write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=rf"{file}: is not UTF-8 text \(byte 0\)"):
        read_folder(folder)
    (folder / file).unlink()
    with pytest.raises(InputError, match=rf"{file}: cannot be read: No such file"):
        read_folder(folder)


def test_a_folder_that_cannot_be_made_is_named(folder: Path) -> None:
    with pytest.raises(InputError, match=r"cannot write .*system\.json: File exists"):
        write_system(read_folder(folder), folder / "system.json")


def test_a_file_that_cannot_be_written_is_named_and_leaves_nothing(folder: Path) -> None:
    (folder / "copy" / "network.yml").mkdir(parents=True)
    with pytest.raises(InputError, match=r"cannot write .*network\.yml: Is a directory"):
        write_system(read_folder(folder), folder / "copy")
    assert not list((folder / "copy").glob(".*"))
