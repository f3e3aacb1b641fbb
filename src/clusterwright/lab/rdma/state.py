"""The files of a host's RDMA ports: in a folder of the machine, bound into the host, so that faults show at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from clusterwright.lab.laying import write_files
from clusterwright.lab.rdma.ports import Rdma, port, tree

INSIDE = "/run/clusterwright-lab/infiniband"
DEVICE_MAJOR = 121  # for local use, as the GPUs' 120: nobody answers at /dev/infiniband/uverbs0
# What the host does at each boot. sysfs takes no new folder, so one is laid over /sys/class before the ports are
# bound there; counters begin anew, as a driver's do.
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


def install(ports: Rdma, folder: Path) -> None:
    """Every port is up and has counted nothing."""
    write_files(folder, tree(ports))


def set_values(folder: Path, ports: Rdma, index: int, values: Mapping[str, str]) -> None:
    """Files of that port say something else: path under the port's folder to text."""
    for path, text in values.items():
        (folder / ports.device(index) / "ports/1" / path).write_text(f"{text}\n")


def add(folder: Path, ports: Rdma, index: int, growth: Mapping[str, int]) -> None:
    """Counters of that port have grown."""
    port_folder = folder / ports.device(index) / "ports/1"
    set_values(
        folder,
        ports,
        index,
        {path: str(int((port_folder / path).read_text()) + by) for path, by in growth.items()},
    )


def reset(folder: Path, ports: Rdma, index: int) -> None:
    """The port is up and has counted nothing."""
    set_values(
        folder,
        ports,
        index,
        {path.removeprefix("ports/1/"): text for path, text in port(ports, index).items()},
    )
