"""How the modules of a page are joined into one script."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dse.answers.explorer.page import RULES, rules
from dse.base.pages import joined

NODE = shutil.which("node")


def written(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.js").write_text(text)


def test_imports_stand_before_what_needs_them_and_scopes_are_apart(tmp_path: Path) -> None:
    written(
        tmp_path,
        app='// The entry.\nimport { double as twice } from "./math.js";\n'
        'import * as math from "./math.js";\nimport { LOW } from "./more.js";\n'
        "const own = LOW;\nexport { own };\n",
        more="/** Low\n * and lower. */\nconst own = 3;\n\n\n  // Low.\n"
        "  const LOW = own;\n\nexport { LOW };\n",
        math='import { LOW } from "./more.js";\nconst double = (x) => 2 * x + LOW;\nexport { double };\n',
    )
    assert str(joined(tmp_path / "app.js")) == "\n".join(
        [
            "const modules={};",
            *("modules.more=(()=>{", '"use strict";', "const own=3;", "const LOW=own;"),
            *("return{LOW};", "})();"),
            *("modules.math=(()=>{", '"use strict";', "const{LOW}=modules.more;"),
            *("const double=(x)=>2*x+LOW;", "return{double};", "})();"),
            *("modules.app=(()=>{", '"use strict";', "const{double:twice}=modules.math;"),
            *("const math=modules.math;", "const{LOW}=modules.more;", "const own=LOW;"),
            *("return{own};", "})();", ""),
        ]
    )


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_a_joined_script_does_what_the_modules_do(tmp_path: Path) -> None:
    written(
        tmp_path,
        counter="let count = 0;\nconst next = () => (count += 1);\nexport { next as step };\n",
        first='import { step } from "./counter.js";\nexport { step };\n',
        app='import * as counter from "./counter.js";\nimport { step } from "./first.js";\nstep();\n'
        "console.log(JSON.stringify([counter.step(), step === counter.step]));\n",
    )
    said = subprocess.run(
        [str(NODE), "-e", joined(tmp_path / "app.js")], capture_output=True, text=True, check=True
    )
    assert json.loads(said.stdout) == [2, True]


def test_blanks_go_where_they_mean_nothing(tmp_path: Path) -> None:
    lines = {
        "a + ++b - -a - a--": "a + ++b - -a-a--",
        '"a + b" + \'c ; d\' // ": e"': "\"a + b\"+'c ; d'",
        "`x ${a ? `y  ${b}` : { b }} + z`": "`x ${a ? `y  ${b}` : { b }} + z`",
        "[a / 2 / b, / [/ ] +/.test(a)]": "[a / 2 / b,/ [/ ] +/.test(a)]",
        "((x) => / ,/.exec(x) ?? typeof x)": "((x)=>/ ,/.exec(x)??typeof x)",
    }
    body = "".join(
        f"list.push({line.partition(' //')[0]});{''.join(line.partition(' //')[1:])}\n" for line in lines
    )
    written(tmp_path, app=f"let [a, b] = [1, 2];\nconst list = [];\n{body}export {{ list }};\n")
    script = str(joined(tmp_path / "app.js"))
    assert [f"list.push({line});" for line in lines.values()] == script.splitlines()[5:-2]


PROGRAMS = [
    *("dse/answers/reports/templates/report", "dse/base/pages/table_plots", "dse/answers/explorer/page/app"),
    *("dse/answers/explorer/page/worker", "dse/answers/explorer/page/predicted/plan_worker"),
    "dse/answers/explorer/page/predicted/predicted_app",
]
_TREES = """
const { parse } = require("internal/deps/acorn/acorn/dist/acorn");
const tree = (text, sourceType) => parse(text, { ecmaVersion: "latest", sourceType }).body;
const plain = (value) => (typeof value === "bigint" ? String(value) : value);
const shape = (key, value) => (["start", "end"].includes(key) ? undefined : plain(value));
const [script, parts] = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const said = JSON.stringify(tree(script, "script"), shape);
const lost = parts.flatMap((part) => tree(part, "module")).filter(({ type }) => !/^(Im|Ex)port/.test(type))
  .filter((each) => !said.includes(JSON.stringify(each, shape)));
process.stdout.write(JSON.stringify(lost.length));
"""


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_statement_of_every_page_means_the_same_without_blanks(program: str) -> None:
    root = Path(__file__).parents[2]
    script = str(joined(root / f"{program}.js", made={RULES: rules}))
    names = set(re.findall(r"^modules\.(\w+)=", script, re.MULTILINE))
    parts = [path.read_text() for path in (root / "dse").rglob("*.js") if path.stem in names]
    assert len(parts) >= len(names) - 1
    done = subprocess.run(
        [str(NODE), "--expose-internals", "-e", _TREES],
        input=json.dumps([script, parts]),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == 0


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (
            {"app": 'import "./b.js";\n', "b": 'import "./c.js";\n', "c": 'import "./b.js";\n'},
            "modules of a page import in a circle: b.js -> c.js -> b.js",
        ),
        (
            {"app": 'import { lost } from "./b.js";\n', "b": "const found = 1;\nexport { found };\n"},
            "app.js imports lost, which b.js does not export",
        ),
        ({"app": "export default 1;\n"}, "that the joiner cannot read: export default 1;"),
        ({"app": 'import x from "./b.js";\n'}, 'that the joiner cannot read: import x from "./b.js";'),
    ],
)
def test_modules_that_cannot_be_joined_are_refused(
    tmp_path: Path, texts: dict[str, str], problem: str
) -> None:
    written(tmp_path, **texts)
    with pytest.raises(ValueError, match=r"modules|import") as refused:
        joined(tmp_path / "app.js")
    assert str(refused.value).endswith(problem)


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    written(tmp_path, app='import "./more/app.js";\n')
    written(tmp_path / "more", app="\n")
    with pytest.raises(ValueError, match=r"two modules of a page are named app\.js; rename one"):
        joined(tmp_path / "app.js")
