"""DCGM finds nothing wrong."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine, skip, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.dcgm import Dcgm, Result, dcgm
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _

_EXPECTED = N_("every test of `dcgmi diag -r 1` passed")
_BAD = {"fail": Status.FAIL, "warn": Status.WARN}
_START = N_("systemctl enable --now nvidia-dcgm")


@check(
    dcgm,
    when=has_gpus,
    on=("deploy", "burn-in"),
    fix="`dcgmi diag -r 1 -v` says more; on a drained host `dcgmi diag -r 3` tries the hardware",
)
def dcgm_quick(_spec: HostSpec, have: Dcgm) -> Iterator[Verdict]:
    """Where DCGM is installed its quick diagnosis passes; a test that it left out is not known, and never passed."""
    if have.absent:
        yield skip(_("dcgmi is not installed"))
        return
    if have.refused or not have.results:
        yield unknown(have.refused or _("dcgmi diag ran no test"), expected=_EXPECTED, fix=_START)
        return
    bad = [result for result in have.results if result.status in _BAD]
    left_out = [result.test for result in have.results if result.status not in {*_BAD, "pass"}]
    yield from (_fault(result) for result in bad)
    if left_out:
        yield unknown(
            _("left out: {left_out}", left_out=", ".join(dict.fromkeys(left_out))), expected=_EXPECTED
        )
    elif not bad:
        yield fine(
            observed=_("{count} tests passed", count=len({result.test for result in have.results})),
            expected=_EXPECTED,
        )


def _fault(result: Result) -> Verdict:
    observed = f"{result.test}: {result.status}{f', {result.warnings}' if result.warnings else ''}"
    return fault(
        observed=observed,
        expected=_EXPECTED,
        part=_("gpu {gpus}", gpus=result.gpus) if result.gpus else "",
        otherwise=_BAD[result.status],
    )
