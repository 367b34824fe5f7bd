"""Files of the user's own as choices of groups: by path, and from a folder that is searched first."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command_lines import error_of, run_ok

from dse.base.errors import InputError
from dse.base.files import conf_folder
from dse.studies.config import compose_config

TORUS = (conf_folder() / "system" / "torus_4x4.yaml").read_text()
NAMELESS = "".join(line for line in TORUS.splitlines(keepends=True) if not line.startswith("name:"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with systems of the user's."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "named.yaml").write_text(TORUS.replace("torus_4x4", "my_torus"))
    (tmp_path / "nameless.yml").write_text(NAMELESS)
    (tmp_path / "my törus.yaml").write_text(NAMELESS)
    (tmp_path / "fast.yaml").write_text("defaults: [torus_4x4]\npeak_tflops: 900\n")
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("override", "name", "study"),
    [
        ("system=named.yaml", "my_torus", "tiny-my_torus"),
        ("system=./nameless.yml", "nameless", "tiny-nameless"),
        ('system="my törus.yaml"', "my törus", "tiny-my_t_rus"),
        ("system=fast.yaml", "fast", "tiny-fast"),
    ],
)
def test_a_path_is_a_choice(override: str, name: str, study: str) -> None:
    config = compose_config(["model=tiny", override])
    assert (config.system.name, config.study, config.system.npus) == (name, study, 16)


@pytest.mark.usefixtures("folder")
def test_a_file_may_build_on_one_of_conf_and_be_overridden() -> None:
    config = compose_config(["system=fast.yaml", "system.memory_bandwidth_gbps=7"])
    assert (config.system.peak_tflops, config.system.memory_bandwidth_gbps) == (900, 7)
    assert [dimension.topology for dimension in config.system.network] == ["Ring", "Ring"]


def test_an_absolute_path_and_every_group(folder: Path) -> None:
    (folder / "six.yaml").write_text("defaults: [tiny]\nnum_layers: 6\n")
    (folder / "few.yaml").write_text("defaults: [lab]\nsp: [1]\n")
    (folder / "two.yaml").write_text("name: local\nthreads: 2\n")
    paths = [f"{group}={folder}/{file}" for group, file in (("model", "six.yaml"), ("space", "few.yaml"))]
    config = compose_config([*paths, f"executor={folder}/two.yaml"])
    assert (config.model.name, config.model.num_layers) == ("six", 6)
    assert (config.space.name, config.space.choices["sp"]) == ("few", (1,))
    assert config.executor.threads == 2


@pytest.mark.usefixtures("folder")
def test_axes_list_files_and_names() -> None:
    config = compose_config(["model=tiny", "space.axes={system:[fast.yaml,torus_4x4,nameless.yml]}"])
    assert [system.name for system in config.systems] == ["fast", "torus_4x4", "nameless"]
    assert config.study == "tiny-fast+torus_4x4+nameless"


def test_a_folder_is_searched_first(folder: Path) -> None:
    (folder / "conf" / "system").mkdir(parents=True)
    (folder / "conf" / "system" / "mine.yaml").write_text(NAMELESS)
    (folder / "conf" / "system" / "torus_4x4.yaml").write_text(TORUS.replace("450", "451"))
    (folder / "conf" / "system" / "built.yaml").write_text("defaults: [mine]\npeak_tflops: 3\n")
    own = folder / "conf"
    assert compose_config(["system=mine"], folder=own).system.name == "mine"
    assert compose_config(["system=torus_4x4"], folder=own).system.peak_tflops == 451
    assert compose_config(["system=built"], folder=own).system.peak_tflops == 3
    assert compose_config(["system=dgx16"], folder=own).system.npus == 16
    assert compose_config(["system=torus_4x4"]).system.peak_tflops == 450
    with pytest.raises(InputError, match=r"system 'mime' is unknown; did you mean 'mine'\? Available.*mine"):
        compose_config(["system=mime"], folder=own)


def test_the_commands_take_both(folder: Path) -> None:
    (folder / "conf" / "model").mkdir(parents=True)
    (folder / "conf" / "model" / "six.yaml").write_text("defaults: [tiny]\nnum_layers: 6\n")
    line = ("--config-dir", "conf", "model=six", "system=nameless.yml", "space.sp=[1]")
    assert "stored in results/six-nameless" in run_ok("sweep", *line, cwd=folder).out
    line = ("--config-dir=conf", "model=six", "system=nameless.yml", "strategy.dp=16")
    assert run_ok("point", *line, cwd=folder).out.startswith("six on nameless: dp16")
    assert "--config-dir 'nowhere' is no folder" in error_of(
        "sweep", "--config-dir", "nowhere", "model=six", cwd=folder
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "system=bad.yaml: no such file; give a YAML file, or a name of conf/system"),
        ("a: [", "system=bad.yaml: malformed YAML at line 2, column 1: did not find expected node content"),
        ("a: 1\na: 2\n", "system=bad.yaml: malformed YAML at line 2, column 1: found duplicate key a"),
        ("- 1\n", "system=bad.yaml: must hold keys and values, as the files of conf/system do"),
        (TORUS.replace("peak_tflops", "peak_tflop"), "bad.yaml: unknown key system.peak_tflop; "),
        (TORUS.replace("450", "many"), "bad.yaml: system.peak_tflops is 'many'; it must be a number"),
        (TORUS.replace("50", "long", 1), "bad.yaml: latency_ns is 'long'; it must be a number"),
        ("track_local_memory: maybe\n", "bad.yaml: system.track_local_memory is 'maybe'; it must be true"),
        (TORUS.replace("450", "-1"), "bad.yaml: system.peak_tflops is -1.0; it must be a number"),
        ("peak_tflops: 1\n", "bad.yaml: system.network has no value; it must be a list of entries"),
    ],
)
def test_a_mistake_names_the_file(folder: Path, content: str | None, message: str) -> None:
    if content is not None:
        (folder / "bad.yaml").write_text(content)
    with pytest.raises(InputError) as caught:
        compose_config(["system=bad.yaml"])
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_what_is_no_regular_file_is_refused_at_once(folder: Path) -> None:
    os.mkfifo(folder / "pipe.yaml")
    (folder / "folder.yaml").mkdir()
    (folder / "binary.yaml").write_bytes(b"\xff\xfe")
    for name, problem in (
        ("pipe", "is no file"),
        ("folder", "is a folder"),
        ("binary", "is not UTF-8 text (byte 0)"),
    ):
        with pytest.raises(InputError) as caught:
            compose_config([f"system={name}.yaml"])
        assert str(caught.value).startswith(f"system={name}.yaml: {problem}")


@pytest.mark.usefixtures("folder")
def test_a_key_that_the_command_line_sets_is_not_the_mistake_of_the_file() -> None:
    with pytest.raises(InputError, match=r"^system\.peak_tflops is -1\.0"):
        compose_config(["system=named.yaml", "system.peak_tflops=-1"])


def test_files_of_dimensions_are_beside_their_system_or_in_the_working_folder(folder: Path) -> None:
    (folder / "own").mkdir()
    links = "2\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,5,1\n1,0,5,1\n"
    for name in ("own/near.csv", "near.csv", "far.csv", "own/routes.csv"):
        (folder / name).write_text(links)
    for name in ("near", "far"):
        dimension = f"topology: Graph, npus: 2, bandwidth_gbps: 1, latency_ns: 0, file: {name}.csv"
        kinds = "".join(f"  {kind}: [ring]\n" for kind in ("all_reduce", "all_gather", "reduce_scatter"))
        (folder / "own" / f"{name}.yaml").write_text(
            f"network_model: congestion_aware\nnetwork: [{{{dimension}, routes: routes.csv}}]\n"
            f"peak_tflops: 450\nmemory_bandwidth_gbps: 4500\n"
            f"collectives:\n{kinds}  all_to_all: [ring]\n"
        )
    config = compose_config(["model=tiny", "space.axes={system:[own/near.yaml,own/far.yaml]}"])
    found = [(system.network[0].file, system.network[0].routes) for system in config.systems]
    assert found == [("own/near.csv", "own/routes.csv"), ("far.csv", "own/routes.csv")]
    given = compose_config(["system=own/near.yaml", "system.network.0.file=near.csv"]).system.network[0]
    assert given.file == "near.csv"
