"""A ring as a file, and the words of a quick search, for the tests of schedules."""

from __future__ import annotations

from pathlib import Path

HEADER = "Src,Dest,Latency (ns),Bandwidth (GB/s)"
RING = "\n".join(["4", HEADER, *(f"{i},{(i + s) % 4},500,50" for i in range(4) for s in (1, 3)), ""])
QUICK = ("synthesizer=restarts", "trials=2")


def ring_file(folder: Path) -> Path:
    """The ring, in a folder."""
    file = folder / "ring.csv"
    file.write_text(RING)
    return file
