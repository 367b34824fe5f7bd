"""The cluster of a measured row has the nodes, links and latencies that conf/system has."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dse.inputs.accelerators import Nics
from dse.inputs.accelerators.systems import cluster_of_conf
from dse.prediction.measured.hardware import cluster_of, nic_gbps_of, nics_of
from dse.prediction.measured.rows import MeasuredRow
from dse.studies.config import compose_config

ROW = MeasuredRow("a", 32, 4096, 32, 2048, "H100", 16, 64, 1.0, gpus_per_node=8)


@pytest.mark.parametrize(
    ("gpu", "system", "gpus"),
    [
        ("V100", "dgx_v100", 32),
        ("A100", "dgx_a100", 16),
        ("H100", "dgx_h100", 16),
        ("H800", "hgx_h800", 16),
        ("B200", "dgx_b200", 16),
        ("GB300", "gb300_nvl72", 144),
        ("VR200", "vera_rubin_nvl72", 144),
        ("MI300X", "mi300x_platform", 16),
        ("MI325X", "mi325x_platform", 16),
        ("Gaudi2", "gaudi2_server", 16),
        ("H100-PCIe", "h100_pcie_server", 16),
        ("Trn2", "trn2_48xlarge", 32),
        ("TPU-v4", "tpu_v4_slice", 16),
        ("TPU-v6e", "tpu_v6e_pod", 32),
    ],
)
def test_links_and_latencies_are_those_of_the_shipped_system(gpu: str, system: str, gpus: int) -> None:
    found = cluster_of(replace(ROW, gpu=gpu, gpus=gpus, gpus_per_node=None), [])
    shipped = compose_config([f"system={system}", "system.nodes=2"]).system.cluster
    assert shipped is not None
    assert found.tiers == shipped.tiers
    assert cluster_of_conf(system, 2).tiers == shipped.tiers


def test_racks_of_72_hold_equal_shares_of_a_run() -> None:
    """512 GPUs are 64 of each of 8 racks, 144 are two whole ones."""
    assumed: list[str] = []
    assert cluster_of(replace(ROW, gpu="GB200", gpus=512), assumed).npus_per_node == 64
    assert "64 GPUs of each rack of 72" in assumed
    assert cluster_of(replace(ROW, gpu="GB200", gpus=144), []).npus_per_node == 72


def test_the_last_node_may_be_filled_in_part() -> None:
    """20 GPUs in nodes of 8 are 8, 8 and 4: not four nodes of 5."""
    found = cluster_of(replace(ROW, gpus=20), [])
    assert [tier.npus for tier in found.tiers] == [8, 20]


def test_nics_of_a_node_are_shared_by_the_gpus_of_a_tray_where_nvlink_joins_a_rack() -> None:
    """4 x 400 Gb/s for the 4 GPUs of a tray are 50 GB/s each."""
    row = replace(ROW, gpu="GB200", gpus=128, gpus_per_node=None, hardware="NVL72, 4x400Gb/s a node")
    assert cluster_of(row, []).tiers[1].bandwidth_gbps == 50.0
    assert cluster_of(replace(row, hardware="NVL72, 1600 Gb/s a node"), []).tiers[1].bandwidth_gbps == 50.0


def test_what_the_row_leaves_open_is_told() -> None:
    assumed: list[str] = []
    cluster_of(replace(ROW, gpus_per_node=None), assumed)
    assert assumed == ["nodes of 8 GPUs", "NICs of 400 Gb/s per GPU"]
    assumed.clear()
    cluster_of(replace(ROW, gpu="MI250X"), assumed)
    assert "links of a DGX H100 for mi250x" in assumed


@pytest.mark.parametrize(
    ("hardware", "expected"),
    [
        ("Selene DGX A100 80GB, 8x200Gb/s HDR", 25.0),
        ("512-GPU cluster, 4x HDR = 800 Gb/s a node", 12.5),
        ("Grand Teton, 400 Gb/s a GPU", 50.0),
        ("2x 200 Gb/s per GPU", 50.0),
        ("2x200 Gb/s/GPU", 50.0),
        ("8x A100, 1x HDR a GPU", 25.0),
        ("4x HDR", 12.5),
        ("8x NDR", 50.0),
        ("1600 Gbps node-node interconnect", 25.0),
        ("DGX-H100", None),
    ],
)
def test_a_description_says_the_bandwidth_of_nics(hardware: str, expected: float | None) -> None:
    assert nic_gbps_of(hardware, 8) == expected


@pytest.mark.parametrize(
    ("hardware", "expected"),
    [
        ("Selene DGX A100 80GB, 8x200Gb/s HDR", 8),
        ("512-GPU cluster, 4x HDR = 800 Gb/s a node", 4),
        ("1 x 100 Gb/s", 1),
        ("8x H100, 400 Gb/s a GPU", None),  # eight GPUs
        ("2x 200 Gb/s a GPU", None),
        ("2x HDR per GPU", None),
        ("8x A100, 1x NDR each GPU", None),
        ("0x HDR", None),
    ],
)
def test_a_description_says_how_many_nics_a_node_has(hardware: str, expected: int | None) -> None:
    assert nics_of(hardware) == expected


def test_gpus_share_nics_as_the_row_or_the_usual_system_says() -> None:
    shared = cluster_of(replace(ROW, hardware="4x HDR = 800 Gb/s a node"), [])
    assert shared.nics == Nics(1, 2, 12.5)
    assert cluster_of(replace(ROW, hardware="400 Gb/s a node"), []).nics == Nics(1, 1, 6.25)
    assert cluster_of(replace(ROW, gpus=8), []).nics is None


def test_a_count_or_a_rate_of_thousands_of_digits_is_none_of_a_machine() -> None:
    many = "9" * 5000
    assert nic_gbps_of(f"DGX A100, {many}x200Gb/s HDR", 8) is None
    assert nics_of(f"DGX A100, {many}x200Gb/s HDR") is None
    assert nic_gbps_of(f"{many} Gb/s a GPU", 8) is None
