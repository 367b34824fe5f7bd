"""Pipeline layouts of Megatron: texts such as Et*3|(tt|)*29m|L, read into the layers of each part."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dse.base.errors import InputError, excerpt

_MOST = 10_000


def layers_of_layout(text: str, where: str) -> tuple[int, ...]:
    """Return the decoder layers of each part.

    E is the embedding, t a layer, m a layer that predicts further tokens, L the loss, and | stands between
    parts; `t*4` and `(tt|)*29` repeat.

    Raises:
        InputError: another letter, or too long.

    >>> layers_of_layout("Et*2|(t|)*2tL", "layout")
    (2, 1, 1, 1)
    """
    found = text.replace(" ", "")
    for pattern in (r"\(([^()]*)\)\*(\d{1,4})", r"([A-Za-z])\*(\d{1,4})"):
        found = re.sub(pattern, lambda part: part[1] * min(int(part[2]), _MOST), found)
        if len(found) > _MOST:
            break
    found = re.sub(r"\(([^()]*)\)", r"\1", found).replace(",", "")
    if not re.fullmatch(r"[EtmL|]*", found) or len(found) > _MOST:
        raise InputError(
            f"{where}: pipeline layout '{excerpt(text)}' must list E, t, m and L, with | between parts, as "
            "Et*3|(t*4|)*14tmL"
        )
    return tuple([part.count("t") for part in found.split("|")])


def layout_of_layers(layers: Sequence[int], prediction_layers: int = 0) -> str:
    """Return the layout whose parts have so many layers, the prediction layers before the loss.

    >>> layout_of_layers((2, 1, 1))
    'Ett|t|tL'
    """
    parts = ["t" * count for count in layers]
    parts[0] = f"E{parts[0]}"
    parts[-1] = f"{parts[-1]}{'m' * prediction_layers}L"
    return "|".join(parts)
