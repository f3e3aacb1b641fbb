"""Inputs of several commands of `wright plan`: the machine, the user's catalog, tables."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter, validators

from clusterwright.cli._live_names import GPUS, GROUPS, MODELS
from clusterwright.cli._numbers import Ratio
from clusterwright.cli._quantities import Cloud, Currency, ExchangeRateText, PortRate
from clusterwright.i18n import _
from clusterwright.plan.inputs import Optimizer, Precision, Protocol

if TYPE_CHECKING:
    from clusterwright.catalog.records import ExchangeRate
    from clusterwright.catalog.user_catalog import UserCatalog
    from clusterwright.config.cluster import Cluster
    from clusterwright.errors import Finding
    from clusterwright.plan.machines import Wiring
    from clusterwright.plan.run import Machine, Training


OF_NODE = validators.Number(gte=1, lte=1024)  # parts of one node
NODES = validators.Number(gte=1, lte=100_000)
POSITIVE = validators.Number(gte=1, lte=10**9)  # more overflows or is never planned


@dataclass(frozen=True, kw_only=True)
class Work:
    """The training."""

    model: Annotated[
        str,
        Parameter(help="Model, as in `wright plan catalog models`, or path of a Hugging Face config.json."),
        MODELS,
    ]
    seq: Annotated[int, Parameter(help="Tokens per sequence.", validator=POSITIVE)]
    global_batch: Annotated[int, Parameter(help="Sequences per step, over all GPUs.", validator=POSITIVE)]
    precision: Annotated[Precision, Parameter(help="Precision of the matrix products.")] = "bf16"
    optimizer: Annotated[Optimizer, Parameter(help="Optimizer.")] = "adam"


@dataclass(frozen=True, kw_only=True)
class MachineOptions:
    """The machines: a GPU and a number of them, or a node group of a cluster file."""

    gpu: Annotated[str | None, Parameter(help="GPU, as in `wright plan catalog gpus`."), GPUS] = None
    gpus: Annotated[
        int | None,
        Parameter(help="Number of GPUs; with --cluster: all GPUs of the node group.", validator=POSITIVE),
    ] = None
    gpus_per_node: Annotated[
        int | None, Parameter(help="GPUs per node; default: 8, or 4 for superchips.", validator=OF_NODE)
    ] = None
    network: Annotated[Protocol | None, Parameter(help="Network between the nodes.")] = None
    nics: Annotated[
        int | None,
        Parameter(help="Network ports per node; default: those of the vendor's system.", validator=POSITIVE),
    ] = None
    nic_rate: Annotated[
        PortRate | None,
        Parameter(help="Rate of a port, such as 400Gbit/s; default: that of the vendor's system."),
    ] = None
    oversubscription: Annotated[
        Ratio, Parameter(help="Oversubscription: 1 is full bisection bandwidth, 2 is half of it.")
    ] = 1.0
    cluster: Annotated[
        Path | None, Parameter(help="Cluster file, instead of the options above; or here, ssh://HOST.")
    ] = None
    group: Annotated[
        str | None, Parameter(help="Node group of the cluster file; default: the one with most GPUs."), GROUPS
    ] = None
    catalog: Annotated[Path | None, Parameter(help="File with your own GPUs and models.")] = None


@dataclass(frozen=True, kw_only=True)
class MoneyOptions:
    """The currency in which money is printed."""

    currency: Annotated[
        Currency, Parameter(help="Currency of all money, such as CNY; default: that of the prices, USD.")
    ] = ""
    exchange_rate: Annotated[
        ExchangeRateText,
        Parameter(help="Units of the currency for one USD; default: the dated rate of the catalog."),
    ] = ""

    @property
    def code(self) -> str:
        """Return the code of the currency in capitals; "" without one."""
        return self.currency.strip().upper()


@dataclass(frozen=True, kw_only=True)
class RentOptions(MoneyOptions):
    """The cloud to rent from, and the currency."""

    cloud: Annotated[
        Cloud,
        Parameter(
            help="Rent from this cloud: aws, azure, google-cloud, lambda, coreweave, tencent or alibaba; "
            "default: the range of the market."
        ),
    ] = ""


def read_money(
    money_options: MoneyOptions, user_catalog: UserCatalog | None
) -> tuple[UserCatalog | None, ExchangeRate | None, list[str]]:
    """Return the catalog with all prices in the requested currency, the user's rate or None, and texts of the rates.

    Each text has the rate's day. Without a currency the catalog stays as it is.

    Raises:
        WrightError: `exchange-rate`: the rate is no rate, or there is none for a currency.
    """
    from clusterwright.catalog import exchange
    from clusterwright.catalog.prices import prices
    from clusterwright.cli._option_rules import EXCHANGE_RATE

    currency, text = money_options.code, money_options.exchange_rate
    if not currency:
        if text:
            raise EXCHANGE_RATE.error("--exchange-rate")
        return user_catalog, None, []
    user_rate = exchange.read_exchange_rate(text, currency) if text else None
    rates = exchange.describe_rates(currency, user_rate, {quote.currency for quote in prices(user_catalog)})
    return exchange.in_currency(user_catalog, currency, user_rate), user_rate, rates


def show_rates(rates: list[str]) -> None:
    """Print the exchange rates with which prices were converted; nothing for none."""
    from clusterwright.cli._show import show_text

    for rate in rates:
        show_text(_("converted at {rate}", rate=rate))


def read_options(work: Work, machine_options: MachineOptions) -> tuple[Training, Machine]:
    """Return the training and the machines.

    Raises:
        WrightError: with every unknown model or GPU, invalid rate or size, and error of the cluster file.
    """
    from clusterwright.catalog.user_catalog_file import load_user_catalog
    from clusterwright.errors import EXIT_USAGE, WrightError
    from clusterwright.plan.inputs import attempt, training

    findings: list[Finding] = []
    user_catalog = attempt(lambda: load_user_catalog(machine_options.catalog), findings)
    if findings:  # names that only this file has would be unknown
        raise WrightError(*findings, exit_code=EXIT_USAGE)
    requested_training = attempt(lambda: training(**vars(work), catalog=user_catalog), findings)
    machine = attempt(lambda: machine_for(machine_options, user_catalog), findings)
    if findings or requested_training is None or machine is None:
        raise WrightError(*findings, exit_code=EXIT_USAGE)
    return requested_training, machine


def machine_for(machine_options: MachineOptions, user_catalog: UserCatalog | None) -> Machine:
    """Return the machines to plan for that the options describe: a GPU and a number, or a group of a cluster.

    Raises:
        WrightError: with everything that is wrong with the options.
    """
    from clusterwright.errors import EXIT_USAGE, WrightError
    from clusterwright.plan.inputs import attempt, machine

    named = machine_options.cluster
    findings: list[Finding] = []
    wiring = attempt(lambda: wiring_of(machine_options), findings)
    result = attempt(
        lambda: machine(
            machine_options.gpu,
            machine_options.gpus,
            wiring=wiring,
            cluster=planned_cluster(named, wiring, machine_options.gpu if named else None),
            group=machine_options.group,
            catalog=user_catalog,
        ),
        findings,
    )
    if findings or result is None:
        raise WrightError(*findings, exit_code=EXIT_USAGE)
    return result


def planned_cluster(named: Path | None, wiring: Wiring | None, gpu: str | None) -> Cluster | Path | None:
    """Return the path of the cluster file; or the cluster learned from Slurm, with network and GPU as named.

    None without a name. A note names what was assumed for the network, which Slurm does not report.
    """
    from clusterwright.cli._connection import is_unmanaged, unmanaged_cluster
    from clusterwright.plan.learned_network import NetworkFacts, with_gpu, with_network

    if named is None or not is_unmanaged(named):
        return named
    cluster = unmanaged_cluster(named)
    if wiring:
        rate = None if wiring.nic_bits_per_s is None else int(wiring.nic_bits_per_s)
        ports = None if wiring.nics is None else int(wiring.nics)
        cluster = with_network(cluster, NetworkFacts(wiring.network, ports, rate))
    note_network(cluster)
    return with_gpu(cluster, gpu) if gpu else cluster


def note_network(cluster: Cluster) -> None:
    """Print a note that the network of a learned cluster was assumed, unless the user named it."""
    from clusterwright.cli._show import show_note
    from clusterwright.plan.learned_network import has_network_rate

    if not has_network_rate(cluster):
        show_note(
            _(
                "Slurm does not report the network between the nodes: assumed as in the vendor's reference system;"
                " pass --network, --nics and --nic-rate"
            )
        )


def wiring_of(machine_options: MachineOptions) -> Wiring:
    """Return node size and network of the options.

    Raises:
        WrightError: `bad-quantity`.
    """
    from clusterwright.plan.machines import Wiring

    return Wiring(
        machine_options.gpus_per_node,
        None,
        machine_options.network,
        machine_options.nics,
        read_rate(machine_options.nic_rate),
        machine_options.oversubscription,
    )


def read_rate(text: str | None) -> int | None:
    """Return the value of --nic-rate in bit/s; None if it is not given.

    Raises:
        WrightError: `bad-quantity`.
    """
    from clusterwright.errors import EXIT_USAGE, WrightError
    from clusterwright.units import QuantityError, parse_rate

    try:
        return parse_rate(text) if text is not None else None
    except QuantityError as error:
        message = f"--nic-rate: {error.message}"
        raise WrightError.from_code("bad-quantity", message, error.fix, exit_code=EXIT_USAGE) from error


def read_table(path: Path, out: Path | None = None) -> bytes:
    """Return the bytes of a table, which must be text.

    Raises:
        WrightError: the file cannot be read or is no text, or `out` is the table itself.
    """
    from clusterwright.errors import EXIT_USAGE, WrightError, unreadable_fix
    from clusterwright.file_arguments import read_argument

    try:
        data = read_argument(path)
    except OSError as error:
        message = f"{error.strerror}: {path}"
        fix = unreadable_fix(error, path, _("pass the path of a readable file"))
        raise WrightError.from_code("file-unreadable", message, fix, exit_code=EXIT_USAGE) from error
    if fix := _binary_fix(data, path):
        message = _("{file} is not a text file", file=path)
        raise WrightError.from_code("not-utf-8", message, fix, exit_code=EXIT_USAGE)
    if out and out.exists() and out.samefile(path):
        message = _("{file} is the input table itself", file=out)
        raise WrightError.from_code(
            "predict-out-is-in", message, _("choose another file with --out"), exit_code=EXIT_USAGE
        )
    return data


def _binary_fix(data: bytes, path: Path) -> str:
    """Return how to get the text of a file that is none, by its first bytes; empty for a text file."""
    from codecs import BOM_UTF16_BE, BOM_UTF16_LE

    file = shlex.quote(str(path))
    if data.startswith(b"%PDF"):
        return _("extract the text of the PDF file first: pdftotext -layout {file} text.txt", file=file)
    if data.startswith(b"PK"):
        return _(
            "if the file is a spreadsheet, save it as CSV; otherwise unpack the archive: unzip {file}",
            file=file,
        )
    if data.startswith(b"\x1f\x8b"):
        return _("the file is compressed with gzip: decompress it with `gunzip {file}`", file=file)
    is_text = b"\0" not in data or data.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    return "" if is_text else _("pass a text file, such as a table in CSV")


def write_table(path: Path, text: str) -> None:
    """Write a text to a file atomically.

    Raises:
        WrightError: `not-writable`; a full disk is an OSError.
    """
    from clusterwright.cli._show import unwritten_fix
    from clusterwright.edge.files import write_file_atomic
    from clusterwright.errors import EXIT_USAGE, WrightError
    from clusterwright.onhost.lib.files import FULL

    try:
        write_file_atomic(path, text)
    except OSError as error:
        if error.errno in FULL:
            raise
        message, fix = f"{error.strerror}: {path}", unwritten_fix(error, path)
        raise WrightError.from_code("not-writable", message, fix, exit_code=EXIT_USAGE) from error
