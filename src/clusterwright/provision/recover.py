"""The munge key of a cluster whose state folder was lost: found on its hosts, and read back from them."""

from __future__ import annotations

import base64
import binascii
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from clusterwright.config.cluster import Cluster
from clusterwright.config.names import fold
from clusterwright.edge.host import Host
from clusterwright.edge.secrets import MUNGE_KEY_BYTES, stored_munge_key, write_munge_key
from clusterwright.edge.ssh import SSH_FAILED, Remote, fan_out, ssh_problem
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_reader import parse_object

KEY_FILE = "/etc/munge/munge.key"
RECEIPT = "/var/lib/clusterwright/receipt.json"
_TEST = f"if [ -e {KEY_FILE} ]; then echo key; fi"
_READ = f"base64 -w0 {KEY_FILE}; echo; cat {RECEIPT} 2>/dev/null || true"


@dataclass(frozen=True, slots=True)
class HostKey:
    """The munge key of one host, with file and time of the host's last apply; `error` if it cannot be used."""

    host: str
    key: bytes = b""
    source: str = ""
    when: str = ""
    error: str = ""

    @property
    def fingerprint(self) -> str:
        """Return the first characters of the key's SHA-256, which identify it and reveal nothing."""
        return sha256(self.key).hexdigest()[:12]


def refuse_new_key(cluster: Cluster, source: str, folder: Path, remote: Remote) -> None:
    """Do nothing if this machine has the cluster's munge key, or no host has one that a new key would replace.

    Nor if the cluster file does not manage munge.

    Raises:
        WrightError: hosts have a key, and this machine does not.
    """
    if stored_munge_key(folder) is not None or not cluster.manages("munge"):
        return
    results = fan_out(cluster.permanent_hosts(), lambda host: Host(remote, host).run_root(_TEST))
    if hosts := [host for host, result in results.items() if result.out.strip() == "key"]:
        path = folder / "munge.key"
        raise WrightError.from_code(
            "state-lost",
            _(
                "{hosts} have a munge key, and this machine does not have it: {path} is missing",
                hosts=fold(hosts),
                path=path,
            ),
            _(
                "run wright state recover --cluster {file}, or apply where the key is stored; "
                "for a new key on purpose: (umask 077; mkdir -p {folder}; head -c 1024 /dev/urandom >{path})",
                file=shlex.quote(source),
                folder=folder,
                path=path,
            ),
        )


def recover(cluster: Cluster, folder: Path, remote: Remote, hosts: Iterable[str]) -> tuple[HostKey, ...]:
    """Read the munge key from the hosts, and store it on this machine if all usable keys are equal.

    Return the key of each host, or the error of a host whose key could not be read.

    Raises:
        WrightError: no host has a usable key, they have different ones, or another one is stored here.
    """
    keys = tuple(fan_out(hosts, lambda host: _read(remote, host)).values())
    usable = [key for key in keys if not key.error]
    groups: dict[str, list[str]] = {}
    for key in usable:
        groups.setdefault(key.fingerprint, []).append(key.host)
    if len(groups) != 1:
        listed_keys = "; ".join(f"{fold(names)}: {fingerprint}" for fingerprint, names in groups.items())
        errors = "; ".join(f"{key.host}: {key.error}" for key in keys if key.error)
        raise WrightError.from_code(
            "state-disagrees" if groups else "state-not-found",
            _("the hosts have different munge keys (SHA-256): {found}", found=listed_keys)
            if groups
            else _(
                "no host of {cluster} has a usable munge key: {errors}", cluster=cluster.name, errors=errors
            ),
            _("choose the hosts whose key is right: --hosts control; the next apply replaces the others' key")
            if groups
            else _("check the hosts and the connection; --hosts selects others"),
        )
    write_munge_key(folder, usable[0].key)
    return keys


def _read(remote: Remote, host: str) -> HostKey:
    result = Host(remote, host).run_root(_READ)
    encoded, _newline, receipt_text = result.out.partition("\n")
    if result.code == SSH_FAILED and (problem := ssh_problem(result, host)):
        return HostKey(host, error=_("unreachable: {error}", error=problem))
    if not result.ok:
        return HostKey(host, error=_("unreachable: {error}", error=result.last_lines(1)))
    if not encoded:
        return HostKey(
            host, error=_("{path} cannot be read: {error}", path=KEY_FILE, error=result.last_lines(1))
        )
    try:
        key = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        key = b""
    receipt = parse_object(receipt_text)
    if len(key) != MUNGE_KEY_BYTES:
        error = _("{path} is not a key of {count} bytes", path=KEY_FILE, count=MUNGE_KEY_BYTES)
    elif _applied(receipt) not in ("", sha256(key).hexdigest()):
        error = _("{path} was changed after the last apply", path=KEY_FILE)
    else:
        error = ""
    return HostKey(host, key, str(receipt.get("source", "")), str(receipt.get("when", "")), error)


def _applied(receipt: dict[str, Any]) -> str:
    """Return the checksum of the key that the last apply wrote; empty if the receipt does not have it."""
    files = receipt.get("files")
    row = files.get(KEY_FILE) if isinstance(files, dict) else None
    return str(row.get("sha256", "")) if isinstance(row, dict) else ""
