"""Hosts are reached through edge.Host, with one rule for sudo and one loader for programs."""

import re

LOADS = re.compile(r"\bexec\((?:compile|base64)|ModuleType\(")
CONNECTED = re.compile(r"\bremote\.run\(")


def offenses(source, pattern, allowed):
    """Return the lines that match, outside the allowed files."""
    return [
        f"{module.name}:{number}: {line.strip()}"
        for module in source
        if not module.inside.startswith(allowed)
        for number, line in enumerate(module.lines, 1)
        if pattern.search(line)
    ]


def test_one_loader_runs_what_is_sent_to_hosts(source):
    """Only the bundler loads code on hosts; rank.py runs the job's own code."""
    assert offenses(source, LOADS, ("edge/bundler.py", "onhost/supervisor/host/rank.py")) == []


def test_rooms_run_commands_by_host(source):
    """Only edge calls a connection's `run`, which adds no sudo; other packages call Host."""
    assert offenses(source, CONNECTED, ("edge/",)) == []


def test_who_needs_sudo_is_decided_in_one_place(source):
    """Only these files decide whether a command needs sudo."""
    assert offenses(source, re.compile(r'["\']sudo -n|by_sudo|needs_sudo\('),
                    ("edge/host.py", "provision/apply.py", "heal/loop/setup.py", "adopt/gather.py")) == []  # fmt: skip


def test_what_runs_on_hosts_calls_no_method_of_later_pythons(source):
    """Python 3.9 brought removeprefix and removesuffix; hosts have 3.6 or 3.8."""
    elsewhere = sorted({module.inside.split("/")[0] for module in source} - {"onhost", "slurm"})
    allowed = tuple(name if name.endswith(".py") else f"{name}/" for name in elsewhere)

    assert "edge/" in allowed
    assert offenses(source, re.compile(r"\.remove(?:prefix|suffix)\("), allowed) == []
