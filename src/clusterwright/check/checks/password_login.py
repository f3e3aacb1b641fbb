"""Sshd accepts passwords only if security.password_login allows it."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, unmanaged
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.sshd_settings import sshd_settings
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _

_KEYS = ("passwordauthentication", "kbdinteractiveauthentication")


def _is_old(spec: HostSpec) -> str:
    """Return why the check of sshd is skipped, or "" where it is not.

    OpenSSH 8.0 gets our settings on its command line, which `sshd -T` omits.
    """
    return (
        ""
        if spec.cluster.platform.has_sshd_folder
        else _("sshd gets its settings on the command line, which `sshd -T` omits")
    )


@check(
    sshd_settings,
    unless=unmanaged("ssh", otherwise=_is_old),
    fix="run `grep -ri authentication /etc/ssh/sshd_config*` on the host and remove the setting that precedes "
    "00-clusterwright.conf: the first one wins",
)
def password_login(spec: HostSpec, have: dict[str, str]) -> Verdict:
    """Sshd accepts passwords only if security.password_login allows it."""
    allowed = spec.cluster.security.password_login
    open_ = [key for key in _KEYS if have.get(key, "no") == "yes"]
    expected = (
        _("passwords allowed (security.password_login)")
        if allowed
        else _("passwords refused (security.password_login)")
    )
    observed = (
        _("enabled in sshd: {settings}", settings=", ".join(open_)) if open_ else _("passwords refused")
    )
    return expect(allowed or not open_, observed=observed, expected=expected)
