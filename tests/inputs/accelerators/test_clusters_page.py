"""docs/clusters.md lists every accelerator and every cluster of conf/, with their figures."""

from __future__ import annotations

import re
from pathlib import Path

from dse.base.files import conf_folder
from dse.inputs.accelerators import accelerator, accelerator_names
from dse.inputs.accelerators.systems import cluster_file

PAGE = Path(__file__).parents[3] / "docs" / "clusters.md"


def accelerator_lines() -> list[str]:
    """The rows of the table of accelerators."""
    lines = []
    for name in accelerator_names():
        found = accelerator(name)
        sixteen = "bf16" if "bf16" in found.peak_tflops else "fp16"
        peaks = ", ".join(
            f"{precision} {found.peak_tflops[precision]:g}"
            for precision in (sixteen, "fp8", "fp4")
            if precision in found.peak_tflops
        )
        memory, usable = (f"{size / 1e9:.2f}" for size in (found.memory_bytes, found.usable_memory_bytes))
        lines.append(f"`{name}`|{peaks}|{memory}|{usable}|{found.memory_bandwidth_gbps:g}")
    return lines


def cluster_lines() -> list[str]:
    """The rows of the table of clusters."""
    lines = []
    for path in sorted((conf_folder() / "system").glob("*.yaml")):
        if re.search("^accelerator:", path.read_text(), re.MULTILINE):
            system = cluster_file(path.stem)
            tiers = "; ".join(map(_tier, system.tiers))
            size = f"{system.nodes}x{system.npus_per_node}"
            lines.append(f"`{path.stem}`|{size} `{system.accelerator}`|{tiers}")
    return lines


def _tier(tier: object) -> str:
    values = vars(tier)
    rate = ""
    if values["bandwidth_gbps"]:
        rate = f"{values['bandwidth_gbps']:g} GB/s, "
    elif values["nics_per_node"]:
        rate = f"{values['nics_per_node']}x{values['nic_gbit_per_s']:g} Gb/s, "
    over = f"1:{values['oversubscription']:g}, " if values["oversubscription"] > 1 else ""
    joins = f"{values['npus']} NPUs, " if values["npus"] else ""
    return f"{values['name']}: {joins}{rate}{over}{values['latency_us']:g} µs"


def test_the_page_lists_what_conf_has() -> None:
    lines = PAGE.read_text().splitlines()
    for line in (*accelerator_lines(), *cluster_lines()):
        assert line in lines


def test_the_page_lists_no_type_that_conf_lacks() -> None:
    systems = {path.stem for path in (conf_folder() / "system").glob("*.yaml")}
    for section, known in (("Clusters", systems), ("Accelerators", set(accelerator_names()))):
        text = PAGE.read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
        named = set(re.findall(r"^`(\w+)`\|", text, re.MULTILINE))
        assert named
        assert named <= known


if __name__ == "__main__":
    for part in (accelerator_lines(), cluster_lines()):
        print("\n".join(part), end="\n\n")
