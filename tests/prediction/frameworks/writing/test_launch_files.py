"""Files that start jobs: bash runs them, with programs that print their arguments in place of launchers."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.prediction.frameworks.reading import read_document
from dse.prediction.frameworks.writing.ranks import orders_of, slots
from dse.prediction.frameworks.writing.script import Blank, Program
from dse.prediction.frameworks.writing.stubs import KINDS, Placement, job_name, launch_files

BLANKS = {"DATA_PATH": "the prefix of the data", "TOKENIZER": "the folder of the tokenizer"}
WORDS = ("pretrain_gpt.py", "--tensor-model-parallel-size", "2", "--bf16", "--data-path", Blank("DATA_PATH"))
HOSTILE = st.text(
    st.one_of(
        st.characters(exclude_characters="\0", exclude_categories=["Cs"]), st.sampled_from("'\"$`\\\n #!;&()")
    ),
    max_size=12,
)
BASH = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


def program(
    words: Sequence[str | Blank] = WORDS, nodes: int = 2, per_node: int = 4, **more: object
) -> Program:
    return Program(words, nodes, per_node, blanks=BLANKS, **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs that print their arguments, each ended by a NUL; scontrol and srun as the scripts use them."""
    folder = tmp_path_factory.mktemp("tools")
    prints = "printf '%s\\0' \"$@\""
    texts = {
        "torchrun": prints,
        "python": f'echo "rank $RANK of $WORLD_SIZE"; {prints}',
        "scontrol": "printf 'n%s\\n' 07 11 12 20",
        "srun": 'while [[ "$1" == --* ]]; do echo "$1"; shift; done; '
        'if [[ -v SLURM_HOSTFILE ]]; then cat "$SLURM_HOSTFILE"; fi; SLURM_PROCID=1 SLURM_LOCALID=0 "$@"',
    }
    for name, text in texts.items():
        (folder / name).write_text(f"#!/bin/bash\n{text}\n")
        (folder / name).chmod(0o755)
    return folder


class Ended(NamedTuple):
    """How a script ended; its texts keep every character."""

    returncode: int
    stdout: str
    stderr: str


