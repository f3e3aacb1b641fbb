"""Slurm can use the control groups of the host."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec, is_compute
from clusterwright.check.facts.cgroup_plugins import CgroupPlugins, cgroup_plugins
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


@check(
    cgroup_plugins,
    when=is_compute,
    fix="take a Slurm that was built with D-Bus's development files (v2 needs them), or start the host with "
    "systemd.unified_cgroup_hierarchy=0; slurm.cgroup says which is meant",
)
def cgroup_plugin(spec: HostSpec, have: CgroupPlugins) -> Verdict:
    """Slurm has the plugin for the control groups that the host has; without it slurmd does not start.

    The file alone is looked at: whether it loads is seen in slurmd's log.
    """
    setting = spec.cluster.slurm.cgroup
    expected = have.mounted if setting == "auto" else setting
    is_ok = have.mounted == expected and expected in have.plugins
    observed = _(
        "control groups {mounted}, plugins for {plugins}",
        mounted=have.mounted,
        plugins=", ".join(have.plugins) or "none",
    )
    return expect(
        is_ok,
        observed=observed,
        expected=_("control groups {expected} and Slurm's plugin for them", expected=expected),
    )
