"""Inputs of several commands of `wright plan`: the machine, the user's catalog, tables."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from cyclopts import Parameter, validators

from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.catalog.user_catalog import UserCatalog
    from clusterwright.errors import Finding
    from clusterwright.plan.machines import Wiring
    from clusterwright.plan.run import Machine, Training


POSITIVE = validators.Number(gte=1)
Result = TypeVar("Result")
Precision = Literal["fp32", "tf32", "fp16", "bf16", "fp8", "mxfp8", "nvfp4"]


@dataclass(frozen=True, kw_only=True)
class Work:
    """The training."""

    model: Annotated[str, Parameter(help="Model of the catalog, or path of a Hugging Face config.json.")]
    seq: Annotated[int, Parameter(help="Tokens per sequence.", validator=POSITIVE)]
    global_batch: Annotated[int, Parameter(help="Sequences per step, over all GPUs.", validator=POSITIVE)]
    precision: Annotated[Precision, Parameter(help="Precision of the matrix products.")] = "bf16"
    optimizer: Annotated[Literal["adam", "adam8bit", "sgd"], Parameter(help="Optimizer.")] = "adam"


@dataclass(frozen=True, kw_only=True)
class MachineOptions:
    """The machines: a GPU and a number of them, or a node group of a cluster file."""

    gpu: Annotated[str | None, Parameter(help="GPU of the catalog.")] = None
    gpus: Annotated[
        int | None,
        Parameter(help="Number of GPUs; with --cluster: all GPUs of the node group.", validator=POSITIVE),
    ] = None
    gpus_per_node: Annotated[
        int | None, Parameter(help="GPUs per node; default: 8, or 4 for superchips.", validator=POSITIVE)
    ] = None
    network: Annotated[
        Literal["infiniband", "roce", "ethernet"] | None, Parameter(help="Network between the nodes.")
    ] = None
    nics: Annotated[
        int | None,
        Parameter(help="Network ports per node; default: those of the vendor's system.", validator=POSITIVE),
    ] = None
    nic_rate: Annotated[
        str | None, Parameter(help="Rate of a port, such as 400Gbit/s; default: that of the vendor's system.")
    ] = None
    oversubscription: Annotated[
        float, Parameter(help="Oversubscription: 1 is full bisection bandwidth, 2 is half of it.")
    ] = 1.0
    cluster: Annotated[Path | None, Parameter(help="Cluster file, instead of the options above.")] = None
    group: Annotated[
        str | None, Parameter(help="Node group of the cluster file; default: the one with most GPUs.")
    ] = None
    catalog: Annotated[Path | None, Parameter(help="File with your own GPUs and models.")] = None


def read_options(work: Work, machine_options: MachineOptions) -> tuple[Training, Machine]:
    """Return the training and the machines.

    Raises:
        WrightError: with every unknown model or GPU, invalid rate or size, and error of the cluster file.
    """
    from clusterwright.errors import EXIT_USAGE, WrightError
    from clusterwright.plan.search.meshes import no_sizes

    sizes = {
        "seq": work.seq, "global-batch": work.global_batch, "gpus": machine_options.gpus, "nics": machine_options.nics,
        "gpus-per-node": machine_options.gpus_per_node, "oversubscription": machine_options.oversubscription,
    }  # fmt: skip
    findings: list[Finding] = []
    user_catalog = _attempt(lambda: load_user_catalog(machine_options.catalog), findings)
    training = _attempt(lambda: _training(work, user_catalog), findings)
    machine = _attempt(lambda: machine_for(machine_options, user_catalog), findings)
    findings += no_sizes(sizes)
    if findings or training is None or machine is None:
        raise WrightError(*findings, exit_code=EXIT_USAGE)
    return training, machine


def _attempt(make: Callable[[], Result], findings: list[Finding]) -> Result | None:
    """Call `make`; on a WrightError add its findings and return None."""
    from clusterwright.errors import WrightError

    try:
        return make()
    except WrightError as error:
        findings.extend(error.findings)
        return None


def _training(work: Work, user_catalog: UserCatalog | None) -> Training:
    from clusterwright.catalog.hf import model_of
    from clusterwright.plan.run import Training

    return Training(
        model_of(work.model, user_catalog),
        work.seq,
        work.global_batch,
        work.precision,
        optimizer=work.optimizer,
    )


def machine_for(machine_options: MachineOptions, user_catalog: UserCatalog | None) -> Machine:
    """Return the machines."""
    from clusterwright import catalog
    from clusterwright.errors import EXIT_USAGE, WrightError
    from clusterwright.plan.machines import machine, machine_of

    if machine_options.cluster:
        from clusterwright.config.load import load_cluster

        rows = {**catalog.gpus(), **(user_catalog.gpus if user_catalog else {})}
        cluster_machine = machine_of(
            load_cluster(machine_options.cluster), machine_options.group, rows.values()
        )
        return replace(cluster_machine, gpus=machine_options.gpus or cluster_machine.gpus)
    if machine_options.gpu is None or machine_options.gpus is None:
        fix = _("pass --gpu h100-sxm-80gb --gpus 512, or --cluster cluster.yaml")
        raise WrightError.from_code("plan-no-machine", _("no machines are given"), fix, exit_code=EXIT_USAGE)
    return machine(
        catalog.gpu(machine_options.gpu, user_catalog), machine_options.gpus, _wiring(machine_options)
    )


def _wiring(machine_options: MachineOptions) -> Wiring:
    from clusterwright.errors import EXIT_USAGE, WrightError
    from clusterwright.plan.machines import Wiring
    from clusterwright.units import QuantityError, parse_rate

    try:
        rate = parse_rate(machine_options.nic_rate) if machine_options.nic_rate is not None else None
    except QuantityError as error:
        raise WrightError.from_code(
            "bad-quantity", f"--nic-rate: {error.message}", error.fix, exit_code=EXIT_USAGE
        ) from error
    return Wiring(
        machine_options.gpus_per_node,
        None,
        machine_options.network,
        machine_options.nics,
        rate,
        machine_options.oversubscription,
    )


def load_user_catalog(catalog: Path | None) -> UserCatalog | None:
    """Load `catalog`, else ./catalog.toml, else ~/.config/clusterwright/catalog.toml; None without a file.

    Raises:
        WrightError: with everything that is wrong with the file.
    """
    file = catalog or next((path for path in _places() if path.is_file()), None)
    if file is None:
        return None
    from clusterwright.catalog.user_catalog_file import load

    return load(file)


def _places() -> tuple[Path, ...]:
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return Path("catalog.toml"), config / "clusterwright" / "catalog.toml"


def read_table(path: Path, out: Path | None = None) -> bytes:
    """Read a table; refuse an output file that is the table itself."""
    from clusterwright.errors import EXIT_USAGE, WrightError

    try:
        data = path.read_bytes()
    except OSError as error:
        message, fix = f"{error.strerror}: {path}", _("pass the path of a readable CSV file")
        raise WrightError.from_code("file-unreadable", message, fix, exit_code=EXIT_USAGE) from error
    if out and out.exists() and out.samefile(path):
        message = _("{file} is the input table itself", file=out)
        raise WrightError.from_code(
            "predict-out-is-in", message, _("choose another file with --out"), exit_code=EXIT_USAGE
        )
    return data


def write_table(path: Path, text: str) -> None:
    """Write a file atomically."""
    from clusterwright.edge.files import write_file_atomic
    from clusterwright.errors import EXIT_USAGE, WrightError

    try:
        write_file_atomic(path, text)
    except OSError as error:
        message, fix = f"{error.strerror}: {path}", _("choose a writable file")
        raise WrightError.from_code("not-writable", message, fix, exit_code=EXIT_USAGE) from error
