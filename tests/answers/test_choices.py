"""Ways to run a model compete; a point that is another one under another name is shown once; variants."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from command_lines import TINY, run_ok

from dse.answers.fidelities import REFERENCE
from dse.answers.groups import stored_model
from dse.commands import best
from dse.inputs.models import CHOICES, LatentAttention, MixtureOfExperts, ModelSpec, Repairs
from dse.studies.points.inputs import model_json
from dse.studies.store import StudyStore

SHAPE = (512, 512, 64, 256, 8, 128, 32, 4)


def test_the_choices_are_those_that_a_model_resolves_under_a_strategy() -> None:
    model = ModelSpec("m", *SHAPE, fidelity="realistic", repairs=Repairs(recompute="full"))
    assert set(CHOICES) == {"micro_batches", "repairs.recompute"}
    found = model.choices_under(dp=2, pp=2, activation_recompute=True)
    assert found == {"micro_batches": 8, "repairs.recompute": "full"}
    assert tuple(found) == CHOICES
    assert model.choices_under(dp=2, pp=1, activation_recompute=False) == {
        "micro_batches": 1,
        "repairs.recompute": None,
    }


def test_a_stored_model_has_its_groups_again() -> None:
    experts, latent = MixtureOfExperts(8, 2, 64), LatentAttention(64, None, 16, 8, 16)
    model = ModelSpec(
        "m",
        *SHAPE,
        fidelity="realistic",
        repairs=Repairs(loss=False),
        experts=experts,
        latent_attention=latent,
    )
    assert stored_model(model_json(model)) == model
    assert stored_model(model_json(model).replace('"top_k"', '"top"')) is None
    assert stored_model('{"name":"of another version"}') is None


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ways")
    axes = "space.axes={model.repairs.recompute:[selective,full],model.micro_batches:[null,1,2]}"
    space = ("space.sp=[1]", "space.pp=[1,2]", 'space.constraints=["dp*tp*sp*pp == npus","pp <= 2"]')
    run_ok("sweep", *TINY, "model.fidelity=realistic", axes, *space, "study=ways", cwd=folder)
    return folder / "results" / "ways"


def test_ways_to_run_a_model_compete_in_one_group(ways: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert best.main([str(ways), "top=100", "--no-memory-cap", "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    seen = {
        (point["dp"], point["tp"], point["pp"], point["activation_recompute"], point["variant"])
        for point in points
    }
    assert len(seen) == len(points)
    assert {text for *_, recompute, text in seen if recompute} >= {
        "model.micro_batches=1 model.repairs.recompute=full",
        "model.micro_batches=1 model.repairs.recompute=selective",
        "model.micro_batches=2 model.repairs.recompute=full",
    }
    assert all("recompute" not in text for *_, recompute, text in seen if not recompute)
    metrics = [
        (point["dp"], point["tp"], point["pp"], point["wall_time_ns"], point["peak_memory_bytes"])
        for point in points
        if not point["activation_recompute"] and point["pp"] == 1
    ]
    assert len(set(metrics)) == len(metrics)


def test_the_count_is_that_of_different_points(ways: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert best.main([str(ways), "--no-memory-cap", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    stored = StudyStore(ways).read_table(["key"]).num_rows
    # 1 and 2 micro-batches, and the default of pipelines; each recomputed in two ways, or not at all.
    assert (stored, sum(answer["counts"].values())) == (108, 5 * 2 * 3 + 4 * 3 * 3)


def test_a_different_number_is_a_different_point() -> None:
    one, other = (ModelSpec("m", *SHAPE, fidelity="realistic", micro_batches=count) for count in (1, 2))
    assert dataclasses.replace(one, micro_batches=2) == other
    assert one.choices_under(1, 1, activation_recompute=False) != other.choices_under(
        1, 1, activation_recompute=False
    )


FAULT = "[{source:0,destination:1,removed:true}]"


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("broken")
    axes = f"space.axes={{system.faults:[[],{FAULT}]}}"
    run_ok(
        "sweep",
        *TINY,
        "system.network_model=congestion_aware",
        axes,
        "space.sp=[1]",
        "study=broken",
        cwd=folder,
    )
    return folder / "results" / "broken"


def test_every_variant_of_a_system_has_its_best_point(
    broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert best.main([str(broken), "--json"]) == 0
    variants = json.loads(capsys.readouterr().out)["variants"]
    assert [(entry["variant"], entry["dp"], entry["tp"], entry["wall_time_ns"]) for entry in variants] == [
        ("system.faults=[]", 16, 1, 920_382),
        ("system.faults=[{destination:1,removed:true,source:0}]", 8, 2, 2_032_752),
    ]
    assert best.main([str(broken)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"tiny on torus_4x4, 16 NPUs, {REFERENCE}: the optimum against\n  system.faults\n")
    assert out.count("  faults=[{destination:1,removed:true,source:0}] ") == 1


def test_faults_make_groups(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert best.main([str(broken), "by=system.faults", "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)
    assert [(answer["title"], answer["best"]["wall_time_ns"]) for answer in answers] == [
        ("tiny on torus_4x4, 16 NPUs: system.faults=[]", 920_382),
        ("tiny on torus_4x4, 16 NPUs: system.faults=[{destination:1,removed:true,source:0}]", 2_032_752),
    ]


def test_lists_leave_out_points_above_the_cap_and_say_so(
    broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for what in (["top=50"], ["top=50", "by=tp"], ["--pareto"]):
        assert best.main([str(broken), *what, "memory_cap=100MB", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        answers = found if isinstance(found, list) else [found]
        peaks = [point["peak_memory_bytes"] for answer in answers for point in answer["points"]]
        assert peaks
        assert max(peaks) <= 100_000_000
        assert {answer["memory_cap_bytes"] for answer in answers} == {100_000_000}
        assert best.main([str(broken), *what, "memory_cap=100MB"]) == 0
        assert " under 100 MB\n" in capsys.readouterr().out
    assert best.main([str(broken), "top=1", "memory_cap=1MB"]) == 0
    assert "nothing fits under 1 MB: the smallest peak memory is" in capsys.readouterr().out
