"""`wright plan storage`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


@dataclass(frozen=True, kw_only=True)
class Data:
    """What is read."""

    dataset: Annotated[str, Parameter(help="Its size: 2TB.")]
    samples: Annotated[str | None, Parameter(help="Sequences or images in it: 1.2M; as many as files.")] = (
        None
    )
    files: Annotated[str | None, Parameter(help="Files it lies in: 1.2M; one a sample if left out.")] = None
    samples_per_s: Annotated[
        float | None, Parameter(help="Read while training, by all GPUs; what their peak allows if left out.")
    ] = None
    epochs: Annotated[float, Parameter(help="How often it is read.")] = 1.0


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What is written."""

    model: Annotated[str | None, Parameter(help="A model of the catalog, or a config.json.")] = None
    params: Annotated[str | None, Parameter(help="Parameters, in place of a model: 25.6M.")] = None
    precision: Annotated[Literal["fp32", "fp16", "bf16", "fp8"], Parameter(help="Of the weights.")] = "bf16"
    optimizer: Annotated[Literal["adam", "adam8bit", "sgd", "none"], Parameter(help="The optimiser.")] = (
        "adam"
    )
    every: Annotated[str, Parameter(help="Between two checkpoints: 30m.")] = "30m"
    stall: Annotated[float, Parameter(help="Share of that time that a checkpoint may hold the GPUs up.")] = (
        0.05
    )
    keep: Annotated[int, Parameter(help="Checkpoints on storage at a time.")] = 3


@dataclass(frozen=True, kw_only=True)
class On:
    """The machines."""

    gpu: Annotated[str, Parameter(help="A GPU of the catalog.")] = "h100-sxm-80gb"
    gpus: Annotated[int, Parameter(help="How many.")] = 8
    gpus_per_node: Annotated[int, Parameter(help="Of one node.")] = 8
    disks: Annotated[int, Parameter(help="NVMe disks of a node.")] = 4
    catalog: Annotated[Path | None, Parameter(help="GPUs and models of your own.")] = None
    server_nic: Annotated[str, Parameter(help="Network of one storage server.")] = "100Gbit/s"


def storage(
    *,
    data: Annotated[Data, Parameter(name="*")],
    kept: Annotated[Kept, Parameter(name="*")] = Kept(),
    on: Annotated[On, Parameter(name="*")] = On(),
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Size storage for a dataset and its checkpoints, and say which kind is enough.

    Parameters
    ----------
    json
        Everything in bytes and bytes/s, as one JSON document.
    """
    from clusterwright.cli._plan._storage import document, find, tell
    from clusterwright.cli._show import show_json

    found = find(data, kept, on)
    if json:
        show_json(document(found))
    else:
        tell(found)
    return 0