def ran(
    tools: Path, folder: Path, files: dict[str, str], **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the first of the files where all of them lie."""
    for name, text in files.items():
        (folder / name).write_text(text, newline="")
    environment = {"PATH": f"{tools}:{os.environ['PATH']}", **variables}
    line = ["bash", next(iter(files))]
    done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, check=False)
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


FILLED = {"DATA_PATH": "/data/my text", "TOKENIZER": "t", "NODE_RANK": "1", "MASTER_ADDR": "n07"}
TORCHRUN = ["--nnodes", "2", "--nproc-per-node", "4", "--node-rank", "1", "--master-addr", "n07"]
TORCHRUN += ["--master-port", "29500"]
GIVEN = ["pretrain_gpt.py", "--tensor-model-parallel-size", "2", "--bf16", "--data-path", "/data/my text"]


@BASH
def test_a_script_starts_torchrun_with_the_words_and_the_filled_blanks(tools: Path, tmp_path: Path) -> None:
    files = launch_files("torchrun", program(environment={"CUDA_DEVICE_MAX_CONNECTIONS": "1"}), "Llama 3/8B")
    assert list(files) == ["llama-3-8b.sh", "llama-3-8b.hosts"]
    assert files["llama-3-8b.hosts"] == "NODE0\nNODE1\n"
    assert "\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\n" in files["llama-3-8b.sh"]
    done = ran(tools, tmp_path, files, **FILLED)
    assert done.stdout.split("\0")[:-1] == TORCHRUN + GIVEN, done.stderr


@BASH
@pytest.mark.parametrize("name", ["DATA_PATH", "TOKENIZER", "NODE_RANK", "MASTER_ADDR"])
def test_an_empty_blank_ends_the_script_by_name(tools: Path, tmp_path: Path, name: str) -> None:
    done = ran(tools, tmp_path, launch_files("torchrun", program(), "job"), **{**FILLED, name: ""})
    assert done.returncode != 0
    assert f"{name}: the " in done.stderr
    assert done.stdout == ""


@BASH
def test_one_node_needs_no_meeting(tools: Path, tmp_path: Path) -> None:
    files = launch_files("torchrun", program(nodes=1, per_node=8), "job")
    done = ran(tools, tmp_path, files, DATA_PATH="/data/my text", TOKENIZER="t")
    assert done.stdout.split("\0")[:-1] == ["--standalone", "--nproc-per-node", "8", *GIVEN]
    assert list(files) == ["job.sh"]


@BASH
@settings(deadline=None, max_examples=40)
@given(st.lists(HOSTILE, min_size=1, max_size=5), HOSTILE, HOSTILE)
def test_words_survive_quoting(
    tools: Path, tmp_path_factory: pytest.TempPathFactory, words: list[str], value: str, filled: str
) -> None:
    """In bash, and as a reader of scripts splits the last command; values of the environment, too."""
    folder = tmp_path_factory.mktemp("job")
    given_words = [*words, Blank("DATA_PATH", value, value)]
    files = launch_files("torchrun", program(given_words, 1, environment={"MINE": value}), "job")
    filled = filled or "x"
    done = ran(tools, folder, files, DATA_PATH=filled, TOKENIZER="t")
    assert done.stdout.split("\0")[3:-1] == [*words, f"{value}{filled}{value}"], done.stderr
    command = files["job.sh"].split("\ntorchrun ", 1)[1]
    split = [word for word in shlex.split(command) if word != "\n"]
    assert split[3:] == [word for word in (*words, value + "${DATA_PATH}" + value) if word != "\n"]
    printed = files["job.sh"].replace("\ntorchrun ", "\nprintf '%s\\0' \"$MINE\"; exit; ")
    assert ran(tools, folder, {"job.sh": printed}, DATA_PATH="x", TOKENIZER="t").stdout == value + "\0"


@BASH
def test_slurm_starts_a_task_for_each_node(tools: Path, tmp_path: Path) -> None:
    files = launch_files("slurm", program(), "job")
    assert list(files) == ["job.sbatch", "job.sh"]
    assert [line for line in files["job.sbatch"].splitlines() if line.startswith("#SBATCH")] == [
        "#SBATCH --job-name=job",
        "#SBATCH --nodes=2",
        "#SBATCH --ntasks=2",
        "#SBATCH --ntasks-per-node=1",
        "#SBATCH --gpus-per-node=4",
    ]
    done = ran(
        tools, tmp_path, files, SLURM_JOB_NODELIST="n[07,11]", DATA_PATH="/data/my text", TOKENIZER="t"
    )
    options, rest = done.stdout.split("\n", 1)
    assert options == "--ntasks=2"
    assert rest.split("\0")[:-1] == TORCHRUN + GIVEN, done.stderr


@BASH
def test_slurm_starts_a_task_for_each_gpu_where_the_order_asks_for_it(tools: Path, tmp_path: Path) -> None:
    """Stages innermost on 2 nodes of 2 GPUs: ranks 0 and 2 share the first node."""
    place = slots("pp-tp-cp-ep-dp", orders_of("megatron-lm")[0], {"dp": 2, "pp": 2})
    files = launch_files("slurm", program(per_node=2), "job", Placement(place))
    assert files["job.hosts"] == "NODE0\nNODE1\nNODE0\nNODE1\n"
    variables = {"SLURM_JOB_NODELIST": "n[07,11]", "SLURM_JOB_ID": "5", "DATA_PATH": "/data/my text"}
    done = ran(tools, tmp_path, files, **variables, TOKENIZER="t")
    *lines, rest = done.stdout.split("\n")
    assert lines == ["--ntasks=4", "--distribution=arbitrary", "n07", "n11", "n07", "n11", "rank 1 of 4"]
    assert rest.split("\0")[:-1] == GIVEN, done.stderr


@BASH
def test_slurm_permutes_whole_nodes_with_torchrun(tools: Path, tmp_path: Path) -> None:
    """Stages inside of replicas on 4 nodes of 2 GPUs, on hosts that the user names."""
    place = slots("tp-cp-ep-pp-dp", "tp-cp-ep-dp-pp", {"tp": 2, "dp": 2, "pp": 2})
    hosts = ["a", "b", "c", "d"]
    files = launch_files("slurm", program(nodes=4, per_node=2), "job", Placement(place, hosts))
    assert files["job.hosts"] == "a\nc\nb\nd\n"
    assert "#SBATCH --nodelist=a,b,c,d\n" in files["job.sbatch"]
    done = ran(tools, tmp_path, files, SLURM_JOB_NODELIST="[a-d]", DATA_PATH="x", TOKENIZER="t")
    *lines, rest = done.stdout.split("\n")
    assert lines == ["--ntasks=4", "--distribution=arbitrary", *"acbd"]
    assert rest.split("\0")[4:8] == ["--node-rank", "1", "--master-addr", "a"], done.stderr
    files = launch_files("torchrun", program(nodes=4, per_node=2), "job", Placement(place, hosts))
    assert files["job.hosts"] == "a\nc\nb\nd\n"
    done = ran(tools, tmp_path, files, DATA_PATH="x", TOKENIZER="t", NODE_RANK="3")
    assert done.stdout.split("\0")[4:8] == ["--node-rank", "3", "--master-addr", "a"], done.stderr


@given(st.lists(HOSTILE, min_size=1, max_size=4))
def test_a_manifest_holds_the_script_and_a_pod_for_each_node(words: list[str]) -> None:
    files = launch_files("kubernetes", program(words), "my job")
    ((name, text),) = files.items()
    assert name == "my-job.yaml"
    service, script, job = yaml.safe_load_all(text)
    assert text.startswith(
        "# Fill in IMAGE: the container image.\n# Fill in DATA_PATH: the prefix of the data.\n"
    )
    assert script["data"] == {"my-job.sh": launch_files("torchrun", program(words), "my job")["my-job.sh"]}
    assert (job["apiVersion"], job["kind"], service["spec"]["clusterIP"]) == ("batch/v1", "Job", "None")
    spec = job["spec"]
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 2, 2)
    (container,) = spec["template"]["spec"]["containers"]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 4}
    environment = {one["name"]: one.get("value") for one in container["env"]}
    assert environment == {
        "DATA_PATH": "",
        "TOKENIZER": "",
        "MASTER_ADDR": "my-job-0.my-job",
        "NODE_RANK": None,
    }


@BASH
@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("starter", ["torchrun", "python"])
def test_bash_accepts_every_script(tmp_path: Path, kind: str, starter: str) -> None:
    meanings = {**BLANKS, "ODD": "a `rm -rf` } $(x) \" ' of \n this"}
    files = launch_files(
        kind,
        Program(["train.py", "a b", "'\n"], 2, 8, {"X": "$(id)"}, meanings, starter),
        "job",  # type: ignore[arg-type]
    )
    for name, text in files.items():
        if name.endswith(".yaml"):
            text = list(yaml.safe_load_all(text))[1]["data"]["job.sh"]
        if not name.endswith(".hosts"):
            (tmp_path / name).write_text(text)
            done = subprocess.run(
                ["bash", "-n", tmp_path / name], capture_output=True, text=True, check=False
            )
            assert (done.returncode, done.stderr) == (0, ""), text


@pytest.mark.parametrize("nodes", [1, 2])
def test_scripts_are_read_again(tmp_path: Path, nodes: int) -> None:
    """By the reader of scripts of others; blanks may stay open."""
    files = launch_files("torchrun", program([*WORDS, "--tokenizer-model", "it's $HOME \\"], nodes), "job")
    (tmp_path / "job.sh").write_text(files["job.sh"])
    found = read_document([str(tmp_path / "job.sh")])
    assert (found.framework, found.npus) == ("megatron-lm", 4 * nodes)
    assert found.settings == {
        "--tensor-model-parallel-size": 2,
        "--bf16": True,
        "--data-path": "$DATA_PATH",
        "--tokenizer-model": "it's $HOME \\",
    }


@BASH
def test_programs_of_one_process_a_node_meet_by_variables(tools: Path, tmp_path: Path) -> None:
    files = launch_files("torchrun", program(["-m", "MaxText.train"], starter="python"), "job")
    text = files["job.sh"].replace(
        "\npython ", "\necho $NNODES $JAX_COORDINATOR_IP $JAX_COORDINATOR_PORT; python "
    )
    assert ran(tools, tmp_path, {"job.sh": text}, RANK="", WORLD_SIZE="", **FILLED).stdout.startswith(
        "2 n07 29500\n"
    )


def test_names_are_made_of_any_text() -> None:
    assert job_name("Llama-3.1 8B / tp2") == "llama-3-1-8b-tp2"
    assert job_name("ü$(") == "job"
    assert job_name("x" * 39 + "-y") == "x" * 39


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: launch_files("pbs", program(), "job"), "launcher is 'pbs'"),
        (lambda: launch_files("torchrun", program(nodes=0), "job"), "nodes is 0; it must be at least 1"),
        (lambda: launch_files("torchrun", program([]), "job"), "the program has no words"),
        (lambda: program(["a\0b"]), "has a character that no command line can hold"),
        (lambda: program(environment={"A B": "1"}), "'A B' is no name of a variable"),
        (lambda: program(environment={"A": "\0"}), "has a character that no command line can hold"),
        (
            lambda: program([Blank("OTHER")]),
            "the blank OTHER has no meaning; blanks are DATA_PATH, TOKENIZER",
        ),
        (lambda: launch_files("slurm", program(), "job", Placement((0, 1))), "the placement has 2 ranks"),
        (
            lambda: launch_files("slurm", program(), "job", Placement((), ["a"])),
            "hosts has 1 names; it must have 2",
        ),
        (
            lambda: launch_files("torchrun", program(per_node=2), "job", Placement((0, 2, 1, 3))),
            "needs a process for each GPU: write it for slurm",
        ),
        (
            lambda: launch_files("kubernetes", program(per_node=2), "job", Placement((2, 3, 0, 1))),
            "kubernetes places pods itself",
        ),
        (
            lambda: launch_files(
                "slurm", program(per_node=2, starter="python"), "job", Placement((0, 2, 1, 3))
            ),
            "the program starts one for each node",
        ),
    ],
)
def test_what_no_launcher_can_start_is_refused(call: object, message: str) -> None:
    with pytest.raises(InputError) as error:
        call()  # type: ignore[operator]
    assert message in str(error.value)
