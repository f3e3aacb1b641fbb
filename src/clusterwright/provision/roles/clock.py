"""Clock synchronization by chrony: munge rejects offsets above 5 minutes, and logs of hosts must be comparable."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.packages import packages
from clusterwright.provision.render.chrony_conf import chrony_conf
from clusterwright.provision.resources import File, Resource, RoleContext, Unit

DEPENDENCIES = ("base",)

# A virtual host has its machine's clock and may not set it: -x measures only.
LAB_UNIT = "[Unit]\nConditionCapability=\n"


def clock(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return chrony; control hosts serve time to the others. In a lab it does not set the clock.

    `reload`: chrony restarts with its saved measurements, so the clock does not jump.
    """
    header, platform = context.header(), cluster.platform
    unit, options = platform.unit("chrony.service"), platform.chrony_options_variable
    text = chrony_conf(cluster, host, header)
    check = ("chronyd", "-p", "-f", "{}") if platform.has_chrony_check else ()
    files = [File(path=platform.path("/etc/chrony/chrony.conf"), content=text, validate=check)]
    if cluster.lab is not None:
        defaults = platform.path("/etc/default/chrony")
        files.append(File(path=defaults, content=f'{header}{options}="-F 1 -x"\n'))
        files.append(File(path=f"/etc/systemd/system/{unit}.d/clusterwright.conf", content=header + LAB_UNIT))
    return (
        *packages(cluster, "chrony"),
        *files,
        Unit(name=unit, restart_on=tuple(file.id for file in files), reload=True),
    )
