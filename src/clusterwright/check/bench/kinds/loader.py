"""Measure the rate of every host's DataLoader on the folder that trainings read, all hosts at the same time.

There is no expected rate: a host is compared with the others, at its best number of workers.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from clusterwright.check.bench.amounts import amount
from clusterwright.check.bench.host_bench import BenchFigure, HostBench, measure
from clusterwright.check.bench.measure import Measurement
from clusterwright.check.bench.site import BenchOutcome, BenchSite
from clusterwright.check.bench.stage import StageAnswer, StagedPart
from clusterwright.config.names import fold
from clusterwright.i18n import N_, _

# About ImageNet's size of a sample (110 kB); two copies of 512 MiB a host, of 32 MiB in a lab.
SAMPLE_BYTES, SAMPLES, LAB_SAMPLES, SHARDS = 128 * 1024, 4096, 256, 8
LIMIT_S = 900.0
FIX = N_("check the host's route to the file server (wright bench storage) and other load on its cores")


def loader(site: BenchSite) -> BenchOutcome:
    """Measure every host's DataLoader with 0, 1, 2, 4 ... workers, for data in the page cache and for other data."""
    samples = LAB_SAMPLES if site.cluster.lab else SAMPLES
    arguments = {
        "folder": f"{site.cluster.shared_folder}/bench",
        "samples": samples,
        "sample_bytes": SAMPLE_BYTES,
        "shards": SHARDS,
    }
    part = StagedPart("loader", arguments, LIMIT_S, site.cluster.software.python)
    outcome = measure(site, HostBench("loader", lambda _host: part, figures, FIX))
    return BenchOutcome(outcome.measurements, outcome.verdicts, (*outcome.notes, *best(outcome.measurements)))


def figures(answer: StageAnswer) -> tuple[BenchFigure, ...]:
    """Parse what one host measured; a quantity has one figure for each number of workers."""
    document = answer.document
    return tuple(
        BenchFigure(
            f"samples from {row['kind']}, {row['cache']}",
            "1/s",
            row["samples_per_s"],
            {"workers": row["workers"], "sample_bytes": document["sample_bytes"]},
        )
        for row in document["rates"]
    )


def best(rows: Sequence[Measurement]) -> Iterator[str]:
    """Yield a note for each quantity: the fastest numbers of workers with their hosts, and the median host's rate."""
    for quantity in dict.fromkeys(row.quantity for row in rows):
        fastest: dict[str, Measurement] = {}
        for row in rows:
            if row.quantity == quantity:
                fastest[row.subject] = max(
                    fastest.get(row.subject, row), row, key=lambda measurement: measurement.value
                )
        usual = statistics.median(row.value for row in fastest.values())
        size = float(rows[0].conditions["sample_bytes"])
        figures = _(
            "{rate}, {bandwidth} on the median host",
            rate=amount(usual, "1/s"),
            bandwidth=amount(usual * size, "bytes/s"),
        )
        yield _(
            "{quantity}: {figures}; fastest with {fastest}",
            quantity=quantity,
            figures=figures,
            fastest="; ".join(_by_workers(fastest)),
        )


def _by_workers(fastest: dict[str, Measurement]) -> Iterator[str]:
    for number in sorted({int(row.conditions["workers"]) for row in fastest.values()}):
        hosts = [host for host, row in fastest.items() if row.conditions["workers"] == number]
        yield _("{number} workers on {hosts}", number=number, hosts=fold(hosts))
