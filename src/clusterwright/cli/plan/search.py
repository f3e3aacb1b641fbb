"""`wright plan search`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clusterwright.cli._numbers import Count
from clusterwright.cli._progress import progress
from clusterwright.cli._show import show_heading, show_message, show_table, show_text, show_verbatim
from clusterwright.cli.plan._inputs import MachineOptions, Work
from clusterwright.i18n import N_, _
from clusterwright.plan.inputs import Software
from clusterwright.units import human_bit_rate, human_duration, human_number

if TYPE_CHECKING:
    from clusterwright.plan.run import Machine, Training
    from clusterwright.plan.search.options import Options
    from clusterwright.plan.search.outcome import Plan, SearchOutcome


Flag = Annotated[bool, Parameter(negative="")]


@dataclass(frozen=True, kw_only=True)
class FixedSizes:
    """Fixed sizes of the layout."""

    tp: Annotated[Count | None, Parameter(help="Fixed tensor parallel size.")] = None
    pp: Annotated[Count | None, Parameter(help="Fixed pipeline parallel size.")] = None
    cp: Annotated[Count | None, Parameter(help="Fixed context parallel size.")] = None
    ep: Annotated[Count | None, Parameter(help="Fixed expert parallel size.")] = None
    dp: Annotated[Count | None, Parameter(help="Fixed data parallel size.")] = None
    micro_batch: Annotated[Count | None, Parameter(help="Fixed microbatch size in sequences.")] = None
    max_tp: Annotated[
        Count | None, Parameter(help="Maximum tensor parallel size; default: the NVLink domain.")
    ] = None


def search(
    *,
    work: Annotated[Work, Parameter(name="*")],
    machine_options: Annotated[MachineOptions, Parameter(name="*")] = MachineOptions(),  # noqa: B008 (frozen)
    fixed_sizes: Annotated[FixedSizes, Parameter(name="*")] = FixedSizes(),
    software: Software = "megatron",
    top: Count = 10,
    out: Path | None = None,
    html: Path | None = None,
    json: Flag = False,
) -> int:
    """Find the fastest parallel layout of a model on GPUs, and explain why each other one is slower or does not fit.

    Exit code: 1 if no layout fits; possible remedies are then listed.

    Parameters
    ----------
    software
        Framework whose efficiency is assumed, in its newest version.
    top
        Number of ranked layouts.
    out
        Write the `parallel:` section of the best layout for job.yaml to this file.
    html
        Write a report to this HTML file: layouts, time, memory.
    json
        Print one JSON document, in seconds and bytes.
    """
    from clusterwright.cli.plan._inputs import read_options
    from clusterwright.errors import EXIT_FAILED
    from clusterwright.plan.run import Stack
    from clusterwright.plan.search.options import Options

    training, machine = read_options(work, machine_options)
    options = Options(**asdict(fixed_sizes), top=top, advise=True, stack=Stack(software))
    outcome, seconds = _timed(training, machine, options, json=json)
    _write(outcome, out, html)
    _show(outcome, seconds, json=json)
    return 0 if outcome.best else EXIT_FAILED


def _timed(
    training: Training, machine: Machine, options: Options, *, json: bool
) -> tuple[SearchOutcome, float]:
    """Search the fastest layout; return the outcome and the seconds that the search took."""
    from time import perf_counter

    from clusterwright.plan.search.fastest import search as searched

    began = perf_counter()
    with progress("plan search", quiet=json):
        outcome = searched(training, machine, options=options)
    return outcome, perf_counter() - began


def _show(outcome: SearchOutcome, seconds: float, *, json: bool) -> None:
    if json:
        from clusterwright.cli._show import show_json
        from clusterwright.plan.search.record import record

        show_json(record(outcome, seconds))
        return

    show_outcome(outcome, seconds)


def _write(outcome: SearchOutcome, out: Path | None, html: Path | None) -> None:
    from clusterwright.cli.plan._inputs import write_table
    from clusterwright.plan.search.record import fragment

    if out and outcome.best:
        write_table(out, fragment(outcome.best.run))
    if html:
        from clusterwright.plan.search.html_report import render_html

        write_table(html, render_html(outcome))


_COLUMNS = (
    "", "dp", "tp", "pp", "cp", "ep", "ZeRO", "micro", "inter", N_("recompute"), N_("schedule"), N_("offload"),
    N_("step (s)"), "MFU", N_("tokens/s/GPU"), N_("memory"),
)  # fmt: skip


def show_outcome(outcome: SearchOutcome, seconds: float) -> None:
    """Print the result of a search for layouts on stdout and its statistics on stderr."""
    from clusterwright.plan.search.outcome import format_layout
    from clusterwright.plan.search.record import fragment

    show_text(describe_request(outcome))
    if outcome.best:
        show_text(_best(outcome, outcome.best))
        show_heading(_("fastest layout of each mesh"))
        show_table(_COLUMNS, [_row(number, plan) for number, plan in enumerate(outcome.meshes, 1)])
    else:
        show_heading(_("no layout fits"))
    if outcome.families:
        show_heading(_("why other layouts are not the best"))
        rows = [
            (_(loss.family), format_layout(loss.plan.run.layout), loss.reason) for loss in outcome.families
        ]
        show_table(("family", "fastest or smallest layout", "reason"), rows)
    if outcome.best:
        show_heading(_pareto(outcome))
        show_heading(_("for job.yaml:"))
        show_verbatim(f"\n{fragment(outcome.best.run)}")
    for remedy in outcome.remedies:
        show_text(f"  {remedy}")
    show_message(counted(outcome, seconds))


def describe_request(outcome: SearchOutcome) -> str:
    """Return a text of the model, the workload and the machines with their assumptions."""
    from clusterwright.plan import parameters

    work, model = outcome.training, outcome.training.architecture
    billions = parameters.count(model).total / 1e9
    request = _(
        "{model} ({billions:.3g}B parameters), sequence length {seq}, global batch {batch}, {precision}, {optimizer}, "
        "{framework}",
        model=model.name,
        billions=billions,
        seq=work.seq_len,
        batch=work.global_batch,
        precision=work.precision,
        optimizer=work.optimizer,
        framework=outcome.stack.family,
    )
    return f"{request}\n{_describe_machine(outcome.machine)}"


def _describe_machine(on: Machine) -> str:
    net = on.network
    parts = [
        _("{gpus} x {gpu}, {count} per node", gpus=on.gpus, gpu=on.gpu.name, count=on.gpus_per_node),
        _("NVLink domain of {count} GPUs", count=on.nvlink_domain)
        if on.nvlink_domain > 1
        else _("no NVLink"),
    ]
    if net.kind == "none":
        return ", ".join([*parts, _("one node")])
    rate = human_bit_rate(net.nic_bytes_per_s * 8)
    parts.append(_("{nics:g} x {rate} {network} per node", nics=net.nics, rate=rate, network=net.kind))
    if net.oversubscription > 1:
        parts.append(_("oversubscription {ratio:g}:1", ratio=net.oversubscription))
    return ", ".join(parts)


def _best(outcome: SearchOutcome, best: Plan) -> str:
    from clusterwright.plan.assumptions import describe_assumptions
    from clusterwright.plan.memory.peak import MemoryFit
    from clusterwright.plan.search.outcome import format_layout, gib
    from clusterwright.plan.speed import span

    low, high = span(best.run, best.time)
    second = outcome.runner_up
    total, memory = float(best.time.total), float(best.memory.total)
    figures = _(
        "step {step} ({low} to {high}, P10 to P90), MFU {mfu:.1%}, memory {memory} of {usable}",
        step=human_duration(total),
        low=human_duration(float(low)),
        high=human_duration(float(high)),
        mfu=best.utilization,
        memory=gib(memory),
        usable=gib(best.run.machine.gpu.usable_bytes),
    )
    rows = [(_("best"), format_layout(best.run.layout)), ("", figures)]
    rows.append(("", describe_assumptions(best.run)))
    if best.memory_fit is MemoryFit.TIGHT and (roomy := outcome.roomy):
        slower, size = float(roomy.time.total) / total - 1, gib(float(roomy.memory.total))
        rows += [
            (_("less memory"), format_layout(roomy.run.layout)),
            (
                "",
                _(
                    "{slower:.1%} slower, {memory}; the memory of the best is tight",
                    slower=slower,
                    memory=size,
                ),
            ),
        ]
    if second:
        rows += [(_("runner-up"), format_layout(second.run.layout)), ("", outcome.runner_up_why)]
    return "\n" + "\n".join(f"{label:12}  {text}" for label, text in rows)


def _row(number: int, plan: Plan) -> tuple[str, ...]:
    from clusterwright.plan.memory.peak import MemoryFit
    from clusterwright.plan.run import Offload, Recompute
    from clusterwright.plan.search.outcome import gib

    layout = plan.run.layout
    sizes = (number, layout.dp, layout.tp, layout.pp, layout.cp, layout.ep)
    return (
        *(str(size) for size in sizes),
        f"{layout.zero}" + (f"/{layout.shard}" if layout.shard else ""),
        str(layout.micro_batch),
        str(layout.interleave),
        Recompute(int(layout.recompute)).name.lower(),
        str(layout.schedule) if layout.pp > 1 else "",
        Offload(int(layout.offload)).name.lower(),
        f"{float(plan.time.total):.4g}",
        f"{100 * plan.utilization:.1f}%",
        human_number(plan.tokens_per_s_per_gpu),
        _("{memory} tight", memory=gib(float(plan.memory.total)))
        if plan.memory_fit is MemoryFit.TIGHT
        else gib(float(plan.memory.total)),
    )


def _pareto(outcome: SearchOutcome) -> str:
    from clusterwright.plan.search.outcome import format_layout, gib

    last = outcome.pareto[-1]
    return _(
        "Pareto front of time and memory: {count} layouts; the smallest: {memory}, {step} per step, {layout}",
        count=len(outcome.pareto),
        memory=gib(float(last.memory.total)),
        step=human_duration(float(last.time.total)),
        layout=format_layout(last.run.layout),
    )


def counted(outcome: SearchOutcome, seconds: float) -> str:
    """Return a text with the number of layouts and what became of them; indivisible meshes only if there are any."""
    count = outcome.counts
    refused = sum(count.indivisible.values())
    reasons = ", ".join(f"{reason} {number}" for reason, number in count.indivisible.items())
    rate = count.considered / max(seconds, 1e-9)
    text = _(
        "{count:,} layouts in {duration} ({rate}/s): {large:,} do not fit, {bounded:,} cannot be faster, {evaluated:,} "
        "predicted in full; {decided:,} plans including those excluded without enumeration",
        count=count.considered,
        duration=human_duration(seconds),
        rate=human_number(rate),
        large=count.too_large,
        bounded=count.bounded,
        evaluated=count.evaluated,
        decided=count.decided,
    )
    if not refused:
        return text
    return f"{text}; " + _("indivisible meshes: {count} ({reasons})", count=refused, reasons=reasons)
