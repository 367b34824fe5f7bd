"""Collectives of the user's own: pre- and postconditions as JSON."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

from dse.base.errors import InputError, excerpt
from dse.base.numbers import exact_decimal, whole_number
from dse.collectives.problem.collective import CUSTOM, MOST_CHUNKS, Collective


def custom_of(path: Path, data: dict[str, Any], npus: int) -> tuple[Collective, Fraction | None]:
    """Return pre- and postconditions of `{"chunk_size", "chunks", "preconditions": {npu: [chunk]}, …}`.

    Raises:
        InputError: names the file and what is wrong with it.
    """
    allowed = ("chunk_size", "chunks", "preconditions", "postconditions")
    for key in data:
        if key not in allowed:
            raise InputError(f"{path}: unknown key {excerpt(key)}; allowed are {', '.join(allowed)}")
    chunks = data.get("chunks")
    if not isinstance(chunks, int) or isinstance(chunks, bool) or not 1 <= chunks < MOST_CHUNKS:
        raise InputError(f"{path}: chunks is {excerpt(chunks)}; it must be a whole number above 0")
    size = chunk_size_of(path, data)
    pairs = {name: _conditions(path, name, data.get(name), npus, chunks) for name in allowed[2:]}
    held = {chunk for _, chunk in pairs["preconditions"]}
    for npu, chunk in pairs["postconditions"]:
        if chunk not in held:
            raise InputError(f"{path}: NPU {npu} wants chunk {chunk}, which no NPU has in preconditions")
    collective = Collective(
        CUSTOM,
        npus,
        preconditions=pairs["preconditions"],
        postconditions=pairs["postconditions"],
    )
    return collective, size


def chunk_size_of(path: Path, data: dict[str, Any]) -> Fraction | None:
    """Return the bytes of a chunk that a file says, None if it does not.

    Raises:
        InputError: names the file, and what was got.
    """
    size = data.get("chunk_size")
    if size is None:
        return None
    if isinstance(size, bool) or not isinstance(size, int | float) or size <= 0:
        raise InputError(f"{path}: chunk_size is {excerpt(size)}; it must be a number of bytes above 0")
    return exact_decimal(str(size), where=f"{path}: chunk_size")


def _conditions(path: Path, name: str, value: Any, npus: int, chunks: int) -> tuple[tuple[int, int], ...]:
    if not isinstance(value, dict):
        raise InputError(f'{path}: {name} is {excerpt(value)}; it must be an object such as {{"0": [0, 1]}}')
    pairs = set()
    for npu, listed in value.items():
        rank = whole_number(npu)
        if rank is None or rank >= npus:
            raise InputError(f"{path}: {name} names NPU '{excerpt(npu)}'; the network has 0 to {npus - 1}")
        for chunk in listed if isinstance(listed, list) else [listed]:
            if not isinstance(chunk, int) or isinstance(chunk, bool) or not 0 <= chunk < chunks:
                raise InputError(
                    f"{path}: {name} of NPU {rank} has chunk {excerpt(chunk)}; chunks are 0 to {chunks - 1}"
                )
            pairs.add((rank, chunk))
    return tuple(sorted(pairs))
