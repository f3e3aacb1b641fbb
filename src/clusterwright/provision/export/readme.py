"""The README of an export: its contents and use."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster
from clusterwright.provision.export.places import Places
from clusterwright.provision.resources import RoleContext


def readme(cluster: Cluster, context: RoleContext, files: Places, *, ansible: bool, compose: bool) -> str:
    """Return the README: the folders and the commands to use them."""
    return "\n".join(
        [
            f"<!-- {context.header('').strip()} -->",
            f"# Cluster {cluster.name}",
            "",
            "Files for the hosts, as `wright apply` would put them there; Clusterwright is not needed to use them.",
            "",
            "`files/all` is for every host, `files/roles/ROLE` and `files/groups/GROUP` for those of one role or node",
            "group, `files/hosts/HOST` for one host; what a host has is all four together.",
            "`accounts.sh` makes teams, limits and qualities of service in Slurm's accounting.",
            "`library.tar` is what `wright train` runs on the hosts, below /opt/clusterwright/lib.",
            *_secrets(files),
            *(_ANSIBLE if ansible else ()),
            *(_COMPOSE if compose else ()),
            "",
        ]
    )


def _secrets(files: Places) -> list[str]:
    if not (places := files.secret()):
        return []
    return [
        "",
        "## Secrets",
        "",
        "These hold secrets. They are here only after `wright export --with-secrets`; else put your own there,",
        "mode 0600. A munge key is made by `head -c 1024 /dev/urandom`.",
        "",
        *(f"- `{path}`" for path in places),
    ]


_ANSIBLE = """
## Ansible

    ansible-playbook site.yaml --check --diff
    ansible-playbook site.yaml

Any ansible-core from 2.15 on will do; no collection is needed.
`--skip-tags packages` leaves the packages as they are.

What `wright apply` does beyond that: it tries Slurm's daemons on the new files before these take their place,
takes hosts in batches and waits for running jobs where a change needs that, keeps what it replaces for
`wright rollback`, and removes what an earlier file wanted, accounts inside Slurm too. Reservations are made by
it as well; here they are yours to make with scontrol.
""".splitlines()

_COMPOSE_TEXT = """
## Containers

    docker compose up --build --detach
    docker compose exec CONTROL-HOST sinfo

The cluster on one machine, for trying things out: every host is a container with its own addresses, packages,
accounts and files. Three lines differ from the host's files (see entrypoint.sh): a node may be smaller than it
claims, no CPUs are bound, and Slurm does not ask systemd. GPUs are device files where the machine has none.
"""
_COMPOSE = _COMPOSE_TEXT.splitlines()
