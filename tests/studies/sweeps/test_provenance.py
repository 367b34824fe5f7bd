"""Names of sweeps: unique, and in the order in which sweeps began."""

from __future__ import annotations

import datetime

from dse.studies.sweeps import sweep_name

NOW = datetime.datetime(2026, 11, 21, 14, 30, 0, 254817, tzinfo=datetime.timezone.utc)


def test_a_name_begins_with_its_time() -> None:
    assert sweep_name(NOW).startswith("20261121T143000.254817Z-")


def test_names_of_one_second_sort_by_time() -> None:
    later = [NOW + datetime.timedelta(microseconds=count) for count in range(50)]
    names = [sweep_name(moment) for moment in later]
    assert sorted(names) == names


def test_names_of_one_moment_differ() -> None:
    assert sweep_name(NOW) != sweep_name(NOW)
