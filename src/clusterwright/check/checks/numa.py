"""NUMA nodes per socket are as declared, and GPUs and adapters have a NUMA node."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.bios import bios_menu, in_lab, of_guest
from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec, is_compute
from clusterwright.check.facts.board import Board, board
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _


@check(
    board,
    when=is_compute,
    unless=in_lab,
    field="nodes.{group}.firmware.numa_per_socket",
    fix="set the NUMA nodes per socket in the BIOS to `nodes.GROUP.firmware.numa_per_socket` (not set: at least 1)",
    in_jobs=True,
)
def numa(spec: HostSpec, have: Board) -> Iterator[Verdict]:
    """Sockets have the declared number of NUMA nodes, and every GPU and RDMA adapter has its NUMA node.

    Without the NUMA node in the firmware's tables, Slurm and NCCL may bind processes to cores of another socket.
    """
    if guest := of_guest(have):
        yield guest
        return
    faults = [*_counted(spec, have), *_missing_nodes(have), *_elsewhere(spec, have)]
    yield from faults or [fine(observed=_counts(have), expected=_requirements(spec))]


def _counts(have: Board) -> str:
    return _("NUMA nodes: {nodes}, sockets: {sockets}", nodes=have.nodes, sockets=have.sockets)


def _requirements(spec: HostSpec) -> str:
    declared = spec.host.group.firmware.numa_per_socket
    field = f"nodes.{spec.host.group_name}.firmware.numa_per_socket"
    return (
        _("NUMA nodes on each socket: {count} ({field})", count=declared, field=field)
        if declared
        else _("at least one NUMA node on each socket")
    )


def _counted(spec: HostSpec, have: Board) -> Iterator[Verdict]:
    declared = spec.host.group.firmware.numa_per_socket
    per_socket = declared or 1
    if have.nodes != per_socket * have.sockets if declared else have.nodes < have.sockets:
        fix = _("set {menu}: {count}; node interleaving: off", menu=bios_menu(have, "numa"), count=per_socket)
        yield fault(observed=_counts(have), expected=_requirements(spec), fix=fix)


def _missing_nodes(have: Board) -> Iterator[Verdict]:
    if have.nodes > 1:
        for device in (*have.devices_by_kind("gpu"), *have.rdma):
            if device.numa < 0:
                yield fault(
                    observed=_(
                        "the firmware reports no NUMA node for the {kind} at {location} (numa_node is -1)",
                        kind=device.kind,
                        location=device.location,
                    ),
                    expected=_("a NUMA node for each GPU and RDMA adapter"),
                    part=f"{device.kind} {device.address}",
                    fix=_(
                        "update the BIOS (its ACPI tables lack _PXM for the device); see {menu}",
                        menu=bios_menu(have, "numa"),
                    ),
                    otherwise=Status.WARN,
                )


def _elsewhere(spec: HostSpec, have: Board) -> Iterator[Verdict]:
    """Yield GPUs on another socket than declared in `gpus.sockets`; only where each socket is one NUMA node."""
    gpus = spec.host.group.gpus
    declared = gpus.sockets if gpus else ()
    actual_sockets = tuple(gpu.numa for gpu in have.devices_by_kind("gpu"))
    if (
        declared
        and have.nodes == have.sockets
        and len(actual_sockets) == len(declared)
        and min(actual_sockets) >= 0
    ):
        for index, (declared_socket, socket) in enumerate(zip(declared, actual_sockets, strict=True)):
            if declared_socket != socket:
                yield fault(
                    observed=_("GPU {gpu} is attached to socket {socket}", gpu=index, socket=socket),
                    expected=_(
                        "socket {socket} (nodes.{group}.gpus.sockets)",
                        socket=declared_socket,
                        group=spec.host.group_name,
                    ),
                    part=f"gpu {index}",
                    fix=_("correct gpus.sockets in the cluster file: Slurm binds jobs to cores by it"),
                )
