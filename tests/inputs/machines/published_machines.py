"""Six machines that makers have published, as XML in NCCL's form, written here from these facts.

* DGX-1 with V100 (NVIDIA, DGX-1 with Tesla V100 system architecture, 2017): a hybrid cube mesh, 6 NVLinks a
  GPU; four PCIe switches with two GPUs and a 100 Gb/s NIC each; two CPUs.
* DGX-2 (NVIDIA NVSwitch technical overview, 2018): two boards of 8 V100 and 6 NVSwitches; one NVLink from
  each GPU to each switch of its board; 8 from each switch to its partner, 2.4 TB/s in both directions.
* DGX A100 (NVIDIA DGX A100 system architecture, 2020): 8 A100, 6 NVSwitches, 2 NVLinks to each of them.
* DGX H100 (NVIDIA H100 architecture, 2022): 8 H100, 4 NVSwitches, 18 NVLinks a GPU: 5, 4, 4 and 5.
* MI300X platform (AMD data sheet, 2023): 8 GPUs, an Infinity Fabric link of 64 GB/s between each two.
* A server with four A100 PCIe (NVIDIA A100 PCIe product brief, 2021): NVLink bridges join pairs by 12 links.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

CUBE_MESH = {
    (0, 1): 1,
    (0, 2): 1,
    (0, 3): 2,
    (1, 2): 2,
    (1, 3): 1,
    (2, 3): 2,
    (4, 5): 1,
    (4, 6): 1,
    (4, 7): 2,
    (5, 6): 2,
    (5, 7): 1,
    (6, 7): 2,
    (0, 4): 2,
    (1, 5): 2,
    (2, 6): 1,
    (3, 7): 1,
}
"""NVLinks between two GPUs of a DGX-1 with V100."""

Links = Mapping[tuple[int, int], int]


def _bus(gpu: int) -> str:
    return f"0000:{16 + gpu:02x}:00.0"


def _switch(number: int) -> str:
    return f"0000:{200 + number:02x}:00.0"


def _xml(
    gpus: int,
    pci: tuple[str, str],
    sm: str,
    speed: str,
    pairs: Links,
    switched: Links,
    *,
    per_bridge: int = 2,
    nics: int = 0,
    mbit: int = 0,
    fabric: str = "nvlink",
    kind: str = "0x030200",
) -> str:
    """A system of two CPUs, bridges with GPUs and NICs; `switched` are links by GPU and switch."""
    both = {**pairs, **{(other, one): count for (one, other), count in pairs.items()}}
    lines = ['<system version="1">']
    for cpu in range(2):
        lines.append(f'<cpu numaid="{cpu}" arch="x86_64" vendor="GenuineIntel">')
        for bridge in range(cpu * gpus // per_bridge // 2, (cpu + 1) * gpus // per_bridge // 2):
            lines.append(
                f'<pci busid="0000:{bridge + 1:02x}:00.0" class="0x060400" link_speed="{speed}" '
                'link_width="16">'
            )
            for gpu in range(bridge * per_bridge, (bridge + 1) * per_bridge):
                lines.append(
                    f'<pci busid="{_bus(gpu)}" class="{kind}" vendor="{pci[0]}" device="{pci[1]}" '
                    f'link_speed="{speed}" link_width="16"><gpu dev="{gpu}" sm="{sm}" rank="{gpu}" gdr="1">'
                )
                lines += [
                    f'<{fabric} target="{_bus(to)}" count="{count}" tclass="{kind}"/>'
                    for (one, to), count in sorted(both.items())
                    if one == gpu
                ]
                lines += [
                    f'<{fabric} target="{_switch(to)}" count="{count}" tclass="0x068000"/>'
                    for (one, to), count in sorted(switched.items())
                    if one == gpu
                ]
                lines.append("</gpu></pci>")
            own = range(bridge * nics * per_bridge // gpus, (bridge + 1) * nics * per_bridge // gpus)
            lines += [
                f'<pci busid="0000:{100 + nic:02x}:00.0" class="0x020700" vendor="0x15b3" '
                f'link_speed="{speed}" link_width="16"><nic><net name="mlx5_{nic}" dev="{nic}" '
                f'speed="{mbit}" port="1" gdr="1"/></nic></pci>'
                for nic in own
            ]
            lines.append("</pci>")
        lines.append("</cpu>")
    return "\n".join([*lines, "</system>"])


def _to_switches(gpus: Sequence[int], counts: Mapping[int, int]) -> dict[tuple[int, int], int]:
    return {(gpu, switch): count for gpu in gpus for switch, count in counts.items()}


NVIDIA = "0x10de"


def dgx1() -> str:
    """DGX-1 with V100 of 32 GB."""
    return _xml(8, (NVIDIA, "0x1db5"), "70", "8.0 GT/s PCIe", CUBE_MESH, {}, nics=4, mbit=100_000)


def dgx2() -> str:
    """DGX-2."""
    boards = {
        **_to_switches(range(8), dict.fromkeys(range(6), 1)),
        **_to_switches(range(8, 16), dict.fromkeys(range(6, 12), 1)),
    }
    return _xml(16, (NVIDIA, "0x1db8"), "70", "8.0 GT/s PCIe", {}, boards, nics=8, mbit=100_000)


def dgx_a100() -> str:
    """DGX A100 with 80 GB a GPU."""
    switched = _to_switches(range(8), dict.fromkeys(range(6), 2))
    return _xml(8, (NVIDIA, "0x20b2"), "80", "16.0 GT/s PCIe", {}, switched, nics=8, mbit=200_000)


def dgx_h100() -> str:
    """DGX H100."""
    switched = _to_switches(range(8), {0: 5, 1: 4, 2: 4, 3: 5})
    return _xml(8, (NVIDIA, "0x2330"), "90", "32.0 GT/s PCIe", {}, switched, nics=8, mbit=400_000)


def mi300x() -> str:
    """MI300X platform."""
    pairs = {(one, other): 1 for one in range(8) for other in range(one + 1, 8)}
    return _xml(
        8,
        ("0x1002", "0x74a1"),
        "94",
        "32.0 GT/s PCIe",
        pairs,
        {},
        per_bridge=1,
        fabric="xgmi",
        kind="0x120000",
    )


def a100_pcie() -> str:
    """Four A100 PCIe of 80 GB in bridged pairs."""
    return _xml(4, (NVIDIA, "0x20b5"), "80", "16.0 GT/s PCIe", {(0, 1): 12, (2, 3): 12}, {})
