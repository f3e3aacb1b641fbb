"""The files of a host's RDMA ports: in a folder of the machine, bound into the host; faults show at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from clusterwright.lab.laying import write_files
from clusterwright.lab.rdma.ports import SimulatedRdma, port, tree

INSIDE = "/run/clusterwright-lab/infiniband"
DEVICE_MAJOR = 121  # for local use, as the GPUs' 120: no driver answers at /dev/infiniband/uverbs0
# Runs at each boot. sysfs takes no new folder, so one is mounted over /sys/class before the ports are
# bound there; counters restart at zero, as a driver's do.
AT_BOOT = f"""if [ -d {INSIDE} ]; then
  for counter in {INSIDE}/*/ports/*/*counters/*; do echo 0 > "$counter"; done
  mkdir -p /run/clusterwright-class/infiniband /dev/infiniband
  [ -d /sys/class/infiniband ] ||
    mount -t overlay -o ro,lowerdir=/run/clusterwright-class:/sys/class overlay /sys/class
  mount --bind {INSIDE} /sys/class/infiniband
  number=0
  for _ in {INSIDE}/*; do
    [ -e /dev/infiniband/uverbs$number ] || mknod -m 666 /dev/infiniband/uverbs$number c {DEVICE_MAJOR} $number
    number=$((number + 1))
  done
fi
"""


def install(ports: SimulatedRdma, folder: Path) -> None:
    """Write the files of a host's RDMA ports, all up and with counters at zero, into the folder."""
    write_files(folder, tree(ports))


def set_values(folder: Path, ports: SimulatedRdma, index: int, values: Mapping[str, str]) -> None:
    """Write values to files of a host's RDMA port, by path under the port's folder."""
    for path, text in values.items():
        (folder / ports.device(index) / "ports/1" / path).write_text(f"{text}\n")


def add(folder: Path, ports: SimulatedRdma, index: int, growth: Mapping[str, int]) -> None:
    """Raise counters of a host's simulated RDMA port by the amounts in `growth`, by the counter's path."""
    port_folder = folder / ports.device(index) / "ports/1"
    set_values(
        folder,
        ports,
        index,
        {path: str(int((port_folder / path).read_text()) + by) for path, by in growth.items()},
    )


def reset(folder: Path, ports: SimulatedRdma, index: int) -> None:
    """Set a host's simulated RDMA port to its initial values: up, with counters at zero."""
    set_values(
        folder,
        ports,
        index,
        {path.removeprefix("ports/1/"): text for path, text in port(ports, index).items()},
    )
