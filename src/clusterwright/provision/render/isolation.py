"""Isolation of users on compute hosts: nft(8) rules that let a user's packets reach only hosts of that user's jobs."""

from __future__ import annotations

from collections.abc import Iterable

from clusterwright.config.cluster import Cluster
from clusterwright.config.memoize import cache_per_instance
from clusterwright.provision.render.firewall_table import (
    FREE_PORTS,
    Range,
    format_range,
    join_ranges,
    openings,
)

RULES = "/etc/clusterwright/isolation.nft"
FIRST_USER = 1000  # lower user ids are system accounts (Debian policy 9.2.2, RHEL's login.defs)
JOBS = "/run/clusterwright/jobs"  # written by the prolog: a file JOBID.hosts for each job
_SYN, _REPLY = "tcp flags & (fin|syn|rst|ack) == syn", "tcp flags & (syn|ack) == syn|ack"
_UNKNOWN = 0xFFFFFFFF  # no uid
_USER_SETS = """
  # From the prologs of this host: the users of its jobs, each with the hosts of these jobs.
  set job_hosts {
    type uid . ipv4_addr
  }

  # From Slurm, on request: hosts of the user's jobs elsewhere.
  set other_hosts {
    type uid . ipv4_addr
    flags timeout
    timeout 1m
  }
  set requests {
    type uid . ipv4_addr
    flags dynamic,timeout
    size 4096
    timeout 10s
  }
"""
_RAIL_USERS = """
  # Users with a job of several hosts, who also reach addresses of further rails: the cluster file does not name these.
  set rail_users {
    type uid
  }
"""
_RAIL_RULE = "    ip daddr @rails ip daddr != @compute_hosts meta skuid @rail_users accept\n"
_REPORT = '    limit rate 1/second meta nftrace set 1 comment "wakes clusterwright-isolation.service"\n'
_WITHIN_HOST = f"""
  # Within the host: the mark of a connection is the uid of its sender; 0 is the system, {_UNKNOWN:#x} unknown.
  chain note_user {{
    ct mark set {_UNKNOWN:#x}
    meta skuid < {FIRST_USER} ct mark set 0 accept
    meta mark set 0
    jump xor_user
    meta skuid >= {FIRST_USER} ct mark set meta mark
    meta mark set 0
  }}
  chain compare_users {{
    ct mark 0 accept
    meta skuid < {FIRST_USER} accept
    meta mark set ct mark
    jump xor_user
    meta skuid >= {FIRST_USER} meta mark 0 accept
    meta mark set 0
    reject with tcp reset
  }}
"""


def is_isolated(cluster: Cluster) -> bool:
    """Return whether compute hosts isolate users: if `firewall`, `isolate_users` and `slurm.health` are on."""
    return cluster.security.firewall and cluster.security.isolate_users and cluster.slurm.health


@cache_per_instance
def isolation(cluster: Cluster, header: str) -> str:
    """Return the nft rules that keep users from connections to jobs of others, equal on all compute hosts.

    The rules filter the first packet of a connection (SYN) at the sender and the reply to it (SYN-ACK) at the
    receiver, because for both the kernel knows the uid of the socket. They do not use `ct state new`: a SYN that fits
    a connection whose other end is dead counts as established.
    """
    rails = _rails(cluster)
    named = {
        "compute_hosts": ("ipv4_addr", _compute_hosts(cluster)),
        "services": ("inet_service", _services(cluster)),
        "rails": ("ipv4_addr", rails),
    }
    sets = "".join(_set(name, kind, elements) for name, (kind, elements) in named.items() if elements)
    return f"""{header}
# The table is replaced as a whole: adding an empty one first makes the deletion safe.
table inet clusterwright_users {{}}
delete table inet clusterwright_users

table inet clusterwright_users {{
{sets}{_USER_SETS}{_RAIL_USERS * bool(rails)}{_output(has_rails=bool(rails))}{_WITHIN_HOST}
  # The mark of the packet XOR the uid of its socket, bit by bit: nft cannot compare two values of a packet.
  chain xor_user {{
{_xor_rules()}  }}
}}

# The jobs that run now, so that a reload forgets none.
include "{JOBS}/*.hosts"
"""


def _output(*, has_rails: bool) -> str:
    """Return the chain on nft's output hook, and the chain for packets of users to other compute hosts."""
    first_port, last = FREE_PORTS
    tcp_to, tcp_from, udp_to = (
        f"{protocol} {field} {first_port}-{last} {protocol} {field} != @services"
        for protocol, field in (("tcp", "dport"), ("tcp", "sport"), ("udp", "dport"))
    )
    return f"""
  chain output {{
    type filter hook output priority filter; policy accept;
    oif lo {_SYN} {tcp_to} goto note_user
    oif lo {_REPLY} {tcp_from} goto compare_users
    oif lo accept
    meta nfproto != ipv4 accept comment "the firewall of the receiver drops IPv6"
    ip daddr != @compute_hosts {"ip daddr != @rails " * has_rails}accept
    {_SYN} {tcp_to} goto user
    {_REPLY} {tcp_from} meta skuid >= {FIRST_USER} goto user
    {udp_to} meta skuid >= {FIRST_USER} goto user
  }}

  # Between hosts. A dropped packet is sent again, and by then Slurm may have named the host.
  chain user {{
    meta skuid < {FIRST_USER} accept
    meta skuid . ip daddr @job_hosts accept
    meta skuid . ip daddr @other_hosts accept
{_RAIL_RULE * has_rails}    update @requests {{ meta skuid . ip daddr }}
{_REPORT}    drop
  }}
"""


def host_addresses(cluster: Cluster, header: str) -> str:
    """Return a text with the header and a line for each compute host: its name and all its addresses."""
    rows = (" ".join((host.name, *map(str, host.addresses.values()))) for host in cluster.hosts("compute"))
    return header + "".join(f"{row}\n" for row in rows)


def _compute_hosts(cluster: Cluster) -> list[str]:
    return [format_range(span) for span in join_ranges(_addresses(cluster))]


def _addresses(cluster: Cluster) -> Iterable[Range]:
    return ((address, address) for host in cluster.hosts("compute") for address in host.addresses.values())


def _services(cluster: Cluster) -> list[str]:
    """Return the ports of the cluster's own services on compute hosts, which authenticate their clients themselves."""
    rows = (row for host in cluster.hosts("compute") for row in openings(cluster, host))
    ports = {row.ports for row in rows if row.service != "trainings" and row.ports[1] >= FREE_PORTS[0]}
    return [f"{first}" if first == last else f"{first}-{last}" for first, last in sorted(ports)]


def _rails(cluster: Cluster) -> list[str]:
    """Return the subnets of networks with several rails: the cluster file has the first rail's addresses only."""
    return [str(network.subnet) for network in cluster.networks.named().values() if network.rails > 1]


def _set(name: str, kind: str, elements: list[str]) -> str:
    """Return the nft definition of a named set of ranges; `kind` is nft's type of its elements."""
    return f"""  set {name} {{
    type {kind}
    flags interval
    elements = {{ {", ".join(elements)} }}
  }}
"""


def _xor_rules() -> str:
    bits = (f"{1 << bit:#x}" for bit in range(32))
    return "".join(f"    meta skuid & {bit} == {bit} meta mark set meta mark ^ {bit}\n" for bit in bits)
