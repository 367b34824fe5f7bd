"""The state of the page under Node: links, undo, the ghost, and runs for old states."""

from __future__ import annotations

from typing import Any

from page_programs import CHANGES, needs_node

pytestmark = needs_node


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
        const runs = new explorer.runs.Runs((signal) => new Promise((done) => {
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
