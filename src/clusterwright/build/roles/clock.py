"""Equal clocks: munge refuses what is five minutes off, and logs are useless when they disagree."""

from __future__ import annotations

from clusterwright.build.render.chrony_conf import chrony_conf
from clusterwright.build.resources import File, Given, Package, Resource, Unit
from clusterwright.spec.cluster import Cluster, Host

AFTER = ("base",)

# A virtual host has its machine's clock and may not set it: -x measures and sets nothing.
LAB_OPTIONS = 'DAEMON_OPTS="-F 1 -x"\n'
LAB_UNIT = "[Unit]\nConditionCapability=\n"


def clock(cluster: Cluster, host: Host, given: Given) -> tuple[Resource, ...]:
    """Chrony, running on every host; the control host is the others' server."""
    header = given.header()
    files = [File(path="/etc/chrony/chrony.conf", content=chrony_conf(cluster, host, header))]
    if cluster.lab is not None:
        files.append(File(path="/etc/default/chrony", content=header + LAB_OPTIONS))
        files.append(
            File(path="/etc/systemd/system/chrony.service.d/clusterwright.conf", content=header + LAB_UNIT)
        )
    return (
        Package(name="chrony"),
        *files,
        Unit(name="chrony.service", restart_on=tuple(file.id for file in files)),
    )
