"""Resources of kind `derived` become files whose text was worked out here, before anything is compared.

Standard library only, Python 3.6 or later.
"""

from typing import List, Optional

from clusterwright.onhost.provision.derive import nccl_conf, rdma_ports, topology, ucx_conf
from clusterwright.onhost.provision.host import Host, Json, read, text_of

PROGRAMS = {"nccl_conf": nccl_conf, "rdma_ports": rdma_ports, "topology": topology, "ucx_conf": ucx_conf}


def work_out(host: Host) -> None:
    """From here on each is a file like any other; one that this host shall not have is wanted no more."""
    notes = []  # type: List[str]
    found = []
    for resource in host.resources:
        if resource["kind"] == "derived":
            found += as_file(host, resource, notes)
        else:
            found.append(resource)
    host.resources[:] = found
    host.notes += [note for note in dict.fromkeys(notes) if note not in host.notes]


def as_file(host: Host, resource: Json, notes: List[str]) -> List[Json]:
    """The file, in a list that is empty where there shall be none."""
    data = worked_out(host, resource, notes)
    if data is None:
        return []
    content = text_of(data)
    plain = {"kind": "file", "content": content, "secret": "", "gentle": "", "early": False, "validate": []}
    return [dict(resource, **plain)]


def worked_out(host: Host, resource: Json, notes: List[str]) -> Optional[bytes]:
    """The file's bytes; as they are now where a driver shows what is in no form that we know: the rest is done."""
    program = PROGRAMS[resource["program"]]
    try:
        text = program.text(host, resource["given"], notes)
    except (ValueError, KeyError) as why:
        notes.append(
            f"{resource['path']} is left as it is: it cannot be worked out: {type(why).__name__}: {why}"
        )
        return read(host.at(resource["path"]))
    return None if text is None else (resource["header"] + text).encode()


def moved(host: Host) -> List[str]:
    """Paths whose text would be another by now: what the apply itself has loaded or installed shows other devices."""
    again = Host(dict(host.bundle, resources=[]))
    found = []
    for resource in host.resources:
        if "program" in resource:
            now = as_file(again, dict(resource, kind="derived"), [])
            if [one["content"] for one in now] != [resource["content"]]:
                found.append(resource["path"])
    return found
