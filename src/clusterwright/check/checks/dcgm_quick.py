"""DCGM's quick diagnostic passes."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine, skip, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.dcgm import Dcgm, DcgmResult, dcgm
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _, _n

_EXPECTED = N_("every test of `dcgmi diag -r 1` passes")
_BAD = {"fail": Status.FAIL, "warn": Status.WARN}
_START = N_("run `systemctl enable --now nvidia-dcgm`")


@check(
    dcgm,
    when=has_gpus,
    on=("deploy", "burn-in"),
    fix="run `dcgmi diag -r 1 -v` for details; drain the host and run `dcgmi diag -r 3` to test the hardware",
)
def dcgm_quick(_spec: HostSpec, have: Dcgm) -> Iterator[Verdict]:
    """Where DCGM is installed, `dcgmi diag -r 1` passes; a test that it skipped is unknown."""
    if have.absent:
        yield skip(_("dcgmi is not installed"))
        return
    if have.refused or not have.results:
        yield unknown(have.refused or _("dcgmi diag ran no test"), expected=_(_EXPECTED), fix=_(_START))
        return
    bad = [result for result in have.results if result.status in _BAD]
    left_out = [result.test for result in have.results if result.status not in {*_BAD, "pass"}]
    yield from (_fault(result) for result in bad)
    if left_out:
        yield unknown(
            _("tests skipped by DCGM: {tests}", tests=", ".join(dict.fromkeys(left_out))),
            expected=_(_EXPECTED),
        )
    elif not bad:
        yield fine(
            observed=_n(
                "{count} test passed", "{count} tests passed", len({row.test for row in have.results})
            ),
            expected=_(_EXPECTED),
        )


def _fault(result: DcgmResult) -> Verdict:
    observed = f"{result.test}: {result.status}{f', {result.warnings}' if result.warnings else ''}"
    return fault(
        observed=observed,
        expected=_(_EXPECTED),
        part=f"gpu {result.gpus}" if result.gpus else "",
        otherwise=_BAD[result.status],
    )
