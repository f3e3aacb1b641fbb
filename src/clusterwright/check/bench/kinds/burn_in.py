"""Burn-in: every host under load for a requested time; every result is verified, and the checks run meanwhile.

Orders of two minutes, so that an interrupt loses no more. At the end the checks of the occasion `burn-in` are judged,
together with the verdicts under load that were worse.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from math import ceil
from typing import Any

from clusterwright.check.bench.burn_in.burned import BENCH, Burned, drift, verdicts
from clusterwright.check.bench.burn_in.sampler import sampling
from clusterwright.check.bench.kinds.network import streams_for
from clusterwright.check.bench.measure import Condition, Measurement
from clusterwright.check.bench.rounds import Round, round_robin
from clusterwright.check.bench.site import BenchOutcome, BenchSite, port
from clusterwright.check.bench.stage import StagedPart, malformed
from clusterwright.check.bench.storage.scratch import equals
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_reader import DATA_ERRORS
from clusterwright.units import GiB, MiB, format_duration

ORDER_S, SLICES, LONGEST_SLICE_S = 120, 20, 6.0
START_S = 240.0  # importing torch on a busy host, and the last step of each load
PAIR_REST_S = 5.0  # of an order, in which streams start and stop
SIZE, LAB_SIZE, GPU_SIZE = 2048, 256, 8192
DISK_BYTES, LAB_DISK_BYTES, LAB_MEMORY_BYTES = GiB, 8 * MiB, 64 * MiB
MEMORY_SHARE = 2  # half of a host's memory
HEAT = {"temperature": ("C", max), "clock": ("MHz", min), "power": ("W", max)}


def burn_in(site: BenchSite) -> BenchOutcome:
    """Load all hosts until the time is over, the job ends or the user interrupts; then judge what was measured.

    Raises:
        WrightError: The job ended before anything was measured.
    """
    burned = {host: Burned(host) for host in site.stage.hosts}
    notes: list[str] = []
    with sampling(site) as sampled:
        try:
            _load(site, burned)
        except KeyboardInterrupt:
            notes.append(_("the burn-in was interrupted: the hosts are judged by the results so far"))
            site.log(notes[-1])
        except WrightError as error:
            if not any(record.rates for record in burned.values()):
                raise
            notes.append(
                _(
                    "the burn-in ended early: the hosts are judged by the results so far: {message}",
                    message=error.findings[0].message,
                )
            )
    records = [record for record in burned.values() if record.host in site.stage.hosts]
    notes += _of_network(records)
    return BenchOutcome(
        tuple(_rows([*burned.values()])), (*verdicts(records), *sampled.verdicts()), tuple(notes)
    )


def orders(lasts_s: int) -> list[float]:
    """Split the duration into equal parts of at most 120 s, one for each run of the workers; return their seconds."""
    count = max(1, ceil(lasts_s / ORDER_S))
    return [lasts_s / count] * count


def _load(site: BenchSite, burned: dict[str, Burned]) -> None:
    several = orders(site.lasts_s)
    rounds = round_robin(site.stage.hosts)
    for number, seconds in enumerate(several):
        site.log(
            _(
                "{elapsed} of {total}",
                elapsed=format_duration(int(seconds * number)),
                total=format_duration(site.lasts_s),
            )
        )
        pairs = rounds[number % len(rounds)] if rounds else ()
        answers = site.stage.do(_parts(site, pairs, number, seconds))
        for host, answer in answers.items():
            reason = answer.reason
            if not reason:
                try:
                    burned[host].add(answer.document)
                    _log_errors(site, burned[host])
                except DATA_ERRORS as error:
                    reason = malformed(error)
            if reason:
                burned[host].broken["load"] = reason


def _log_errors(site: BenchSite, record: Burned) -> None:
    for name, messages in record.wrong.items():
        site.log(f"{record.host}: {name}: {messages[-1]}")


def _parts(site: BenchSite, pairs: Round, number: int, seconds: float) -> dict[str, StagedPart]:
    ends = {
        host: _end(site, pair, role, number, seconds)
        for pair in pairs
        for host, role in zip(pair, ("server", "client"), strict=True)
        if {*pair} <= {*site.stage.hosts}
    }
    python = site.cluster.software.python
    folders: dict[str, list[str]] = {}
    for (path, _disk), hosts in equals(site).items():
        for host in hosts:
            folders.setdefault(host, []).append(path)
    return {
        host: StagedPart(
            BENCH,
            _arguments(site, host, seconds, folders.get(host, [])) | {"pair": ends.get(host)},
            seconds + START_S,
            python,
        )
        for host in site.stage.hosts
    }


def _arguments(site: BenchSite, host: str, seconds: float, folders: list[str]) -> dict[str, Any]:
    """Return the load program's arguments; small sizes in a lab, whose hosts share one machine."""
    lab = site.cluster.lab is not None
    return {
        "seconds": seconds,
        "slice_s": min(seconds / SLICES, LONGEST_SLICE_S),
        "folders": folders,
        "memory_bytes": LAB_MEMORY_BYTES if lab else site.host(host).group.memory // MEMORY_SHARE,
        "disk_bytes": LAB_DISK_BYTES if lab else DISK_BYTES,
        "threads": 1 if lab else 0,
        "size": LAB_SIZE if lab else SIZE,
        "gpu_size": GPU_SIZE,
    }


def _end(site: BenchSite, pair: tuple[str, str], role: str, number: int, seconds: float) -> dict[str, Any]:
    server, client = pair
    return {
        "role": role,
        "tool": "tcp",
        "address": site.address(server),
        "own": site.address(client),
        "port": port(number),
        "seconds": max(1, int((seconds - PAIR_REST_S) / 2)),
        "streams": streams_for(site.network.rate / site.rate_divisor),
    }


def _of_network(burned: list[Burned]) -> list[str]:
    """Return a note on the network streams that failed, with one of their errors; empty if none failed."""
    failed = [f"{record.host}: {record.pairs_failed[-1]}" for record in burned if record.pairs_failed]
    count, total = sum(len(record.pairs_failed) for record in burned), sum(record.pairs for record in burned)
    return (
        [
            _(
                "network load: {count} of {total} endpoints of the data streams failed; {failed}",
                count=count,
                total=total,
                failed=failed[0],
            )
        ]
        if failed
        else []
    )


def _rows(burned: list[Burned]) -> Iterator[Measurement]:
    for record in burned:
        for name, rates in record.rates.items():
            how: dict[str, Condition] = {"slices": len(rates)}
            unit = "FLOP/s" if name.endswith("products") else "bytes/s"
            yield Measurement(
                BENCH, record.host, name, unit, statistics.median(rates or [0.0]), (record.host,), how
            )
            if load_drift := drift(rates):
                yield Measurement(
                    BENCH,
                    record.host,
                    _("{name} drift", name=name),
                    _("of the first"),
                    load_drift.share,
                    (record.host,),
                    how,
                )
        for name, values in record.heat.items():
            unit, worst = HEAT[name.rpartition(" ")[2]]
            yield Measurement(
                BENCH, record.host, f"{worst.__name__} {name}", unit, worst(values), (record.host,)
            )
