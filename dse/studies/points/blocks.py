"""Points of one scenario as columns, and their keys, which the engine hashes."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.base.lazy import pa
from dse.inputs.strategies import AXIS
from dse.inputs.strategies.columns import Strategies
from dse.native import _engine
from dse.studies.points.methods import Answers
from dse.studies.points.point import KEY_AXES, DesignPoint, Scenario, key_text
from dse.studies.store import POINTS
from dse.studies.store.lookup import KEY_DIGITS

MOST_POINTS = 2048
"""Of a block: some tens of milliseconds of predictions, so that little is lost where a sweep ends."""

_KEY_BYTES = KEY_DIGITS // 2
_HEX = np.frombuffer("".join(f"{byte:02x}" for byte in range(256)).encode(), np.uint16)


@dataclass(frozen=True, eq=False)
class PointBlock:
    """Points of a scenario, in the order of their strategies."""

    scenario: Scenario
    strategies: Strategies

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.strategies)

    @functools.cached_property
    def hashes(self) -> NDArray[np.uint8]:
        """The bytes of the keys, points x 16: what `DesignPoint.key` writes in digits."""
        known = self.strategies
        texts = [[key_text(axis, value) for value in known.values[axis.name]] for axis in KEY_AXES]
        columns = [known.codes[axis.name] for axis in KEY_AXES if axis.name in known.codes]
        chosen = np.empty((len(self), len(columns)), np.int32)
        for place, column in enumerate(columns):
            chosen[:, place] = column
        found: NDArray[np.uint8] = _engine.hashed_rows(self.scenario.digest, texts, chosen, _KEY_BYTES)
        return found.reshape(len(self), _KEY_BYTES)

    @property
    def digits(self) -> NDArray[np.uint8]:
        """The keys as characters, points x `KEY_DIGITS`."""
        return _HEX[self.hashes].view(np.uint8)

    @property
    def keys(self) -> list[str]:
        """The keys of the points."""
        texts: list[str] = self.digits.reshape(-1).view(f"S{KEY_DIGITS}").astype(str).tolist()
        return texts

    def __iter__(self) -> Iterator[DesignPoint]:
        """Iterate over the points."""
        return map(functools.partial(DesignPoint, self.scenario), self.strategies, self.keys)

    def point(self, place: int) -> DesignPoint:
        """Return the point at a place."""
        return DesignPoint(self.scenario, self.strategies[place])

    def take(self, which: NDArray[Any] | slice) -> PointBlock:
        """Return some of the points, whose keys are known."""
        some = self.strategies[which] if isinstance(which, slice) else self.strategies.take(which)
        part = PointBlock(self.scenario, some)
        part.__dict__["hashes"] = self.hashes[which]
        return part

    def missing(self, keys: Sequence[str], known: set[str]) -> PointBlock:
        """Return the points whose keys are not known, each once; then they are."""
        before = len(known)
        places = [place for place, key in enumerate(keys) if key not in known and not known.add(key)]  # type: ignore[func-returns-value]
        return self if len(known) - before == len(self) else self.take(np.array(places, np.intp))

    def parts(self, most: int = MOST_POINTS) -> Iterator[PointBlock]:
        """Return the points in blocks of at most so many."""
        return (self.take(slice(start, start + most)) for start in range(0, len(self), most))

    @property
    def feasible(self) -> NDArray[np.bool_]:
        """Whether each point has a workload and fills the system; see `DesignPoint.is_feasible`."""
        on = self.scenario
        on.check()
        return np.array(on.method.feasible(self), bool)

    def table(self, answers: Answers) -> pa.Table:
        """Return the rows of the points."""
        on, count = self.scenario, len(self)
        given: dict[str, Any] = {
            "study": on.study,
            "model": on.model.name,
            "system": on.system.name,
            "npus": on.system.npus,
            "model_spec": on.model_spec,
            "system_spec": on.system_spec,
            "options": on.options,
            "fractional": False,
            "status": texts_array(("infeasible", "ok"), answers.reason_of < 0),
            "reason": texts_array((*answers.reasons, ""), answers.reason_of),
            "key": self._key_array(),
            **answers.columns,
        }
        arrays = []
        for field in POINTS.schema:
            column = self._axis(field) if field.name in AXIS else given.get(field.name)
            if column is None:
                column = pa.nulls(count, field.type)
            elif not isinstance(column, pa.Array):
                column = pa.repeat(_scalar(column, field.type), count)
            arrays.append(column if column.type == field.type else column.cast(field.type))
        return pa.Table.from_arrays(arrays, schema=POINTS.schema)

    def _axis(self, field: pa.Field) -> Any:
        """Return the values of an axis, or the one that all points have."""
        values, codes = self.strategies.values[field.name], self.strategies.codes.get(field.name)
        if codes is None:
            return values[0]
        if AXIS[field.name].kind == "choice":
            return texts_array(values, codes)
        return pa.array(values, field.type).take(pa.array(codes.astype(np.int32)))

    def _key_array(self) -> pa.Array:
        ends = np.arange(len(self) + 1, dtype=np.int32) * KEY_DIGITS
        data = np.ascontiguousarray(self.digits)
        return pa.StringArray.from_buffers(len(self), pa.py_buffer(ends), pa.py_buffer(data))


def _scalar(value: Any, kind: pa.DataType) -> pa.Scalar[Any]:
    """Return a value of a column that all rows share."""
    if not pa.types.is_dictionary(kind):
        return pa.scalar(value, kind)
    return pa.DictionaryArray.from_arrays(pa.array([0], kind.index_type), pa.array([value]))[0]


class SpacePoints(Iterator[DesignPoint]):
    """Points of a space in its order, to be drawn one by one, or as `blocks`."""

    def __init__(self, blocks: Iterable[PointBlock]) -> None:
        """Take the points in blocks, lazily."""
        self.blocks = iter(blocks)
        self._points = itertools.chain.from_iterable(self.blocks)

    def __next__(self) -> DesignPoint:
        """Return the next point."""
        return next(self._points)


def blocks_of(points: Iterable[DesignPoint]) -> Iterator[PointBlock]:
    """Return points as blocks of at most `MOST_POINTS`, each of one scenario."""
    if isinstance(points, SpacePoints):
        yield from points.blocks
        return
    for _, run in groupby(points, lambda point: id(point.scenario)):
        while some := list(itertools.islice(run, MOST_POINTS)):
            yield PointBlock(some[0].scenario, Strategies.of([point.strategy for point in some]))


def texts_array(texts: Sequence[object], numbers: NDArray[Any]) -> pa.Array:
    """Return for each number the text at this place; -1 is the last."""
    places = np.where(numbers < 0, len(texts) - 1, numbers).astype(np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(places), pa.array(texts, pa.string()))
