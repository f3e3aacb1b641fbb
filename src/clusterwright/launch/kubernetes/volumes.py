"""Render shared folders as persistent volumes, mounted at the same paths as on hosts."""

from __future__ import annotations

from clusterwright.catalog.kubernetes import require
from clusterwright.config.cluster import Cluster
from clusterwright.config.storage import Nfs, Storage
from clusterwright.launch.kubernetes.names import label
from clusterwright.launch.kubernetes.options import ManifestOptions, Object, meta
from clusterwright.provision.render.nfs_options import nfs_options
from clusterwright.units import GiB

# Kubernetes requires a capacity, but does not enforce it for NFS and hostPath.
_UNSAID = "1Ti"


def persistent(cluster: Cluster, options: ManifestOptions, namespace: str) -> list[Object]:
    """Return a PersistentVolume and its claim in this namespace for each shared folder of the cluster.

    Each namespace has volumes of its own, as a volume can have only one claim.
    """
    objects: list[Object] = []
    for name, folder in cluster.storage.items():
        volume, claim = f"{label(cluster.name)}-{namespace}-{label(name)}", label(name)
        shared = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
        objects += [
            {
                "apiVersion": require("PersistentVolume", options.version).api,
                "kind": "PersistentVolume",
                "metadata": meta(volume),
                "spec": {
                    "capacity": {"storage": _size(folder)},
                    **shared,
                    "persistentVolumeReclaimPolicy": "Retain",
                    "claimRef": {"namespace": namespace, "name": claim},
                    **_source(cluster, folder),
                },
            },
            {
                "apiVersion": require("PersistentVolumeClaim", options.version).api,
                "kind": "PersistentVolumeClaim",
                "metadata": meta(claim, namespace),
                "spec": {
                    **shared,
                    "volumeName": volume,
                    "resources": {"requests": {"storage": _size(folder)}},
                },
            },
        ]
    return objects


def mounts(cluster: Cluster) -> tuple[list[Object], list[Object]]:
    """Return the volumes of a pod (a claim for each shared folder) and their mounts for its container."""
    names = {label(name): folder.path for name, folder in cluster.storage.items()}
    return (
        [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names],
        [{"name": name, "mountPath": path} for name, path in names.items()],
    )


def _size(folder: Storage) -> str:
    return f"{folder.size // GiB}Gi" if folder.size else _UNSAID


def _source(cluster: Cluster, folder: Storage) -> Object:
    """Return the volume source: NFS with the hosts' mount options, or a hostPath for other file systems."""
    if not isinstance(folder, Nfs):
        return {"hostPath": {"path": folder.path, "type": "Directory"}}
    options = [option.text for option in nfs_options(cluster, folder)]
    return {
        "mountOptions": options,
        "nfs": {"server": _server(cluster, folder), "path": folder.export or folder.path},
    }


def _server(cluster: Cluster, folder: Nfs) -> str:
    """Return the server's address on the storage network, or its name if it is not a host of the cluster."""
    ours = next((host for host in cluster.hosts() if host.name == folder.server), None)
    if ours is None:
        return folder.server
    return str(ours.addresses.get("storage", ours.management))
