"""Configurations of an attacker: nothing runs, nothing hangs, and refusals are InputErrors of one line."""

from __future__ import annotations

import collections
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.prediction.frameworks.job import Document
from dse.prediction.frameworks.reading import read_document, read_script

_HOSTILE = Path(__file__).parents[5] / "shared" / "cases" / "hostile"
_FILES = sorted(path for path in _HOSTILE.rglob("*") if path.is_file()) if _HOSTILE.is_dir() else []

_ALIASES = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{after}: &{after} [{','.join([f'*{before}'] * 9)}]\n"
    for before, after in zip("abcdefgh", "bcdefghi", strict=True)
)
_PIECES = (
    *(
        "A",
        "B",
        "--a",
        "--num-layers",
        "8",
        "x y",
        " ",
        "  ",
        "\n",
        "\t",
        "\\",
        "\\\n",
        "'",
        '"',
        "`",
        "#",
        "=",
        "+=",
        ";",
    ),
    *(
        "$",
        "$A",
        "${A}",
        "${A:-",
        "${A[@]}",
        "${A[0]}",
        '"${A[@]}"',
        "}",
        "$((",
        "))",
        "$(",
        ")",
        "(",
        "((",
        "$@",
        "$1",
    ),
    *(
        "A=(",
        "A+=(",
        "A=$A$A",
        "if",
        "then",
        "elif",
        "else",
        "fi",
        "[[",
        "]]",
        "[",
        "]",
        "==",
        "!=",
        "-eq",
        "-z",
        "!",
    ),
    *(
        "&&",
        "||",
        "|",
        "&",
        ">",
        "<",
        "<<",
        "<(",
        "2>&1",
        "export",
        "eval",
        "sh -c",
        "srun",
        "torchrun",
        "python",
        "p.py",
    ),
    *(
        "for",
        "case",
        "{",
        "{a,b}",
        "é",
        "\0",
        "\r",
        "*",
        "~",
        "999999999999999999999",
        "%",
        "#SBATCH --nodes=4\n",
    ),
)


def outcome(words: list[str]) -> str:
    """Read; return what was refused, in one line."""
    try:
        assert isinstance(read_document(words), Document)
    except InputError as error:
        message = str(error)
        assert "\n" not in message
        assert len(message) < 2000
        return message
    return ""


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(_PIECES), max_size=40).flatmap(
        lambda p: st.sampled_from(["".join(p), " ".join(p)])
    )
)
def test_any_script_is_read_or_refused_with_its_line(text: str) -> None:
    try:
        read_script(text, "a.sh")
    except InputError as error:
        refused = str(error)
    else:
        return
    assert refused.startswith("a.sh: ")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=20)), min_size=1, max_size=12))
def test_any_words_are_read_or_refused(words: list[str]) -> None:
    outcome(words)
    outcome(["--num-layers", "2", *words])
    outcome(["--config", "c", "--training.steps", "2", *words])
    outcome(["train.micro_batch_size=1", *words])
    outcome(["accelerate", "launch", *words])


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from([".json", ".yaml", ".toml", ".py", ".sh"]),
    st.lists(
        st.sampled_from(
            (*_PIECES, ":", "- ", "{", "[", "]", ",", "a.b", "def f(c):\n", "  c.a=1\n", "1e999")
        ),
        max_size=30,
    ),
)
def test_any_file_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, parts: list[str]
) -> None:
    path = tmp_path_factory.getbasetemp() / f"hostile{suffix}"
    path.write_text("".join(parts), encoding="utf-8")
    outcome([str(path)])


@pytest.mark.skipif(not _FILES, reason=f"{_HOSTILE} is not here")
def test_files_that_broke_other_readers_are_read_or_refused(tmp_path: Path) -> None:
    is_refused = collections.Counter[str]()
    for source in _FILES:
        for suffix in (".json", ".yaml", ".toml", ".py", ".sh"):
            path = tmp_path / f"x{suffix}"
            path.write_bytes(source.read_bytes())
            is_refused[suffix] += bool(outcome([str(path)]))
    assert min(is_refused.values()) == len(_FILES)


@pytest.mark.parametrize(
    "line",
    [
        "$(touch {})",
        "`touch {}`",
        "A=$(touch {})",
        'A="x$(echo a; touch {})"',
        "torchrun p.py --num-layers $(touch {})",
        'torchrun p.py --num-layers "`touch {}`"',
        "torchrun p.py --num-layers ${A:-$(touch {})}",
        "torchrun p.py $((1+$(touch {})))",
        "X=(--num-layers `touch {}`)",
        "cat <(touch {})",
        "torchrun p.py >(touch {})",
        "touch {}",
        "eval 'touch {}'",
        "bash -c 'touch {}'",
        "srun sh -c 'A=1; touch {}'",
        "eval \"eval 'touch {}'\"",
        "true && touch {}",
        "[[ a == b ]] || touch {}",
        "if [ \"$(touch {})\" == x ]; then A=1; fi",
        "echo a | xargs touch {}",
        "trap_me() { touch {}; }; trap_me",
        "cat <<EOF\n$(touch {})\nEOF",
        "A=1 touch {}",
        "A='[$(touch {})]' && echo $((A[$(touch {})]))",
    ],
)  # fmt: skip
def test_commands_in_scripts_are_refused_and_never_run(line: str, tmp_path: Path) -> None:
    target, script = tmp_path / "made", tmp_path / "evil.sh"
    script.write_text(
        "# first\nB=1\n" + line.replace("{}", str(target)) + "\npython p.py --num-layers 2\n",
        encoding="utf-8",
    )
    assert outcome([str(script)]).startswith(f"{script}: line 3: ")
    assert not target.exists()


