"""Slurm has a plugin for the host's cgroup version."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec, is_compute
from clusterwright.check.facts.cgroup_plugins import CgroupPlugins, cgroup_plugins
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


@check(
    cgroup_plugins,
    when=is_compute,
    fix="install a Slurm that was built with the D-Bus development files (cgroup v2 needs them), or boot the host with "
    "systemd.unified_cgroup_hierarchy=0 for v1; slurm.cgroup in the cluster file selects the version",
)
def cgroup_plugin(spec: HostSpec, have: CgroupPlugins) -> Verdict:
    """Slurm has the plugin for the host's cgroup version; without it slurmd does not start.

    Only the presence of the file is checked; slurmd's log shows whether it loads.
    """
    setting = spec.cluster.slurm.cgroup
    expected = have.mounted if setting == "auto" else setting
    is_ok = have.mounted == expected and expected in have.plugins
    observed = (
        _("the host has cgroup {version}; Slurm has plugins for {plugins}")
        if have.plugins
        else _("the host has cgroup {version}; Slurm has no cgroup plugin")
    ).format(version=have.mounted, plugins=", ".join(have.plugins))
    return expect(
        is_ok,
        observed=observed,
        expected=_("cgroup {version} on the host, and Slurm's plugin for cgroup {version}", version=expected),
    )
