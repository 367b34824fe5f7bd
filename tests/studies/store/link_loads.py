"""A small record type, and a process that stores its rows: link_loads.py FOLDER FIRST LAST dies|ends."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from dse.studies.store import RecordType, StudyStore
from dse.studies.store.history import finish_sweep, key_digits, plan_sweep
from dse.studies.store.records import count, size_bytes, text
from dse.studies.sweeps import StudyWriter, provenance, sweep_name

MESSAGE_BYTES = 1_048_576


@dataclass(frozen=True)
class LinkLoad:
    """What each link of a ring carries in an all-reduce."""

    npus: Annotated[int, count("NPUs in the ring", least=2)]
    link: Annotated[str, text("name of the link")]
    carried_bytes: Annotated[int, size_bytes("bytes that cross it", least=0)]
    key: Annotated[str, text("hash of the inputs")]


LOADS = RecordType(name="link load", row=LinkLoad, order=("npus", "link", "key"))


def load(npus: int) -> LinkLoad:
    """The load of the first link: all others have the same."""
    key = hashlib.sha256(f"ring {npus} {MESSAGE_BYTES}".encode()).hexdigest()[:32]
    return LinkLoad(npus, "0-1", 2 * (npus - 1) * MESSAGE_BYTES // npus, key)


def main(folder: str, first: int, last: int, *, dies: bool) -> None:
    """Store the loads of rings of FIRST to LAST - 1 NPUs; dies when some of the first half are stored."""
    store = StudyStore.create(folder, LOADS)
    planned = [load(npus) for npus in range(first, last)]
    known = store.keys()
    configuration = f"npus: {first} to {last}"
    name = sweep_name()
    plan_sweep(store, name, configuration, b"".join(key_digits(row.key) for row in planned))
    store.record_sweep(name, provenance(["link_loads"], configuration, {"planned": len(planned)}))
    with StudyWriter(store) as writer:
        for row in planned[: len(planned) // 2] if dies else planned:
            if row.key not in known:
                writer.add(row)
                known.add(row.key)
        while dies:
            if writer.written:
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(0.01)
    finish_sweep(store, configuration, known)
    print(writer.written)


if __name__ == "__main__":
    main(str(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3]), dies=sys.argv[4] == "dies")
