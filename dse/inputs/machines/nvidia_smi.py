"""The text of `nvidia-smi topo -m`: which GPUs and NICs share NVLinks, PCIe bridges, CPUs.

The matrix names the nearest relation of each pair only. From these follow bridges (PIX, PXB) and CPUs (PHB,
NODE, SYS and the column of affinities). It tells no rate and no type of GPU.
"""

from __future__ import annotations

import re

from dse.base.errors import InputError, excerpt
from dse.inputs.machines.facts import NVLINKS
from dse.inputs.machines.machine import BRIDGE, CPU, GPU, NIC, SWITCH, Building, Device, Machine

_ESCAPES = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_NAME = re.compile(r"GPU[0-9]{1,5}|NIC[0-9]{1,5}|mlx[0-9]{1,2}_[0-9]{1,5}", re.ASCII)
_CELL = re.compile(r"X|SYS|SOC|NODE|PHB|PXB|PIX|NV[0-9]{1,3}", re.ASCII)
_MOST_NAMES = 512
_BRIDGED = ("PIX", "PXB")
_HEADER = re.compile(r"^[ \t]{0,40}GPU0\b", re.MULTILINE)


def is_topology_matrix(text: str) -> bool:
    """Whether a text has the header of such a matrix."""
    return _HEADER.search(_ESCAPES.sub("", text)) is not None


def nvidia_smi_machine(text: str, where: str, name: str) -> Machine:
    """Return the machine of the matrix.

    Where a GPU would need more NVLinks than any has, all lead into switches, which become one.

    Raises:
        InputError: no matrix, a row that is missing or has another number of cells, an unknown relation, or
            two that differ for a pair.
    """
    names, cells, near = _matrix(_ESCAPES.sub("", text).splitlines(), where)
    building = Building(where)
    for column in names:
        kind = GPU if column.startswith("GPU") else NIC
        building.add(column, Device(column.lower(), kind, socket=near.get(column, "")))
    _join_fabric(building, names, cells)
    _join_pcie(building, names, cells, near)
    building.notes.append("says no rates, latencies or types of GPUs, and not which NICs carry a job")
    return building.machine(name, "nvidia-smi topo -m")


def _matrix(lines: list[str], where: str) -> tuple[list[str], dict[tuple[str, str], str], dict[str, str]]:
    """Return the names of rows and columns, the relation of each pair, and the CPUs near each GPU."""
    start = next((at for at, line in enumerate(lines) if line.split()[:1] == ["GPU0"]), None)
    if start is None:
        raise InputError(f"{where}: has no line that begins with GPU0, the header of nvidia-smi topo -m")
    header = lines[start].split()
    names = [word for word in header if _NAME.fullmatch(word)]
    if len(names) > _MOST_NAMES:
        raise InputError(f"{where}: has {len(names)} columns; at most {_MOST_NAMES} are allowed")
    if header[: len(names)] != names or len(set(names)) < len(names):
        raise InputError(
            f"{where}: line {start + 1}: '{excerpt(lines[start].strip())}' is no header of names"
        )
    cells: dict[tuple[str, str], str] = {}
    near: dict[str, str] = {}
    rows = {}
    for at, line in enumerate(lines[start + 1 :], start + 2):
        words = line.split()
        if words and words[0] in names and words[0] not in rows:
            rows[words[0]] = at
            found, rest = words[1 : len(names) + 1], words[len(names) + 1 :]
            wrong = next((word for word in found if not _CELL.fullmatch(word)), None)
            if len(found) < len(names) or wrong is not None:
                what = f"{len(found)} cells" if wrong is None else f"'{excerpt(wrong)}'"
                raise InputError(
                    f"{where}: line {at}: has {what}; it must have {len(names)} of X, SYS, NODE, PHB, PXB, "
                    "PIX and NV#"
                )
            cells |= {(words[0], column): cell for column, cell in zip(names, found, strict=True)}
            if rest:
                near[words[0]] = rest[1] if len(rest) > 1 and rest[1].isdecimal() else rest[0]
    missing = next((column for column in names if column not in rows), None)
    if missing is not None:
        raise InputError(f"{where}: has no row {missing}, but a column; give all of the matrix")
    for (one, other), cell in cells.items():
        if cell != cells[other, one] or (cell == "X") != (one == other):
            raise InputError(
                f"{where}: line {rows[one]}: {one} and {other} are {cell}, but "
                f"{cells[other, one]} the other way"
            )
    return names, cells, near


