"""Points whose system names a file that has changed since, or cannot be read."""

from __future__ import annotations

from dse.answers.groups import DIGEST_DIGITS
from dse.answers.texts import any_text_has, combined
from dse.base.lazy import pa, pc
from dse.base.texts import counted, printable
from dse.studies.points.inputs import files_of_json

_DIGEST = '_sha256"'


def current_points(table: pa.Table) -> tuple[pa.Table, list[str]]:
    """Leave out the points of files that have changed since, and say so in a note for each content.

    They stay, and the note says so too, where no point of the same file has the content of today.
    """
    systems = combined(table["system_spec"])
    if not any_text_has(systems.dictionary, _DIGEST):  # most systems name no file
        return table, []
    used = pc.unique(systems.indices).drop_null().to_pylist()
    files = {index: _files(systems.dictionary[index].as_py()) for index in used}
    if not any(files.values()):
        return table, []
    current = {path for found in files.values() for path, then, now in found if then == now}
    changed = {
        index
        for index, found in files.items()
        if any(then != now and now is not None and path in current for path, then, now in found)
    }
    counts = pc.value_counts(systems.indices.drop_null())
    rows_of = dict(zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True))
    rows: dict[tuple[str, str, str | None], int] = {}
    for index, found in files.items():
        for file in found:
            rows[file] = rows.get(file, 0) + rows_of[index]
    notes = [
        _note(*file, count, table.num_rows, is_left_out=file[0] in current)
        for file, count in sorted(rows.items(), key=str)
        if file[1] != file[2]
    ]
    if changed:
        is_changed = pc.is_in(systems.indices, value_set=pa.array(sorted(changed), systems.indices.type))
        table = table.filter(pc.invert(is_changed))
    return table, notes


def _files(system_spec: str) -> list[tuple[str, str, str | None]]:
    if _DIGEST not in system_spec:
        return []
    return list(dict.fromkeys(files_of_json(system_spec)))


def _note(path: str, then: str, now: str | None, count: int, total: int, *, is_left_out: bool) -> str:
    points, then = f"{count} of {counted(total, 'point')}", f"digest {then[:DIGEST_DIGITS]}"
    if now is None:
        return printable(
            f"{path}, with which {points} were computed ({then}), cannot be read from here: whether it has "
            "changed is not known"
        )
    end = "they are left out" if is_left_out else "sweep again for points of the file of today"
    since = f"{path} has changed since {points} were computed"
    return printable(f"{since} ({then} then, {now[:DIGEST_DIGITS]} now): {end}")
