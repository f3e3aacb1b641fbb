"""Firmware says which memory each GPU is near to."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.bios import in_lab, of_guest, page
from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import Want, is_compute
from clusterwright.check.facts.board import Board, board
from clusterwright.check.verdict import Status, Verdict


@check(
    board,
    when=is_compute,
    unless=in_lab,
    field="nodes.{group}.firmware.numa_per_socket",
    mend="set NUMA nodes per socket in the BIOS",
)
def numa(want: Want, have: Board) -> Iterator[Verdict]:
    """Sockets have the declared NUMA nodes, and every GPU and RDMA adapter says which one is near.

    Where firmware keeps silent, Slurm and NCCL bind processes to cores of the other socket.
    """
    if guest := of_guest(have):
        yield guest
        return
    faults = [*_counted(want, have), *_silent(have), *_elsewhere(want, have)]
    saw = f"{have.nodes} NUMA nodes on {have.sockets} sockets"
    yield from faults or [fine(saw=saw, want=_wanted(want))]


def _wanted(want: Want) -> str:
    declared = want.host.group.firmware.numa_per_socket
    field = f"nodes.{want.host.group_name}.firmware.numa_per_socket"
    return f"{declared} on each socket ({field})" if declared else "one on each socket at least"


def _counted(want: Want, have: Board) -> Iterator[Verdict]:
    declared = want.host.group.firmware.numa_per_socket
    each = declared or 1
    if have.nodes != each * have.sockets if declared else have.nodes < have.sockets:
        saw = f"{have.nodes} NUMA nodes on {have.sockets} sockets"
        mend = f"{page(have, 'numa')}: {each}; node interleaving off"
        yield fault(saw=saw, want=_wanted(want), mend=mend)


def _silent(have: Board) -> Iterator[Verdict]:
    if have.nodes > 1:
        for each in (*have.of("gpu"), *have.rdma):
            if each.numa < 0:
                yield fault(
                    saw=f"nothing says which node the {each.kind} at {each.where} is near to (numa_node -1)",
                    want="a NUMA node of each GPU and adapter",
                    part=f"{each.kind} {each.address}",
                    mend=f"update the BIOS, which leaves it out of its tables (_PXM); {page(have, 'numa')}",
                    otherwise=Status.WARN,
                )


def _elsewhere(want: Want, have: Board) -> Iterator[Verdict]:
    """GPUs that hang on another socket than `gpus.sockets` says; known where a socket is a node."""
    gpus = want.host.group.gpus
    declared = gpus.sockets if gpus else ()
    seen = tuple(gpu.numa for gpu in have.of("gpu"))
    if declared and have.nodes == have.sockets and len(seen) == len(declared) and min(seen) >= 0:
        for index, (said, found) in enumerate(zip(declared, seen, strict=True)):
            if said != found:
                yield fault(
                    saw=f"GPU {index} hangs on socket {found}",
                    want=f"socket {said} (nodes.{want.host.group_name}.gpus.sockets)",
                    part=f"gpu {index}",
                    mend="correct gpus.sockets in the cluster file: cores of the other socket are bound to it",
                )
