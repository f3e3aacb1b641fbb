"""The state file of a host's GPUs: the initial state, and one file for each change.

A file that ends in `.lasting` stays until it is cleared, as values in a GPU's own memory do; one that
ends in `.boot` is removed at the next boot. The host concatenates them when it boots, and the lab at each
change. The folder is the machine's, bound into the host, so that it can be written while the host is down.
"""

from __future__ import annotations

from pathlib import Path

from clusterwright.edge.files import write_file_atomic
from clusterwright.lab.gpus.initial_state import driver_files, lines, render_state
from clusterwright.lab.gpus.library import SONAME, nvidia_smi
from clusterwright.lab.gpus.simulated import Simulated
from clusterwright.lab.laying import write_files

INSIDE = "/run/clusterwright-lab/gpus"
STATE = "state"
DRIVER = "/usr/lib/clusterwright-lab/driver"  # the version of the driver's package, if one is installed
AT_BOOT = f"""if cd {INSIDE} 2>/dev/null; then
  rm -f ./*.boot
  if read -r version 2>/dev/null < {DRIVER}; then
    printf 'driver.version %s\ndriver.nvml 13.%s\n' "$version" "$version" > driver.lasting
    [ ! -f proc/nvidia/version ] || sed -i "s/(simulated)  [0-9.]*/(simulated)  $version/" proc/nvidia/version
  fi
  cat made ./*.lasting > new 2>/dev/null
  mv new {STATE}
  [ ! -d /proc/driver ] || mount --bind proc /proc/driver
  cd /
fi
"""


def install(gpus: Simulated, library: Path, folder: Path, root: Path) -> None:
    """Install the NVML library, nvidia-smi, and the state of healthy GPUs into a host that has not booted."""
    write_files(root / "usr/lib", {SONAME: library.read_bytes()}, mode=0o755)
    write_files(root / "usr/bin", {"nvidia-smi": nvidia_smi()}, mode=0o755)
    write_files(folder / "proc", dict(driver_files(gpus)))
    write_files(folder, {"made": render_state(gpus), STATE: render_state(gpus)})


def set_values(
    folder: Path, name: str, rows: dict[str, object], index: int | None = None, *, lasting: bool
) -> None:
    """Set values of a simulated GPU, or without `index` of the driver, under a fault's name.

    `lasting` ones stay until cleared, others until the next boot at most.
    """
    write_file_atomic(folder / f"{name}.{'lasting' if lasting else 'boot'}", lines(rows, index))
    _write_state(folder)


def clear_values(folder: Path, name: str) -> None:
    """Remove the values that a fault of this name set, and write the simulated GPUs' state file anew without them."""
    for ending in ("lasting", "boot"):
        (folder / f"{name}.{ending}").unlink(missing_ok=True)
    _write_state(folder)


def _write_state(folder: Path) -> None:
    parts = [folder / "made", *sorted(folder.glob("*.lasting")), *sorted(folder.glob("*.boot"))]
    write_file_atomic(folder / STATE, "".join(part.read_text() for part in parts))
