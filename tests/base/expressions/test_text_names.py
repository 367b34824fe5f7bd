"""Names that stand for texts, such as the schedule of a strategy, in constraints."""

from __future__ import annotations

import pytest

from dse.base.errors import InputError
from dse.base.expressions import Expression

TEXTS = {"schedule": ("1f1b", "interleaved")}


def expression(text: str) -> Expression:
    return Expression(text, ("schedule", "chunks"), "space.constraints.0", texts=TEXTS)


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("schedule == '1f1b'", {"schedule": "1f1b"}, True),
        ("'1f1b' != schedule", {"schedule": "1f1b"}, False),
        ("schedule in ('1f1b', 'interleaved')", {"schedule": "interleaved"}, True),
        ("schedule not in ('1f1b')", {"schedule": "1f1b"}, False),
        ("(schedule == 'interleaved') == (chunks > 1)", {"schedule": "1f1b", "chunks": 1}, True),
        ("(schedule == 'interleaved') == (chunks > 1)", {"schedule": "1f1b", "chunks": 2}, False),
    ],
)
def test_texts_are_compared_with_what_they_may_be(
    text: str, values: dict[str, object], expected: bool
) -> None:
    assert expression(text).holds(values) is expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "schedule == '1f2b'",
            "schedule is compared with '1f2b'; it is one of 1f1b, interleaved; did you mean '1f1b'",
        ),
        ("schedule == 1", "column 13: schedule is compared with something else; it is one of 1f1b"),
        ("schedule < '1f1b'", "column 1: schedule is a text, which is compared with one by == or !="),
        ("schedule + 1 == 2", "column 1: schedule is a text; compare it, schedule == '…'"),
        ("chunks == '1f1b'", "a text is not a number"),
        ("schedule", "schedule is a text; compare it"),
    ],
)
def test_other_uses_are_named(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        expression(text)
    assert message in str(caught.value)
