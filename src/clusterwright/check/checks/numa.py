"""Firmware says which memory each GPU is near to."""

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
    fix="set NUMA nodes per socket in the BIOS",
)
def numa(spec: HostSpec, have: Board) -> Iterator[Verdict]:
    """Sockets have the declared NUMA nodes, and every GPU and RDMA adapter says which one is near.

    Where firmware keeps silent, Slurm and NCCL bind processes to cores of the other socket.
    """
    if guest := of_guest(have):
        yield guest
        return
    faults = [*_counted(spec, have), *_missing_nodes(have), *_elsewhere(spec, have)]
    observed = _("{nodes} NUMA nodes on {sockets} sockets", nodes=have.nodes, sockets=have.sockets)
    yield from faults or [fine(observed=observed, expected=_requirements(spec))]


def _requirements(spec: HostSpec) -> str:
    declared = spec.host.group.firmware.numa_per_socket
    field = f"nodes.{spec.host.group_name}.firmware.numa_per_socket"
    return (
        _("{declared} on each socket ({field})", declared=declared, field=field)
        if declared
        else _("one on each socket at least")
    )


def _counted(spec: HostSpec, have: Board) -> Iterator[Verdict]:
    declared = spec.host.group.firmware.numa_per_socket
    per_socket = declared or 1
    if have.nodes != per_socket * have.sockets if declared else have.nodes < have.sockets:
        observed = _("{nodes} NUMA nodes on {sockets} sockets", nodes=have.nodes, sockets=have.sockets)
        fix = _(
            "{bios_menu}: {per_socket}; node interleaving off",
            bios_menu=bios_menu(have, "numa"),
            per_socket=per_socket,
        )
        yield fault(observed=observed, expected=_requirements(spec), fix=fix)


def _missing_nodes(have: Board) -> Iterator[Verdict]:
    if have.nodes > 1:
        for device in (*have.devices_by_kind("gpu"), *have.rdma):
            if device.numa < 0:
                yield fault(
                    observed=_(
                        "nothing says which node the {kind} at {location} is near to (numa_node -1)",
                        kind=device.kind,
                        location=device.location,
                    ),
                    expected=_("a NUMA node of each GPU and adapter"),
                    part=f"{device.kind} {device.address}",
                    fix=_(
                        "update the BIOS, which leaves it out of its tables (_PXM); {bios_menu}",
                        bios_menu=bios_menu(have, "numa"),
                    ),
                    otherwise=Status.WARN,
                )


def _elsewhere(spec: HostSpec, have: Board) -> Iterator[Verdict]:
    """GPUs that hang on another socket than `gpus.sockets` says; known where a socket is a node."""
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
                    observed=_("GPU {index} hangs on socket {socket}", index=index, socket=socket),
                    expected=_(
                        "socket {declared_socket} (nodes.{group_name}.gpus.sockets)",
                        declared_socket=declared_socket,
                        group_name=spec.host.group_name,
                    ),
                    part=_("gpu {index}", index=index),
                    fix=_(
                        "correct gpus.sockets in the cluster file: cores of the other socket are bound to it"
                    ),
                )
