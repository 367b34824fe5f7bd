"""Tables of text: columns to the left or right, plain lines between rows, pairs of names and values."""

from dse.base.texts import aligned, pairs, table


def test_the_first_column_is_set_to_the_left_and_the_others_to_the_right() -> None:
    assert aligned([("dp", "1 s"), ("dp tp", "12 s")]) == ["dp      1 s", "dp tp  12 s"]


def test_plain_lines_stand_between_rows_and_widen_no_column() -> None:
    assert aligned([("a", "1"), "a long heading", ("b", "22")]) == ["a   1", "a long heading", "b  22"]


def test_columns_that_are_asked_for_are_set_to_the_left_and_lines_end_with_no_blank() -> None:
    assert aligned([("a", "x"), ("bb", "yyy")], left=(0, 1)) == ["a   x", "bb  yyy"]


def test_nothing_is_an_empty_table() -> None:
    assert aligned([]) == []


def test_a_column_of_numbers_is_set_to_the_right_with_its_title() -> None:
    assert table(("plan", "step", "type"), [("1", "2 ms", "A"), ("10", "-", "V100")]) == [
        "plan  step  type",
        "   1  2 ms  A",
        "  10     -  V100",
    ]


def test_an_empty_name_goes_on_with_the_pair_before() -> None:
    assert pairs([("time", "1 s"), ("", "exactly")]) == "time  1 s\n      exactly"
