"""A whole export: files, an Ansible playbook that installs them, and a Compose project."""

from __future__ import annotations

import io
from typing import Any

from ruamel.yaml import YAML

from clusterwright.config.cluster import Cluster
from clusterwright.i18n import _
from clusterwright.provision.export.accounts import SCRIPT, accounts_script
from clusterwright.provision.export.compose import compose as compose_file
from clusterwright.provision.export.compose import dockerfile, entrypoint
from clusterwright.provision.export.exported import Exported, archive
from clusterwright.provision.export.inventory import inventory
from clusterwright.provision.export.places import Places, places_of
from clusterwright.provision.export.playbook import playbook
from clusterwright.provision.export.readme import readme
from clusterwright.provision.export.steps import steps
from clusterwright.provision.resources import RoleContext
from clusterwright.provision.systems import require_single_system

# Ansible's fastest settings: one persistent connection for each host, pipelined modules, no facts.
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
    context: RoleContext,
    *,
    ansible: bool = False,
    compose: bool = False,
    with_secrets: bool = False,
    files: Places | None = None,
) -> dict[str, Exported]:
    """Return `{path below the export folder: file}` of an export; nothing is written.

    `ansible` adds a playbook, `compose` an image and compose file, `with_secrets` the secret files. `files` is the
    result of `places_of`, if there is one already.

    Raises:
        WrightError: `mixed-systems`: a playbook or image for hosts with several operating systems.
    """
    if ansible or compose:
        require_single_system(cluster, _("an export with --ansible or --compose"))
    files = files or places_of(cluster, context)
    outputs = files.exported(with_secrets=with_secrets) | {"library.tar": Exported(archive(context.payload))}
    if cluster.accountant is not None:
        outputs[SCRIPT] = Exported(accounts_script(cluster, context.header()), 0o755)
    if ansible:
        outputs |= _ansible(cluster, context, files)
    if compose:
        outputs |= _compose(cluster, context)
    outputs["README.md"] = Exported(readme(cluster, context, files, ansible=ansible, compose=compose))
    return outputs


def _ansible(cluster: Cluster, context: RoleContext, files: Places) -> dict[str, Exported]:
    header = context.header()
    return {
        "ansible.cfg": Exported(header + _ANSIBLE_CFG),
        "inventory.yaml": Exported(header + yaml_text(inventory(cluster))),
        "site.yaml": Exported(header + yaml_text(playbook(cluster, steps(cluster, context), files))),
    }


def _compose(cluster: Cluster, context: RoleContext) -> dict[str, Exported]:
    header, all_steps = context.header(), steps(cluster, context)
    return {
        "compose.yaml": Exported(header + yaml_text(compose_file(cluster))),
        "Dockerfile": Exported(dockerfile(cluster, all_steps, header)),
        "entrypoint.sh": Exported(entrypoint(all_steps, header), 0o755),
        ".dockerignore": Exported(f"{header}*\n!entrypoint.sh\n"),
    }


def yaml_text(document: Any) -> str:
    """Return a document as YAML in block style, with its keys in the given order."""
    yaml = YAML()
    yaml.width = 4096
    stream = io.StringIO()
    yaml.dump(document, stream)
    return stream.getvalue()
