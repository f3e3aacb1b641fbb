"""Slurm's accounts and QOS as an idempotent script of sacctmgr calls."""

from __future__ import annotations

import shlex

from clusterwright.config.cluster import Cluster
from clusterwright.onhost.provision.account_changes import initial_settings, modify
from clusterwright.provision.render.accounts import account_rows, qos_names

SCRIPT = "accounts.sh"

_BEGIN = """
# On the host of slurmdbd: with the argument `names` before slurmctld starts, which requires them, and without it
# afterwards, because slurmctld registers the GPU TRES that limits refer to. Reservations are not created here.
set -u
say() { # what is there already is no failure
  words=$(sacctmgr --immediate "$@" 2>&1) && return
  case $words in *[Nn]othing* | *already*) return ;; esac
  echo "sacctmgr $*: $words" >&2
  exit 1
}
left=60
until sacctmgr --noheader show cluster >/dev/null 2>&1; do
  left=$((left - 1))
  [ "$left" -gt 0 ] || { echo 'slurmdbd does not answer' >&2; exit 1; }
  sleep 1
done
"""


_MIDDLE = """
[ "${1-}" != names ] || exit 0
left=60
until scontrol ping >/dev/null 2>&1; do
  left=$((left - 1))
  [ "$left" -gt 0 ] || { echo 'slurmctld does not answer' >&2; exit 1; }
  sleep 1
done
"""


def accounts_script(cluster: Cluster, header: str) -> str:
    """Return the script that creates cluster and QOS names, then teams, members and settings.

    Names come first because settings refer to each other's names.
    """
    names = [["add", "cluster", cluster.name], *(["add", "qos", row["name"]] for row in qos_names(cluster))]
    calls: list[list[str]] = []
    for row in account_rows(cluster):
        cluster_option = [f"cluster={cluster.name}"]
        if row["kind"] == "account":
            calls.append(["add", "account", row["name"], f"parent={row['Parent']}", *cluster_option])
        if row["kind"] == "user":
            calls.append(["add", "user", row["name"], f"account={row['account']}", *cluster_option])
        if settings := [setting for setting in initial_settings(dict(row)) if setting[0] != "Parent"]:
            calls.append(modify(cluster.name, dict(row), settings))
    return f"#!/bin/sh\n{header}{_BEGIN}{_lines(names)}{_MIDDLE}{_lines(calls)}"


def _lines(calls: list[list[str]]) -> str:
    return "".join(f"say {shlex.join(argv)}\n" for argv in calls)
