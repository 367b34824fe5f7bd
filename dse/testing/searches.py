"""The contract of every search, and the promises of searches that sample or learn."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dse.base.errors import InputError
from dse.studies.search import Search
from dse.studies.space import DesignSpace
from dse.testing.spaces import Rows, drive, points, space

Make = Callable[[DesignSpace, int, int], Search]
"""A search over a space, with a number of samples and a seed."""

ROWS = Rows()  # points are evaluated once for all tests
SPACE = space()


class _Searches:
    def make(self, space: DesignSpace, samples: int, seed: int) -> Search:
        raise NotImplementedError("make returns the search")

    @pytest.fixture
    def search_of(self) -> Make:
        return self.make


class SearchContract(_Searches):
    """Inherit it, and return the search from `make`, or give a fixture `search_of` of your own.

    `dse.testing.spaces.points` enumerates a space. What does not sample leaves the number and the seed.
    """

    def test_the_same_seed_proposes_the_same_points_none_twice(self, search_of: Make) -> None:
        keys = drive(search_of(SPACE, 40, 3), ROWS)
        assert keys == drive(search_of(SPACE, 40, 3), ROWS)
        assert len(set(keys)) == len(keys)
        assert keys

    def test_points_are_those_of_the_space(self, search_of: Make) -> None:
        assert set(drive(search_of(SPACE, 40, 3), ROWS)) <= {point.key for point in points(SPACE)}

    def test_an_empty_space_is_refused(self, search_of: Make) -> None:
        with pytest.raises(InputError, match="constraints"):
            drive(search_of(space("dp > 16"), 10, 0), ROWS)


class StartsAgain(_Searches):
    """For searches that forget in each loop what they were told in the last one."""

    def test_one_search_starts_again_with_each_loop(self, search_of: Make) -> None:
        search = search_of(SPACE, 20, 0)
        assert drive(search, ROWS) == drive(search, ROWS)


class SamplesPoints(_Searches):
    """For searches that propose as many points as their settings say, by a seed."""

    def test_samples_are_distinct_points_and_seeds_differ(self, search_of: Make) -> None:
        keys = [drive(search_of(SPACE, 30, seed), ROWS) for seed in (0, 1)]
        assert [len(set(each)) for each in keys] == [30, 30]
        assert keys[0] != keys[1]

    def test_more_samples_than_points_take_all_of_them_and_stop(self, search_of: Make) -> None:
        small = space("pp == 1", "not weight_sharded")
        search = search_of(small, 1000, 0)
        assert sorted(drive(search, ROWS)) == sorted(point.key for point in points(small))


class LearnsFromRows(_Searches):
    """For searches whose later proposals depend on the rows that they get."""

    def test_the_order_of_completion_changes_nothing(self, search_of: Make) -> None:
        assert drive(search_of(SPACE, 60, 0), ROWS, backwards=True) == drive(search_of(SPACE, 60, 0), ROWS)

    def test_a_search_that_is_told_stored_rows_goes_on_where_it_stopped(self, search_of: Make) -> None:
        stored = drive(search_of(SPACE, 48, 5), ROWS, limit=24)
        assert drive(search_of(SPACE, 48, 5), ROWS)[: len(stored)] == stored
