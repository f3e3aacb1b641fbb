"""A whole export: files, what Ansible needs to put them in place, and what containers need."""

from __future__ import annotations

import io
from typing import Any

from ruamel.yaml import YAML

from clusterwright.config.cluster import Cluster
from clusterwright.provision.export.accounts import SCRIPT, accounts_script
from clusterwright.provision.export.compose import compose as compose_file
from clusterwright.provision.export.compose import dockerfile, entrypoint
from clusterwright.provision.export.exported import Exported, archive
from clusterwright.provision.export.inventory import inventory
from clusterwright.provision.export.places import Places, places_of
from clusterwright.provision.export.playbook import playbook
from clusterwright.provision.export.readme import readme
from clusterwright.provision.export.steps import steps
from clusterwright.provision.resources import Given

# Ansible at its quickest: one connection a host that is kept, modules through it without a file, no facts.
_ANSIBLE_CFG = """[defaults]
inventory = inventory.yaml
forks = 64
gathering = explicit
interpreter_python = /usr/bin/python3

[ssh_connection]
pipelining = true
ssh_args = -o ControlMaster=auto -o ControlPersist=60s
"""


def export(
    cluster: Cluster,
    given: Given,
    *,
    ansible: bool = False,
    compose: bool = False,
    with_secrets: bool = False,
) -> dict[str, Exported]:
    """`{path below the folder: file}`."""
    files = places_of(cluster, given)
    found = files.exported(with_secrets=with_secrets) | {"library.tar": Exported(archive(given.payload))}
    if cluster.accountant is not None:
        found[SCRIPT] = Exported(accounts_script(cluster, given.header()), 0o755)
    if ansible:
        found |= _ansible(cluster, given, files)
    if compose:
        found |= _compose(cluster, given)
    found["README.md"] = Exported(readme(cluster, given, files, ansible=ansible, compose=compose))
    return found


def _ansible(cluster: Cluster, given: Given, files: Places) -> dict[str, Exported]:
    header = given.header()
    return {
        "ansible.cfg": Exported(header + _ANSIBLE_CFG),
        "inventory.yaml": Exported(header + yaml_text(inventory(cluster))),
        "site.yaml": Exported(header + yaml_text(playbook(cluster, steps(cluster, given), files))),
    }


def _compose(cluster: Cluster, given: Given) -> dict[str, Exported]:
    header, found = given.header(), steps(cluster, given)
    return {
        "compose.yaml": Exported(header + yaml_text(compose_file(cluster))),
        "Dockerfile": Exported(dockerfile(cluster, found, header)),
        "entrypoint.sh": Exported(entrypoint(found, header), 0o755),
        ".dockerignore": Exported(f"{header}*\n!entrypoint.sh\n"),
    }


def yaml_text(document: Any) -> str:
    """Block style, in the order given."""
    yaml = YAML()
    yaml.width = 4096
    stream = io.StringIO()
    yaml.dump(document, stream)
    return stream.getvalue()
