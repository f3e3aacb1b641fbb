"""Hosts are reached by edge.Host, by one rule about root and one loader."""

import re

LOADS = re.compile(r"\bexec\((?:compile|base64)|ModuleType\(")
CONNECTED = re.compile(r"\bremote\.run\(")


def offenses(source, pattern, allowed):
    """Lines that match, outside the files where that belongs."""
    return [
        f"{module.name}:{number}: {line.strip()}"
        for module in source
        if not module.inside.startswith(allowed)
        for number, line in enumerate(module.lines, 1)
        if pattern.search(line)
    ]


def test_one_loader_runs_what_is_sent_to_hosts(source):
    """The rank's is the job's own code."""
    assert offenses(source, LOADS, ("edge/bundler.py", "onhost/supervisor/host/rank.py")) == []


def test_rooms_run_commands_by_host(source):
    """A connection is edge's: it takes commands as they are, whoever they should be."""
    assert offenses(source, CONNECTED, ("edge/",)) == []


def test_who_needs_sudo_is_decided_in_one_place(source):
    """A check's text for people may name it."""
    assert offenses(source, re.compile(r'["\']sudo -n|by_sudo|needs_sudo\('),
                    ("edge/host.py", "provision/apply.py", "heal/loop/setup.py")) == []  # fmt: skip
