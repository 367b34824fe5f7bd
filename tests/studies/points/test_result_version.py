"""Results change only together with their version, which is part of the keys of points."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
import result_points
from result_points import MODELS, STRATEGIES, SYSTEMS

from dse.native import _engine
from dse.studies.points import DesignPoint, Scenario, evaluate

HOW_TO = "python tests/studies/points/result_points.py writes them down"


@functools.cache
def _digests() -> Mapping[str, str]:
    return result_points.digests()


def test_results_change_only_with_their_version() -> None:
    version, old = result_points.recorded()
    changed = result_points.changed(old, _digests())
    assert not changed or version != _engine.RESULT_VERSION, (
        f"the results of {len(changed)} sets of points have changed, such as {changed[0]}. Stored points "
        "would stand beside new ones under one key. If the change is meant: raise kResultVersion in "
        f"engine/src/base/result_version.hpp, build the engine, and {HOW_TO}. If not: it is a bug."
    )
    assert version == _engine.RESULT_VERSION, (
        f"results are of version {_engine.RESULT_VERSION}, their digests are of version {version}: {HOW_TO}"
    )
    assert set(old) == set(_digests()), f"there are other points than those that were written down: {HOW_TO}"


def test_the_points_are_wide() -> None:
    """Most finish, and what else can happen to a point happens to some."""
    statuses = Counter(
        evaluate(DesignPoint(Scenario("results", MODELS[model], SYSTEMS[system]), strategy)).status
        for model in ("stage", "realistic")
        for system in ("Ring", "Mesh2D", "2 x 2 x 2", "tree", "slow NPUs", "slow NPUs, safe", "removed link")
        for strategy in STRATEGIES
    )
    assert statuses["ok"] > 120
    assert statuses["deadlock"] > 5


def test_a_changed_result_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    record = tmp_path / "result_digests.json"
    old = {**_digests(), "stage on Ring": "0" * 16}
    record.write_text(json.dumps({"result_version": _engine.RESULT_VERSION, "digests": old}))
    monkeypatch.setattr(result_points, "RECORD", record)
    monkeypatch.setattr(result_points, "digests", _digests)
    with pytest.raises(AssertionError, match=r"such as stage on Ring\. .* raise kResultVersion"):
        test_results_change_only_with_their_version()
    assert result_points.main() == 1  # and is not written down without a new version
    assert json.loads(record.read_text())["digests"] == old

    monkeypatch.setattr(_engine, "RESULT_VERSION", _engine.RESULT_VERSION + 1)
    with pytest.raises(AssertionError, match="their digests are of version"):
        test_results_change_only_with_their_version()
    assert result_points.main() == 0
    test_results_change_only_with_their_version()
