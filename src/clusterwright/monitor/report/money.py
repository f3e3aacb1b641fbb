"""Cost and energy of GPU hours."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.i18n import _
from clusterwright.units import human_number

JOULES_PER_KWH = 3.6e6


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one GPU hour and its source."""

    amount: float
    currency: str
    source: str


def cost(gpu_hours: float, price: Price) -> str:
    """Return the cost of GPU hours as a text, with the price and its source."""
    return _(
        "{cost:,.2f} {currency}: {hours} GPU hours at {price:g} {currency} ({source})",
        cost=gpu_hours * price.amount,
        currency=price.currency,
        hours=human_number(gpu_hours),
        price=price.amount,
        source=price.source,
    )


def energy(joules: float, *, is_metered: bool, has_power: bool = True) -> str:
    """Return a sentence with the energy of the GPUs in kWh; an upper bound if it was not metered.

    Without `has_power`: that it is not known.
    """
    if not has_power:
        return _("energy: power was not measured, and the rated power of the GPU is not known")
    kwh = human_number(joules / JOULES_PER_KWH)
    if is_metered:
        return _("{kwh} kWh of the GPUs alone, from their measured power", kwh=kwh)
    return _(
        "at most {kwh} kWh of the GPUs alone: not measured, their rated power times their allocated time",
        kwh=kwh,
    )
