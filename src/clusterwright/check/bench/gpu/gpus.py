"""Verdicts on GPUs: each quantity against the model's expected value and against other GPUs of the model; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from clusterwright.check import slowdown
from clusterwright.check.bench.amounts import amount
from clusterwright.check.bench.fleet import fleet
from clusterwright.check.bench.gathered import gathered
from clusterwright.check.bench.judging import Expectation, Observation, judge, suspect
from clusterwright.check.bench.links import OF_ENDS, Passes, slow_links
from clusterwright.check.bench.parsers.gpu import GpuLoad, Gpus, Tested
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _

BENCH = "gpu"
FIXES = {
    "products": N_(
        "compare the GPU's clocks and power limit with other GPUs (nvidia-smi -q -d CLOCK,POWER); run dcgmi diag -r 3"
    ),
    "memory": N_("check ECC errors and remapped rows of the GPU (wright check), then run dcgmi diag -r 3"),
    "host": N_(
        "check the PCIe lanes and the slot of the GPU, and IOMMU and ACS in the BIOS (wright check; nvidia-smi topo -m)"
    ),
    "peer": N_("check the GPU's NVLinks and the fabric manager (wright check; nvidia-smi nvlink --status)"),
}
WRONG = N_(
    "the GPU computes wrong results: drain the host, run dcgmi diag -r 4, replace the GPU if it repeats"
)
HOT = N_("check the GPU's cooling: fans, filters, inlet air, heat sink contact")
BRAKED = N_("check the host's power supplies and their cables")
SLOWED = N_("check power and cooling of the host (nvidia-smi -q -d PERFORMANCE); reset the GPU when idle")

Hosts = Mapping[str, Gpus]
Expect = Callable[[str, str], Expectation | None]  # of a host and a quantity


@dataclass(frozen=True, slots=True)
class GpuRun:
    """All passes over some hosts, the GPU model of each host, and a function that returns expected values."""

    passes: Sequence[Hosts]
    model: Mapping[str, str]
    expect: Expect

    def last(self, host: str) -> Gpus:
        """Return the host's result in the last pass that included it."""
        return next(hosts[host] for hosts in reversed(self.passes) if host in hosts)


def in_doubt(run: GpuRun) -> tuple[str, ...]:
    """Return hosts to measure once more: those with a slow, wrong or failed GPU, or a slow link between GPUs."""
    doubtful = {
        observation.subject
        for observation, quantity in _observations(run)
        if suspect(observation, run.expect(observation.subject, quantity))
    }
    first_pass = run.passes[0]
    failed = {
        host for host, host_gpus in first_pass.items() for gpu in host_gpus.devices if gpu.wrong or gpu.reason
    }
    link_hosts = {
        host for host, host_gpus in first_pass.items() if any(slow_links(Passes((host_gpus.link_rates,))))
    }
    return tuple(host for host in first_pass if host in doubtful | failed | link_hosts)


def verdicts(run: GpuRun) -> Iterator[Verdict]:
    """Yield each GPU's bad verdicts, or one OK verdict; then the slow links between two GPUs."""
    rates = tuple(_of_rate(run, observation, quantity) for observation, quantity in _observations(run))
    for host in run.passes[0]:
        results = (verdict for gpu in run.last(host).devices for verdict in _of_results(run, host, gpu))
        yield from gathered(
            (*results, *(rate_verdict for rate_verdict in rates if rate_verdict.subject == host))
        )
        yield from _link_verdicts(run, host)


def _observations(run: GpuRun) -> Iterator[tuple[Observation, str]]:
    """Yield each quantity of each GPU, with the fleet statistics of all GPUs of the model."""
    values: dict[tuple[str, str, str], dict[tuple[str, str], list[float]]] = {}
    for hosts in run.passes:
        for host, host_gpus in hosts.items():
            for gpu in host_gpus.devices:
                for figure in gpu.figures:
                    alike = values.setdefault((run.model[host], figure.quantity, figure.unit), {})
                    alike.setdefault((host, gpu.part), []).append(figure.value)
    for (_model, quantity, unit), alike in values.items():
        usual = fleet(max(several) for several in alike.values())
        for (host, part), several in alike.items():
            yield Observation(host, tuple(several), usual, unit, part), quantity


