"""Host files with slots, as DeepSpeed and MPI read them."""

from __future__ import annotations

import pytest

from dse.prediction.frameworks.reading.files import Folder
from dse.prediction.frameworks.reading.host_slots import hosted_npus
from dse.prediction.frameworks.reading.launchers import launch_of
from dse.prediction.frameworks.reading.values import mark

HOSTS = "# of the job\na slots=8\n\nb slots=4  # smaller\n"


@pytest.mark.parametrize(
    ("line", "hosts", "npus"),
    [
        ("deepspeed --hostfile h t.py", HOSTS, 12),
        ("deepspeed -H h --num_nodes 1 t.py", HOSTS, 8),
        ("deepspeed --hostfile=h --num_gpus 2 t.py", HOSTS, 4),
        ("deepspeed --hostfile h --include a:0,1@b t.py", HOSTS, 6),
        ("deepspeed --hostfile h --include c t.py", HOSTS, None),
        ("deepspeed --hostfile h --exclude a:0 t.py", HOSTS, None),
        ("deepspeed --hostfile h t.py", "a\nb\n", None),
        ("deepspeed --hostfile h t.py", "a slots=8\na slots=8\n", None),
        ("deepspeed --hostfile other t.py", HOSTS, None),
        ("mpirun --hostfile h python t.py", HOSTS, 12),
        ("mpirun -machinefile h -npernode 4 python t.py", "a:8\nb:8\n", 8),
        ("mpirun --hostfile h python t.py", "a slots=8 max_slots=16\n", 8),
    ],
)
def test_slots_say_how_many_accelerators_there_are(line: str, hosts: str, npus: int | None) -> None:
    launch = launch_of(line.split(" "), "x")
    assert launch.npus is None
    assert hosted_npus(launch.options, Folder(written={"h": hosts})) == npus


@pytest.mark.parametrize(
    "line",
    [
        "mpirun --hostfile h -np $N python t.py",
        "mpirun --hostfile h -np 4x python t.py",
        "mpirun --hostfile h -N $N python t.py",
        "mpirun --hostfile h --map-by ppr:4:socket python t.py",
        "mpirun --hostfile h --map-by $N python t.py",
        "deepspeed --hostfile h --num_gpus $N t.py",
        "deepspeed --hostfile h --num_nodes $N t.py",
        "deepspeed --hostfile h --num_nodes $N --num_gpus 2 t.py",
        "deepspeed --hostfile h --include a:0-3 t.py",
        "deepspeed --hostfile h --include a:$N@b t.py",
        "deepspeed --hostfile h --include $N t.py",
    ],
)
def test_slots_are_no_count_where_an_option_says_another_that_is_open(line: str) -> None:
    launch = launch_of(line.replace("$N", mark("N")).split(" "), "x")
    assert launch.npus is None
    assert hosted_npus(launch.options, Folder(written={"h": HOSTS})) is None
