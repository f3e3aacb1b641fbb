"""Options of the manifests, and names that all of them use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Object = dict[str, Any]
Kind = Literal["jobset", "trainjob"]

# Labels of hosts; README.md has the `kubectl label` commands.
GROUP, SWITCH = "clusterwright/group", "clusterwright/switch"
QUEUE, ACCOUNT = "training", "training"  # the LocalQueue and the ServiceAccount in each team's namespace
# The resource name of k8s-rdma-shared-dev-plugin in NVIDIA's Network Operator; a site may use another.
RDMA = "rdma/rdma_shared_device_a"


@dataclass(frozen=True, slots=True)
class ManifestOptions:
    """The version of Kubernetes, the kind of training objects, an image, and the resource name of RDMA adapters."""

    version: tuple[int, int]
    kind: Kind = "jobset"
    image: str = ""
    rdma: str = RDMA


def meta(name: str, namespace: str = "", **labels: str) -> Object:
    """Return object metadata with our label, `app.kubernetes.io/managed-by=clusterwright`, for `kubectl get -l`."""
    ours = {"app.kubernetes.io/managed-by": "clusterwright", **labels}
    return {"name": name, **({"namespace": namespace} if namespace else {}), "labels": ours}
