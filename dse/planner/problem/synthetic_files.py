"""From keys of `dse plan profiles` and `dse plan hosts` to synthetic inputs in the form of Metis."""

from __future__ import annotations

from pathlib import Path

from dse.base.errors import InputError
from dse.base.files import make_folder
from dse.base.settings.values import Values, whole

PROFILE_KEYS = {
    "layers": "layers of the model, embedding and head included",
    "batch": "largest micro-batch; smaller ones are powers of two (default 128)",
    "max_tp": "largest tensor degree (default: as batch)",
}
HOST_KEYS = {
    "gpus": "of the cluster, half of them V100, half A100",
    "gpus_per_host": "of a host, 1 to 9 (default 4)",
}
_MOST = 2**20
HOSTFILE, CLUSTERFILE = "hostfile", "clusterfile.json"


def make_profiles(values: Values, folder: Path) -> str:
    """Write profiles into a folder; return what was done.

    Raises:
        InputError: a wrong key, or the folder cannot be written.
    """
    from dse.planner.problem.inputs.synthetic import write_synthetic_profiles

    if "layers" not in values:
        raise InputError("layers is missing; write layers=NUMBER, embedding and head included")
    layers = whole(values, "layers", 1, least=1, most=_MOST)
    batch = whole(values, "batch", 128, least=1, most=_MOST)
    max_tp = whole(values, "max_tp", None, least=1, most=_MOST)
    count = write_synthetic_profiles(folder, layers, batch, max_tp)
    return f"wrote {count} profiles into {folder}"


def make_hosts(values: Values, folder: Path) -> str:
    """Write a host file and a cluster file into a folder; return what was done.

    Raises:
        InputError: a wrong key, or the folder cannot be written.
    """
    from dse.planner.problem.inputs.synthetic import write_half_and_half

    if "gpus" not in values:
        raise InputError("gpus is missing; write gpus=NUMBER, half of them V100, half A100")
    gpus = whole(values, "gpus", 1, least=1, most=_MOST)
    each = whole(values, "gpus_per_host", 4, least=1, most=_MOST)
    make_folder(folder)
    write_half_and_half(folder / HOSTFILE, folder / CLUSTERFILE, gpus, each)
    return f"wrote {gpus // each} hosts into {folder / HOSTFILE} and {folder / CLUSTERFILE}"
