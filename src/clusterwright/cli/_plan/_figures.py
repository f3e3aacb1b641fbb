"""Figures of the user's own in place of ours, and the sizes of `wright plan cost`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clusterwright.plan.cost.figures import Estimate

HOURS_A_YEAR = 8760


def sized_or_refused(nodes: int, hours: float) -> None:
    """A cluster has a node or more, and a year so many hours.

    Raises:
        WrightError: cost-figure.
    """
    from clusterwright.errors import EXIT_USAGE, Finding, WrightError

    found = []
    if nodes < 1:
        found.append(Finding("cost-figure", f"--nodes is {nodes}", "give 1 or more"))
    if not 0 < hours <= HOURS_A_YEAR:
        found.append(
            Finding("cost-figure", f"--hours is {hours:g}", f"a year has {HOURS_A_YEAR}; give hours of it")
        )
    if found:
        raise WrightError(*found, exit_code=EXIT_USAGE)


def with_own(values: Mapping[str, Estimate], figures: tuple[str, ...]) -> dict[str, Estimate]:
    """Ours, with the user's own in their place.

    Raises:
        WrightError: cost-figure, for every text that is no figure of ours.
    """
    from clusterwright.errors import EXIT_USAGE, Finding, WrightError, did_you_mean
    from clusterwright.plan.cost.figures import Estimate

    taken, found = dict(values), []
    for text in figures:
        name, _, numbers = text.partition("=")
        try:
            parts = [float(each) for each in numbers.split(":")]
            low, likely, high = parts if len(parts) == 3 else parts * 3
            taken[name] = Estimate(low, likely, high, values[name].unit, "your own")
        except KeyError:
            meant = did_you_mean(name, list(values))
            mend = f"did you mean `{meant}`?" if meant else f"the figures are {', '.join(values)}"
            found.append(Finding("cost-figure", f"there is no figure `{name}`", mend))
        except ValueError:
            message = f"`{text}` is not NAME=LOW:LIKELY:HIGH, the three in order"
            found.append(
                Finding("cost-figure", message, "write it as server=200000:250000:300000 or pue=1.3")
            )
    if found:
        raise WrightError(*found, exit_code=EXIT_USAGE)
    return taken


def finite(document: Any) -> Any:
    """The same as plain values that JSON knows: dataclasses as objects, and nothing in place of the infinite."""
    if is_dataclass(document) and not isinstance(document, type):
        document = {each.name: getattr(document, each.name) for each in fields(document)}
    if isinstance(document, Mapping):
        return {key: finite(value) for key, value in document.items()}
    if isinstance(document, list | tuple):
        return [finite(value) for value in document]
    return None if isinstance(document, float) and not isfinite(document) else document
