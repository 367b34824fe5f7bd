"""The cluster that a row was measured on, from its columns `gpu`, `gpus`, `gpus_per_node` and `hardware`."""

from __future__ import annotations

import re
from dataclasses import replace

from dse.inputs.accelerators import Accelerator, Cluster, Nics, Tier, accelerator, divided_nics
from dse.inputs.accelerators.systems import cluster_of_conf
from dse.prediction.measured.rows import MeasuredRow

# Whose nodes, links and latencies (conf/system) a type of accelerators has, or a family by its first word.
_SYSTEMS = {
    "v100": "dgx_v100",
    "v100_16": "dgx_v100_16",
    "a100": "dgx_a100",
    "a10g": "g5_48xlarge",
    "l4": "g6_48xlarge",
    "t4": "g4dn_metal",
    "l40s": "l40s_server",
    "rtx_4090": "rtx_4090_server",
    "rtx_pro_6000": "rtx_pro_6000_server",
    "h100": "dgx_h100",
    "h100_pcie": "h100_pcie_server",
    "h200": "dgx_h200",
    "h800": "hgx_h800",
    "h20": "dgx_h200",  # as an H200: 900 GB/s of NVLink, 400 Gb/s NICs (NVIDIA H20 data sheet)
    "b200": "dgx_b200",
    "b300": "dgx_b300",
    "gb200": "gb200_nvl72",
    "gb300": "gb300_nvl72",
    "rubin": "vera_rubin_nvl72",
    "mi300x": "mi300x_platform",
    "mi325x": "mi325x_platform",
    "mi355x": "mi355x_platform",
    "gaudi2": "gaudi2_server",
    "gaudi3": "gaudi3_server",
    "trainium1": "trn1_32xlarge",
    "trainium2": "trn2_48xlarge",
    "tpu_v4": "tpu_v4_slice",
    "tpu_v5e": "tpu_v5e_pod",
    "tpu_v5p": "tpu_v5p_slice",
    "tpu_v6e": "tpu_v6e_pod",
    "tpu7x": "tpu7x_slice",
}
_TRAYS = {"gb200": 4, "gb300": 4, "rubin": 4}
"""GPUs of what is called a node where NVLink joins many of them."""


def cluster_of(row: MeasuredRow, assumed: list[str]) -> Cluster:
    """Return the cluster of a row.

    The last node may be filled in part. Where NVLink joins a rack, a run has equal numbers of GPUs of each.

    Raises:
        InputError: the accelerator is unknown.
    """
    name, chip = system_of(row.gpu, assumed)
    found = cluster_of_npus(
        cluster_of_conf(name, 2),
        row.gpus,
        assumed,
        npus_per_node=row.gpus_per_node,
        hardware=row.hardware,
        nic_gbit_per_npu=row.nic_gbit_per_gpu,
    )
    return replace(found, name=row.hardware or chip.name, accelerator=chip)


def system_of(gpu: str, assumed: list[str]) -> tuple[str, Accelerator]:
    """Return the system in conf/system whose nodes and links an accelerator has, and the accelerator.

    Raises:
        InputError: the accelerator is unknown.
    """
    chip = accelerator(gpu, "gpu")
    family = chip.name if chip.name in _SYSTEMS else chip.name.split("_")[0]
    if family not in _SYSTEMS:
        assumed.append(f"links of a DGX H100 for {chip.name}")
    return _SYSTEMS.get(family, _SYSTEMS["h100"]), chip


def cluster_of_npus(
    system: Cluster,
    npus: int,
    assumed: list[str],
    *,
    npus_per_node: int | None = None,
    hardware: str = "",
    nic_gbit_per_npu: float | None = None,
) -> Cluster:
    """Return `npus` accelerators with the links of a system of two nodes.

    `hardware` describes NICs in words, see `nics_of`.
    """
    inside, between = system.tiers
    family = system.accelerator.name.split("_")[0]
    if family in _TRAYS:
        in_node = min(inside.npus, npus)
        while npus % in_node:
            in_node -= 1
        if in_node < min(inside.npus, npus):
            assumed.append(f"{in_node} GPUs of each rack of {inside.npus}")
        sharing = npus_per_node or _TRAYS[family]
    else:
        sharing = npus_per_node or inside.npus
        in_node = min(sharing, npus)
        if npus_per_node is None and npus > sharing:
            assumed.append(f"nodes of {sharing} GPUs")
    tiers = [
        Tier(inside.name, in_node, inside.bandwidth_gbps, inside.latency_us, inside.in_switch_efficiency)
    ]
    if npus > in_node:
        stated = nic_gbit_per_npu / 8 if nic_gbit_per_npu else nic_gbps_of(hardware, sharing)
        if stated is None:
            assumed.append(f"NICs of {between.bandwidth_gbps * 8:g} Gb/s per GPU")
        tiers.append(
            Tier(
                between.name,
                npus,
                stated or between.bandwidth_gbps,
                between.latency_us,
                between.in_switch_efficiency,
            )
        )
    return replace(system, tiers=tuple(tiers), nics=_nics(hardware, system, tiers, sharing))


