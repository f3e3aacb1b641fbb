"""The README of an export: its contents and use."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster
from clusterwright.provision.export.places import Places
from clusterwright.provision.resources import RoleContext


def readme(cluster: Cluster, context: RoleContext, files: Places, *, ansible: bool, compose: bool) -> str:
    """Return the README of an export in Markdown: what the folders are, what is left out, and the commands to use them.

    `ansible` and `compose` add their sections.
    """
    return "\n".join(
        [
            f"<!-- {context.header('').strip()} -->",
            f"# Cluster {cluster.name}",
            "",
            "The files that `wright apply` would write on the hosts. They work without Clusterwright.",
            "",
            "`files/all` is for every host, `files/roles/ROLE` and `files/groups/GROUP` for the hosts of a role or",
            "node group, `files/hosts/HOST` for one host. Each host needs the files of all four.",
            "`accounts.sh` creates the teams, limits and qualities of service in Slurm's accounting.",
            "`library.tar` has the programs that `wright train` runs on the hosts, below /opt/clusterwright/lib.",
            *_left_out(files),
            *_secrets(files),
            *(_ANSIBLE if ansible else ()),
            *(_COMPOSE if compose else ()),
            "",
        ]
    )


def _left_out(files: Places) -> list[str]:
    if not files.computed:
        return []
    return [
        "",
        "## Not in this export",
        "",
        "`wright apply` computes these files on the hosts, from their own files and hardware. Write them yourself:",
        "",
        *(f"- `{path}` on {hosts}{_NOTES.get(path, '')}" for path, hosts in files.computed.items()),
    ]


_NOTES = {
    "/etc/pam.d/sshd": ": until it has the lines of pam_slurm_adopt, users without a job can log in to compute hosts "
    "(https://slurm.schedmd.com/pam_slurm_adopt.html)"
}


def _secrets(files: Places) -> list[str]:
    if not (places := files.secret()):
        return []
    return [
        "",
        "## Secrets",
        "",
        "These files contain secrets. Only `wright export --with-secrets` writes them; otherwise create your own",
        "with mode 0600. `head -c 1024 /dev/urandom` creates a munge key.",
        "",
        *(f"- `{path}`" for path in places),
    ]


_ANSIBLE = """
## Ansible

    ansible-playbook site.yaml --check --diff
    ansible-playbook site.yaml

The playbook requires ansible-core 2.15 or later and no collections.
`--skip-tags packages` changes no packages.

The playbook does not do everything that `wright apply` does: `wright apply` tests new files with Slurm's daemons
before it installs them, works in batches, waits for running jobs where a change requires it, keeps replaced files
for `wright rollback`, and removes what left the cluster file, also accounts in Slurm. Create reservations with
scontrol.
""".splitlines()

_COMPOSE_TEXT = """
## Containers

    docker compose up --build --detach
    docker compose exec CONTROL-HOST sinfo

The cluster on one machine, for tests: each host is a container with its own addresses, packages, accounts and
files. Three lines differ from the host's files (see entrypoint.sh): a node may have less than slurm.conf states,
CPUs are not bound, and Slurm does not use systemd. Without GPUs on the machine, GPUs are plain device files.
"""
_COMPOSE = _COMPOSE_TEXT.splitlines()
