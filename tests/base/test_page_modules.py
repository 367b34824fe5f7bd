"""How the modules of a page are joined into one script."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

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
            "const modules = {};",
            *("modules.more = (() => {", '"use strict";', "const own = 3;", "const LOW = own;"),
            *("return { LOW };", "})();"),
            *("modules.math = (() => {", '"use strict";', "const { LOW } = modules.more;"),
            *("const double = (x) => 2 * x + LOW;", "return { double };", "})();"),
            *("modules.app = (() => {", '"use strict";', "const { double: twice } = modules.math;"),
            *("const math = modules.math;", "const { LOW } = modules.more;", "const own = LOW;"),
            *("return { own };", "})();", ""),
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
