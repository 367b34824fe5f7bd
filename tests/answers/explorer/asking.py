"""Programs of the page under Node that ask this process for every row: only their logic is compared."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from typing import Any

from page_programs import NODE, loading

from dse.answers.explorer.data import scenario_data
from dse.answers.whatif import Candidates, parameters_of
from dse.inputs.strategies import STRATEGY_FIELDS
from dse.studies.points import DesignPoint, evaluate
from dse.studies.store import StudyRow

MODULES = ("answers", "parameters", "switches", "winners", "host")

_START = """
const lines = require("node:readline").createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const write = (value) => process.stdout.write(JSON.stringify(value) + "\\n");
let turn = Promise.resolve(); // one question at a time
const ask = (changes, strategies) => {
  const answer = turn.then(async () => {
    write({ changes, labels: strategies.map((row) => row.label) });
    return JSON.parse((await lines.next()).value);
  });
  turn = answer.catch(() => {});
  return answer;
};
(async () => {
  const request = JSON.parse((await lines.next()).value);
"""
_END = """
  write({ answer });
  process.stdin.destroy();
})();
"""


class Asking:
    """What a program says about candidates; `points` counts what it asked for.

    The program finds `request` (rows, cap, system and what is given) and `ask`, and sets `answer`.
    """

    def __init__(self, program: str, found: Candidates, **given: Any) -> None:
        self._found = found
        self._parameters = {each.key: each for each in parameters_of(found.scenario.system)}
        self._strategies = {strategy.label(): strategy for strategy in found.rows}
        self.points = 0
        assert NODE is not None
        with subprocess.Popen(
            [NODE, "-e", loading(*MODULES) + _START + program + _END],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            reply: Any = {
                "rows": [_plain(row) for row in found.rows.values()],
                "cap": found.memory_cap_bytes,
                **scenario_data(found.scenario),
                **given,
            }
            while True:
                process.stdin.write(json.dumps(reply) + "\n")
                process.stdin.flush()
                line = process.stdout.readline()
                assert line, "the program ended without an answer"
                question = json.loads(line)
                if "answer" in question:
                    self.answer = question["answer"]
                    break
                reply = [_plain(row) for row in self.rows(dict(question["changes"]), question["labels"])]

    def rows(self, changes: Mapping[str, float], labels: list[str]) -> list[StudyRow]:
        """Evaluate strategies where some numbers of the system have other values."""
        self.points += len(labels)
        scenario = self._found.scenario
        for key, value in changes.items():
            scenario = self._parameters[key].applied_to(scenario, value)
        return [evaluate(DesignPoint(scenario, self._strategies[label])) for label in labels]


def _plain(row: StudyRow) -> dict[str, Any]:
    """A row as the page has it."""
    names = ("status", "wall_time_ns", "gpu_time_ns", "peak_memory_bytes", *STRATEGY_FIELDS)
    return {"label": row.label(), **{name: getattr(row, name) for name in names}}
