"""Paths of an export's files: folded by scope, with secrets in a folder of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.config.cluster import Cluster
from clusterwright.config.names import fold
from clusterwright.provision.export.exported import SECRET, Exported
from clusterwright.provision.export.fold import fold_files
from clusterwright.provision.export.steps import is_library
from clusterwright.provision.resources import Derived, File, Resource, RoleContext
from clusterwright.provision.roles import desired_resources

# Expression for a host's own place of each kind.
_VARIABLES = {"hosts": "inventory_hostname", "groups": "node_group", "roles": "node_role"}


@dataclass(frozen=True, slots=True)
class Places:
    """Files by place: `{place: {path: file}}`, and the paths of files that hosts compute, each with a hostlist."""

    folded: Mapping[str, Mapping[str, File]]
    computed: Mapping[str, str]

    def source(self, resource: Resource) -> str:
        """Return a path or Ansible expression for the source of the file on the current host.

        Empty for other resources.
        """
        if not isinstance(resource, File):
            return ""
        places = [scope for scope, files in self.folded.items() if resource.path in files]
        suffix = f"{resource.path}"
        if len(places) == 1:
            return f"{top(resource)}/{places[0]}{suffix}"
        kinds = [kind for kind in _VARIABLES if any(scope.startswith(f"{kind}/") for scope in places)]
        if len(kinds) == 1:
            return f"{top(resource)}/{kinds[0]}/{{{{ {_VARIABLES[kinds[0]]} }}}}{suffix}"
        names = [f"'{top(resource)}/{kind}/' ~ {_VARIABLES[kind]} ~ '{suffix}'" for kind in kinds]
        return f"{{{{ lookup('ansible.builtin.first_found', [{', '.join(names)}]) }}}}"

    def exported(self, *, with_secrets: bool) -> dict[str, Exported]:
        """Return every file by its path below the export folder; those with secrets only on request, with mode 0600."""
        return {
            f"{top(file)}/{scope}{path}": Exported(
                file.content, SECRET if file.secret else 0o755 if file.mode & 0o111 else 0o644
            )
            for scope, files in self.folded.items()
            for path, file in files.items()
            if with_secrets or not file.secret
        }

    def secret(self) -> tuple[str, ...]:
        """Return the paths, below the export folder, of files with secrets."""
        return tuple(
            f"{top(file)}/{scope}{path}"
            for scope, files in self.folded.items()
            for path, file in files.items()
            if file.secret
        )


def top(file: File) -> str:
    """Return the file's top folder: one with a secret goes to `secrets`, to encrypt or keep out of version control."""
    return "secrets" if file.secret else "files"


def places_of(cluster: Cluster, context: RoleContext) -> Places:
    """Return the files of all hosts by place (all, role, group or host), without those of the library.

    Paths of files that are computed on the hosts come with the names of these hosts.
    """
    files: dict[str, dict[str, File]] = {}
    hosts_by_path: dict[str, list[str]] = {}
    for host in cluster.hosts():
        resources = desired_resources(cluster, host, context)
        files[host.name] = {
            resource.path: resource
            for resource in resources
            if isinstance(resource, File) and not is_library(resource)
        }
        for resource in resources:
            if isinstance(resource, Derived):
                hosts_by_path.setdefault(resource.path, []).append(host.name)
    computed = {path: fold(names) for path, names in sorted(hosts_by_path.items())}
    return Places(fold_files(files, cluster.hosts()), computed)