def test_evil_names_stay_texts(tmp_path: Path) -> None:
    evil = tmp_path / "a;touch made;$(touch made).sh"
    evil.write_text("python p.py --num-layers 2 --save '$(touch made);`touch made`'\n", encoding="utf-8")
    document = read_document([str(evil)])
    assert document.settings == {"--num-layers": 2, "--save": "$(touch made);`touch made`"}
    assert document.where == str(evil)
    assert sorted(path.name for path in tmp_path.iterdir()) == [evil.name]
    assert "\x1b" not in outcome(["--num-layers", "2", "--\x1b[31mred"])


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("A=xxxxxxxxxx\n" + "A=$A$A\n" * 60, "A grows beyond 1000000 characters, the most allowed"),
        ("A=(" + "x " * 10 + ")\n" + 'A+=("${A[@]}")\n' * 60, "A grows beyond 1000000 characters"),
        ("A=" + "x" * 200_000 + "\n" + "B=$A\n" * 60, "the variables grow beyond 10000000 characters in all"),
        ("A=(a)\n" + "A+=(a)\n" * 30_000, "the variables grow beyond 10000000 characters in all"),
        ("A=" + "${A:-" * 5000, "brackets are nested deeper than 20 levels"),
        ("A=" + "$((" * 5000, "$( has no end"),
        ("A=" + "$((" * 50 + "1" + "))" * 50, "brackets are nested deeper than 20 levels"),
        ("A=" + '"${A:-' * 5000, "brackets are nested deeper than 20 levels"),
        ("A=(" * 5000, "brackets are nested deeper than 20 levels"),
        ("A=$((" + "(" * 3000 + "1" + ")" * 3000 + "))", "is nested deeper than 50 levels"),
        ("A=$((" + "1+" * 50_000 + "1))", "is not read; allowed are whole numbers"),
        ("A=$((" + "-" * 50_000 + "1))", "is not read; allowed are whole numbers"),
        ("if [ a ]; then\n" * 5000, "blocks are nested deeper than 30 levels"),
        ("[[ " + "( " * 5000 + "a", "this [[ is not read"),
        ("[[ " + "( " * 5000 + "a" + " )" * 5000 + " ]]", "this condition is not read"),
        ("A='eval \"$A\"'\neval \"$A\"", "at most 3 scripts in a script are read"),
        ("for i in a b; do\n" * 25 + "A=1\n" + "done\n" * 25, "runs through more than 100000 statements"),
        ("for i in a; do\n" * 5000, "blocks are nested deeper than 30 levels"),
        ("python p.py\n" * 200, "launches more than 100 programs"),
        ("#SBATCH " + "-" * 240_000 + "\nfoo", "foo is no command that is read"),
        ("x" * 250_001, "at most 250000 characters"),
        ("A='" + "a" * 240_000, "' has no end"),
        ("B='" + "b " * 1000 + "'\ntorchrun " + "$B " * 200, "at most 100000 words a command are allowed"),
    ],
)  # fmt: skip
def test_growth_and_nesting_have_bounds(script: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        read_script(script, "a.sh")
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.json", "[" * 100_000),
        ("x.json", '{"a": ' * 5000 + "1" + "}" * 5000),
        ("x.json", "/*" * 400_000),
        ("x.json", '"' + '\\"' * 400_000),
        ("x.json", '{"train_batch_size": ' + "9" * 5000 + "}"),
        ("x.toml", "a." * 400_000 + "a = 1"),
        ("x.toml", "a = " + "[" * 100_000),
        ("x.toml", "[" + "a." * 200 + "a]"),
        ("x.toml", "a = " + "9" * 5000),
        ("x.yaml", "[" * 100_000),
        ("x.yaml", _ALIASES),
        ("x.yaml", "x: &x [*x]"),
        ("x.py", "(" * 100_000),
        ("x.py", "def f(c):\n  c.a = " + "not " * 100_000 + "1"),
        ("x.py", "def f(c):\n  c.a = " + "1" * 5000),
        ("x.py", "def f(c):\n  c" + ".a" * 100_000 + " = 1"),
        ("x.py", "if x:\n" + "".join(" " * n + "if x:\n" for n in range(1, 200))),
        ("x.sh", "\ufeff" + "é" * 600_000),
    ],
)  # fmt: skip
def test_files_without_measure_are_refused(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert outcome([str(path)])


def test_pipes_and_large_files_are_refused(tmp_path: Path) -> None:
    large = tmp_path / "large.json"
    large.write_bytes(b" " * 1_000_001)
    assert outcome([str(large)]).endswith("has 1000001 bytes; at most 1000000 are allowed")
    assert outcome(["/dev/zero.sh"]).startswith("/dev/zero.sh: cannot be read")
    assert outcome(["x" * 5000 + ".json"])
    assert outcome(["deepspeed", "t.py", "--deepspeed", "x" * 5000 + ".json"])
    assert outcome(["deepspeed", "t.py", "--deepspeed", "/dev/zero"]).startswith(
        "/dev/zero: is a pipe or a device"
    )
