"""Turns resources of kind `derived` into files with computed text, before anything is compared.

Standard library only, Python 3.6 or later.
"""

from typing import List, Optional

from clusterwright.onhost.provision.derive import nccl_conf, rdma_ports, sshd_pam, topology, ucx_conf
from clusterwright.onhost.provision.host import Json, LocalHost, read, text_of

PROGRAMS = {
    "nccl_conf": nccl_conf,
    "rdma_ports": rdma_ports,
    "sshd_pam": sshd_pam,
    "topology": topology,
    "ucx_conf": ucx_conf,
}


def work_out(host: LocalHost) -> None:
    """Replace each derived resource by a file resource, or remove it if this host shall not have the file."""
    notes = []  # type: List[str]
    resources = []
    for resource in host.resources:
        if resource["kind"] == "derived":
            resources += as_file(host, resource, notes)
        else:
            resources.append(resource)
    host.resources[:] = resources
    host.notes += [note for note in dict.fromkeys(notes) if note not in host.notes]


def as_file(host: LocalHost, resource: Json, notes: List[str]) -> List[Json]:
    """Compute the content of a derived resource on this host, and return it as a list of one file resource.

    Empty if this host shall not have the file. What could not be derived is appended to `notes`.
    """
    data = worked_out(host, resource, notes)
    if data is None:
        return []
    content = text_of(data)
    file_fields = {
        "kind": "file",
        "content": content,
        "secret": "",  # nosec B105 # no secret: derived on the host
        "gentle": "",
        "early": False,
        "validate": [],
    }
    return [dict(resource, **file_fields)]


def worked_out(host: LocalHost, resource: Json, notes: List[str]) -> Optional[bytes]:
    """Return the computed content of a derived file; None if the host shall not have it.

    If it cannot be computed, return the file's present content and add a note.
    """
    program = PROGRAMS[resource["program"]]
    try:
        text = program.text(host, resource["params"], notes)
    except (ValueError, KeyError) as error:
        notes.append(
            f"{resource['path']} is not changed, because its text cannot be computed: {type(error).__name__}: {error}"
        )
        return read(host.resolve_path(resource["path"]))
    return None if text is None else (resource["header"] + text).encode()


def moved(host: LocalHost) -> List[str]:
    """Return the paths of derived files whose content would differ now, after the apply has changed the devices."""
    fresh_host = LocalHost(dict(host.bundle, resources=[]))
    changed_paths = []
    for resource in host.resources:
        if "program" in resource:
            now = as_file(fresh_host, dict(resource, kind="derived"), [])
            if [file["content"] for file in now] != [resource["content"]]:
                changed_paths.append(resource["path"])
    return changed_paths
