"""Published facts that documents leave out: rates of links by generation, types of GPUs by PCI numbers."""

from __future__ import annotations

import re
from fractions import Fraction

NVLINKS = {
    "sm_60": (20, 4),
    "sm_70": (25, 6),
    "sm_80": (25, 12),
    "sm_90": (25, 18),
    "sm_100": (50, 18),
    "sm_103": (50, 18),
}
"""GB/s of one NVLink in one direction and the most links of a GPU: NVIDIA's white papers of P100 to B200."""

_ARCHITECTURES = {
    "sm_70": ("v100_16", "v100_32"),
    "sm_80": ("a100_40", "a100_80"),
    "sm_90": ("h100_sxm", "h100_hbm2e", "h100_nvl", "h100_pcie", "h200", "h20", "h800"),
    "sm_100": ("b200", "gb200"),
    "sm_103": ("b300", "gb300"),
}
XGMI_GBPS: dict[str, Fraction | int] = {"mi300x": 64, "mi325x": 64, "mi355x": Fraction("76.8"), "mi250x": 50}
"""GB/s of one Infinity Fabric link in one direction: AMD's data sheets of the platforms."""

_PCI = {
    "10de:1db1": "v100_16",
    "10de:1db5": "v100_32",
    "10de:1db8": "v100_32",
    "10de:1eb8": "t4",
    "10de:20b0": "a100_40",
    "10de:20b2": "a100_80",
    "10de:20b5": "a100_80",
    "10de:20f1": "a100_40",
    "10de:2237": "a10g",
    "10de:2321": "h100_nvl",
    "10de:2324": "h800",
    "10de:2329": "h20",
    "10de:2330": "h100_sxm",
    "10de:2331": "h100_pcie",
    "10de:2335": "h200",
    "10de:2684": "rtx_4090",
    "10de:26b9": "l40s",
    "10de:27b8": "l4",
    "10de:2901": "b200",
    "1002:74a1": "mi300x",
    "1002:74a5": "mi325x",
}
"""Types of conf/accelerator by vendor and device, from the public registry of PCI numbers."""

_PRODUCTS = {
    r"V100-SXM[23]-16GB": "v100_16",
    r"V100-SXM[23]-32GB": "v100_32",
    r"A100-SXM4-40GB|A100-PCIE-40GB": "a100_40",
    r"A100-SXM4-80GB|A100 80GB PCIe": "a100_80",
    r"H100 80GB HBM3": "h100_sxm",
    r"H100 PCIe": "h100_pcie",
    r"H100 NVL": "h100_nvl",
    r"H200\b": "h200",
    r"H800\b": "h800",
    r"H20\b": "h20",
    r"GB200\b": "gb200",
    r"GB300\b": "gb300",
    r"\bB300\b": "b300",
    r"\bB200\b": "b200",
    r"L40S\b": "l40s",
    r"\bL4\b": "l4",
    r"A10G\b": "a10g",
    r"Tesla T4\b": "t4",
    r"MI300X\b": "mi300x",
    r"MI325X\b": "mi325x",
    r"MI355X\b": "mi355x",
}
PRODUCT_TYPES = frozenset(_PRODUCTS.values())
"""Types of conf/accelerator that a name of a product tells."""

_TRANSFERS = re.compile(r"\s{0,9}(?P<rate>[0-9]{1,3}(\.[0-9]{1,3})?)\s{0,9}GT/s")


def accelerator_of_pci(vendor: str, device: str) -> str:
    """Return the type of conf/accelerator of hexadecimal PCI numbers such as 10de and 2330; "" if unknown."""
    key = ":".join(text.lower().removeprefix("0x") for text in (vendor, device))
    return _PCI.get(key, "")


def accelerator_of_product(text: str) -> str:
    """Return the type of conf/accelerator of a name such as NVIDIA H100 80GB HBM3; "" if unknown."""
    return next((name for words, name in _PRODUCTS.items() if re.search(words, text)), "")


def architecture_of(accelerator: str) -> str:
    """Return the architecture of a type of conf/accelerator, such as sm_90; "" if unknown."""
    return next((sm for sm, names in _ARCHITECTURES.items() if accelerator in names), "")


def pcie_gbps(speed: str, width: str) -> Fraction | None:
    """Return GB/s in one direction of a PCIe link of a speed such as 16.0 GT/s; None where either is missing.

    Up to 5 GT/s ten bits carry eight, up to 32 GT/s 130 carry 128, and at 64 GT/s 256 bytes carry 242.
    """
    found = _TRANSFERS.match(speed)
    if found is None or not re.fullmatch(r"[0-9]{1,2}", width, re.ASCII) or int(width) == 0:
        return None
    rate = Fraction(found["rate"])
    if not rate:
        return None
    coded = Fraction(4, 5) if rate <= 5 else Fraction(128, 130) if rate <= 32 else Fraction(242, 256)
    return rate * int(width) * coded / 8
