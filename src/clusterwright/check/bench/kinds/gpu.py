"""Every GPU of every host: matrix products, memory, copies to the host and to its peers; every result is verified.

Products and memory run on all GPUs of a host at the same time, as in a training, with its heat and power; copies run
on one GPU after the other, as some share their path to the host.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from clusterwright import catalog
from clusterwright.catalog.records import Gpu
from clusterwright.check.bench.gpu.expected import expected, precisions
from clusterwright.check.bench.gpu.gpus import BENCH, GpuRun, in_doubt, verdicts
from clusterwright.check.bench.judging import Expectation
from clusterwright.check.bench.measure import Condition, Measurement, pair
from clusterwright.check.bench.parsers.gpu import MATRIX, GpuLoad, Gpus, Tested, gpus
from clusterwright.check.bench.site import BenchOutcome, BenchSite
from clusterwright.check.bench.stage import StageAnswer, StagedPart
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config import nodes
from clusterwright.errors import WrightError
from clusterwright.i18n import N_, _
from clusterwright.plan.machines import gpu_like

SIDE, SECONDS = 8192, 4.0  # sums of this many small integers are exact in fp32
MEMORY_BYTES = 2**30  # more than the caches of any GPU; three of them fit into the smallest
COPY_BYTES, COPY_SECONDS = 2**28, 0.5  # for each direction and each peer
STEP_S = 120.0  # ours: the longest time without output from a GPU in one step
LIMIT_S = 560.0  # START_S of programs/gpu.py; a minute for steps of eight GPUs; the rest is for slow ones
SIMULATED = N_("GPUs of a lab are simulated: their rates cannot be measured")

Hosts = dict[str, Gpus]
Failed = dict[str, str]


def gpu(site: BenchSite) -> BenchOutcome:
    """Measure products, memory and copies of the GPUs of all hosts; return measurements, verdicts and notes.

    Those of hosts in doubt are measured once more. In a lab, or if no host has GPUs, nothing is measured, and all hosts
    are unknown.
    """
    hosts = tuple(host for host in site.stage.hosts if site.host(host).group.gpus)
    if not hosts or site.cluster.lab:
        reason = SIMULATED if hosts else _("none of these hosts has GPUs (nodes.*.gpus)")
        return BenchOutcome(
            verdicts=tuple(Verdict(host, BENCH, Status.UNKNOWN, reason) for host in site.stage.hosts)
        )
    rows = {host: row_of(site, host) for host in hosts}
    models = {host: row.name if row else _declared(site, host).model for host, row in rows.items()}
    expect = partial(_expectation, site, rows)
    first_pass, failed = _measure(site, hosts, rows)
    passes = [first_pass]
    if retry_hosts := in_doubt(GpuRun(passes, models, expect)) if first_pass else ():
        site.log(_("measured again: {retry_hosts}", retry_hosts=", ".join(retry_hosts)))
        passes.append(_measure(site, retry_hosts, rows)[0])
    all_verdicts = (*verdicts(GpuRun(passes, models, expect)), *_unmeasured(failed))
    return BenchOutcome(tuple(_rows(passes)), all_verdicts, tuple(_notes(site, rows, first_pass)))


def row_of(site: BenchSite, host: str) -> Gpu | None:
    """Return the GPU of the catalog that the cluster file declares for a host; None if there is no match."""
    try:
        return gpu_like(_declared(site, host), catalog.gpus().values())
    except WrightError:
        return None


def steps(row: Gpu | None) -> list[dict[str, Any]]:
    """Return the steps that every GPU runs: reference, products by precision, memory, copies and peers.

    The reference comes first, so that all GPUs start products together.
    """
    parallel_steps: dict[str, dict[str, Any]] = {
        "reference": {"do": "reference", "side": SIDE},
        **{f"{MATRIX}{precision}": {"do": "matrix", "precision": precision} for precision in precisions(row)},
        "memory": {"do": "memory", "bytes": MEMORY_BYTES},
    }
    serial_steps = {
        "copies": {"do": "copies", "bytes": COPY_BYTES},
        "peers": {"do": "peers", "bytes": COPY_BYTES},
    }
    return [
        *(_step(name, options, SECONDS, parallel=True) for name, options in parallel_steps.items()),
        *(_step(name, options, COPY_SECONDS, parallel=False) for name, options in serial_steps.items()),
    ]


def _step(name: str, options: Mapping[str, Any], seconds: float, *, parallel: bool) -> dict[str, Any]:
    return {"name": name, "together": parallel, "limit_s": STEP_S, "asked": {**options, "seconds": seconds}}


def _declared(site: BenchSite, host: str) -> nodes.Gpus:
    group_gpus = site.host(host).group.gpus
    assert group_gpus is not None  # noqa: S101 (only hosts with GPUs are measured)
    return group_gpus


def _gpu_count(site: BenchSite) -> int:
    """Return the smallest GPU count of the hosts that have GPUs: one job requests the same count on each."""
    return min(gpus.count for host in site.facts if (gpus := site.host(host).group.gpus))


def _expectation(
    site: BenchSite, rows: Mapping[str, Gpu | None], host: str, quantity: str
) -> Expectation | None:
    row = rows[host]
    return expected(quantity, row, nvlink=_declared(site, host).nvlink) if row else None


def _measure(site: BenchSite, hosts: tuple[str, ...], rows: Mapping[str, Gpu | None]) -> tuple[Hosts, Failed]:
    """Run the bench's steps for GPUs on each host; return the results, and the errors of hosts without any."""
    parts = {host: _part(site, rows[host]) for host in hosts}
    results: Hosts = {}
    failed: Failed = {}
    for host, answer in site.stage.do(parts).items():
        try:
            results[host] = _read(answer)
        except ValueError as error:
            failed[host] = str(error)
    return results, failed


