"""NCCL's settings on compute hosts (/etc/nccl.conf), for jobs of any launcher."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.render.rdma import TOPOLOGY, rdma_params
from clusterwright.provision.resources import Derived, File, Resource, RoleContext

DEPENDENCIES = ("base",)

PATH = "/etc/nccl.conf"  # NCCL's user guide, "Environment Variables": all processes read it; variables win
_WHY = """# A job's environment takes precedence over these. Jobs of `wright train` have them in their environment too.
"""
_COMPUTED_REASON = """# A job's environment takes precedence over these.
"""


def nccl(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return /etc/nccl.conf for compute hosts: computed on each if the file has `rdma`, else from `jobs.variables`.

    Nothing if these have no NCCL variable.
    """
    if host.group.role != "compute":
        return ()
    if cluster.rdma is not None:
        return _computed_conf(cluster, host, context)
    return _static_conf(cluster, host, context)


@alike
def _static_conf(cluster: Cluster, _host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return nccl.conf with the NCCL variables of `jobs`; nothing without such variables."""
    rows = [f"{name}={text}\n" for name, text in cluster.jobs.variables.items() if name.startswith("NCCL_")]
    if not rows:
        return ()
    return (File(path=PATH, content=context.header() + _WHY + "".join(rows)),)


def _computed_conf(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return nccl.conf, which each host computes with its interface and adapter names.

    With `rdma.topology_file` also the topology.
    """
    params = rdma_params(cluster, host, "NCCL_")
    file = Derived(
        path=PATH, program="nccl_conf", header=context.header(), params={**params, "reason": _COMPUTED_REASON}
    )
    if not params["topology"]:
        return (file,)
    head = f"<!-- {context.header().removeprefix('#').strip()} -->\n"
    return (file, Derived(path=TOPOLOGY, program="topology", header=head, params={}))
