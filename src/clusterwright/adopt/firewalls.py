"""Rules of a host's firewall: chains of nft or iptables, and zones of firewalld, each with its lines."""

from __future__ import annotations

import re

from clusterwright.adopt.recorded import RecordedHost

# Tables, chains and zones whose rules programs change while they run, or that roles of Clusterwright write.
_DYNAMIC = ("f2b-", "DOCKER", "KUBE-", "CNI-", "NETAVARK", "cali-", "clusterwright", "cw-")
_FIREWALLD_TABLE = "firewalld"  # of nft: the rules of the zones
_COUNTERS = re.compile(r"\bcounter packets \d+ bytes \d+")
_BLOCK = re.compile(r"(chain|set|map|flowtable|ct \w+) (\S+) \{")
_ZONE = re.compile(r"([\w-]+)( \(.*\))?")
Rules = dict[str, list[str]]


def firewall_rules(host: RecordedHost) -> Rules | None:
    """Return the lines of each chain, set and zone that is not dynamic; None if they could not be read."""
    if not host.firewall.strip() and not host.firewalld.strip():
        return None
    rules = {**chains(host.firewall), **zones(host.firewalld)}
    return {name: lines for name, lines in rules.items() if lines and not _is_dynamic(name)}


def chains(text: str) -> Rules:
    """Return the lines of each chain or set in the output of `nft list ruleset` or `iptables-save`."""
    rules: Rules = {}
    table, name = "", ""
    for line in text.splitlines():
        words = _COUNTERS.sub("counter", line).split()
        content = " ".join(words)
        if words[:1] == ["table"] or line.startswith("*"):
            table, name = " ".join(words[1:3]) if words[:1] == ["table"] else line[1:].strip(), ""
        elif match := _BLOCK.fullmatch(content):
            name = f"{match[1]} {table} {match[2]}"
            rules[name] = []
        elif line.startswith(":") and len(words) > 1:
            policies = rules.setdefault(f"chain {table} {words[0][1:]}", [])
            policies += [f"policy {words[1]}"] if words[1] != "-" else []
        elif words[:1] == ["-A"] and len(words) > 1:
            rules.setdefault(f"chain {table} {words[1]}", []).append(content)
        elif words == ["}"]:
            name = ""
        elif name and words and not line.startswith("#"):
            rules[name].append(content)
    return {name: _static(lines) for name, lines in rules.items()}


def zones(text: str) -> Rules:
    """Return the lines that are not empty of each zone in the output of `firewall-cmd --list-all-zones`."""
    rules: Rules = {}
    zone = ""
    for line in text.splitlines():
        key, colon, value = line.strip().partition(":")
        if not line[:1].isspace():
            match = _ZONE.fullmatch(line)
            zone = f"zone {match[1]}" if match else ""
        elif zone and line.startswith("\t"):  # a rich rule or a forwarded port
            rules.setdefault(zone, []).append(line.strip())
        elif zone and colon and value.strip():
            rules.setdefault(zone, []).append(f"{key}: {' '.join(sorted(value.split()))}")
    return rules


def active_zones(text: str) -> Rules:
    """Return the lines of the zones that firewalld uses: those with an interface or a source."""
    used = ("interfaces: ", "sources: ")
    return {
        name: lines for name, lines in zones(text).items() if any(line.startswith(used) for line in lines)
    }


def _static(lines: list[str]) -> list[str]:
    """Return the lines of a set without its elements, if packets or timeouts change them."""
    is_dynamic = any(line.startswith("flags ") and re.search("dynamic|timeout", line) for line in lines)
    elements_line = next(
        (number for number, line in enumerate(lines) if line.startswith("elements")), len(lines)
    )
    return lines[:elements_line] if is_dynamic else lines


def _is_dynamic(name: str) -> bool:
    words = name.split()[1:]
    return _FIREWALLD_TABLE in words[:2] or any(word.startswith(_DYNAMIC) for word in words)
