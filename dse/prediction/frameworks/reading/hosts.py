"""Host files that scripts name: the node on which each rank, or each process that starts a node, runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dse.base.errors import InputError
from dse.base.files import is_file
from dse.prediction.frameworks.reading.files import text_of

_NAMED = re.compile(r"(?:SLURM_HOSTFILE=[\"']?|(?<![\w./-]))((?:[\w.-]+/)*[\w-][\w.-]*\.hosts)(?![\w.-])")
_SLURM = re.compile(r"SLURM_HOSTFILE=[\"']?([\w./-]+)(?![\w./$-])")
_NEIGHBOURS = re.compile(
    r"neighbours in this order \(([^()\n]*)\)|^#SBATCH +(?:--nodelist=|-w *)([\w.,-]+) *$", re.M
)
_ARBITRARY = re.compile(r"SLURM_HOSTFILE|--distribution[= ]arbitrary|(?<!\S)-m[= ]?arbitrary")
_PLACEHOLDER = re.compile(r"NODE\d{1,6}", re.ASCII)
_MOST_LINES = 1_000_000


@dataclass(frozen=True)
class Hosts:
    """The hosts of a job, a line each; none where the file that the script needs is not there.

    `neighbours` are the nodes in the order in which they are joined, as far as the script says it.
    """

    file: str
    names: Sequence[str] = ()
    neighbours: Sequence[str] = ()

    @property
    def is_ordered(self) -> bool:
        """Whether it is known which node is next to which."""
        named = set(self.names)
        return named == set(self.neighbours) or all(map(_PLACEHOLDER.fullmatch, named))

    def nodes(self, npus: int) -> tuple[int, ...] | None:
        """Return the node of each rank; None if the lines are not those of `npus` ranks, or of their nodes.

        Names are numbered as they come where it is not known which node is next to which.
        """
        names = list(dict.fromkeys(self.names))
        if not names or npus % len(names) or len(self.names) not in (npus, len(names)):
            return None
        if set(names) == set(self.neighbours):
            names = list(dict.fromkeys(self.neighbours))
        elif self.is_ordered:
            names.sort(key=lambda name: int(name.removeprefix("NODE")))
        numbers = {name: number for number, name in enumerate(names)}
        ranks = npus // len(self.names)  # of a line
        return tuple(numbers[name] for name in self.names for _ in range(ranks))


def hosts_of(text: str, folder: Path) -> Hosts | None:
    """Return the hosts of a script in a folder; None if it names no host file."""
    match = _NAMED.search(text) or _SLURM.search(text)
    if match is None:
        return Hosts("SLURM_HOSTFILE") if _ARBITRARY.search(text) else None
    path = folder / match[1]
    if not is_file(path):
        return Hosts(match[1])
    try:
        names = text_of(path).split("\n")
    except InputError:
        return Hosts(match[1])
    listed = _NEIGHBOURS.search(text)
    neighbours = re.split("[ ,]+", (listed[1] or listed[2]).strip()) if listed else ()
    return Hosts(match[1], [name.strip() for name in names if name.strip()][:_MOST_LINES], neighbours)
