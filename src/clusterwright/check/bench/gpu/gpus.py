"""Verdicts on GPUs: each quantity by what its model should do and by the other GPUs of the model; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from clusterwright.check import slowdown
from clusterwright.check.bench.fleet import fleet
from clusterwright.check.bench.gathered import gathered
from clusterwright.check.bench.judging import Expectation, Seen, judge, suspect
from clusterwright.check.bench.links import OF_ENDS, Passes, slow_ways
from clusterwright.check.bench.parsers.gpu import Gpus, Load, Tested
from clusterwright.check.bench.words import amount
from clusterwright.check.verdict import Status, Verdict

BENCH = "gpu"
MENDS = {
    "products": "compare its clocks and power limit with the others' (nvidia-smi -q -d CLOCK,POWER); dcgmi diag -r 3",
    "memory": "see ECC and remapped rows (wright check), then dcgmi diag -r 3",
    "host": "see its PCIe lanes and slot, and the BIOS for IOMMU and ACS (wright check; nvidia-smi topo -m)",
    "peer": "see its NVLinks and the fabric manager (wright check; nvidia-smi nvlink --status)",
}
WRONG = "it computes wrongly: drain the host, dcgmi diag -r 4, replace the GPU if it comes again"
HOT = "see its cooling: fans, filters, air at the inlet, the seat of its heat sink"
BRAKED = "see power supplies and their cables"
SLOWED = "see power and cooling of the host (nvidia-smi -q -d PERFORMANCE); reset the GPU when idle"

Hosts = Mapping[str, Gpus]
Want = Callable[[str, str], Expectation | None]  # of a host's GPUs and a quantity


@dataclass(frozen=True, slots=True)
class Told:
    """All passes over some hosts, the model of each host's GPUs, and what is expected of them."""

    passes: Sequence[Hosts]
    model: Mapping[str, str]
    want: Want

    def last(self, host: str) -> Gpus:
        """Of the pass that a host took part in last."""
        return next(found[host] for found in reversed(self.passes) if host in found)


def in_doubt(told: Told) -> tuple[str, ...]:
    """Hosts to measure once more: those of GPUs in doubt, that computed wrongly, or that failed."""
    doubtful = {
        seen.subject for seen, quantity in _seen(told) if suspect(seen, told.want(seen.subject, quantity))
    }
    first = told.passes[0]
    failed = {host for host, found in first.items() for each in found.each if each.wrong or each.why}
    ways = {host for host, found in first.items() if any(slow_ways(Passes((found.ways,))))}
    return tuple(host for host in first if host in doubtful | failed | ways)


def verdicts(told: Told) -> Iterator[Verdict]:
    """Of each GPU everything that is not well, or one verdict for all of it; then ways between two."""
    rates = tuple(_of_rate(told, seen, quantity) for seen, quantity in _seen(told))
    for host in told.passes[0]:
        results = (verdict for each in told.last(host).each for verdict in _of_results(told, host, each))
        yield from gathered((*results, *(each for each in rates if each.subject == host)))
        yield from _of_ways(told, host)


def _seen(told: Told) -> Iterator[tuple[Seen, str]]:
    """Each quantity of each GPU, beside the same of all GPUs of the model."""
    values: dict[tuple[str, str, str], dict[tuple[str, str], list[float]]] = {}
    for hosts in told.passes:
        for host, found in hosts.items():
            for gpu in found.each:
                for each in gpu.figures:
                    alike = values.setdefault((told.model[host], each.quantity, each.unit), {})
                    alike.setdefault((host, gpu.part), []).append(each.value)
    for (_model, quantity, unit), alike in values.items():
        usual = fleet(max(several) for several in alike.values())
        for (host, part), several in alike.items():
            yield Seen(host, tuple(several), usual, unit, part), quantity


def _of_rate(told: Told, seen: Seen, quantity: str) -> Verdict:
    """With how the GPU was under load, and that mend first, where it is not well."""
    mend = next(words for name, words in MENDS.items() if name in quantity)
    verdict = judge(BENCH, seen, told.want(seen.subject, quantity), mend)
    saw = f"{quantity} {verdict.saw}"
    if verdict.status in (Status.OK, Status.UNKNOWN):
        return replace(verdict, saw=saw)
    load = next(each.load for each in told.last(seen.subject).each if each.part == seen.part)
    if "host" in quantity:
        return replace(verdict, saw=f"{saw}{_link(load)}")
    return replace(verdict, saw=f"{saw}{_state(load)}", mend=_mend(load) or verdict.mend)


def _state(load: Load) -> str:
    """`; at 1.2 GHz of 1.98 GHz, 88 C (31 before), 412 W, slowed by heat`; nothing where nothing was read."""
    of_most = f" of {amount(load.sm_most_hz, 'Hz')}" if load.sm_most_hz else ""
    before = "" if load.before_c is None else f" ({load.before_c:g} before)"
    parts = (
        f"at {amount(load.sm_hz, 'Hz')}{of_most}" if load.sm_hz else "",
        f"{load.temperature_c:g} C{before}" if load.temperature_c is not None else "",
        amount(load.power_w, "W") if load.power_w else "",
        f"slowed by {', '.join(slowdown.reasons(load.reasons))}" if slowdown.reasons(load.reasons) else "",
    )
    told = ", ".join(part for part in parts if part)
    return f"; {told}" if told else ""


def _link(load: Load) -> str:
    """`; over 8 of 16 lanes of PCIe 4.0 (it can 5.0)`."""
    if load.pcie is None:
        return ""
    gen, gen_most, width, width_most = load.pcie
    can = f" (it can {gen_most}.0)" if gen_most > gen else ""
    return f"; over {width} of {width_most} lanes of PCIe {gen}.0{can}"


def _mend(load: Load) -> str:
    """What mends that which slows it; nothing where nothing does."""
    if load.reasons & slowdown.HEAT:
        return HOT
    if load.reasons & slowdown.POWER_BRAKE:
        return BRAKED
    return SLOWED if slowdown.reasons(load.reasons) else ""


def _of_results(told: Told, host: str, last: Tested) -> Iterator[Verdict]:
    """Wrong values in any pass fail; a GPU that came to nothing fails when it does so twice, and others do not."""
    passes = [hosts[host] for hosts in told.passes if host in hosts]
    wrong = next(
        (each.wrong for found in passes for each in found.each if each.part == last.part and each.wrong), ()
    )
    if wrong:
        more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        yield Verdict(host, BENCH, Status.FAIL, f"{wrong[0]}{more}", "every element right", WRONG, last.part)
    if last.why:
        alone = any(not each.why for each in told.last(host).each)
        status = Status.FAIL if alone and len(passes) > 1 else Status.UNKNOWN
        mend = "see what the kernel says of it: wright check (gpu_xids); nvidia-smi there" if alone else ""
        yield Verdict(host, BENCH, status, last.why, "figures of every GPU", mend, last.part)


def _of_ways(told: Told, host: str) -> Iterator[Verdict]:
    """Two GPUs that are slow to each other, and well with others."""
    passes = tuple(hosts[host].ways for hosts in told.passes if host in hosts)
    for _ends, seen in slow_ways(Passes(passes)):
        verdict = judge(BENCH, seen, OF_ENDS, MENDS["peer"])
        yield replace(verdict, subject=host, part=seen.subject)
