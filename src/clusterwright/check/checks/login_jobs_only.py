"""SSH admits users to a compute host only with a job there."""

from __future__ import annotations

import re

from clusterwright.check.expectation import check, expect, unmanaged
from clusterwright.check.fact import HostSpec, is_compute
from clusterwright.check.facts.login_modules import LoginModules, login_modules
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _

_ADOPT = re.compile(r"-?account (required|requisite) (?:\S*/)?pam_slurm_adopt\.so\b")
_ENDS_EARLY = re.compile(r"@include|-?account (sufficient|include|\[.*\bdone\b)")


def _is_free(spec: HostSpec) -> str:
    return _("security.login is free in the cluster file") if spec.cluster.security.login == "free" else ""


@check(
    login_modules,
    when=is_compute,
    unless=unmanaged("pam_slurm_adopt", otherwise=_is_free),
    fix="run `wright apply`; if it changes nothing, run `grep account /etc/pam.d/sshd` and `sshd -T | grep -i usepam` "
    "on the host: pam_slurm_adopt must be required, and no line before it may be sufficient or an include",
)
def login_jobs_only(_spec: HostSpec, have: LoginModules) -> Verdict:
    """Sshd asks pam_slurm_adopt, which refuses users without a job on the host (security.login)."""
    return expect(
        not (observed := _gap(have)),
        observed=observed or _("pam_slurm_adopt is required"),
        expected=_("users need a job on the host (security.login)"),
    )


def _gap(have: LoginModules) -> str:
    """Return what admits users without a job, or an empty string."""
    if not have.uses_pam:
        return _("sshd does not use PAM")
    at = next((index for index, line in enumerate(have.lines) if _ADOPT.match(line)), None)
    if at is None:
        return _("pam_slurm_adopt is not required in /etc/pam.d/sshd")
    early = next((line for line in have.lines[:at] if _ENDS_EARLY.match(line)), "")
    if early:
        return _(
            "the line `{line}` of /etc/pam.d/sshd admits users before pam_slurm_adopt decides", line=early
        )
    return "" if have.installed else _("pam_slurm_adopt is not installed; only admins can log in")
