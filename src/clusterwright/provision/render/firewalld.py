"""A host's firewall for firewalld(1): a zone for each network, one for all others, and sets of addresses.

Each zone drops all traffic that none of its rules accepts; the rules come from `firewall_table`.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, summarize_address_range

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.render.firewall_table import Opening, Peers, openings
from clusterwright.provision.resources import BANNER

FOLDER = "/etc/firewalld"
OUTSIDE = "cw-outside"  # a zone's name has at most 17 letters (firewalld.zone(5))

XML = '<?xml version="1.0" encoding="utf-8"?>\n'
CONF = """
# Also for interfaces without a zone.
DefaultZone={zone}

# A packet is matched by one zone only.
AllowZoneDrifting=no
"""
# ICMP types by firewalld's names; path MTU discovery and IPv6 need them.
ICMP = """  <rule family="ipv4"><protocol value="icmp"/><accept/></rule>
  <rule family="ipv6"><protocol value="ipv6-icmp"/><accept/></rule>
"""


def firewalld(cluster: Cluster, host: Host) -> dict[str, str]:
    """Return the text of every file below /etc/firewalld on a host by its path: settings, address sets and zones."""
    rows = openings(cluster, host)
    sets = {row.peers.name: row.peers for row in rows if row.peers.ranges}
    zones = {f"cw-{name}": network.subnet for name, network in cluster.networks.named().items()}
    files = {f"{FOLDER}/firewalld.conf": f"# {BANNER}\n" + CONF.format(zone=OUTSIDE)}
    for name, peers in sets.items():
        files[f"{FOLDER}/ipsets/cw-{name}.xml"] = _set(peers)
    for zone, subnet in zones.items():
        inside = [row for row in rows if f"cw-{row.network}" == zone]
        files[f"{FOLDER}/zones/{zone}.xml"] = _zone(zone, (subnet,), inside)
    outside = [row for row in rows if row.service == "ssh"]
    files[f"{FOLDER}/zones/{OUTSIDE}.xml"] = _zone(OUTSIDE, (), outside)
    return files


def _set(peers: Peers) -> str:
    nets = [
        net for first_address, last in peers.ranges for net in summarize_address_range(first_address, last)
    ]
    entries = "".join(f"  <entry>{_format_network(net)}</entry>\n" for net in nets)
    return (
        f'{XML}<!-- {BANNER} -->\n<ipset type="hash:net">\n  <short>{peers.name}</short>\n{entries}</ipset>\n'
    )


def _zone(name: str, sources: Iterable[IPv4Network], rows: Iterable[Opening]) -> str:
    """Return a zone. DHCPv6 replies go to link-local addresses, which no cluster network contains."""
    source_lines = "".join(f'  <source address="{source}"/>\n' for source in sources)
    dhcp = "" if source_lines else '  <service name="dhcpv6-client"/>\n'
    return (
        f'{XML}<!-- {BANNER} -->\n<zone target="DROP">\n  <short>{name}</short>\n'
        f"{source_lines}{dhcp}{ICMP}{''.join(_rule(row) for row in rows)}</zone>\n"
    )


def _rule(row: Opening) -> str:
    first_port, last = row.ports
    ports = f"{first_port}" if first_port == last else f"{first_port}-{last}"
    source = f'<source ipset="cw-{row.peers.name}"/>' if row.peers.ranges else ""
    return (
        f"  <!-- {row.service}: {row.reason} -->\n"
        f'  <rule family="ipv4">{source}<destination address="{row.to}"/>'
        f'<port port="{ports}" protocol="{row.protocol}"/><accept/></rule>\n'
    )


def _format_network(net: IPv4Network) -> str:
    return str(net.network_address) if net.prefixlen == net.max_prefixlen else str(net)
