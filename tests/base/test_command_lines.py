"""Command lines: keys, options, words and groups are read; what is wrong is one line; --help shows all."""

from __future__ import annotations

import pytest

from dse.base.command_lines import MANY, Arguments, CommandLine, Option
from dse.base.errors import InputError

LINE = CommandLine(
    "best",
    "The best of a study.",
    words={"STUDY": "a folder"},
    keys={"keys": {"top": "how many (default 10)", "memory_cap": "a size", "format": "table or json"}},
    options={"--output": Option("where to write", "FILE", "-o"), "--mixed": Option("all in one group")},
    choices={"format": ("table", "json")},
    exclusive=(("top", "--mixed"),),
    older={"--num_best": "top"},
)
NETWORK = CommandLine(
    "synthesize",
    "A schedule.",
    keys={"keys": {"topology": "a file", "system": "a system", "accelerator": "a type"}},
    groups=("system",),
    repeated=("accelerator",),
    example="topology=FILE.csv",
)


def test_keys_options_and_words_are_read() -> None:
    assert LINE.parse(["top=3", "results/a", "-o", "x.html"]) == Arguments(
        {"top": "3"}, [], {"--output": "x.html"}, ["results/a"], ()
    )


def test_a_folder_whose_name_has_an_equals_sign_is_a_word() -> None:
    assert LINE.parse(["results/lr=3"]).words == ["results/lr=3"]


@pytest.mark.parametrize("spelling", ["--memory_cap", "--memory-cap"])
def test_an_option_for_a_key_is_taken_with_a_note(spelling: str) -> None:
    for words in ([spelling, "80GB"], [f"{spelling}=80GB"]):
        found = LINE.parse(["a", *words])
        assert found.values == {"memory_cap": "80GB"}
        assert found.notes == (f"{spelling} is an older spelling; write memory_cap=80GB",)


def test_an_option_of_another_program_is_taken_for_its_key() -> None:
    assert LINE.parse(["a", "--num_best", "3"]).values == {"top": "3"}


def test_older_options_that_were_repeated_are_a_list() -> None:
    found = NETWORK.parse(["topology=a", "--accelerator", "a.yaml", "--accelerator", "b.yaml"])
    assert found.values["accelerator"] == "a.yaml,b.yaml"


def test_overrides_of_a_group_keep_their_order() -> None:
    found = NETWORK.parse(["system=torus_4x4", "+system.nodes=8", "topology=a"])
    assert found.overrides == ["system=torus_4x4", "+system.nodes=8"]
    assert found.values == {"topology": "a"}


def test_with_any_key_every_assignment_is_an_override() -> None:
    line = CommandLine("sweep", "A sweep.", any_key=True, options={"--dry-run": Option("count")})
    found = line.parse(["system=a", "~space.tp", "--dry-run"])
    assert (found.overrides, found.options) == (["system=a", "~space.tp"], {"--dry-run": ""})


def test_a_command_may_take_any_number_of_words() -> None:
    line = CommandLine("accuracy", "Errors.", words={"ROWS.csv": "tables"}, least=0, most=MANY)
    assert line.parse([]).words == []
    assert line.parse(["a.csv", "b.csv", "c.csv"]).words == ["a.csv", "b.csv", "c.csv"]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "STUDY is missing; write dse best STUDY, a folder"),
        (["a", "b"], "'b' is no key; write KEY=VALUE, such as top=…"),
        (["a", "topp=3"], "unknown key topp; allowed are top, memory_cap, format; did you mean 'top'?"),
        (["a", "top=3", "top=4"], "top occurs twice, as '3' and '4'; write it once"),
        (["a", "top="], "top is empty; write top=VALUE, or leave it out"),
        (["a", "format=jsn"], "format is 'jsn'; allowed are table, json; did you mean 'json'?"),
        (["a", "-o"], "-o lacks its value; write -o FILE"),
        (["a", "-o", ""], "-o is empty; write -o FILE"),
        (["a", "-o", "x", "--output=y"], "--output occurs twice; write it once"),
        (["a", "--mixed=yes"], "--mixed takes no value, but got 'yes'"),
        (["a", "--mixed", "top=3"], "top=3 and --mixed exclude each other; write one of them"),
        (
            ["a", "--mixd"],
            "unknown option --mixd; allowed are KEY=VALUE, --help, --output, --mixed; "
            "did you mean '--mixed'?",
        ),
        (
            ["a", "--memory-caps", "80GB"],
            "unknown option --memory-caps; allowed are KEY=VALUE, --help, --output, --mixed; "
            "did you mean 'memory_cap'?",
        ),
        (["a", "~top=3"], "unknown key ~top; allowed are top, memory_cap, format; did you mean 'top'?"),
    ],
)
def test_what_is_wrong_is_one_line(argv: list[str], message: str) -> None:
    with pytest.raises(InputError) as refused:
        LINE.parse(argv)
    assert str(refused.value) == message


def test_help_shows_words_keys_and_options() -> None:
    assert LINE.usage("dse best") == (
        "usage: dse best STUDY [KEY=VALUE ...] [OPTION ...]\n"
        "\n"
        "The best of a study.\n"
        "\n"
        "  STUDY              a folder\n"
        "\n"
        "keys:\n"
        "  top                how many (default 10)\n"
        "  memory_cap         a size\n"
        "  format             table or json\n"
        "\n"
        "options:\n"
        "  -o, --output FILE  where to write\n"
        "  --mixed            all in one group\n"
        "  -h, --help         this text"
    )
