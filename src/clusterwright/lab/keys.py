"""SSH keys of a lab: one for the user, one per host, and the known_hosts and ssh_config for them."""

from __future__ import annotations

from pathlib import Path

from clusterwright.edge.processes import run
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.lab.layout import LabLayout
from clusterwright.lab.masters import PERSIST_S


def make_key(path: Path, comment: str) -> str:
    """Create an Ed25519 ssh key at the path without a passphrase; return the text of its public half.

    Raises:
        WrightError: ssh-keygen fails.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    result = run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)))
    if not result.ok:
        raise WrightError.from_code(
            "lab-ssh-keygen",
            _("ssh-keygen failed: {last_lines}", last_lines=result.last_lines()),
            _("fix the cause, then run the command again"),
        )
    return path.with_suffix(".pub").read_text().strip()


def known_hosts(layout: LabLayout, public_keys: dict[str, str]) -> str:
    """Return the text of SSH's known_hosts with every lab host's key under its name and addresses.

    So ssh detects a changed host.
    """
    lines = []
    for host in layout.hosts:
        names = ",".join([host.name, *(link.address.partition("/")[0] for link in host.links)])
        kind, key = public_keys[host.name].split()[:2]
        lines.append(f"{names} {kind} {key}\n")
    return "".join(lines)


def ssh_config(layout: LabLayout, folder: Path, sockets: Path) -> str:
    """Return the text of a configuration FILE for `ssh -F FILE HOST`, with host keys checked (man 5 ssh_config).

    The user's own configuration is not read, so that a lab behaves the same for everybody. Keys are exchanged by
    curve25519 only: the default adds 100 ms of CPU against attackers with quantum computers, and these packets never
    leave the machine.
    """
    hosts = "".join(f"Host {host.name}\n  HostName {host.address}\n" for host in layout.hosts)
    return f"""# Made by clusterwright for the lab `{layout.name}`; gone after `wright lab down`.
{hosts}Host *
  User root
  IdentityFile "{folder}/keys/user"
  IdentitiesOnly yes
  UserKnownHostsFile "{folder}/known_hosts"
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  HashKnownHosts no
  UpdateHostKeys no
  CheckHostIP no
  PreferredAuthentications publickey
  GSSAPIAuthentication no
  KexAlgorithms curve25519-sha256
  ControlMaster auto
  ControlPath {sockets}/%h-%p-%r
  ControlPersist {PERSIST_S}
  ServerAliveInterval 2
  ServerAliveCountMax 3
"""