def _part(site: BenchSite, row: Gpu | None) -> StagedPart:
    arguments = {"device": "cuda", "count": _gpu_count(site), "steps": steps(row)}
    return StagedPart("gpu", arguments, LIMIT_S, site.cluster.software.python)


def _read(answer: StageAnswer) -> Gpus:
    """Return the results of a host's GPUs from the output of its program.

    Raises:
        ValueError: the program failed, or all GPUs failed for the same reason; has that reason.
    """
    if answer.reason:
        raise ValueError(answer.reason)
    host_gpus = gpus(answer.document)
    whys = {device.reason for device in host_gpus.devices}
    if "" not in whys and len(whys) == 1:
        raise ValueError(_("no GPU could be measured: {reason}", reason=whys.pop()))
    return host_gpus


def _unmeasured(failed: Failed) -> Iterator[Verdict]:
    fix = _("set software.python to a Python whose torch has CUDA; then run nvidia-smi on the host")
    return (Verdict(host, BENCH, Status.UNKNOWN, reason, fix=fix) for host, reason in failed.items())


def _notes(site: BenchSite, rows: Mapping[str, Gpu | None], hosts: Hosts) -> Iterator[str]:
    unknown = sorted({_declared(site, host).model for host, row in rows.items() if row is None})
    for model in unknown:
        yield _(
            "the catalog has no GPU `{model}`, so its GPUs are compared only with each other", model=model
        )
    for host, host_gpus in hosts.items():
        if (count := _declared(site, host).count) > len(host_gpus.devices):
            gpu_count = len(host_gpus.devices)
            yield _(
                "{host}: measured {gpu_count} of its {count} GPUs, "
                "because every host is measured with the same number; "
                "to measure all, run the bench on this host alone (--hosts)",
                host=host,
                gpu_count=gpu_count,
                count=count,
            )
        if host_gpus.blind:
            yield _(
                "{host}: clocks, temperature and power not read: {reason}", host=host, reason=host_gpus.blind
            )


def _rows(passes: list[Hosts]) -> Iterator[Measurement]:
    for number, hosts in enumerate(passes):
        for host, host_gpus in hosts.items():
            for device in host_gpus.devices:
                yield from _gpu_rows(host, device, number + 1)
            for ends, rate in host_gpus.link_rates.items():
                how = {"direct": host_gpus.direct[ends], "pass": number + 1}
                yield Measurement(BENCH, f"{host} {pair(*ends)}", "copy", "bytes/s", rate, (host,), how)


def _gpu_rows(host: str, tested: Tested, number: int) -> Iterator[Measurement]:
    subject = f"{host} {tested.part}"
    how: dict[str, Condition] = {"gpu": tested.name, "pass": number}
    for figure in tested.figures:
        yield Measurement(
            BENCH, subject, figure.quantity, figure.unit, figure.value, (host,), {**figure.conditions, **how}
        )
    for quantity, unit, value in _pace(tested.load):
        yield Measurement(BENCH, subject, quantity, unit, value, (host,), how)


def _pace(load: GpuLoad) -> Iterator[tuple[str, str, float]]:
    for quantity, unit, value in (
        ("temperature before", "C", load.before_c),
        ("temperature under load", "C", load.temperature_c),
        ("temperature after", "C", load.after_c),
        ("SM clock under load", "Hz", load.sm_hz),
        ("power under load", "W", load.power_w),
    ):
        if value is not None:
            yield quantity, unit, value
