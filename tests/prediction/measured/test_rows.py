"""Tables of measured steps: what a cell means, and what is refused, with file, line and column."""

from __future__ import annotations

import contextlib
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.prediction.measured.rows import (
    COLUMNS,
    REQUIRED,
    MeasuredRow,
    read_rows,
    read_tables,
    unmodelled,
    unread_notes,
)

HEADER = "id,layers,hidden,heads,seq,gpu,gpus,gbs,iter_s"
LINE = "a,48,6144,64,2048,A100-80GB-SXM,8,4,1.42"
MEASURED = Path(__file__).parents[4] / "shared" / "golden" / "measured" / "visible.csv"


def table(folder: Path, *lines: str, name: str = "rows.csv") -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_row_is_read_by_column_names(tmp_path: Path) -> None:
    path = table(
        tmp_path,
        f"notes,{HEADER},gated,kv_heads,zero,measured_memory_gib,source,vp,sp",
        f'"two, words",{LINE},1,8.0,0,66.55,Tab5,,false',
    )
    assert read_rows(path) == [
        MeasuredRow(
            *("a", 48, 6144, 64, 2048, "A100-80GB-SXM", 8, 4, 1.42),
            source="Tab5",
            gated=True,
            kv_heads=8,
            zero=0,
            measured_memory_gib=66.55,
            vp=None,
            sp=False,
            notes="two, words",
        )
    ]


def test_a_row_without_source_has_the_name_of_its_file(tmp_path: Path) -> None:
    path = table(tmp_path, f"{HEADER},source", f"{LINE},", name="ours.csv")
    assert read_rows(path)[0].source == "ours"


