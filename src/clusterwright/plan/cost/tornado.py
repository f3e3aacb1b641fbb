"""Sensitivity of a result: each input at its low and high value, the others at their likely ones (tornado chart)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterwright.drawing.svg import Scale, is_narrow, line, scale, svg_image, tag, text_element
from clusterwright.i18n import N_, _, both_languages
from clusterwright.plan.cost.figures import likely

if TYPE_CHECKING:
    from clusterwright.plan.cost.figures import Figures, Inputs


@dataclass(frozen=True, slots=True)
class TornadoBar:
    """The result with one input at its low and at its high value."""

    name: str
    at_low: float
    at_high: float

    @property
    def swing(self) -> float:
        """Absolute difference between the results at the input's low and high value."""
        return abs(self.at_high - self.at_low)


def tornado(inputs: Inputs, result: Callable[[Figures], float]) -> tuple[TornadoBar, ...]:
    """Compute the result at the low and high value of each input that changes it, largest swing first.

    The other inputs have their likely value.
    """
    middle = likely(inputs)
    bars = (
        TornadoBar(
            name,
            result(replace(middle, **{name: estimate.low})),
            result(replace(middle, **{name: estimate.high})),
        )
        for name, estimate in inputs.items()
    )
    return tuple(sorted((bar for bar in bars if bar.swing), key=lambda bar: -bar.swing))


def ends(inputs: Inputs, result: Callable[[Figures], float]) -> tuple[float, float]:
    """Return (lowest, highest) result with every input at its better or worse end: bounds, not a likely range."""
    middle = likely(inputs)
    low, high = {}, {}
    for bar in tornado(inputs, result):
        estimate = inputs[bar.name]
        start, last = (
            (estimate.low, estimate.high) if bar.at_low <= bar.at_high else (estimate.high, estimate.low)
        )
        low[bar.name], high[bar.name] = start, last
    return result(replace(middle, **low)), result(replace(middle, **high))


THICK, PITCH, TOP, BOTTOM = 18.0, 28.0, 8.0, 22.0  # in units of the drawing
MAX_BARS = 8
NAMES = {  # field of Figures -> label
    "server": N_("server"), "network_share": N_("network"), "storage_share": N_("storage"),
    "installation_share": N_("installation"), "staff": N_("staff"), "support_share": N_("support"),
    "node_kw": N_("power of a node"), "pue": N_("PUE"), "energy": N_("electricity"),
    "colocation": N_("colocation"), "residual_share": N_("residual value"), "life_years": N_("life"),
}  # fmt: skip


def drawn(bars: Sequence[TornadoBar], likely: float, unit: str, width: float) -> str:
    """Draw the tornado chart: the first 8 bars around a line at the likely result."""
    top_bars = bars[:MAX_BARS]
    ends = [end for bar in top_bars for end in (bar.at_low, bar.at_high)]
    left = 8.0 if is_narrow(width) else 210.0
    x = scale(min([likely, *ends]), max([likely, *ends]), left + 46, width - 56)
    pitch = PITCH + (16 if is_narrow(width) else 0)
    bottom = TOP + len(top_bars) * pitch
    pieces = [
        *(piece for row, bar in enumerate(top_bars) for piece in _bar(x, TOP + row * pitch, bar, width)),
        line(x(likely), TOP - 4, x(likely), bottom, "new-line"),
        text_element(f"{likely:.2f} {unit}", x(likely), bottom + 15, "new-text", text_anchor="middle"),
    ]
    description = "; ".join(
        _(
            "{name}: {low:.2f} to {high:.2f}",
            name=_(NAMES.get(bar.name, bar.name)),
            low=bar.at_low,
            high=bar.at_high,
        )
        for bar in top_bars
    )
    return svg_image(
        (width, bottom + BOTTOM), _("What determines the cost of an owned GPU-hour"), description, *pieces
    )


def _bar(x: Scale, top: float, bar: TornadoBar, width: float) -> Iterator[str]:
    name = both_languages(NAMES.get(bar.name, bar.name))
    if is_narrow(width):
        yield text_element(name, 2, top + 12, "said")
        top += 16
    else:
        yield text_element(name, 202, top + THICK / 2 + 5, "said", text_anchor="end")
    low, high = sorted((bar.at_low, bar.at_high))
    text = _(
        "{name}: {low:.3g} at the low value, {high:.3g} at the high value",
        name=name,
        low=bar.at_low,
        high=bar.at_high,
    )
    title = tag("title", text)
    yield tag("rect", title, x=x(low), y=top, width=x(high) - x(low), height=THICK, rx=2, class_="part-1")
    yield text_element(f"{low:.2f}", x(low) - 5, top + THICK / 2 + 5, "tick", text_anchor="end")
    yield text_element(f"{high:.2f}", x(high) + 5, top + THICK / 2 + 5, "tick")
