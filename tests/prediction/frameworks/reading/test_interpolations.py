"""Values of YAML that name others, or a variable with its default."""

from __future__ import annotations

from typing import Any

import pytest

from dse.prediction.frameworks.reading.interpolations import resolved

SETTINGS: dict[str, Any] = {
    "model.hidden": 64,
    "model.data.seq": "${model.len}",
    "model.len": 2048,
    "run.name": "a",
}


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("model.ffn", "${.hidden}", 64),
        ("model.ffn", "${multiply:4, ${.hidden}}", 256),
        ("model.ffn", "${multiply:4,${model.hidden}}", 256),
        ("model.data.x", "${..len}", 2048),
        ("model.x", "${.data.seq}", 2048),
        ("x", "${model.len}", 2048),
        ("x", "${run.name}/${run.name}.b", "a/a.b"),
        ("x", "${PRIMUS_TP:1}", 1),
        ("x", '${PRIMUS_FREQ:"[0]*1+[1]*3"}', "[0]*1+[1]*3"),
        ("x", "${oc.env:TP, 8}", 8),
        ("x", "${multiply:4,a}", "${multiply:4,a}"),
        ("x", "${unknown}", "${unknown}"),
        ("x", "${x}", "${x}"),
        ("x", "${eval:1+1}", "${eval:1+1}"),
        ("x", "${" * 100, "${" * 100),
    ],
)
def test_a_value_stands_for_the_one_that_it_names(key: str, text: str, value: object) -> None:
    assert resolved({**SETTINGS, key: text}, [])[key] == value


def test_the_default_of_a_variable_is_noted() -> None:
    notes: list[str] = []
    assert resolved({"a.seq": "${SEQ:4096}"}, notes) == {"a.seq": 4096}
    assert notes == ["a.seq is 4096, unless SEQ says another value"]