def _join_fabric(building: Building, names: list[str], cells: dict[tuple[str, str], str]) -> None:
    gpus = [name for name in names if name.startswith("GPU")]
    counts = {
        (one, other): int(cells[one, other][2:])
        for one in gpus
        for other in gpus
        if cells[one, other].startswith("NV")
    }
    most = max(links for _, links in NVLINKS.values())
    totals = {gpu: sum(count for (one, _), count in counts.items() if one == gpu) for gpu in gpus}
    switched = {gpu for gpu in gpus if totals[gpu] > most}
    if switched:
        switch = building.add("switch", Device("nvswitch", SWITCH))
        for gpu in gpus:
            own = {count for (one, other), count in counts.items() if one == gpu and other in switched}
            if gpu in switched:
                building.join(building.numbers[gpu], switch, "nvlink", max(own))
        building.notes.append(
            f"{max(totals.values())} NVLinks of a GPU would be more than any has ({most}): they lead to "
            "switches"
        )
    for (one, other), count in counts.items():
        if building.numbers[one] < building.numbers[other] and not (one in switched and other in switched):
            building.join(building.numbers[one], building.numbers[other], "nvlink", count)


def _join_pcie(
    building: Building, names: list[str], cells: dict[tuple[str, str], str], near: dict[str, str]
) -> None:
    """Bridges for the sets of devices behind one, and CPUs above, by affinity or the relation to a GPU."""
    sets = _sets(names, cells, _BRIDGED)
    cpus: dict[str, int] = {}
    for members in sets:
        socket = next((near[name] for name in members if name in near), None)
        if socket is None:  # a NIC of its own: that of a GPU under the same CPU
            close = [
                near[name]
                for relation in ("PHB", "NODE")
                for name in names
                if name in near and cells[members[0], name] == relation
            ]
            socket = close[0] if close else "?"
        if socket not in cpus:
            cpus[socket] = building.add(("cpu", socket), Device(f"cpu{len(cpus)}", CPU, socket=socket))
        above = cpus[socket]
        if len(members) > 1:
            inner = _sets(list(members), cells, ("PIX",))
            top = building.add(("bridge", members), Device(f"pci{members[0].lower()}", BRIDGE, socket=socket))
            building.join(above, top, "pcie")
            for part in inner:
                parent = top
                if len(part) > 1 and len(inner) > 1:
                    bridge = Device(f"pci{part[0].lower()}.1", BRIDGE, socket=socket)
                    parent = building.add(("inner", part), bridge)
                    building.join(top, parent, "pcie")
                for name in part:
                    building.join(parent, building.numbers[name], "pcie")
        else:
            building.join(above, building.numbers[members[0]], "pcie")
    found = list(cpus.values())
    for at, one in enumerate(found):
        for other in found[at + 1 :]:
            building.join(one, other, "smp")


def _sets(
    names: list[str], cells: dict[tuple[str, str], str], relations: tuple[str, ...]
) -> list[tuple[str, ...]]:
    """Split names into sets that such relations join, in their order."""
    left, found = list(names), []
    while left:
        members, waiting = {left[0]}, [left[0]]
        while waiting:
            here = waiting.pop()
            fresh = [name for name in left if name not in members and cells[here, name] in relations]
            members.update(fresh)
            waiting += fresh
        found.append(tuple(name for name in left if name in members))
        left = [name for name in left if name not in members]
    return found
