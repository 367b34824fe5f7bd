"""Entry file for a checkout of STAGE of 2026: takes the options of March 2025, which `workload=stage` writes.

Copy it beside the checkout's main.py and write workload.entry=main_dse.py.
"""

import argparse
import runpy
import sys
from pathlib import Path

parser = argparse.ArgumentParser(allow_abbrev=False)
for name in ("output_dir", "output_name", "comm_group_file", "din", "dout", "head"):
    parser.add_argument(f"--{name}", required=True)
known, others = parser.parse_known_args()
if known.din != known.dout:
    sys.exit(f"model.input_dim is {known.din} and output_dim {known.dout}; STAGE of 2026 has one, --dvocal")
options = {"output_dir": known.output_dir, "output_name": known.output_name, "dvocal": known.dout}
options |= {"head": known.head, "kvhead": known.head}
sys.argv = ["main.py", *others, *(text for key, value in options.items() for text in (f"--{key}", value))]
try:
    runpy.run_path(str(Path(__file__).with_name("main.py")), run_name="__main__")
except SystemExit as end:
    if end.code:
        raise
folder = Path(known.output_dir)
(folder / f"{known.output_name}.json").rename(folder / known.comm_group_file)
