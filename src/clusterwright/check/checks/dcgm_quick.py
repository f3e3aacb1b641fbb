"""DCGM finds nothing wrong."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine, skip, unknown
from clusterwright.check.fact import Want
from clusterwright.check.facts.dcgm import Dcgm, Result, dcgm
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Status, Verdict

_WANT = "every test of `dcgmi diag -r 1` passed"
_BAD = {"fail": Status.FAIL, "warn": Status.WARN}
_START = "systemctl enable --now nvidia-dcgm"


@check(
    dcgm,
    when=has_gpus,
    on=("deploy", "burn-in"),
    mend="`dcgmi diag -r 1 -v` says more; on a drained host `dcgmi diag -r 3` tries the hardware",
)
def dcgm_quick(_want: Want, have: Dcgm) -> Iterator[Verdict]:
    """Where DCGM is installed its quick diagnosis passes; a test that it left out is not known, and never passed."""
    if have.absent:
        yield skip("dcgmi is not installed")
        return
    if have.refused or not have.results:
        yield unknown(have.refused or "dcgmi diag ran no test", want=_WANT, mend=_START)
        return
    bad = [each for each in have.results if each.status in _BAD]
    left_out = [each.test for each in have.results if each.status not in {*_BAD, "pass"}]
    yield from (_fault(each) for each in bad)
    if left_out:
        yield unknown(f"left out: {', '.join(dict.fromkeys(left_out))}", want=_WANT)
    elif not bad:
        yield fine(saw=f"{len({each.test for each in have.results})} tests passed", want=_WANT)


def _fault(each: Result) -> Verdict:
    saw = f"{each.test}: {each.status}{f', {each.said}' if each.said else ''}"
    return fault(
        saw=saw, want=_WANT, part=f"gpu {each.gpus}" if each.gpus else "", otherwise=_BAD[each.status]
    )