def test_a_spreadsheets_mark_blank_lines_and_quoted_breaks_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(f'\ufeffnotes,{HEADER}\r\n\r\n"one\ntwo",{LINE}\r\nx,{LINE}\r\n'.encode())
    with pytest.raises(InputError, match=r"rows.csv, line 5, column id: 'a' is there already, in line 3"):
        read_rows(path)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "is empty; the first line must name the columns"),
        ([HEADER], "has no rows below the header"),
        (
            [f"{HEADER},recompue", f"{LINE},full"],
            "line 1: unknown column 'recompue'; did you mean 'recompute'",
        ),
        ([f"{HEADER},tp,tp", f"{LINE},1,1"], "line 1: the column tp is there 2 times"),
        (["id,layers", "a,1"], "line 1: required columns are absent: hidden, heads, seq, gpu, gpus, gbs"),
        ([HEADER, "a,48"], "line 2: has 2 cells; it must have 9"),
        ([HEADER, f"{LINE},1"], "line 2: has 10 cells"),
        ([HEADER, "a,48,6144,64,2048,A100,8,four,1"], "column gbs: 'four' is not allowed; .* from 1$"),
        ([HEADER, "a,4.5,6144,64,2048,A100,8,4,1"], "column layers: '4.5' is not allowed"),
        ([HEADER, "a,0,6144,64,2048,A100,8,4,1"], "column layers: '0' is not allowed"),
        ([HEADER, "a,nan,6144,64,2048,A100,8,4,1"], "column layers: 'nan'"),
        ([HEADER, "a,inf,6144,64,2048,A100,8,4,1"], "column layers: 'inf'"),
        ([HEADER, "a,48,6144,64,2048,A100,8,4,inf"], "column iter_s: 'inf' is not .* a number above 0"),
        ([HEADER, "a,48,6144,64,2048,A100,8,4,-1"], "column iter_s: '-1'"),
        ([f"{HEADER},zero", f"{LINE},4"], "column zero: '4' is not allowed; .* integer from 0 to 3"),
        ([f"{HEADER},gated", f"{LINE},2"], "column gated: '2' is not allowed; it must be 0 or 1"),
        ([HEADER, f'"{LINE}'], "line 2: malformed CSV"),
    ],
)
def test_a_wrong_table_is_refused(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_rows(table(tmp_path, *lines) if lines else _empty(tmp_path))
    assert str(caught.value).startswith(str(tmp_path / "rows.csv"))
    assert "\n" not in str(caught.value)


def _empty(folder: Path) -> Path:
    (folder / "rows.csv").touch()
    return folder / "rows.csv"


def test_a_row_with_empty_required_cells_is_read_and_says_which(tmp_path: Path) -> None:
    lines = [HEADER, "a,,6144,64,2048, ,8,4,", LINE.replace("a,", ",", 1)]
    broken, unnamed = read_rows(table(tmp_path, *lines))
    assert (broken.id, broken.missing) == ("a", ("layers", "gpu", "iter_s"))
    assert (unnamed.id, unnamed.missing, unnamed.layers) == ("line 3", (), 48)


def test_columns_that_no_figure_depends_on_are_passed_over_and_named(tmp_path: Path) -> None:
    path = table(tmp_path, f"{HEADER},operator,weather", f"{LINE},us,fine")
    assert read_rows(path)[0].iter_s == 1.42
    assert unread_notes([path]) == [f"{path}: no figure depends on the columns operator, weather"]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_tables_of_spreadsheets_and_pandas_are_read(tmp_path: Path, separator: str) -> None:
    lines = [f",{HEADER},gated,sp", f"0,{LINE},1.0,0.0"]
    path = table(tmp_path, *[line.replace(",", separator) for line in lines])
    (row,) = read_rows(path)
    assert (row.iter_s, row.gated, row.sp) == (1.42, True, False)
    assert unread_notes([path]) == [f"{path}: no figure depends on the columns without a name"]


def test_what_no_prediction_models_is_listed_where_a_row_says_it() -> None:
    row = MeasuredRow("a", 48, 6144, 64, 2048, "A100", 8, 4, 1.42, cuda_graph="none", dispatcher="alltoall")
    assert unmodelled(row) == {}
    said = replace(row, optimizer_detail="bf16 moments", fp8_attention=True, moe_shared_expert_overlap=False)
    assert unmodelled(said) == {"fp8_attention": True, "optimizer_detail": "bf16 moments"}


def test_releases_of_a_source_are_of_one_publisher() -> None:
    row = MeasuredRow("a", 48, 6144, 64, 2048, "A100", 8, 4, 1.42)
    names = ["Megatron-Bridge 26.04.01", "NeMo24.07", "NVIDIA-dgxc-H100-2024/25", "vTrain-single", "2024/25"]
    assert [replace(row, source=name).publisher for name in names] == [
        "Megatron-Bridge",
        "NeMo",
        "NVIDIA-dgxc-H100",
        "vTrain-single",
        "2024/25",
    ]


def test_two_files_must_not_share_an_id(tmp_path: Path) -> None:
    paths = [table(tmp_path, HEADER, LINE, name=name) for name in ("one.csv", "two.csv")]
    with pytest.raises(InputError, match=r"two.csv: the id 'a' is in .*one.csv too"):
        read_tables(paths)


def test_only_required_columns_have_no_default() -> None:
    assert tuple(HEADER.split(",")) == REQUIRED
    assert tuple(field.name for field in fields(MeasuredRow)) == (*COLUMNS, "missing")


@given(st.lists(st.text(max_size=8), max_size=12), st.text(max_size=40))
def test_no_text_makes_the_reader_fail_otherwise(
    tmp_path_factory: pytest.TempPathFactory, cells: list[str], after: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any_text.csv"
    path.write_text(f"{HEADER}\n{','.join(cells)}\n{after}", encoding="utf-8", errors="ignore")
    with contextlib.suppress(InputError):
        assert read_rows(path)


@pytest.mark.skipif(not MEASURED.exists(), reason="the table of published measurements is not here")
def test_the_published_table_is_read_whole() -> None:
    rows = read_rows(MEASURED)
    assert len(rows) == 933
    assert sum(row.measured_memory_gib is not None for row in rows) == 26
    assert rows[0].iter_s == 1.42
