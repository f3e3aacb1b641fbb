"""A host's firewall for nft(8), in a table of its own, so that other tables are unchanged."""

from __future__ import annotations

from ipaddress import IPv4Network

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.memoize import cache_per_instance
from clusterwright.provision.render.firewall_table import (
    Opening,
    Peers,
    format_range,
    non_management_networks,
    openings,
    single_rail_networks,
)


def firewall(cluster: Cluster, host: Host, header: str) -> str:
    """Return the nftables rules: allowed input, the rest is dropped. Output and forwarding are not filtered."""
    rows = openings(cluster, host)
    peers = tuple(dict.fromkeys(row.peers for row in rows if row.peers.ranges))
    return f"""{header}
# The table is replaced as a whole: adding an empty one first makes the deletion safe.
# Forwarded packets are not filtered: container bridges work as before.
table inet clusterwright {{}}
delete table inet clusterwright

table inet clusterwright {{
{_sets(cluster, peers)}
  chain input {{
    type filter hook input priority filter; policy drop;
    ct state established,related accept
    ct state invalid drop
    iif lo accept
{_impostors(single_rail_networks(cluster, host))}
    # ICMP and ICMPv6 by number: minimal systems have no /etc/protocols.
    meta l4proto {{ 1, 58 }} accept comment "errors, echo, and IPv6's own neighbors"
    udp sport 67 udp dport 68 accept comment "an address by DHCP"
    ip6 saddr fe80::/10 udp sport 547 udp dport 546 accept comment "an address by DHCPv6"

{"".join(_rule(cluster, row) for row in rows)}  }}
}}
"""


@cache_per_instance
def _sets(_cluster: Cluster, peers: tuple[Peers, ...]) -> str:
    """Return the nft definitions of all address sets of peers as one text.

    The result is cached, as up to thousands of hosts share it; `_cluster` is part of the key only.
    """
    return "".join(_set(peer_set) for peer_set in peers)


def _set(peers: Peers) -> str:
    return f"""  set {peers.name} {{
    type ipv4_addr
    flags interval
    elements = {{ {", ".join(format_range(span) for span in peers.ranges)} }}
  }}
"""


def _impostors(networks: tuple[IPv4Network, ...]) -> str:
    """Return rules that drop packets with a source address of a cluster network on any other interface.

    "" without any.
    """
    if not networks:
        return ""
    listed = ", ".join(map(str, networks))
    return f'    ip saddr {{ {listed} }} fib saddr . iif oif missing drop comment "a made-up address"\n'


def _rule(cluster: Cluster, row: Opening) -> str:
    parts = [f"ip daddr {row.to}"]
    if row.peers.ranges:
        parts.append(f"ip saddr @{row.peers.name}")
    elif foreign_networks := non_management_networks(cluster):
        parts.append(f"ip saddr != {{ {', '.join(map(str, foreign_networks))} }}")
    first_port, last = row.ports
    parts.append(f"{row.protocol} dport {first_port if first_port == last else f'{first_port}-{last}'}")
    return f'    {" ".join(parts)} accept comment "{row.service}: {row.reason}"\n'
