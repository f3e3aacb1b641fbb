"""The interfaces that jobs are told to use are there."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.facts.addresses import Interface, addresses
from clusterwright.check.verdict import Verdict

_VARIABLES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")


def _is_told(want: Want) -> bool:
    return want.is_compute and any(name in want.cluster.jobs.variables for name in _VARIABLES)


@check(
    addresses,
    when=_is_told,
    mend="`ip -brief address` on the host shows what its interfaces are called; correct jobs.variables",
)
def nccl_interface(want: Want, have: dict[str, Interface]) -> Iterator[Verdict]:
    """Every interface that NCCL and Gloo are told to use exists here; a wrong name ends in a hang far away."""
    there = {found.name for found in have.values()}
    for name in _VARIABLES:
        text = want.cluster.jobs.variables.get(name)
        if text and not text.startswith("^"):
            missing = [
                each for each in _names(text) if not _is_there(each, there, exact=text.startswith("="))
            ]
            saw = f"no interface {', '.join(missing)}" if missing else f"{text} is there"
            yield expect(not missing, saw=saw, want=f"{name}={text} (jobs.variables)")


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(each.strip() for each in text.lstrip("=").split(",") if each.strip()))


def _is_there(name: str, there: set[str], *, exact: bool) -> bool:
    """A name of NCCL's is a prefix, unless `=` stands before the list (NCCL's user guide)."""
    return name in there if exact else any(each.startswith(name) for each in there)