def _nics(hardware: str, system: Cluster, tiers: list[Tier], sharing: int) -> Nics | None:
    """NICs of a node: as many as the description says, else those of the usual system."""
    if len(tiers) == 1 or tiers[0].npus > sharing:
        return None
    if count := nics_of(hardware):
        return divided_nics(1, count, sharing, tiers[1].bandwidth_gbps * sharing)
    return system.nics and replace(system.nics, bandwidth_gbps=tiers[1].bandwidth_gbps)


_COUNT = r"(?<!\d)(?P<count>\d{1,6})\s*x\s*"  # a longer number counts no adapters
_RATE = r"(?:(?<!\d)(?P<gbit>\d{1,6}(?:\.\d{1,6})?)\s*(?:Gb/s|Gbps|Gbit/s)|(?P<speed>[EHNX]DR)\b)"
_PER_GPU = r"\s*(?:a|per|each|/)\s*GPU"
_GBIT_PER_S = {"EDR": 100.0, "HDR": 200.0, "NDR": 400.0, "XDR": 800.0}  # of InfiniBand with four lanes


def nics_of(hardware: str) -> int | None:
    """How many NICs a node has as a description says it, or None.

    >>> nics_of("512-GPU cluster, 4x HDR = 800 Gb/s a node")
    4
    >>> nics_of("8x B200, 2x 200 Gb/s a GPU")
    """
    found = re.search(rf"{_COUNT}{_RATE}(?!{_PER_GPU})", hardware)
    return (int(found["count"]) or None) if found else None


def nic_gbps_of(hardware: str, npus_per_node: int) -> float | None:
    """Bandwidth of the network per NPU in 10^9 bytes per second as a description says it, or None.

    >>> nic_gbps_of("Selene DGX A100 80GB, 8x200Gb/s HDR", 8)
    25.0
    >>> nic_gbps_of("4x HDR", 8), nic_gbps_of("800 Gb/s a node", 8)
    (12.5, 12.5)
    >>> nic_gbps_of("Grand Teton, 400 Gb/s a GPU", 8), nic_gbps_of("2x HDR per GPU", 8)
    (50.0, 50.0)
    """
    if found := re.search(rf"(?:{_COUNT})?{_RATE}{_PER_GPU}", hardware):
        return int(found["count"] or 1) * _gbit_per_s(found) / 8
    if found := re.search(rf"{_COUNT}{_RATE}", hardware):
        return int(found["count"]) * _gbit_per_s(found) / 8 / npus_per_node
    if found := re.search(rf"{_RATE}\s*(?:(?:a|per|each|/)\s*)?node", hardware):
        return _gbit_per_s(found) / 8 / npus_per_node
    return None


def _gbit_per_s(found: re.Match[str]) -> float:
    return float(found["gbit"]) if found["gbit"] else _GBIT_PER_S[found["speed"]]


def npus_per_host(cluster: Cluster) -> int:
    """How many accelerators one host has: a tray where NVLink joins a rack, else a node."""
    tray = _TRAYS.get(cluster.accelerator.name.split("_")[0])
    return cluster.npus_per_node if tray is None else min(tray, cluster.npus_per_node)


# Whose runs a source published: the framework, and whether it reduces gradients during the backward pass.
_SOURCES = (
    (r"vtrain|deepspeed|sc21-tab2", "megatron-deepspeed", False),
    (r"mosaic|foundry|\bmpt", "llm-foundry", True),
    (r"titan|accelerate", "torchtitan", True),
    (r"nanotron", "nanotron", True),
    (r"maxtext|tpu-recipes", "maxtext", True),
    (r"megatron-?bridge", "megatron-bridge", True),
    (r"nemo|dgxc|mlperf", "nemo", True),
    (r"korthikanti|sc21|mt-?nlg|megatron ?readme|megatronreadme|megatron-?lm", "megatron-lm", False),
)
_PUBLISHED_RECIPES = r"nemo|megatron-?bridge|dgxc|megatron-?core"


def framework_of(row: MeasuredRow) -> tuple[str, bool]:
    """Return the framework, and whether gradients are reduced during the backward pass."""
    overlaps = not re.search(r"no overlap", f"{row.notes} {row.field_provenance}", re.IGNORECASE)
    says_early = "overlap-grad-reduce" in row.notes
    for pattern, framework, reduces_early in _SOURCES:
        if re.search(pattern, row.source, re.IGNORECASE):
            if framework == "torchtitan" and re.search(
                r"(?<!no )compile", f"{row.id} {row.notes}", re.IGNORECASE
            ):
                framework = "torchtitan-compiled"
            return framework, says_early or (reduces_early and overlaps)
    return "megatron-core", overlaps


def overlaps_tp(row: MeasuredRow) -> bool:
    """Whether tensor-parallel collectives hide behind products: in NVIDIA's recipes, or by the notes."""
    said = f"{row.id} {row.notes} {row.field_provenance}"
    if re.search(r"no overlap", said, re.IGNORECASE):
        return False
    if re.search(r"tp-comm-overlap|async", said, re.IGNORECASE):
        return True
    return re.search(_PUBLISHED_RECIPES, row.source, re.IGNORECASE) is not None
