"""astra_configs/ holds what the systems of conf/ write, and reads back as the same systems."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.inputs.systems import read_system, write_system
from dse.studies.config import compose_config

FOLDER = Path(__file__).parents[3] / "astra_configs"
NAMES = ("system1", "system2", "dgx16", "dgx_2k", "tpu_512")
FILES = ("system.json", "network.yml", "remote_memory.json")


def test_every_system_of_the_lab_has_a_folder() -> None:
    assert sorted(path.name for path in FOLDER.iterdir() if path.is_dir()) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_is_what_the_system_writes_and_reads_back_as_it(name: str, tmp_path: Path) -> None:
    system = compose_config([f"system={name}"]).system
    write_system(system, tmp_path)
    assert sorted(path.name for path in (FOLDER / name).iterdir()) == sorted(FILES)
    for file in FILES:
        assert (FOLDER / name / file).read_bytes() == (tmp_path / file).read_bytes()
    read = read_system(
        *(FOLDER / name / file for file in FILES), name=name, network_model="congestion_unaware"
    )
    assert read == system
