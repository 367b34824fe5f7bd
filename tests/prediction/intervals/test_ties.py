"""From which difference on predictions tell which of two plans is faster."""

from __future__ import annotations

import math

from dse.prediction.intervals.ties import pairs_of, telling_gap, tie_gap, written


def test_pairs_have_their_predicted_difference_and_whether_it_has_the_right_sign() -> None:
    group = [(2.0, 5.0), (1.0, 4.0), (3.0, 4.5)]
    assert pairs_of([group]) == [(1.0, True), (2.0, True), (0.5, False)]
    assert pairs_of([[(1.0, 2.0), (1.0, 3.0)], [(1.0, 2.0), (2.0, 2.0)]]) == []


def test_differences_tell_from_where_two_pairs_of_three_are_in_the_right_order() -> None:
    """Half of the pairs below 2 % are right, three quarters of the others."""
    near = [(0.001 * place, place % 2 == 0) for place in range(20)]
    far = [(0.02 + 0.001 * place, place % 4 != 0) for place in range(40)]
    assert 0.015 < telling_gap([*near, *far]) <= 0.021
    assert telling_gap(near) == math.inf
    assert telling_gap([(gap, True) for gap, _ in near]) == 0.0


def test_the_package_brings_the_gap_of_published_pairs() -> None:
    assert 0.005 < tie_gap() < 0.05
    assert written(0.01615, 4796, 48, "today") == "# today\ngap,pairs,groups\n0.0162,4796,48\n"
