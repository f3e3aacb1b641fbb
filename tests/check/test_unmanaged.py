"""On an adopted cluster the site does in its own way what no role of ours does: such checks are skipped."""

from pathlib import Path

import pytest

from clusterwright.check import registry
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.ports import required_ports
from clusterwright.check.facts.units import required_units
from clusterwright.config.load import load_cluster

EXAMPLE = Path(__file__).parents[2] / "examples" / "hgx" / "cluster.yaml"
# Checks that judge what one of our roles installs, by its role.
OF_ROLES = {
    "clock_synchronized": "clock", "exporter_answers": "exporter", "firewall_on": "packet_filter",
    "hugepages_reserved": "hugepages", "job_programs_equal": "job_hooks", "library_equal": "training",
    "login_jobs_only": "pam_slurm_adopt", "metrics_answer": "node_exporter", "password_login": "ssh",
    "ports_closed": "packet_filter", "roce_settings_applied": "roce", "selinux_as_declared": "selinux",
    "users_isolated": "isolation",
}  # fmt: skip


def specs(manage):
    """The control host and a compute host of a cluster with that `manage`."""
    cluster = load_cluster(EXAMPLE).model_copy(update={"manage": manage})
    return [HostSpec(cluster, cluster.control), HostSpec(cluster, cluster.hosts("compute")[0])]


def skipped(manage):
    """The checks that are skipped because nothing of theirs is managed."""
    return {
        check.id
        for check in registry.all_checks()
        for spec in specs(manage)
        if check.unless(spec).startswith(
            "the check is skipped, because `manage` of the cluster file does not list its roles"
        )
    }


def test_checks_of_unmanaged_roles_are_skipped_with_the_role():
    """Without `manage` none is skipped, with an empty one all; a role that is managed has its check back."""
    assert skipped(None) == set()
    assert skipped(()) == set(OF_ROLES)
    assert set(OF_ROLES) - skipped(("monitoring",)) == {"exporter_answers", "metrics_answer", "library_equal"}
    assert "firewall_on" not in skipped(("firewalld",))


@pytest.mark.parametrize("manage", [(), ("monitoring",)])
def test_services_and_ports_are_those_of_slurm_and_of_managed_roles(manage):
    """A site's own time service, database and firewall have other names."""
    control, compute = specs(manage)
    exporters = {"prometheus-node-exporter.service", "clusterwright-exporter.service"}

    units = set(required_units(compute))

    assert units - exporters == {"ssh.service", "munge.service", "slurmd.service"}
    assert exporters.issubset(units) == bool(manage)
    assert "slurmctld.service" in required_units(control)
    assert "slurmdbd.service" not in required_units(control)
    ports = {target.rpartition(":")[2] for target in required_ports(control)}
    assert ports == ({"6818", "9100", "9105"} if manage else {"6818"})
