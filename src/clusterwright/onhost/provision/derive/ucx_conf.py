"""/etc/ucx/ucx.conf: the devices that UCX, and MPI by it, may use on this host.

Standard library only, Python 3.6 or later. UCX reads the file since 1.12; a job's environment wins.
"""

from typing import List, Optional

from clusterwright.onhost.provision.derive.nccl_conf import index_of
from clusterwright.onhost.provision.derive.rdma import interfaces, of_network, ports
from clusterwright.onhost.provision.host import Host, Json


def text(host: Host, given: Json, _notes: List[str]) -> Optional[str]:
    """The adapters of the compute network; where there is none, the interface that has the host's address."""
    addresses = interfaces([])
    network, lines = given["network"], []
    on = of_network(ports(host, addresses), network, []) if network else []
    if on:
        lines.append(f"UCX_NET_DEVICES={','.join(one.name for one in on)}\n")
        # A job that cannot use them fails at once, and does not run on at a tenth of the rate.
        lines.append("# Never over TCP without a word.\nUCX_TLS=^tcp\n")
        lines += marks(index_of(on[0], network["subnet"]), given) if network["kind"] == "roce" else []
    else:
        own = [
            link for one in given["addresses"].values() for link, all_of in addresses.items() if one in all_of
        ]
        lines += [f"UCX_NET_DEVICES={own[0]}\n"] if own else []
    said = given["variables"]
    kept = [line for line in lines if line.partition("=")[0].split("\n")[-1] not in said]
    return str(given["why"]) + "".join(kept) + "".join(f"{name}={value}\n" for name, value in said.items())


def marks(index: Optional[int], given: Json) -> List[str]:
    """How packets are marked; UCX finds the GID itself (UCX_IB_GID_INDEX is auto)."""
    roce = given["roce"]
    words = [
        f"UCX_IB_TRAFFIC_CLASS={roce['dscp'] * 4 + (2 if roce['ecn'] else 0)}\n",
        f"UCX_IB_SL={roce['priority']}\n",
    ]
    return words if index is not None else []
