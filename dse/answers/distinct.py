"""Points that are one point under several names, shown once."""

from __future__ import annotations

from typing import Any

from dse.answers.groups import question_of, stored_model
from dse.answers.selection import SELECTION_COLUMNS
from dse.answers.texts import combined, texts_of
from dse.base.lazy import np, pa, pc


def distinct_points(table: pa.Table) -> pa.Table:
    """Leave out points that are another one under another name.

    Such differ only in a choice that changes nothing for them: how to recompute, where nothing is
    recomputed; or a number of micro-batches that is the default one's. Of each one stays, whatever the order.
    """
    if any('"predictor"' in text for text in texts_of(table["options"])):
        return table  # the strategy says all of it
    texts = combined(table["model_spec"])
    all_texts = texts.dictionary.to_pylist()
    if len(all_texts) == 1:
        return table
    used = pc.unique(texts.indices).drop_null().to_pylist()
    if texts.null_count or len({question_of(all_texts[index]) for index in used}) == len(used):
        return table
    ranks = np.empty(len(all_texts), np.int64)
    ranks[np.argsort(np.array(all_texts, object))] = np.arange(len(all_texts))
    indices = texts.indices.to_numpy()
    flags = table["activation_recompute"].to_numpy().astype(np.int64)
    ways = np.stack([indices, table["dp"].to_numpy(), table["pp"].to_numpy(), flags], axis=1)
    kinds, way_of_row = np.unique(ways, axis=0, return_inverse=True)
    seen: dict[Any, int] = {}
    effects = [seen.setdefault(_effect(all_texts[kind[0]], *kind[1:]), len(seen)) for kind in kinds.tolist()]
    columns = [name for name in SELECTION_COLUMNS if name not in ("model", "system")]
    keys = table.select(columns).append_column("effect", pa.array(np.array(effects)[way_of_row.ravel()]))
    for name in ("system_spec", "options"):
        keys = keys.append_column(name, combined(table[name]).indices)
    order = np.lexsort([np.arange(table.num_rows), ranks[indices]])
    place = np.empty(table.num_rows, np.int64)
    place[order] = np.arange(table.num_rows)
    firsts = keys.append_column("place", pa.array(place)).group_by(keys.column_names, use_threads=False)
    kept = firsts.aggregate([("place", "min")])["place_min"].to_numpy()
    return table if len(kept) == table.num_rows else table.take(pa.array(np.sort(order[kept])))


def _effect(model_spec: str, dp: int, pp: int, recompute: int) -> tuple[Any, ...]:
    """The effect of a model's choices under a strategy. Of a model that cannot be read, its text."""
    model = stored_model(model_spec)
    if model is None:
        return (model_spec, dp, pp, recompute)
    chosen = model.choices_under(dp, pp, activation_recompute=bool(recompute))
    return (question_of(model_spec), *chosen.values())
