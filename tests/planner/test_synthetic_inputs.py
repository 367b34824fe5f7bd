"""Synthetic profiles and half-and-half clusters are those of the reference, to the last bit."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden_rows import SIZES, row_problem

from dse.base.errors import InputError
from dse.planner.problem.inputs import read_cluster, read_profiles
from dse.planner.problem.inputs.synthetic import write_half_and_half, write_synthetic_profiles
from dse.planner.problem.problem import ProfileKey
from dse.simulation.validation.sources import unpack

FIRST = "DeviceType.A100_tp1_bs16.json"
RECORDED = Path(__file__).parents[3] / "shared" / "golden" / "planner" / "rows.tar.gz"


@pytest.mark.parametrize("row", [1, 3, 4])
def test_generated_files_read_again_are_the_row_s_inputs(row: int, tmp_path: Path) -> None:
    layers, hosts = SIZES[row]
    assert write_synthetic_profiles(tmp_path / "profiles", layers) == 128
    write_half_and_half(tmp_path / "hostfile", tmp_path / "clusterfile.json", 8 * hosts)
    problem = row_problem(row)
    read = read_profiles([tmp_path / "profiles"], FIRST, compat=True)
    assert read.profiles == problem.profiles.profiles
    assert read.parameters_bytes == problem.profiles.parameters_bytes
    assert read.first == problem.profiles.first
    cluster = read_cluster(tmp_path / "hostfile", tmp_path / "clusterfile.json", compat=True)
    assert cluster == problem.cluster


@pytest.mark.skipif(not RECORDED.is_file(), reason=f"{RECORDED} is not here")
def test_generated_profiles_are_the_recorded_folders(tmp_path: Path) -> None:
    unpack(RECORDED, tmp_path)
    recorded = tmp_path / "rows" / "row1"
    write_synthetic_profiles(tmp_path / "made", layers=10)
    write_half_and_half(tmp_path / "hostfile", tmp_path / "clusterfile.json", 32)
    made, expected = (read_profiles([folder], FIRST) for folder in (tmp_path / "made", recorded / "profile"))
    assert (made.profiles, made.parameters_bytes) == (expected.profiles, expected.parameters_bytes)
    cluster = read_cluster(tmp_path / "hostfile", tmp_path / "clusterfile.json")
    assert cluster == read_cluster(recorded / "hostfile", recorded / "clusterfile.json", compat=True)


def test_batches_degrees_and_types_are_choices(tmp_path: Path) -> None:
    assert write_synthetic_profiles(tmp_path, layers=2, batch=4, max_tp=8, slower={"T4": 2.0}) == 12
    read = read_profiles([tmp_path], None)
    assert set(read.profiles) == {ProfileKey("T4", tp, batch) for tp in (1, 2, 4, 8) for batch in (1, 2, 4)}
    assert read.profiles[ProfileKey("T4", 1, 1)].layer_ms == (0.5784034729003906, 0.8201599121093750)
    assert read.profiles[ProfileKey("T4", 8, 4)].layer_ms == (2.949237823486328, 0.67901611328125)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layers": 1}, "layers=1: must be 2 to"),
        ({"layers": 4, "batch": 0}, "batch=0: must be 1 to"),
        ({"layers": 4, "max_tp": -1}, "max_tp=-1: must be 1 to"),
        ({"layers": 4, "slower": {"T4": 0.0}}, r"slower\.T4=0\.0: must be a positive number"),
        ({"layers": 4, "slower": {"T4": float("nan")}}, r"slower\.T4=nan"),
    ],
)
def test_bad_choices(tmp_path: Path, options: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        write_synthetic_profiles(tmp_path / "profiles", **options)
    assert not (tmp_path / "profiles").exists()


@pytest.mark.parametrize(
    ("gpus", "per_host", "message"),
    [
        (12, 4, "gpus=12: must be a multiple of 8"),
        (0, 4, "gpus=0"),
        (32, 16, "gpus_per_host=16: must be 1 to"),
    ],
)
def test_halves_are_whole_hosts(tmp_path: Path, gpus: int, per_host: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        write_half_and_half(tmp_path / "h", tmp_path / "c", gpus, per_host)
