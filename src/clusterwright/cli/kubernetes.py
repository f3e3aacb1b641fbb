"""`wright kubernetes CLUSTER JOB... --out DIR`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from clusterwright.i18n import _


def kubernetes(
    cluster: Path,
    /,
    *jobs: Path,
    out: Path,
    version: str = "1.33",
    kind: Literal["jobset", "trainjob"] = "jobset",
    image: str = "",
    rdma: str = "rdma/rdma_shared_device_a",
) -> int:
    """Write teams, queues and jobs as manifests for Kubernetes: JobSet or Kubeflow TrainJob, queued by Kueue.

    Parameters
    ----------
    cluster
        The cluster file.
    jobs
        Job files; without any, teams, storage and queues alone.
    out
        The folder: new, empty, or an earlier export, which is replaced.
    version
        Of Kubernetes, as `kubectl version` says it; what it cannot have is refused.
    kind
        jobset: needs JobSet alone. trainjob: Kubeflow Trainer, which makes a JobSet of it.
    image
        The image of the pods, where the job file names none of a registry.
    rdma
        What your device plugin calls an RDMA adapter.
    """
    from clusterwright.catalog import kubernetes as kubernetes_catalog
    from clusterwright.cli._show import show_message
    from clusterwright.config.load import load_cluster, load_job
    from clusterwright.edge.trees import write_files
    from clusterwright.launch.kubernetes.manifests import manifests
    from clusterwright.launch.kubernetes.options import ManifestOptions

    options = ManifestOptions(kubernetes_catalog.version(version), kind, image, rdma)
    spec = load_cluster(cluster)
    files, omissions = manifests(spec, tuple(load_job(job, spec) for job in jobs), options)
    write_files(out, {path: (text.encode(), 0o644) for path, text in files.items()})
    for omission in omissions:
        show_message(_("not carried over: {omission}", omission=omission))
    show_message(
        _(
            "{count} files for {count2} jobs in {out}; next: read {out2}",
            count=len(files),
            count2=len(jobs),
            out=out,
            out2=out / "README.md",
        )
    )
    return 0
