"""A command as root, whoever logs in."""

import shlex

from clusterwright.provision.as_root import as_root


def test_root_and_labs_need_no_sudo(cluster, altered):
    """The command is as it was."""
    assert as_root(cluster, "systemctl stop slurmd") == "systemctl stop slurmd"
    assert as_root(altered({"lab": None}), "true") == "true"


def test_others_go_by_sudo_with_the_whole_line(altered):
    """Its pipes and redirections too."""
    line = as_root(altered({"lab": None, "ssh.user": "ops"}), "a 'b' | c > /d")

    assert shlex.split(line) == ["sudo", "-n", "sh", "-c", "a 'b' | c > /d"]
