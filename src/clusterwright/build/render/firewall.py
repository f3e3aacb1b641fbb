"""The firewall of a host, for nft(8): a table of our own, so that other tables stay as they are."""

from __future__ import annotations

from ipaddress import IPv4Address

from clusterwright.build.render.slurm_settings import CONTROL_PORT, NODE_PORT
from clusterwright.spec.cluster import Cluster, Host
from clusterwright.spec.storage import Nfs

EXPORTER_PORT = 9100  # node_exporter's registered default
NFS_PORT = 2049  # NFSv4 needs no other


def firewall(cluster: Cluster, host: Host, header: str) -> str:
    """What may come in; the rest is dropped. What goes out is not looked at."""
    rules = "".join(f'    {rule} accept comment "{why}"\n' for rule, why in _rules(cluster, host))
    return f"""{header}
# Replaced as a whole: the empty table makes the deletion safe the first time.
table inet clusterwright {{}}
delete table inet clusterwright

table inet clusterwright {{
  set cluster {{
    type ipv4_addr
    flags interval
    elements = {{ {_ranges(cluster.hosts())} }}
  }}
  set compute {{
    type ipv4_addr
    flags interval
    elements = {{ {_ranges(cluster.hosts("compute"))} }}
  }}
  chain input {{
    type filter hook input priority filter; policy drop;
    ct state established,related accept
    ct state invalid drop
    iif lo accept
    meta l4proto {{ 1, 58 }} accept comment "ICMP and ICMPv6 by number: a small system has no /etc/protocols"
    udp sport 67 udp dport 68 accept comment "an address by DHCP"
{rules}  }}
}}
"""


def _rules(cluster: Cluster, host: Host) -> list[tuple[str, str]]:
    """Match and reason, for what this host serves."""
    role, first, last = host.group.role, *cluster.slurm.ports
    rules = [
        (f"ip daddr {host.management} tcp dport {cluster.ssh.port}", "SSH, on the management address only")
    ]
    if role == "compute":
        rules.append(("ip saddr @compute", "trainings: Gloo, NCCL and torchrun take any free port"))
        rules.append((f"ip saddr @cluster tcp dport {NODE_PORT}", "slurmd"))
    if role == "control":
        rules.append((f"ip saddr @cluster tcp dport {CONTROL_PORT}", "slurmctld"))
        rules.append(("ip saddr @cluster udp dport 123", "time"))
    rules.append((f"ip saddr @cluster tcp dport {first}-{last}", "srun hears its steps"))
    if any(isinstance(folder, Nfs) and folder.server == host.name for folder in cluster.storage.values()):
        rules.append((f"ip saddr @cluster tcp dport {NFS_PORT}", "NFS"))
    if cluster.monitoring.node_exporter:
        subnet = cluster.networks.management.subnet
        rules.append((f"ip saddr {subnet} tcp dport {EXPORTER_PORT}", "node_exporter"))
    return rules


def _ranges(hosts: tuple[Host, ...]) -> str:
    """Addresses as nft's intervals: `10.77.0.10-10.77.0.14`; neighbours are joined."""
    numbers = sorted({int(address) for host in hosts for address in host.addresses.values()})
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(
        str(IPv4Address(a)) if a == b else f"{IPv4Address(a)}-{IPv4Address(b)}" for a, b in spans
    )
