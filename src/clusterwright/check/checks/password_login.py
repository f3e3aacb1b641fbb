"""Passwords open nothing that the file keeps shut."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.sshd_settings import sshd_settings
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _

_KEYS = ("passwordauthentication", "kbdinteractiveauthentication")


def _is_old(spec: HostSpec) -> str:
    """OpenSSH 8.0 has our settings on its command line, which `sshd -T` does not see."""
    return "" if spec.cluster.platform.has_sshd_folder else _("this sshd has its settings from its unit")


@check(
    sshd_settings,
    unless=_is_old,
    fix="`grep -ri authentication /etc/ssh/sshd_config*` on the host: a file read before 00-clusterwright.conf wins",
)
def password_login(spec: HostSpec, have: dict[str, str]) -> Verdict:
    """Sshd takes passwords only where the file allows them."""
    allowed = spec.cluster.security.password_login
    open_ = [key for key in _KEYS if have.get(key, "no") == "yes"]
    expected = _("passwords {ending} (security.password_login)", ending="allowed" if allowed else "refused")
    observed = _("{open} yes", open=", ".join(open_)) if open_ else _("passwords refused")
    return expect(allowed or not open_, observed=observed, expected=expected)
