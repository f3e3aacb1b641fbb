"""The inputs of a plan, from names and numbers: the training and the machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from clusterwright.i18n import _

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterwright.catalog.user_catalog import UserCatalog
    from clusterwright.config.cluster import Cluster
    from clusterwright.errors import Finding
    from clusterwright.plan.machines import Wiring
    from clusterwright.plan.run import Machine, Training

Result = TypeVar("Result")
Precision = Literal["fp32", "tf32", "fp16", "bf16", "fp8", "mxfp8", "nvfp4"]
Optimizer = Literal["adam", "adam8bit", "sgd"]
Software = Literal["megatron", "fsdp", "deepspeed", "maxtext", "nemo-automodel"]
Protocol = Literal["infiniband", "roce", "ethernet"]


def training(
    model: str,
    *,
    seq: int,
    global_batch: int,
    precision: Precision = "bf16",
    optimizer: Optimizer = "adam",
    catalog: UserCatalog | None = None,
) -> Training:
    """Return a training: its model, tokens per sequence, and sequences per step over all GPUs.

    `model` is a model of the catalog, or the path of a Hugging Face config.json.

    Raises:
        WrightError: `unknown-model`, `plan-bad-size`, or an error of the config.json.
    """
    from clusterwright.catalog.hf import model_of
    from clusterwright.errors import EXIT_USAGE, WrightError
    from clusterwright.plan.run import Training
    from clusterwright.plan.search.meshes import no_sizes

    findings = no_sizes({"seq": seq, "global-batch": global_batch})
    architecture = attempt(lambda: model_of(model, catalog), findings)
    if findings or architecture is None:
        raise WrightError(*findings, exit_code=EXIT_USAGE)
    return Training(architecture, seq, global_batch, precision, optimizer=optimizer)


def machine(
    gpu: str | None = None,
    gpus: int | None = None,
    *,
    wiring: Wiring | None = None,
    cluster: Cluster | str | Path | None = None,
    group: str | None = None,
    catalog: UserCatalog | None = None,
) -> Machine:
    """Return the machines of a plan: a number of GPUs of the catalog, or a node group of a cluster file.

    `cluster` excludes `gpu` and `wiring`, which it ignores; `gpus` defaults to all of the group, and the group to the
    one with most GPUs. Without `cluster`, `wiring` overrides node size and network of the vendor's system.

    Raises:
        WrightError: `plan-no-machine`, `unknown-gpu`, `plan-no-gpus`, `plan-bad-size`, or an error of the cluster file.
    """
    from clusterwright import catalog as gpu_catalog
    from clusterwright.errors import EXIT_USAGE, WrightError
    from clusterwright.plan import machines
    from clusterwright.plan.search.meshes import no_sizes

    wires = wiring or machines.Wiring()
    sizes = {
        "gpus": gpus,
        "nics": wires.nics,
        "gpus-per-node": wires.gpus_per_node,
        "oversubscription": wires.oversubscription,
    }
    findings = no_sizes(sizes)
    if cluster is not None:
        result = attempt(lambda: _of_cluster(cluster, group, gpus, catalog), findings)
    elif gpu is None or gpus is None:
        fix = _("pass --gpu h100-sxm-80gb --gpus 512, or --cluster cluster.yaml")
        raise WrightError.from_code("plan-no-machine", _("no machines are given"), fix, exit_code=EXIT_USAGE)
    else:
        result = attempt(lambda: machines.machine(gpu_catalog.gpu(gpu, catalog), gpus, wires), findings)
    if findings or result is None:
        raise WrightError(*findings, exit_code=EXIT_USAGE)
    return result


def _of_cluster(
    cluster: Cluster | str | Path, group: str | None, gpus: int | None, catalog: UserCatalog | None
) -> Machine:
    from clusterwright import catalog as gpu_catalog
    from clusterwright.config.load import load_cluster
    from clusterwright.plan.machines import machine_of

    rows = {**gpu_catalog.gpus(), **(catalog.gpus if catalog else {})}
    loaded = load_cluster(Path(cluster)) if isinstance(cluster, str | Path) else cluster
    result = machine_of(loaded, group, rows.values())
    return replace(result, gpus=gpus or result.gpus)


def attempt(make: Callable[[], Result], findings: list[Finding]) -> Result | None:
    """Call `make`; on a WrightError add its findings and return None."""
    from clusterwright.errors import WrightError

    try:
        return make()
    except WrightError as error:
        findings.extend(error.findings)
        return None
