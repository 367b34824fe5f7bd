"""The schema of a study says what every column is, and rows go through it unchanged."""

from __future__ import annotations

import dataclasses

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from study_rows import arbitrary_rows

from dse.studies.store import POINTS, StudyRow, as_rows, as_table, study_schema

COLUMNS = {
    "study": "string",
    "model": "string",
    "system": "string",
    "dp": "int32",
    "tp": "int32",
    "sp": "int32",
    "pp": "int32",
    "cp": "int32",
    "weight_sharded": "bool",
    "activation_recompute": "bool",
    "ep": "int32",
    "expert_tp": "int32",
    "micro_batch": "int32",
    "schedule": "string",
    "chunks": "int32",
    "stages": "string",
    "zero": "int32",
    "shard_ranks": "int32",
    "sequence_parallel": "bool",
    "context": "string",
    "recompute": "string",
    "recompute_layers": "int32",
    "precision": "string",
    "attention": "string",
    "overlap_tp": "bool",
    "overlap_dp": "bool",
    "offload": "string",
    "order": "string",
    "framework": "string",
    "dispatcher": "string",
    "overlap_ep": "bool",
    "graphs": "string",
    "status": "string",
    "reason": "string",
    "fractional": "bool",
    "npus": "int64",
    "wall_time_ns": "int64",
    "gpu_time_ns": "int64",
    "comm_time_ns": "int64",
    "exposed_comm_ns": "int64",
    "compute_bound_pct": "double",
    "compute_utilization_pct": "double",
    "memory_utilization_pct": "double",
    "operation_intensity": "double",
    "peak_memory_bytes": "int64",
    "rank0_wall_time_ns": "int64",
    "rank0_peak_memory_bytes": "int64",
    "last_rank": "int64",
    "rank_classes": "int32",
    "key": "string",
    "model_spec": "dictionary<values=string, indices=int32, ordered=0>",
    "system_spec": "dictionary<values=string, indices=int32, ordered=0>",
    "options": "dictionary<values=string, indices=int32, ordered=0>",
    "understated_comm": "dictionary<values=string, indices=int32, ordered=0>",
    "impossible_split": "dictionary<values=string, indices=int32, ordered=0>",
    "mfu_pct": "double",
    "tokens_per_s": "double",
    "tokens_per_s_per_npu": "double",
    "schedules": "dictionary<values=string, indices=int32, ordered=0>",
    "prediction_notes": "dictionary<values=string, indices=int32, ordered=0>",
    "wall_time_low_ns": "int64",
    "wall_time_high_ns": "int64",
    "run_time_s": "double",
    "run_time_low_s": "double",
    "run_time_high_s": "double",
    "run_effective_pct": "double",
    "run_goodput_pct": "double",
    "run_failures": "double",
    "run_cost": "double",
    "run_energy_mwh": "double",
}


def test_columns_have_the_documented_names_types_and_order() -> None:
    assert {field.name: str(field.type) for field in study_schema()} == COLUMNS
    assert study_schema().names == list(COLUMNS)


def test_columns_that_every_point_has_cannot_be_null_and_the_metrics_can() -> None:
    required = [field.name for field in study_schema() if not field.nullable]
    assert required == list(COLUMNS)[: 3 + 29 + 4]


def test_columns_that_came_later_and_cannot_be_null_say_what_older_rows_hold() -> None:
    for field in study_schema():
        column = POINTS.columns[field.name]
        assert 1 <= column.since <= POINTS.version
        assert field.nullable or column.since == 1 or column.fill is not None, field.name


def test_every_column_has_a_description_and_a_unit() -> None:
    for field in study_schema():
        assert set(field.metadata) == {b"description", b"unit"}, field.name
        assert all(field.metadata.values()), field.name


def test_units_agree_with_the_names_of_the_columns() -> None:
    for field in study_schema():
        for suffix, unit in {"_ns": b"ns", "_bytes": b"bytes", "_pct": b"%"}.items():
            assert field.name.endswith(suffix) == (field.metadata[b"unit"] == unit), field.name


def test_the_schema_version_is_in_the_metadata() -> None:
    assert study_schema().metadata == {b"schema_version": b"8"}


def test_a_row_has_the_columns_of_the_schema_in_order() -> None:
    assert [field.name for field in dataclasses.fields(StudyRow)] == study_schema().names


@settings(deadline=None)
@given(st.lists(arbitrary_rows(), max_size=5))
def test_rows_survive_the_way_through_a_table(rows: list[StudyRow]) -> None:
    table = as_table(rows)
    assert table.schema.equals(study_schema(), check_metadata=True)
    assert as_rows(table) == rows


def test_a_table_is_taken_as_it_is() -> None:
    table = pa.table({"status": ["ok"]})
    assert as_table(table) is table
