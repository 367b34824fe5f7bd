"""The page's own logic under Node, against the package: order, spaces, commands, state, downloads."""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import json
import random
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from study_rows import failed_row, row

from dse.answers import pareto_front, ranking, select
from dse.config import compose_config
from dse.errors import InputError
from dse.explorer import Subject, Words, page_data, space_choices
from dse.expressions import Expression
from dse.points import scenario_of
from dse.points.inputs import model_json, system_json
from dse.space import DesignSpace
from dse.strategies import Strategy
from dse.studies import StudyRow
from dse.units import format_bytes, format_duration_ns, parse_bytes

PAGE = Path(__file__).parents[2] / "dse" / "explorer" / "page"
NODE = shutil.which("node")
FILES = (
    *(
        "vendor/hyparquet-writer.min",
        "format",
        "constraints",
        "scenario",
        "doubts",
        "answers",
        "state",
        "scales",
        "words",
    ),
    *("commands", "download", "frame", "runs"),
)
TRACED = ("dp", "tp", "sp", "pp", "weight_sharded", "activation_recompute")

pytestmark = pytest.mark.skipif(NODE is None, reason="needs node")


HEAD = 'const input = JSON.parse(require("node:fs").readFileSync(0, "utf8"));'
TAIL = "(async () => { %s })().then((made) => process.stdout.write(JSON.stringify(made ?? null)));"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of the page in one file, as the page runs them."""
    file = tmp_path_factory.mktemp("page") / "page.js"
    file.write_text("\n".join([(PAGE / f"{name}.js").read_text(encoding="utf-8") for name in FILES]))
    return file


@pytest.fixture
def in_page(programs: Path) -> Any:
    """Run the body of a function of `input` in the page; return what it returns."""

    def run(body: str, value: Any = None) -> Any:
        text = f'require("node:fs").readFileSync({json.dumps(str(programs))}, "utf8")'
        program = f'require("node:vm").runInThisContext({text});'
        made = subprocess.run(
            [str(NODE), "-e", "\n".join([program, HEAD, TAIL % body])],
            input=json.dumps(value),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert made.returncode == 0, made.stderr[-3000:]
        return json.loads(made.stdout)

    return run


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    """What a page knows of the first pair of the lab."""
    return data_of("system=system1", "model=llama70b")


def data_of(*words: str) -> dict[str, Any]:
    config = compose_config(list(words))
    choices = space_choices(config.space)
    subject = Subject(scenario_of(config), choices, config.space.constraints, Words(words), 80 * 10**9)
    return json.loads(json.dumps(page_data(subject)))


def page_row(each: StudyRow) -> dict[str, Any]:
    return {**dataclasses.asdict(each), "label": each.label()}


# ---- order


def random_rows(seed: int) -> list[StudyRow]:
    """Rows with many ties, some without a peak memory, some not ok; no two of one strategy."""
    chance = random.Random(seed)
    strategies = list(itertools.product((1, 2, 16), (1, 8), (1, 4), (1, 2), (False, True), (False, True)))
    chance.shuffle(strategies)
    found = []
    for values in strategies[:60]:
        fields = dict(zip(TRACED, values, strict=True))
        if chance.random() < 0.15:
            found.append(dataclasses.replace(failed_row("infeasible", "7 is too few"), **fields))
            continue
        peak = None if chance.random() < 0.1 else chance.randrange(1, 5) * 10**10
        found.append(row(**fields, wall_time_ns=chance.randrange(1, 6) * 10**9, peak_memory_bytes=peak))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_rows_stand_in_the_order_of_the_ranking(in_page: Any, seed: int) -> None:
    rows = random_rows(seed)
    found = in_page(
        "return explorer.answers.finished(input).map(({ label }) => label);", list(map(page_row, rows))
    )
    assert found == [each.label() for each in ranking(rows)]


@pytest.mark.parametrize("cap", [10**10, 25 * 10**9, 10**9])
def test_the_best_points_are_those_of_the_package(in_page: Any, cap: int) -> None:
    rows = random_rows(7)
    expected = select(rows, memory_cap_bytes=cap)
    found = in_page(
        "const { firstTwo, front } = explorer.answers;"
        "return [...firstTwo(input.rows), ...firstTwo(input.rows, input.cap), ...front(input.rows)]"
        ".map((row) => row?.label ?? null);",
        {"rows": list(map(page_row, rows)), "cap": cap},
    )
    points = (expected.optimum, expected.runner_up, expected.capped_optimum, expected.capped_runner_up)
    front = [each.label() for each in pareto_front(rows)]
    assert found == [*[each and each.label() for each in points], *front]


# ---- spaces


@pytest.mark.parametrize("space", ["lab", "full"])
@pytest.mark.parametrize("network", [(64,), (4, 4), (3, 4), (8, 16), (2,)])
def test_strategies_are_those_of_the_space_in_its_order(
    in_page: Any, space: str, network: tuple[int, ...]
) -> None:
    config = compose_config([f"space={space}", "system=system1"])
    design_space = config.space
    dimensions = tuple([dataclasses.replace(config.system.network[0], npus=npus) for npus in network])
    rings = {name: ("ring",) * len(network) for name in vars(config.system.collectives)}
    collectives = dataclasses.replace(config.system.collectives, **rings)
    system = dataclasses.replace(config.system, network=dimensions, collectives=collectives)
    try:
        expected = [fields_of(each) for each in design_space.strategies(config.model, system)]
    except InputError:  # degrees of the lab cannot fill 12 NPUs
        expected = []
    assert (
        in_page(
            "return explorer.scenario.strategiesOf(input.space, input.scenario);",
            {
                "space": space_json(design_space),
                "scenario": {
                    "model": json.loads(model_json(config.model)),
                    "system": json.loads(system_json(system)),
                },
            },
        )
        == expected
    )


def test_constraints_over_model_and_system_select_the_same_strategies(
    in_page: Any, data: dict[str, Any]
) -> None:
    config = compose_config(["system=system1", "model=llama70b"])
    space = DesignSpace(
        "some",
        {
            "dp": None,
            "tp": None,
            "sp": None,
            "pp": (1, 2, 4),
            "weight_sharded": (False, True),
            "activation_recompute": (True, False),
        },
        (
            "num_heads % tp == 0 and tp <= system.network.0.npus * 2",
            "not weight_sharded or dp > 1",
            "1 <= dp <= 16",
            "sp in (1, 2, 4)",
            "model.seq_len // sp >= 512 or activation_recompute",
        ),
    )
    expected = [fields_of(each) for each in space.strategies(config.model, config.system)]
    value = {"space": space_json(space), "scenario": data["scenario"]}
    found = in_page("return explorer.scenario.strategiesOf(input.space, input.scenario);", value)
    assert found == expected
    assert 10 < len(found) < 300


def fields_of(strategy: Strategy) -> dict[str, Any]:
    return {name: getattr(strategy, name) for name in TRACED}


def space_json(space: DesignSpace) -> dict[str, Any]:
    choices = {name: values and list(values) for name, values in space.choices.items() if name in TRACED}
    return {"choices": choices, "constraints": list(space.constraints)}


TEXTS = (
    "tp == 1",
    "dp * tp * sp * pp == npus",
    "not (tp > 2) and dp < 99",
    "1 < dp <= tp * 4",
    "-7 // 2 == -4",
    "-7 % 3 == 2",
    "7 % -3 == -2",
    "2 ** 3 ** 2 == 512",
    "-2 ** 2 == -4",
    "min(dp, tp, 3) == 2",
    "max(1, 2) > 1",
    "abs(-tp) == tp",
    "log2(8) == 3",
    "tp in (1, 2, 4)",
    "tp not in (1, 2)",
    "dp between 2 and 8",
    "dp not between 2 and 8",
    "weight_sharded",
    "not weight_sharded",
    "weight_sharded == true",
    "weight_sharded + 1 == 2",
    "weight_sharded == (dp > 1)",
    "80GB == 80000000000",
    "1GiB > 1e9",
    "tp = 2 AND dp <> 3",
    "tp or dp",
    "7 / 2 == 3.5",
    "5.5 // 2 == 2",
    "1e3 == 1000.",
    ".5 < 1",
    "(tp == 2) == (dp == 8)",
    "num_layers % pp == 0",
    "min(true, 2)",
    "- - tp == tp",
    "+tp == 2",
    "2 ** -1 == 0.5",
    "sp + 1 < dp - 1 < 100",
    "tp + dp",
    "1 / 0 == 1",
    "tp ==",
    "tp & dp",
    "(tp == 1",
    "foo(1, 2) == 1",
    "min(1) == 1",
    "log2(0) == 1",
    "tp is null",
    "5 % 0 == 1",
    "'a' == 1 +",
)


def test_constraints_hold_where_they_do_in_the_package_and_are_refused_where_they_are_there(
    in_page: Any,
) -> None:
    values = {"dp": 8, "tp": 2, "sp": 4, "pp": 1, "npus": 64, "weight_sharded": True, "num_layers": 80}

    def expected(text: str) -> bool | None:
        try:
            return Expression(text, values).holds(values)
        except InputError:
            return None

    found = in_page(
        "return input.texts.map((text) => { try {"
        "return explorer.constraints.parse(text).holds((name) => input.values[name]);"
        "} catch (error) { return error.kind === 'input' ? null : String(error); } });",
        {"texts": TEXTS, "values": values},
    )
    assert dict(zip(TEXTS, found, strict=True)) == {text: expected(text) for text in TEXTS}


# ---- fields


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("system.network.0.bandwidth_gbps", "200", 200),
        ("system.network.0.bandwidth_gbps", " 1e3 ", 1000),
        ("system.network.0.bandwidth_gbps", "0", None),
        ("system.network.0.bandwidth_gbps", "fast", None),
        ("system.network.0.bandwidth_gbps", "", None),
        ("system.network.0.bandwidth_gbps", "Infinity", None),
        ("model.num_layers", "16", 16),
        ("model.num_layers", "16.5", None),
        ("model.num_layers", "1", None),
        ("system.network.0.topology", "Switch", "Switch"),
        ("system.network.0.topology", "Moebius", None),
        ("system.roofline_enabled", "false", False),
    ],
)
def test_texts_of_fields_are_read_or_refused_with_what_is_allowed(
    in_page: Any, data: dict[str, Any], key: str, text: str, expected: Any
) -> None:
    field = next(each for each in data["fields"] if each["key"] == key)
    found = in_page("return explorer.scenario.parsed(input[0], input[1]);", [field, text])
    if expected is not None:
        assert found == {"value": expected}
    else:
        assert found["problem"].endswith(f"it must be {field['allowed']}")


def test_every_field_has_a_slider_that_reaches_its_value_in_ascending_steps(
    in_page: Any, data: dict[str, Any]
) -> None:
    fields = [each for each in data["fields"] if each["kind"] == "number"]
    assert len(fields) > 20
    for field, stops in zip(
        fields, in_page("return input.map(explorer.scales.stopsOf);", fields), strict=True
    ):
        assert stops == sorted(set(stops)), field["key"]
        assert len(stops) <= 420, field["key"]
        assert field["value"] is None or field["value"] in stops, field["key"]
        assert field["least"] <= stops[0], field["key"]
        assert stops[-1] <= field["most"], field["key"]
        assert not field["is_integer"] or all(isinstance(stop, int) for stop in stops), field["key"]


def test_npus_of_a_dimension_slide_through_doubles_of_what_they_are(
    in_page: Any, data: dict[str, Any]
) -> None:
    field = next(each for each in data["fields"] if each["key"] == "system.network.0.npus")
    assert in_page("return explorer.scales.stopsOf(input);", field) == [2, 4, 8, 16, 32, 64, 128, 256]


def test_sizes_are_read_as_the_package_reads_them(in_page: Any) -> None:
    texts = [
        "80GB",
        "80GiB",
        "80.5 GB",
        ".5tib",
        "1B",
        "12345678901kB",
        "80",
        "80XB",
        "fast",
        "-1GB",
        "0GB",
        "1.0000000001GB",
        "9PB",
    ]
    found = in_page("return input.map((text) => explorer.format.parsedSize(text));", texts)

    def expected(text: str) -> int | None:
        try:
            return parse_bytes(text)
        except InputError:
            return None

    assert [each.get("value") for each in found] == [expected(text) for text in texts]
    assert "has no unit" in found[6]["problem"]


def test_sizes_are_written_as_short_as_they_are_exact(in_page: Any) -> None:
    sizes = [80 * 10**9, 80 * 2**30, 80_500_000_000, 123_456_789_123, 1, 10**12]
    written = in_page("return input.map(explorer.format.size);", sizes)
    assert written == ["80GB", "80GiB", "80.5GB", "123456789123B", "1B", "1TB"]
    assert [parse_bytes(text) for text in written] == sizes


def test_figures_for_people_are_written_as_in_the_package(in_page: Any) -> None:
    values = [
        0,
        1,
        999,
        1000,
        12345,
        999_996,
        4_088_264_658,
        67_022_880_768,
        123_456_789_012_345,
        9_999_400_000_000,
    ]
    found = in_page(
        "return input.map((value) => [explorer.format.bytes(value), explorer.format.duration(value)]);",
        values,
    )
    assert found == [[format_bytes(value), format_duration_ns(value)] for value in values]


# ---- state

CHANGES = {
    "model.batch_size": 256,
    "system.network.0.bandwidth_gbps": 0.1 + 0.2,
    "system.network.1.latency_ns": 1e-7,
    "system.peak_tflops": 123456.789,
    "system.network.2.topology": "Switch",
    "system.collectives.all_reduce.2": "halvingDoubling",
    "system.rendezvous_protocol": True,
    "model.repairs.bytes_per_element": 2,
    "workload.divisibility": "whole",
}


def test_a_link_restores_its_state(in_page: Any, data: dict[str, Any]) -> None:
    state = {
        "preset": {"model": None, "system": None},
        "changes": CHANGES,
        "cap_bytes": 64 * 2**30,
        "selected": "dp8 tp1 sp8 pp1 recompute",
    }
    initially = {
        "preset": {"model": None, "system": None},
        "changes": {},
        "cap_bytes": 80 * 10**9,
        "selected": None,
    }
    body = (
        "const text = explorer.fragment.write(input.state, input.initially);"
        "return [text, explorer.fragment.read('#' + text, input.data, input.initially)];"
    )
    text, found = in_page(body, {"state": state, "initially": initially, "data": data})
    assert found == {"state": state, "problems": []}
    assert text.startswith("model.batch_size=256&system.network.0.bandwidth_gbps=0.30000000000000004&")
    assert text.endswith("&cap=68719476736&selected=dp8%20tp1%20sp8%20pp1%20recompute")
    other = {
        **state,
        "preset": {"model": None, "system": "dgx16"},
        "changes": {"system.network.1.npus": 4},
        "cap_bytes": None,
    }
    text, found = in_page(body, {"state": other, "initially": initially, "data": data})
    assert (
        text
        == "preset.system=dgx16&system.network.1.npus=4&cap=none&selected=dp8%20tp1%20sp8%20pp1%20recompute"
    )
    assert found == {"state": other, "problems": []}


def test_what_a_link_says_wrong_is_left_out_and_said(in_page: Any, data: dict[str, Any]) -> None:
    initially = {
        "preset": {"model": None, "system": None},
        "changes": {},
        "cap_bytes": None,
        "selected": None,
    }
    text = "#preset.system=nothing&model.batch_size=many&model.num_layers=8&system.npus=3&cap=80XB&%zz=1"
    found = in_page("return explorer.fragment.read(input[0], input[1], input[2]);", [text, data, initially])
    assert found["state"] == {**initially, "changes": {"model.num_layers": 8}}
    assert [problem.partition(":")[0] for problem in found["problems"]] == [
        "this page has no system nothing",
        "model.batch_size",
        "system.npus",
        "the memory cap 'XB' is no unit; write a positive number and one of the units B, kB, MB, GB, TB, "
        "KiB, MiB, GiB, TiB, such as 80GB",
        "%zz",
    ]


def test_a_gesture_is_one_step_of_undo(in_page: Any) -> None:
    found = in_page(
        """const { state } = explorer;
        state.start({ cap_bytes: 5 });
        const seen = [];
        const look = () => {
          const { a = 0, b = 0 } = state.get().changes;
          seen.push([a, b, state.revision()]);
        };
        let now = 1000;
        for (const a of [1, 2, 3]) state.set({ changes: { a } }, { merge: "a", now: (now += 100) });
        look();
        state.set({ changes: { a: 3, b: 1 } }, { merge: "b", now: (now += 100) });
        look();
        state.endGesture();
        state.set({ changes: { a: 3, b: 2 } }, { merge: "b", now: (now += 100) });
        look();
        state.set({ selected: "x" });
        for (const step of ["undo", "undo", "undo", "undo", "redo", "reset", "undo"]) {
          state[step]();
          look();
        }
        return seen;"""
    )
    assert [each[:2] for each in found] == [
        *([3, 0], [3, 1], [3, 2]),
        *([3, 1], [3, 0], [0, 0], [0, 0], [3, 0], [0, 0], [3, 0]),
    ]
    assert [each[2] for each in found] == [1, 2, 3, 4, 5, 6, 6, 7, 8, 9]


def test_a_refused_change_leaves_no_step_behind(in_page: Any) -> None:
    found = in_page(
        """const { state } = explorer;
        state.start({});
        state.set({ changes: { a: 1 } });
        const good = state.get();
        state.set({ changes: { a: 1, b: 9 } });
        state.revert(good);
        const after = state.get().changes;
        state.undo();
        return [after, state.get().changes, state.canUndo()];"""
    )
    assert found == [{"a": 1}, {}, False]


def test_the_ghost_is_the_frame_before_the_gesture(in_page: Any) -> None:
    found = in_page(
        """const { ghostOf } = explorer.frame;
        const first = { name: "first", before: null, revision: 1 };
        const second = { name: "second", before: ghostOf(first, 2), revision: 2 };
        const third = { name: "third", before: ghostOf(second, 2), revision: 2 };
        const fourth = { name: "fourth", before: ghostOf(third, 3), revision: 3 };
        const names = [second, third, fourth].map(({ before }) => before.name);
        return [ghostOf(null, 1), ...names, fourth.before.before];"""
    )
    assert found == [None, "first", "first", "third", None]


def test_the_newest_state_is_evaluated_and_a_long_run_for_an_old_one_aborted(in_page: Any) -> None:
    found = in_page(
        """const seen = [];
        let [value, clock, end] = [0, 0, null];
        const timers = [];
        const runs = new explorer.Runs((signal) => new Promise((done) => {
          const mine = value;
          signal.addEventListener("abort", () => { seen.push(`aborted ${mine}`); done(); });
          end = () => { seen.push(`ended ${mine}`); done(); };
        }), {
          schedule: (task) => setTimeout(task, 0), now: () => clock,
          later: (task, ms) => timers.push([ms, task]),
        });
        const rest = () => new Promise((done) => setTimeout(done, 5));
        for (value of [1, 2, 3]) runs.want();
        await rest();
        clock = 100; value = 4; runs.want(); value = 5; runs.want();
        seen.push(`at most ${timers[0][0]} ms more`);
        end(); await rest();
        clock = 700; value = 6; runs.want();
        seen.push(`at most ${timers[1][0]} ms more`);
        timers[1][1](); await rest();
        end(); await rest();
        return [seen, timers.length, runs.isIdle];"""
    )
    said = ["at most 300 ms more", "ended 3", "at most 0 ms more", "aborted 5", "ended 6"]
    assert found == [said, 2, True]


# ---- commands


def test_the_printed_commands_lead_to_the_scenario_of_the_page(in_page: Any, data: dict[str, Any]) -> None:
    state = {
        "preset": {"model": None, "system": None},
        "changes": CHANGES,
        "cap_bytes": 64 * 2**30,
        "selected": None,
    }
    made = in_page(
        """const { data, state } = input;
        const { scenario, fields } = explorer.scenario.base(data, state.preset);
        const strategy = { dp: 8, tp: 1, sp: 8, pp: 1, weight_sharded: false, activation_recompute: true };
        return {
          scenario: explorer.scenario.withChanges(scenario, fields, state.changes),
          sweep: explorer.commands.sweep(data, state), point: explorer.commands.point(data, state, strategy),
        };""",
        {"data": data, "state": state},
    )
    sweep, point = shlex.split(made["sweep"]), shlex.split(made["point"])
    assert sweep[:4] == ["python", "-m", "dse", "sweep"]
    assert sweep[-1] == "memory_cap=64GiB"
    config = compose_config(sweep[4:])
    assert config.memory_cap_bytes == 64 * 2**30
    scenario = scenario_of(config)
    assert json.loads(scenario.model_spec) == made["scenario"]["model"]
    assert json.loads(scenario.system_spec) == made["scenario"]["system"]
    assert scenario.resolved_divisibility == made["scenario"]["divisibility"] == "whole"
    of_point = compose_config(point[4:])
    assert scenario_of(of_point).digest == scenario.digest
    assert fields_of(of_point.strategy) == {
        "dp": 8,
        "tp": 1,
        "sp": 8,
        "pp": 1,
        "weight_sharded": False,
        "activation_recompute": True,
    }


def test_another_preset_takes_the_place_of_what_the_page_began_with(in_page: Any) -> None:
    data = data_of(
        "system=system1",
        "model=llama70b",
        "system.network.0.bandwidth_gbps=200",
        "model.num_layers=8",
        "space=full",
    )
    body = "return explorer.commands.sweep(input.data, { ...input, cap_bytes: input.cap });"
    ask = {"data": data, "preset": {"model": None, "system": None}, "changes": {}, "cap": 80 * 10**9}
    start = "python -m dse sweep system=system1 model=llama70b"
    assert in_page(body, ask) == f"{start} system.network.0.bandwidth_gbps=200 model.num_layers=8 space=full"
    changed = {
        **ask,
        "changes": {"system.network.0.bandwidth_gbps": 1e21, "model.num_layers": 4},
        "cap": None,
    }
    assert (
        in_page(body, changed)
        == f"{start} space=full system.network.0.bandwidth_gbps=1e+21 model.num_layers=4"
    )
    other = in_page(body, {**ask, "preset": {"model": "gpt175b", "system": "dgx16"}})
    assert shlex.split(other)[4:] == ["system=dgx16", "model=gpt175b", "space=full", "memory_cap=80GB"]
    scenario = scenario_of(compose_config(shlex.split(other)[4:]))
    presets = {
        name: {each["name"]: each["spec"] for each in data["presets"][name]} for name in ("models", "systems")
    }
    assert json.loads(scenario.model_spec) == presets["models"]["gpt175b"]
    assert json.loads(scenario.system_spec) == presets["systems"]["dgx16"]


def test_texts_are_quoted_for_hydra_and_for_the_shell(in_page: Any, data: dict[str, Any]) -> None:
    texts = ["plain", "a b", "it's", "back\\slash\\", "null", "", "x=y,z", "$HOME", '"q"']
    words = in_page(
        """return input.texts.map((text) => explorer.commands.sweep(input.data, {
          preset: { model: null, system: null }, changes: { study: text }, cap_bytes: 80e9 }));""",
        {"data": data, "texts": texts},
    )
    parser = OverridesParser.create()
    assert [parser.parse_override(shlex.split(line)[-1]).value() for line in words] == texts


# ---- words


def test_changed_winners_are_called_out(in_page: Any, data: dict[str, Any]) -> None:
    found = in_page(
        """const { words } = explorer;
        const row = (label, wall) => ({ label, wall_time_ns: wall });
        const nothing = { preset: { model: null, system: null }, changes: {} };
        const slower = { ...nothing, changes: { "system.network.0.bandwidth_gbps": 180 } };
        const moved = { preset: { model: null, system: "dgx16" }, changes: {} };
        const both = (best) => ({ best, best_under_cap: best, cap_bytes: 80e9 });
        const a = both(row("dp8 tp2 sp4 pp1", 10));
        const b = both(row("dp4 tp4 sp4 pp1", 9));
        const c = { ...a, best_under_cap: row("dp1 tp1 sp1 pp1", 12), cap_bytes: 40e9 };
        const reasons = words.differences(nothing, slower, input.fields);
        const { winners, differences, margin, was } = words;
        return [
          winners(null, a, []), winners(a, a, reasons), winners(a, b, reasons), winners(a, c, []),
          winners(a, { ...c, best_under_cap: null }, []), differences(slower, nothing, input.fields),
          differences(nothing, moved, input.fields),
          differences(moved, nothing, input.fields, { system: "system1" }),
          margin(b.best, a.best), margin(a.best, a.best), margin(a.best, null),
          was(100, 92, String), was(100, 100, String),
        ];""",
        data,
    )
    assert found == [
        [],
        [],
        ["dp8 tp2 sp4 pp1 → dp4 tp4 sp4 pp1 wins since system.network.0.bandwidth_gbps is 180"],
        ["dp8 tp2 sp4 pp1 → dp1 tp1 sp1 pp1 wins under 40GB since the cap is 40GB"],
        ["No point fits under 40GB since the cap is 40GB"],
        ["system.network.0.bandwidth_gbps is 100"],
        ["the system is dgx16"],
        ["the system is system1"],
        "second: dp8 tp2 sp4 pp1, 11.1 % slower",
        "second: dp8 tp2 sp4 pp1, as fast",
        "no other point",
        "was 100, −8.0 %",
        "",
    ]


# ---- downloads

COLUMNS = [
    *(
        "dp",
        "tp",
        "sp",
        "pp",
        "weight_sharded",
        "activation_recompute",
        "model",
        "system",
        "status",
        "reason",
    ),
    *(
        "fractional",
        "npus",
        "wall_time_ns",
        "gpu_time_ns",
        "comm_time_ns",
        "exposed_comm_ns",
        "compute_bound_pct",
    ),
    *("compute_utilization_pct", "memory_utilization_pct", "operation_intensity", "peak_memory_bytes"),
    *("rank0_wall_time_ns", "rank0_peak_memory_bytes", "last_rank", "rank_classes"),
    *("understated_comm", "impossible_split"),
]


def test_downloaded_rows_are_those_of_a_study(in_page: Any, data: dict[str, Any], tmp_path: Path) -> None:
    rows = [*random_rows(3), dataclasses.replace(failed_row("failed", 'a "text", with\ncommas'), tp=64)]
    made = in_page(
        """const { rows, data } = input;
        const about = { version: "1.2.3", result_version: 4, command: "python -m dse sweep" };
        const { csv, json, parquet } = explorer.download;
        const bytes = [...new Uint8Array(parquet(rows, data.scenario, about))];
        return [csv(rows, data.scenario), json(rows, data.scenario, about), bytes];""",
        {"rows": list(map(page_row, rows)), "data": data},
    )
    by_label = {each.label(): each for each in rows}
    order = [*ranking(rows), *[each for each in rows if each.status != "ok"]]
    expected = [{name: getattr(by_label[each.label()], name) for name in COLUMNS} for each in order]
    file = tmp_path / "rows.parquet"
    file.write_bytes(bytes(made[2]))
    table = pq.read_table(file)
    assert table.to_pylist() == expected
    assert str(table.schema.field("wall_time_ns").type) == "int64"
    assert str(table.schema.field("compute_bound_pct").type) == "double"
    assert table.schema.metadata[b"dse.command"] == b"python -m dse sweep"
    assert json.loads(table.schema.metadata[b"dse.scenario"]) == data["scenario"]
    document = json.loads(made[1])
    assert document["rows"] == expected
    assert document["scenario"] == data["scenario"]
    lines = list(csv.DictReader(io.StringIO(made[0], newline="")))
    assert list(lines[0]) == COLUMNS
    assert lines[-1]["reason"] == 'a "text", with\ncommas'
    assert [line["wall_time_ns"] for line in lines] == [
        "" if each["wall_time_ns"] is None else str(each["wall_time_ns"]) for each in expected
    ]
