"""Parse what `gpu.py` prints on a host: each GPU's figures, wrong results, and state under load; pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from clusterwright.check.bench.host_bench import BenchFigure
from clusterwright.check.bench.rounds import Pair
from clusterwright.i18n import _

TO_PEER, FROM_PEER = "copies to a peer", "copies from a peer"
MATRIX = "matrix "  # prefix of the compute steps' names; the precision follows
MHZ = 1e6


@dataclass(frozen=True, slots=True)
class GpuLoad:
    """A GPU's state while it computed, and its PCIe link while it copied; None where nothing was read."""

    temperature_c: float | None = None
    before_c: float | None = None
    after_c: float | None = None
    sm_hz: float | None = None
    sm_most_hz: float | None = None
    power_w: float | None = None
    reasons: int = 0
    pcie: tuple[int, int, int, int] | None = None  # generation, its maximum, lanes, their maximum


@dataclass(frozen=True, slots=True)
class Tested:
    """One GPU: figures, wrong results, its state under load; `reason`: the error that stopped its steps."""

    index: int
    name: str
    figures: tuple[BenchFigure, ...]
    wrong: tuple[str, ...]
    load: GpuLoad
    reason: str = ""

    @property
    def part(self) -> str:
        """The GPU's name in verdicts."""
        return f"gpu {self.index}"


@dataclass(frozen=True, slots=True)
class Gpus:
    """All GPUs of a host, the copy rates between each two by their part names, and nvidia-smi's error (`blind`).

    `direct`: whether a copy bypasses the host's memory.
    """

    devices: tuple[Tested, ...]
    link_rates: Mapping[Pair, float]
    direct: Mapping[Pair, bool]
    blind: str = ""


def gpus(report: Mapping[str, Any]) -> Gpus:
    """Parse everything that the GPU bench measured on one host.

    Raises:
        ValueError: A key is missing.
    """
    try:
        rows = report["gpus"]
        link_rates: dict[Pair, float] = dict(_peer_values(rows, "rates"))
        devices = tuple(_tested(row, link_rates) for row in rows)
        return Gpus(devices, link_rates, dict(_peer_values(rows, "direct")), report["blind"])
    except KeyError as error:
        raise ValueError(_("the output of the GPU bench lacks {error}", error=error)) from error


def _tested(row: Mapping[str, Any], link_rates: Mapping[Pair, float]) -> Tested:
    steps = row["steps"]
    wrong = tuple(f"{name}: {message}" for name, step in steps.items() for message in step["wrong"])
    figures = (*_figures(steps), *_best_peer_figures(f"gpu {row['index']}", link_rates))
    return Tested(row["index"], row.get("name", ""), figures, wrong, _load(row["readings"]), row["reason"])


def _figures(steps: Mapping[str, Mapping[str, Any]]) -> Iterator[BenchFigure]:
    for name, step in steps.items():
        if name.startswith(MATRIX):
            yield BenchFigure(f"{name.removeprefix(MATRIX)} products", "FLOP/s", step["flop_per_s"])
    if memory := steps.get("memory"):
        for name in ("copy", "triad"):
            yield BenchFigure(f"memory {name}", "bytes/s", memory[name])
    if copy_rates := steps.get("copies"):
        how = {"pinned": copy_rates["pinned"]}
        yield BenchFigure("copies from the host", "bytes/s", copy_rates["there"], how)
        yield BenchFigure("copies to the host", "bytes/s", copy_rates["back"], how)


def _peer_values(rows: Iterable[Mapping[str, Any]], key: str) -> Iterator[tuple[Pair, Any]]:
    for row in rows:
        for peer, value in row["steps"].get("peers", {}).get(key, {}).items():
            yield (f"gpu {row['index']}", f"gpu {peer}"), value


def _best_peer_figures(part: str, link_rates: Mapping[Pair, float]) -> Iterator[BenchFigure]:
    """Return the copy rates with the best partner in each direction: so a bad GPU does not make its peers look bad."""
    for position, quantity in ((0, TO_PEER), (1, FROM_PEER)):
        rates = [rate for ends, rate in link_rates.items() if ends[position] == part]
        if rates:
            yield BenchFigure(quantity, "bytes/s", max(rates))


def _load(readings: Mapping[str, Any]) -> GpuLoad:
    readings_by_step = readings["during"]
    working = [row for name, rows in readings_by_step.items() if name.startswith(MATRIX) for row in rows]
    clocks, most = _all(working, "clocks.current.sm"), _all(working, "clocks.max.sm")
    bits = map(int, _all(working, "clocks_event_reasons.active"))
    return GpuLoad(
        max(_all(working, "temperature.gpu"), default=None),
        readings.get("before", {}).get("temperature.gpu"),
        readings.get("after", {}).get("temperature.gpu"),
        statistics.median(clocks) * MHZ if clocks else None,
        max(most) * MHZ if most else None,
        max(_all(working, "power.draw"), default=None),
        reduce(int.__or__, bits, 0),
        _pcie(readings_by_step.get("copies", [])),
    )


def _all(rows: Iterable[Mapping[str, Any]], field: str) -> list[float]:
    return [row[field] for row in rows if row.get(field) is not None]


def _pcie(rows: list[Mapping[str, Any]]) -> tuple[int, int, int, int] | None:
    """Return the PCIe link's best (generation, its maximum, lanes, their maximum) during copies; None without readings.

    An idle link rests at a lower generation.
    """
    names = [f"pcie.link.{attribute}.{when}" for attribute in ("gen", "width") for when in ("current", "max")]
    values = [_all(rows, name) for name in names]
    if not all(values):
        return None
    gen, gen_most, width, width_most = (int(max(several)) for several in values)
    return gen, gen_most, width, width_most
