"""Derives /etc/ucx/ucx.conf: the devices that UCX, and MPI through it, may use on this host.

Standard library only, Python 3.6 or later. UCX reads the file since 1.12; a job's environment overrides it.
"""

from typing import List, Optional

from clusterwright.onhost.provision.derive.nccl_conf import index_of
from clusterwright.onhost.provision.derive.rdma import interfaces, of_network, ports
from clusterwright.onhost.provision.host import Json, LocalHost


def text(host: LocalHost, params: Json, _notes: List[str]) -> Optional[str]:
    """Return the text of ucx.conf: the adapters of the compute network, else the interface with the host's address.

    With adapters, UCX may not use TCP. Variables of the cluster file replace these. Never None.
    """
    addresses = interfaces([])
    network, lines = params["network"], []
    on = of_network(ports(host, addresses), network, []) if network else []
    if on:
        lines.append(f"UCX_NET_DEVICES={','.join(rdma_port.name for rdma_port in on)}\n")
        # A job that cannot use them must fail at once, not run at a tenth of the rate.
        lines.append("# No silent fallback to TCP.\nUCX_TLS=^tcp\n")
        lines += (
            packet_marking(index_of(on[0], network["subnet"]), params) if network["kind"] == "roce" else []
        )
    else:
        links = [
            link
            for address in params["addresses"].values()
            for link, all_of in addresses.items()
            if address in all_of
        ]
        lines += [f"UCX_NET_DEVICES={links[0]}\n"] if links else []
    variables = params["variables"]
    default_lines = [line for line in lines if line.partition("=")[0].split("\n")[-1] not in variables]
    return (
        str(params["reason"])
        + "".join(default_lines)
        + "".join(f"{name}={value}\n" for name, value in variables.items())
    )


def packet_marking(index: Optional[int], params: Json) -> List[str]:
    """Return UCX's traffic class and service level for RoCE; none if the port has no RoCE v2 GID (`index` is None).

    UCX finds the GID itself (UCX_IB_GID_INDEX is auto).
    """
    roce = params["roce"]
    lines = [
        f"UCX_IB_TRAFFIC_CLASS={roce['dscp'] * 4 + (2 if roce['ecn'] else 0)}\n",
        f"UCX_IB_SL={roce['priority']}\n",
    ]
    return lines if index is not None else []
