"""Equal clocks: munge refuses what is five minutes off, and logs are useless when they disagree."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.distribution import distribution
from clusterwright.provision.render.chrony_conf import chrony_conf
from clusterwright.provision.resources import File, Given, Package, Resource, Unit

AFTER = ("base",)

# A virtual host has its machine's clock and may not set it: -x measures and sets nothing.
LAB_UNIT = "[Unit]\nConditionCapability=\n"


def clock(cluster: Cluster, host: Host, given: Given) -> tuple[Resource, ...]:
    """Chrony, running on every host; the control hosts are the others' servers.

    `reload`: it starts anew with what it had measured, and the clock does not jump.
    """
    header, system = given.header(), distribution(cluster)
    unit, options = system.unit("chrony.service"), system.word("DAEMON_OPTS")
    text = chrony_conf(cluster, host, header)
    check = () if cluster.os == "ubuntu-20.04" else ("chronyd", "-p", "-f", "{}")  # -p came with chrony 4.0
    files = [File(path=system.path("/etc/chrony/chrony.conf"), content=text, validate=check)]
    if cluster.lab is not None:
        defaults = system.path("/etc/default/chrony")
        files.append(File(path=defaults, content=f'{header}{options}="-F 1 -x"\n'))
        files.append(File(path=f"/etc/systemd/system/{unit}.d/clusterwright.conf", content=header + LAB_UNIT))
    return (
        Package(name="chrony"),
        *files,
        Unit(name=unit, restart_on=tuple(file.id for file in files), reload=True),
    )
