"""Fields of the page under Node: texts, sliders, sizes and figures for people."""

from __future__ import annotations

from typing import Any

import pytest
from page_programs import needs_node

from dse.base.errors import InputError
from dse.base.units import format_bytes, format_count, format_duration_ns, parse_bytes

pytestmark = needs_node


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("system.network.0.bandwidth_gbps", "200", 200),
        ("system.network.0.bandwidth_gbps", " 1e3 ", 1000),
        ("system.network.0.bandwidth_gbps", "0", None),
        ("system.network.0.bandwidth_gbps", "fast", None),
        ("system.network.0.bandwidth_gbps", "", None),
        ("system.network.0.bandwidth_gbps", "Infinity", None),
        ("model.num_layers", "16", 16),
        ("model.num_layers", "16.5", None),
        ("model.num_layers", "1", None),
        ("system.network.0.topology", "Switch", "Switch"),
        ("system.network.0.topology", "Moebius", None),
        ("system.roofline_enabled", "false", False),
    ],
)
def test_texts_of_fields_are_read_or_refused_with_what_is_allowed(
    in_page: Any, data: dict[str, Any], key: str, text: str, expected: Any
) -> None:
    field = next(each for each in data["fields"] if each["key"] == key)
    found = in_page("return explorer.scenario.parsed(input[0], input[1]);", [field, text])
    if expected is not None:
        assert found == {"value": expected}
    else:
        assert found["problem"].endswith(f"it must be {field['allowed']}")


def test_every_field_has_a_slider_that_reaches_its_value_in_ascending_steps(
    in_page: Any, data: dict[str, Any]
) -> None:
    fields = [each for each in data["fields"] if each["kind"] == "number"]
    assert len(fields) > 20
    for field, stops in zip(
        fields, in_page("return input.map(explorer.scales.stopsOf);", fields), strict=True
    ):
        assert stops == sorted(set(stops)), field["key"]
        assert len(stops) <= 420, field["key"]
        assert field["value"] is None or field["value"] in stops, field["key"]
        assert field["least"] <= stops[0], field["key"]
        assert stops[-1] <= field["most"], field["key"]
        assert not field["is_integer"] or all(isinstance(stop, int) for stop in stops), field["key"]


def test_npus_of_a_dimension_slide_through_doubles_of_what_they_are(
    in_page: Any, data: dict[str, Any]
) -> None:
    field = next(each for each in data["fields"] if each["key"] == "system.network.0.npus")
    assert in_page("return explorer.scales.stopsOf(input);", field) == [2, 4, 8, 16, 32, 64, 128, 256]


def test_sizes_are_read_as_the_package_reads_them(in_page: Any) -> None:
    texts = [
        "80GB",
        "80GiB",
        "80.5 GB",
        ".5tib",
        "1B",
        "12345678901kB",
        "80",
        "80XB",
        "fast",
        "-1GB",
        "0GB",
        "1.0000000001GB",
        "9PB",
        "1e3GB",
        "1.5E+2 GiB",
        "2e-3MB",
        "1e-12GB",
        "1e400GB",
        "1eGB",
        "1e3",
    ]
    found = in_page("return input.map((text) => explorer.format.parsedSize(text));", texts)

    def expected(text: str) -> int | None:
        try:
            return parse_bytes(text)
        except InputError:
            return None

    assert [each.get("value") for each in found] == [expected(text) for text in texts]
    assert "has no unit" in found[6]["problem"]


def test_sizes_are_written_as_short_as_they_are_exact(in_page: Any) -> None:
    sizes = [80 * 10**9, 80 * 2**30, 80_500_000_000, 123_456_789_123, 1, 10**12]
    written = in_page("return input.map(explorer.format.size);", sizes)
    assert written == ["80GB", "80GiB", "80.5GB", "123456789123B", "1B", "1TB"]
    assert [parse_bytes(text) for text in written] == sizes


def test_figures_for_people_are_written_as_in_the_package(in_page: Any) -> None:
    values = [
        0,
        1,
        999,
        1000,
        12345,
        999_996,
        4_088_264_658,
        67_022_880_768,
        123_456_789_012_345,
        9_999_400_000_000,
    ]
    found = in_page(
        "const { bytes, duration, count } = explorer.format;"
        "return input.map((value) => [bytes(value), duration(value), count(value)]);",
        values,
    )
    written = [format_bytes, format_duration_ns, format_count]
    assert found == [[write(value) for write in written] for value in values]
    assert found[7][2] == "67.02G"
