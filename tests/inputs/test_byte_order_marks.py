"""Files of editors that put a byte order mark first: every reader leaves it out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dse.base.files import read_text
from dse.inputs.models.huggingface import read_model
from dse.inputs.systems import read_graph

_GRAPH = "2\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,500,50\n1,0,500,50\n"
_CONFIG = Path(__file__).parents[1] / "golden/huggingface/llama-3.2-1b/config.json"


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (read_text, "0,1\n1,0\n"),
        (lambda path: read_graph(path).links, _GRAPH),
        (lambda path: read_model(path, "config.json").values, _CONFIG.read_text(encoding="utf-8")),
    ],
)
def test_a_byte_order_mark_changes_nothing(read: Callable[[Path], object], text: str, tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_text(text, encoding="utf-8")
    plain = read(path)
    path.write_text(text, encoding="utf-8-sig")
    assert read(path) == plain
