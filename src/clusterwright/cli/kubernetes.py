"""`wright kubernetes JOB... --out DIR`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from clusterwright.i18n import _


def kubernetes(
    *jobs: Path,
    cluster: Path | None = None,
    out: Path,
    version: str = "1.33",
    kind: Literal["jobset", "trainjob"] = "jobset",
    image: str = "",
    rdma: str = "rdma/rdma_shared_device_a",
) -> int:
    """Export teams, queues and jobs as Kubernetes manifests: JobSet or Kubeflow TrainJob, queued by Kueue.

    Parameters
    ----------
    jobs
        Job files to export; default: export only teams, storage and queues.
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    out
        Output folder: new, empty, or an earlier export, which is replaced.
    version
        Kubernetes version as in `kubectl version`; features that it lacks are errors.
    kind
        jobset: needs only JobSet. trainjob: for Kubeflow Trainer, which creates a JobSet.
    image
        Image of the pods, for job files without an image of a registry.
    rdma
        Name of an RDMA adapter in your device plugin.
    """
    from clusterwright.catalog import kubernetes as kubernetes_catalog
    from clusterwright.cli._connection import find_cluster
    from clusterwright.cli._show import show_message, show_next
    from clusterwright.config.load import load_job
    from clusterwright.edge.trees import write_files
    from clusterwright.launch.kubernetes.manifests import manifests
    from clusterwright.launch.kubernetes.options import ManifestOptions

    options = ManifestOptions(kubernetes_catalog.version(version), kind, image, rdma)
    spec = find_cluster(cluster)
    files, omissions = manifests(spec, tuple(load_job(job, spec) for job in jobs), options)
    write_files(out, {path: (text.encode(), 0o644) for path, text in files.items()})
    for omission in omissions:
        show_message(_("not exported: {item}", item=omission))
    show_message(_("{folder}: {files} files for {jobs} jobs", folder=out, files=len(files), jobs=len(jobs)))
    show_next(f"less {out / 'README.md'}")
    return 0
