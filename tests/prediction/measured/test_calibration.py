"""Constants fitted to rows of accelerators: those that made the rows are found, and written into files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from dse.base.errors import InputError
from dse.inputs.accelerators import accelerator
from dse.prediction.accuracy.accuracy import fold_names
from dse.prediction.calibration.calibration import calibrate, enough_rows, left_out_mape_pct
from dse.prediction.calibration.constant_files import calibrated_text, with_keys
from dse.prediction.calibration.constants import CONSTANTS, Owner, Sample, problem, samples, with_constants
from dse.prediction.calibration.subjects import (
    Subject,
    calibrate_one,
    present_constants,
    shipped_path,
    shipped_problem,
)
from dse.prediction.measured.cases import case_of
from dse.prediction.measured.rows import (
    COLUMNS,
    DATA,
    MeasuredRow,
    fitted_rows,
    never_fitted,
    published_rows,
    read_rows,
)
from dse.prediction.steps.predict import predict

H100 = Owner("h100_sxm")
FOUNDRY = Owner("llm-foundry", is_framework=True)
PROVENANCE = {
    *("measured_iter_s", "measured_tflops_per_gpu", "tflops_convention", "measured_tokens_s_gpu"),
    *("measured_mfu", "iter_s_provenance", "field_provenance", "citation", "assumed", "recipe"),
    *("recipe_id", "recipe_match"),
}
"""Columns that the shipped tables may leave out: no figure depends on them."""

MEASURED = Path(__file__).parents[4] / "shared" / "golden" / "measured"


def foundry_rows(count: int = 14) -> list[MeasuredRow]:
    """Runs of LLM Foundry on H100: models of 125M to 70B, sequences of 512 to 65,536."""
    rows = [row for row in fitted_rows() if row.source == "MosaicML-LLMFoundry" and "H100" in row.gpu]
    return rows[:: max(1, len(rows) // count)][:count]


def made_with(
    rows: Sequence[MeasuredRow], constants: Mapping[str, float], launch_us: float | None = None
) -> list[MeasuredRow]:
    """The rows as an accelerator with these constants would have run them."""
    made = []
    for row in rows:
        case = case_of(row)
        chip = with_constants(case.cluster.accelerator, constants)
        plan = replace(case.plan, launch_us=launch_us)
        made.append(
            replace(row, iter_s=predict(case.model, plan, replace(case.cluster, accelerator=chip)).step_s)
        )
    return made


@pytest.fixture(scope="module")
def steps() -> list[Sample]:
    found, reasons = samples(made_with(foundry_rows(), {"matrix": 0.61, "attention": 0.2, "memory": 0.55}))
    assert not reasons
    return found


def test_constants_that_made_the_rows_are_found(steps: list[Sample]) -> None:
    now = {"matrix": 0.5, "attention": 0.3, "memory": 0.4}
    (found,) = calibrate(steps, {H100: now}, {H100: now})
    assert found.is_converged
    assert found.values == pytest.approx({"matrix": 0.61, "attention": 0.2, "memory": 0.55}, rel=0.08)
    assert found.mape_pct < 0.5 < 5 < found.before_pct
    assert found.cross_mape_pct < 1
    assert found.folds == "in 5 folds by model"
    assert (found.rows, found.types, found.sources) == (14, ["h100_sxm"], ["MosaicML-LLMFoundry"])
    assert not [each.warning for each in found.constants if each.warning]
    assert found.summary.startswith("fitted to 14 steps on h100_sxm of MosaicML-LLMFoundry: mean error 0.")


def test_a_constant_that_no_row_depends_on_stays_and_is_told(steps: list[Sample]) -> None:
    """The runs are in 16 bit."""
    now = {"matrix": 0.5, "matrix_8bit": 0.42}
    (found,) = calibrate(steps, {H100: now}, {H100: now})
    matrix, eight = found.constants
    assert matrix.uncertainty is not None
    assert (eight.value, eight.uncertainty) == (0.42, None)
    assert eight.warning == "no row depends on matrix_8bit; it stays at 0.42"
    assert "matrix_8bit" not in found.uncertainty
    (nothing,) = calibrate(steps, {FOUNDRY: {"launch_us": 10.0}}, {FOUNDRY: {"launch_us": 10.0}})
    assert nothing.summary == "not fitted: 14 steps of MosaicML-LLMFoundry do not depend on it"
    text = calibrated_text(shipped_path(FOUNDRY).read_text(), nothing, {})
    assert "uncertainty" not in text
    assert "launch_us: 10\n" in text


def test_a_constant_beyond_hardware_stops_at_its_bound_and_is_told() -> None:
    rows = [replace(row, iter_s=row.iter_s / 10) for row in foundry_rows()]
    now = {"matrix": 0.5}
    (found,) = calibrate(samples(rows)[0], {H100: now}, {H100: now})
    assert found.values == {"matrix": 0.92}
    assert found.constants[0].warning.startswith("matrix is at its bound, 0.92: ")


def test_launches_of_a_framework_are_fitted_with_an_accelerator() -> None:
    small = [row for row in fitted_rows() if row.source == "vTrain-single"][::60]
    chip, program = Owner("a100_80"), Owner("megatron-deepspeed", is_framework=True)
    now = {chip: {"matrix": 0.5}, program: {"launch_us": 10.0}}
    first, second = calibrate(samples(made_with(small, {"matrix": 0.61}, launch_us=90.0))[0], now, now)
    assert first.values["matrix"] == pytest.approx(0.61, rel=0.05)
    assert second.values["launch_us"] == pytest.approx(90.0, rel=0.05)
    assert program.bounds("launch_us") == (1.0, 200.0)


def test_sources_weigh_by_the_root_of_their_rows(steps: list[Sample]) -> None:
    rare = [replace(step, row=replace(step.row, source="rare")) for step in steps[:2]]
    both = [*rare, *steps[2:]]
    weights = problem(both, {H100: {"matrix": 0.5}}).weights
    assert weights[:2].sum() == pytest.approx(2**0.5)
    assert weights[2:].sum() == pytest.approx(12**0.5)
    assert problem(both, {H100: {"matrix": 0.5}}, balance=0.0).weights.tolist() == [1.0] * 14


def test_a_source_left_out_is_predicted_by_the_others(steps: list[Sample]) -> None:
    """Half of the rows, of another source, ran 1.5 times as long: the others cannot know."""
    other = [replace(s, row=replace(s.row, source="other", iter_s=1.5 * s.row.iter_s)) for s in steps[::2]]
    mixed = [*other, *steps[1::2]]
    errors = left_out_mape_pct(mixed, {H100: {"matrix": 0.6, "attention": 0.3, "memory": 0.4}})
    assert errors["other"] == pytest.approx(100 / 3, abs=5)
    assert errors["MosaicML-LLMFoundry"] > 20


def test_folds_are_sources_fifths_of_the_models_and_bands_of_gpus() -> None:
    rows = fitted_rows()
    assert fold_names(rows, "source") == [row.publisher for row in rows]
    by_model = dict(zip(rows, fold_names(rows, "model"), strict=True))
    assert set(by_model.values()) == {f"models {number}" for number in range(1, 6)}
    shapes = {(row.layers, row.hidden, row.experts, row.ffn) for row in rows}
    assert len({(r.layers, r.hidden, r.experts, r.ffn, name) for r, name in by_model.items()}) == len(shapes)
    bands = fold_names([replace(rows[0], gpus=gpus) for gpus in (1, 8, 9, 64, 65, 512, 513)], "scale")
    assert bands == ["1 to 8 GPUs"] * 2 + ["9 to 64 GPUs"] * 2 + ["65 to 512 GPUs"] * 2 + ["above 512 GPUs"]


def test_a_scale_left_out_is_predicted_by_the_others(steps: list[Sample]) -> None:
    """Runs on few GPUs took 1.5 times as long: those on many cannot know, though of the same source."""
    few, many = steps[::2], steps[1::2]
    mixed = [replace(s, row=replace(s.row, gpus=8, iter_s=1.5 * s.row.iter_s)) for s in few]
    mixed += [replace(s, row=replace(s.row, gpus=512)) for s in many]
    starts = {H100: {"matrix": 0.6, "attention": 0.3, "memory": 0.4}}
    (error,) = left_out_mape_pct(mixed, starts, folds="scale").values()
    assert error > 30
    (known,) = left_out_mape_pct(mixed, starts, folds="model").values()
    assert known < error


def test_too_few_rows_are_refused() -> None:
    subject = Subject.named("H100")
    message = (
        r"7 rows of h100_sxm can be expressed, and a fit of 6 constants needs at least 8: give more runs, or"
    )
    with pytest.raises(InputError, match=message):
        calibrate_one(subject, foundry_rows(7))
    with pytest.raises(
        InputError, match=r"2 rows of h100_sxm .* 1 constant needs at least 3: give more runs$"
    ):
        calibrate_one(subject, foundry_rows(2), ["matrix"])
    assert enough_rows(6) == 8


def test_rows_that_cannot_be_expressed_do_not_count() -> None:
    rows = [replace(row, tp=None) for row in foundry_rows(8)]
    with pytest.raises(InputError, match=r"^0 rows of h100_sxm .*; 8 cannot \(tp: unknown, and a plan needs"):
        calibrate_one(Subject.named("h100_sxm"), rows)


def test_rows_of_other_accelerators_are_not_fitted() -> None:
    with pytest.raises(InputError, match="no row is of accelerator=b200; their gpu is H100-80GB-SXM: choose"):
        calibrate_one(Subject.named("b200"), foundry_rows())


def test_an_unknown_constant_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"constants has 'matricks'; allowed are matrix, .*; did you mean 'matrix'"
    ):
        calibrate_one(Subject.named("h100_sxm"), foundry_rows(), ["matricks"])


def test_a_written_file_has_the_constants_and_all_else_as_it_was(steps: list[Sample], tmp_path: Path) -> None:
    now = {"matrix": 0.5, "attention": 0.3}
    (found,) = calibrate(steps, {H100: now}, {H100: now})
    before = shipped_path(H100).read_text()
    path = tmp_path / "mine.yaml"
    path.write_text(calibrated_text(before, found, asdict(accelerator("h100_sxm").efficiency)))
    mine, shipped = accelerator(str(path)), accelerator("h100_sxm")
    assert mine.efficiency == replace(shipped.efficiency, **found.values)
    assert mine.uncertainty == found.uncertainty
    assert mine.calibration == found.summary
    assert mine.fitted_kinds == found.kinds == ("llm-foundry",)
    fitted = {
        "efficiency": shipped.efficiency,
        "uncertainty": shipped.uncertainty,
        "calibration": shipped.calibration,
        "fitted_kinds": shipped.fitted_kinds,
    }
    assert replace(mine, **fitted) == shipped
    again = calibrated_text(path.read_text(), found, asdict(accelerator("h100_sxm").efficiency))
    assert again == path.read_text()


def test_a_type_that_borrows_constants_has_the_fitted_ones_of_its_own(
    steps: list[Sample], tmp_path: Path
) -> None:
    own = [replace(step, owners=(Owner("h200"), FOUNDRY)) for step in steps]
    now = {name: present_constants(Owner("h200"))[name] for name in ("matrix", "attention")}
    (found,) = calibrate(own, {Owner("h200"): now}, {Owner("h200"): now})
    path = tmp_path / "h200.yaml"
    path.write_text(
        calibrated_text(
            shipped_path(Owner("h200")).read_text(), found, asdict(accelerator("h200").efficiency)
        )
    )
    own, lender = accelerator(str(path)), accelerator("h100_sxm")
    assert own.efficiency == replace(lender.efficiency, **found.values)
    assert own.calibration == found.summary


def test_a_borrower_says_whether_its_steps_were_in_the_fit(tmp_path: Path) -> None:
    text = shipped_path(Owner("h200")).read_text()
    lender = tmp_path / "lender.yaml"
    borrower = tmp_path / "h200.yaml"
    borrower.write_text(text.replace("efficiency_of: h100_sxm", f"efficiency_of: {lender}"))
    for types, expected in (
        ("h100_sxm, h200", "fitted to steps of this type too"),
        ("h100_sxm", "no measurements of this type"),
    ):
        told = f'"fitted to 9 steps on {types} of Bench: mean error 1.0 %, 2.0 % in 5 folds"'
        lender.write_text(with_keys(shipped_path(H100).read_text(), {"calibration": told}))
        assert accelerator(str(borrower)).calibration == f"carried over from h100_sxm: {expected}"


def test_keys_are_replaced_where_they_stand() -> None:
    text = "# one\na: 1\nb:\n  c: 2\n  # inside\n\n# two\nd: 4"
    assert with_keys(text, {"b": "{c: 3}", "new": "5"}) == "# one\na: 1\nb: {c: 3}\nnew: 5\n\n# two\nd: 4\n"
    assert with_keys(text, {"new": "5"}) == text + "\nnew: 5\n"
    assert with_keys(text, {"new": "5"}, without=["a"]).startswith("# one\nnew: 5\nb:\n")


def test_types_are_fitted_together_from_where_their_kernels_are() -> None:
    """A run on an H200, which borrows the constants of the H100, is in no fit: it would bend both."""
    sources = (
        "Korthikanti2022-Tab5",
        "MegatronBridge",
        "MosaicML-LLMFoundry",
        "SimuMax-B200",
        "vTrain-multi",
    )
    some = [row for row in fitted_rows() if row.source in sources and not row.gpu.startswith("GB")]
    some[-1] = replace(some[-1], gpu="H200")
    steps, present, starts, reasons = shipped_problem(some)
    assert len(steps) == len(some) - 1
    assert {step.owners[0].name for step in steps} == {"a100_80", "b200", "h100_sxm"}
    assert reasons["h200"] == "has 1 rows, and a fit needs 8"
    frameworks = [owner.name for owner in present if owner.is_framework]
    assert frameworks == [
        "llm-foundry",
        "megatron-bridge",
        "megatron-core",
        "megatron-deepspeed",
        "megatron-lm",
    ]
    assert all(tuple(named) == owner.constants for owner, named in starts.items())
    assert (starts[H100]["launch_us"], starts[H100]["matrix"]) == (3.2, 0.726)


def test_types_with_few_rows_or_a_single_source_are_left_alone() -> None:
    """A source of its own cannot tell the hardware from how it was measured, unless kernels do."""
    rows = [row for row in fitted_rows() if row.source == "tpu-recipes-v6e"]
    _, present, _, reasons = shipped_problem([*rows, *rows, *rows, *foundry_rows(7)])
    assert reasons["h100_sxm"] == "has 7 rows, and a fit needs 8"
    assert (
        reasons["tpu_v6e"]
        == "has rows of tpu-recipes-v6e only, which do not tell the hardware from the source"
    )
    assert [owner.name for owner in present] == ["llm-foundry", "maxtext"]


def test_shipped_constants_are_within_bounds_and_few() -> None:
    assert len(CONSTANTS) <= 6
    for name in ("a100_80", "h100_sxm", "b200"):
        owner = Owner(name)
        for key, value in present_constants(owner).items():
            low, high = owner.bounds(key)
            assert low <= value <= high, (name, key)


def test_rows_that_are_shown_only_are_never_fitted() -> None:
    fitted = {row.id for row in fitted_rows()}
    assert len(fitted) == 1187
    assert len(never_fitted()) == 13
    assert not fitted & never_fitted()
    assert {row.id for row in published_rows()} == fitted | never_fitted()


def test_the_published_rows_are_small_and_say_where_they_are_from() -> None:
    assert sum(path.stat().st_size for path in DATA.iterdir()) < 350_000
    told = (DATA / "README.md").read_text()
    assert all(row.source in told or row.publisher in told for row in published_rows())


@pytest.mark.skipif(not MEASURED.is_dir(), reason="the full tables of published measurements are not here")
@pytest.mark.parametrize(
    ("name", "full"),
    [("published", ("visible", "bridge_visible", "fresh_visible")), ("report_only", ("report_only",))],
)
def test_the_published_rows_are_those_of_the_full_tables(name: str, full: Sequence[str]) -> None:
    rows = [row for table in full for row in read_rows(MEASURED / f"{table}.csv")]
    for own, row in zip(read_rows(DATA / f"{name}.csv"), rows, strict=True):
        assert own.iter_s == pytest.approx(row.iter_s, rel=1e-6)
        left_out = {
            key: getattr(row, key) for key in COLUMNS if getattr(own, key) in ("", None) and key != "iter_s"
        }
        assert set(left_out) <= PROVENANCE | {key for key, value in left_out.items() if value in ("", None)}
        assert replace(own, iter_s=row.iter_s, **left_out) == row  # type: ignore[arg-type]
