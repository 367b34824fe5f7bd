"""The cluster that a row was measured on, from its columns `gpu`, `gpus`, `gpus_per_node` and `hardware`."""

from __future__ import annotations

import re

from dse.accelerators import Cluster, Tier, accelerator
from dse.measurements.rows import MeasuredRow

# NVLink per NPU and direction (10^9 B/s), latency of a hop (us), NICs per NPU (10^9 B/s): data sheets of DGX
# A100, DGX H100, DGX B200, GB200 and GB300 NVL72; hops of NVLink from nccl-tests.
_LINKS = {
    "v100": (150.0, 2.5, 12.5),
    "a100": (300.0, 2.5, 25.0),
    "h100": (450.0, 0.94, 50.0),
    "h200": (450.0, 0.94, 50.0),
    "h800": (200.0, 0.94, 50.0),
    "h20": (450.0, 0.94, 50.0),
    "b200": (900.0, 0.94, 50.0),
    "b300": (900.0, 0.94, 100.0),
    "gb200": (900.0, 0.94, 50.0),
    "gb300": (900.0, 0.94, 100.0),
    "mi300x": (448.0, 2.5, 50.0),
    "mi325x": (448.0, 2.5, 50.0),
    "mi250x": (200.0, 2.5, 25.0),
}
_NIC_LATENCY_US = 5.0
_NVL72 = ("gb200", "gb300")  # NVLink joins 72, whatever a tray has; runs use a power of two of them


def cluster_of(row: MeasuredRow, assumed: list[str]) -> Cluster:
    """Return the cluster of a row.

    Raises:
        InputError: the accelerator is unknown.
    """
    chip = accelerator(row.gpu, "gpu")
    family = chip.name.split("_")[0]
    link_gbps, latency_us, nic_gbps = _LINKS.get(family, _LINKS["h100"])
    if family not in _LINKS:
        assumed.append(f"links of a DGX H100 for {chip.name}")
    in_node = row.gpus_per_node or 8
    if family in _NVL72:
        in_node = min(row.gpus, 64)
    in_node = min(in_node, row.gpus)
    while row.gpus % in_node:
        in_node -= 1
    tiers = [Tier("nvlink", in_node, link_gbps, latency_us)]
    if row.gpus > in_node:
        stated = nic_gbps_of(row.hardware, in_node)
        if stated is None:
            assumed.append(f"NICs of {nic_gbps * 8:g} Gb/s per GPU")
        tiers.append(Tier("network", row.gpus, stated or nic_gbps, _NIC_LATENCY_US))
    return Cluster(row.hardware or chip.name, chip, tuple(tiers))


def nic_gbps_of(hardware: str, npus_per_node: int) -> float | None:
    """Bandwidth of the network per NPU in 10^9 bytes per second as a description says it, or None.

    >>> nic_gbps_of("Selene DGX A100 80GB, 8x200Gb/s HDR", 8)
    25.0
    >>> nic_gbps_of("512-GPU cluster, 4x HDR = 800 Gb/s a node", 8)
    12.5
    >>> nic_gbps_of("Grand Teton, 400 Gb/s a GPU", 8)
    50.0
    """
    text = hardware.replace("Gbps", "Gb/s").replace("Gbit/s", "Gb/s")
    number = r"(\d+(?:\.\d+)?)\s*Gb/s"
    if found := re.search(number + r"\s*(?:a|per)\s*GPU", text):
        return float(found[1]) / 8
    if found := re.search(r"(\d+)\s*x\s*" + number, text):
        return float(found[1]) * float(found[2]) / 8 / npus_per_node
    if found := re.search(number + r"\s*(?:(?:a|per)\s*)?node", text):
        return float(found[1]) / 8 / npus_per_node
    return None
