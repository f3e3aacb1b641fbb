"""Quantities and lists of the command line, as texts: parsed before a command starts, so that one run reports all."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

from cyclopts import Parameter

from clusterwright.i18n import _
from clusterwright.units import (
    QuantityError,
    format_rate,
    parse_duration,
    parse_power,
    parse_rate,
    parse_size,
)

_FASTEST_PORT = 1.6e12  # bit/s
_VERSION = re.compile(r"\d+(?:[.-]\d+)+\S*")


def _parsed_by(parse: Callable[[Any], object]) -> Parameter:
    """Return a parameter whose text, if there is one, `parse` accepts; it raises QuantityError or WrightError."""

    def check(_type: object, text: object) -> None:
        from clusterwright.errors import SpecError, WrightError

        try:
            if text not in (None, "", ()):
                parse(text)
        except WrightError as error:
            raise SpecError(*error.findings) from error  # a ValueError, as Cyclopts expects it

    return Parameter(validator=check)


def _parse_share(text: str) -> None:
    from clusterwright.plan.sizing.workload import parse_share

    if text not in {"100%", "1"}:  # of --busy; --headroom and --slow-nodes refuse all of it themselves
        parse_share(text)


def _parse_count(text: str) -> None:
    from clusterwright.plan.sizing.workload import parse_count

    parse_count(text)


def _parse_hostlist(text: str) -> None:
    from clusterwright.cli._hostlist import expanded

    expanded(text)


def _parse_batch(text: str) -> None:
    from clusterwright.provision.batches import batch_size

    batch_size(text, 1)


def _parse_month(text: str) -> None:
    from clusterwright.monitor.reports import month_bounds

    month_bounds(text)


def _parse_release(text: str) -> None:
    from clusterwright.cli._slurm_files import require_release

    require_release(text)


def _parse_slurm_version(text: str) -> None:
    from clusterwright.config.slurm_keys import RELEASES

    if not _VERSION.fullmatch(text):
        fix = _("write the number of a release: {releases}", releases=", ".join(RELEASES))
        raise QuantityError(_("`{text}` is not a version", text=text), fix)


def _parse_driver_version(text: str) -> None:
    if not _VERSION.fullmatch(text):
        fix = _(
            "write the number of a version of your repository, such as 580.95.05: `apt-cache madison nvidia-open` or"
            " `dnf list --showduplicates nvidia-open` on a GPU host lists them"
        )
        raise QuantityError(_("`{text}` is not a version", text=text), fix)


def _parse_os(text: str) -> None:
    """Refuse an unknown system; one that another replaces is refused with the cluster file, with the migration."""
    from clusterwright.errors import EXIT_USAGE, WrightError, unknown_name_fix
    from clusterwright.platforms import platform_names
    from clusterwright.platforms.replaced import replaced

    if text not in (names := platform_names()) and not replaced(text):
        releases = [name for name in names if name.startswith(f"{text.lower()}-")]
        message = _("`{name}` is not a supported operating system", name=text)
        fix = (
            _("choose one of {choices}", choices=", ".join(releases))
            if releases
            else unknown_name_fix(text, names)
        )
        raise WrightError.from_code("not-a-choice", message, fix, exit_code=EXIT_USAGE)


def _parse_precision(text: str) -> None:
    from clusterwright.plan.predict.row_text import require_precision

    require_precision(text)


def _parse_switch(text: str) -> None:
    from clusterwright.plan.fabric.switches import require_shape

    require_shape(text)


def _parse_currency(text: str) -> None:
    from clusterwright.catalog.currencies import require_currency

    require_currency(text)


def _parse_exchange_rate(text: str) -> None:
    from clusterwright.catalog.exchange import read_exchange_rate

    read_exchange_rate(text, _("units of the currency"))


def _parse_cloud(text: str) -> None:
    from clusterwright.catalog.exchange import cloud_prices
    from clusterwright.catalog.user_catalog import slug
    from clusterwright.cli._other_names import alias_of
    from clusterwright.errors import EXIT_USAGE, WrightError, unknown_name_fix

    clouds = sorted({slug(price.cloud) for price in cloud_prices()})
    if slug(text) not in clouds:
        alias = alias_of(text, clouds)
        fix = _("write {name}", name=alias) if alias else unknown_name_fix(text, clouds)
        message = _("`{name}` is no cloud whose prices are known", name=text)
        raise WrightError.from_code("not-a-choice", message, fix, exit_code=EXIT_USAGE)


def _parse_port_rate(text: str) -> None:
    rate = parse_rate(text)
    if rate > _FASTEST_PORT and text.strip().endswith("B/s"):
        message = _("`{text}` is {rate}, more than any network port has", text=text, rate=format_rate(rate))
        fix = _("write the rate in bits: {rate}", rate=text.strip().replace("B/s", "bit/s"))
        raise QuantityError(message, fix)


def _parse_tag(text: str) -> None:
    from clusterwright.launch.image.tag import parse_tag

    parse_tag(text)


def _parse_figures(texts: tuple[str, ...]) -> None:
    from clusterwright.plan.cost.cost import require_figures

    require_figures(texts)


Duration = Annotated[str, _parsed_by(parse_duration)]
Size = Annotated[str, _parsed_by(parse_size)]
Rate = Annotated[str, _parsed_by(parse_rate)]
PortRate = Annotated[str, _parsed_by(_parse_port_rate)]  # of a network port
Power = Annotated[str, _parsed_by(parse_power)]
Share = Annotated[str, _parsed_by(_parse_share)]
BigCount = Annotated[str, _parsed_by(_parse_count)]  # 52k, 1.5M, 1e9
Hostlist = Annotated[str, _parsed_by(_parse_hostlist)]
Batch = Annotated[str, _parsed_by(_parse_batch)]
Month = Annotated[str, _parsed_by(_parse_month)]
SlurmVersion = Annotated[str, _parsed_by(_parse_slurm_version)]
DriverVersion = Annotated[str, _parsed_by(_parse_driver_version)]
Release = Annotated[str, _parsed_by(_parse_release)]  # of Slurm, with a table of keys
Os = Annotated[str, _parsed_by(_parse_os)]
PrecisionText = Annotated[str, _parsed_by(_parse_precision)]  # any spelling that a table may have
SwitchText = Annotated[str, _parsed_by(_parse_switch)]
Currency = Annotated[str, _parsed_by(_parse_currency)]
ExchangeRateText = Annotated[str, _parsed_by(_parse_exchange_rate)]
Cloud = Annotated[str, _parsed_by(_parse_cloud)]
ImageTag = Annotated[str, _parsed_by(_parse_tag)]
Figures = Annotated[tuple[str, ...], _parsed_by(_parse_figures)]