def _of_rate(run: GpuRun, observation: Observation, quantity: str) -> Verdict:
    """Judge one rate; a bad verdict adds the GPU's state under load, and the fix for its throttling first.

    A copy to or from the host adds the GPU's PCIe link instead.
    """
    fix = next(text for name, text in FIXES.items() if name in quantity)
    verdict = judge(BENCH, observation, run.expect(observation.subject, quantity), fix)
    observed = f"{quantity} {verdict.observed}"
    if verdict.status in (Status.OK, Status.UNKNOWN):
        return replace(verdict, observed=observed)
    load = next(gpu.load for gpu in run.last(observation.subject).devices if gpu.part == observation.part)
    if "host" in quantity:
        return replace(verdict, observed=f"{observed}{_link(load)}")
    return replace(verdict, observed=f"{observed}{_state(load)}", fix=_fix(load) or verdict.fix)


def _state(load: GpuLoad) -> str:
    """Format a GPU's clock, temperature, power and throttling under load; "" without readings.

    Example: `; at 1.2 GHz of 1.98 GHz, 88 C (31 before), 412 W, throttled by heat`.
    """
    of_most = _(" of {amount}", amount=amount(load.sm_most_hz, "Hz")) if load.sm_most_hz else ""
    initial = "" if load.before_c is None else _(" ({before_c:g} before)", before_c=load.before_c)
    parts = (
        _("at {amount}{of_most}", amount=amount(load.sm_hz, "Hz"), of_most=of_most) if load.sm_hz else "",
        f"{load.temperature_c:g} C{initial}" if load.temperature_c is not None else "",
        amount(load.power_w, "W") if load.power_w else "",
        _("throttled by {reasons}", reasons=", ".join(slowdown.reasons(load.reasons)))
        if slowdown.reasons(load.reasons)
        else "",
    )
    text = ", ".join(part for part in parts if part)
    return f"; {text}" if text else ""


def _link(load: GpuLoad) -> str:
    """Format a GPU's PCIe link: `; over 8 of 16 lanes of PCIe 4.0 (supports 5.0)`; empty without readings."""
    if load.pcie is None:
        return ""
    gen, gen_most, width, width_most = load.pcie
    can = _(" (supports {gen_most}.0)", gen_most=gen_most) if gen_most > gen else ""
    return _(
        "; over {width} of {width_most} lanes of PCIe {gen}.0{can}",
        width=width,
        width_most=width_most,
        gen=gen,
        can=can,
    )


def _fix(load: GpuLoad) -> str:
    """Return the fix for the GPU's throttling; empty if it is not throttled."""
    if load.reasons & slowdown.HEAT:
        return HOT
    if load.reasons & slowdown.POWER_BRAKE:
        return BRAKED
    return SLOWED if slowdown.reasons(load.reasons) else ""


def _of_results(run: GpuRun, host: str, last: Tested) -> Iterator[Verdict]:
    """Yield the verdicts on one GPU that failed: wrong values in any pass, or no results in the last one."""
    passes = [hosts[host] for hosts in run.passes if host in hosts]
    wrong = next(
        (
            gpu.wrong
            for host_gpus in passes
            for gpu in host_gpus.devices
            if gpu.part == last.part and gpu.wrong
        ),
        (),
    )
    if wrong:
        more = _(" and {count} more", count=len(wrong) - 1) if len(wrong) > 1 else ""
        yield Verdict(
            host, BENCH, Status.FAIL, f"{wrong[0]}{more}", _("every element correct"), WRONG, last.part
        )
    if last.reason:
        is_isolated_failure = any(not gpu.reason for gpu in run.last(host).devices)
        status = Status.FAIL if is_isolated_failure and len(passes) > 1 else Status.UNKNOWN
        fix = (
            _(
                "check the kernel log for Xids of the GPU (check gpu_xids "
                "of `wright check`), and run nvidia-smi on the host"
            )
            if is_isolated_failure
            else ""
        )
        yield Verdict(host, BENCH, status, last.reason, _("every GPU returns results"), fix, last.part)


def _link_verdicts(run: GpuRun, host: str) -> Iterator[Verdict]:
    """Yield verdicts on pairs of GPUs that are slow with each other and fast with others."""
    passes = tuple(hosts[host].link_rates for hosts in run.passes if host in hosts)
    for _ends, observation in slow_links(Passes(passes)):
        verdict = judge(BENCH, observation, OF_ENDS, FIXES["peer"])
        yield replace(verdict, subject=host, part=observation.subject)
