"""Parse ib_write_bw, ib_read_bw, ib_send_bw and the latency programs of linux-rdma/perftest, 3.0 to 25.x."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.units import MiB

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
# Long latencies leave no blank before the next column; each has two decimals.
_TIME = re.compile(r"-?\d+\.\d{2}|-?\d+")
_NAME = re.compile(r"[\w.#%]+(?: (?:peak|average|percentile))?\[[^\]]+\]|#bytes|#iterations|tps average")
_SETTING = re.compile(r"([A-Za-z][\w .*-]*?)\s*: (\S+)")
_GPU = "allocated GPU buffer"  # with --use_cuda, from 3.0 on
_BITS = {"MB/sec": 8 * MiB, "MiB/sec": 8 * MiB, "Gb/sec": 10**9}  # perftest's MB are 2^20 bytes


@dataclass(frozen=True, slots=True)
class PerftestResult:
    """One result line: message size in bytes, bandwidths in bits/s or times in seconds."""

    size: int
    average: float
    peak: float | None
    typical: float | None
    p99: float | None


@dataclass(frozen=True, slots=True)
class Perftest:
    """The result lines, and the run's own settings: `Device`, `Link type`, `Mtu`, `Transport type`."""

    results: tuple[PerftestResult, ...]
    settings: dict[str, str]


@dataclass(frozen=True, slots=True)
class RdmaPath:
    """The path that a run should use: the device, the link type as perftest names it, and whether from GPU to GPU."""

    device: str
    link: str  # IB, Ethernet
    gpu: bool = False


def perftest(out: str) -> Perftest:
    """Parse the results that a run of a perftest program prints.

    Raises:
        ValueError: There are none; has the last lines of output.
    """
    settings = _settings(out)
    results = tuple(_results(out))
    if not results:
        raise ValueError(" ".join(out.strip().splitlines()[-2:]) or "(nothing)")
    return Perftest(results, settings)


def astray(out: str, path: RdmaPath) -> str:
    """Return how an end's printed settings differ from the path; empty if they match."""
    settings = _settings(out)
    expected = {"Device": path.device, "Link type": path.link, "Transport type": "IB"}
    for name, value in expected.items():
        if settings.get(name) != value:
            return f"{name} {settings.get(name, 'not said')}, not {value}"
    return "not in a GPU's memory" if path.gpu and _GPU not in out else ""


def _settings(out: str) -> dict[str, str]:
    return {name.strip(): value for line in out.splitlines() for name, value in _SETTING.findall(line)}


def _results(out: str) -> Iterator[PerftestResult]:
    """Yield the results in an output of perftest: each line of numbers below a heading, which names the columns."""
    names: list[str] = []
    for line in out.splitlines():
        if line.lstrip().startswith("#bytes"):
            names = _NAME.findall(line)
        elif names and re.match(r"\s*\d+\s+\d+\s", line):
            figures = _TIME if "t_avg[usec]" in names else _NUMBER
            yield _result(dict(zip(names, figures.findall(line), strict=False)))


def _result(row: dict[str, str]) -> PerftestResult:
    unit = next((name.partition("[")[2][:-1] for name in row if name.startswith("BW average")), "")
    size = int(row["#bytes"])
    if unit:
        peak = float(row[f"BW peak[{unit}]"]) * _BITS[unit]
        # with a duration (-D) there is no peak, and 0.00 is printed (perftest issue 234)
        return PerftestResult(size, float(row[f"BW average[{unit}]"]) * _BITS[unit], peak or None, None, None)
    times = {name: float(value) / 1e6 for name, value in row.items() if name.endswith("[usec]")}
    return PerftestResult(
        size, times["t_avg[usec]"], None, times.get("t_typical[usec]"), times.get("99% percentile[usec]")
    )
