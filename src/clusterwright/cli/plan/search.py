"""`wright plan search`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from clusterwright.cli._show import show_message, show_table, show_text
from clusterwright.cli.plan._inputs import MachineOptions, Work
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.plan.run import Machine, Training
    from clusterwright.plan.search import Options, Outcome, Plan


Software = Literal["megatron", "fsdp", "deepspeed", "maxtext", "nemo-automodel"]
Flag = Annotated[bool, Parameter(negative="")]


@dataclass(frozen=True, kw_only=True)
class FixedSizes:
    """Sizes that are not searched."""

    tp: Annotated[int | None, Parameter(help="Keep tensor parallelism at this size.")] = None
    pp: Annotated[int | None, Parameter(help="Keep pipeline parallelism at this size.")] = None
    cp: Annotated[int | None, Parameter(help="Keep context parallelism at this size.")] = None
    ep: Annotated[int | None, Parameter(help="Keep expert parallelism at this size.")] = None
    dp: Annotated[int | None, Parameter(help="Keep data parallelism at this size.")] = None
    micro_batch: Annotated[int | None, Parameter(help="Keep a microbatch at so many sequences.")] = None
    max_tp: Annotated[
        int | None, Parameter(help="Largest tensor parallelism; the NVLink domain if left out.")
    ] = None


def search(
    *,
    work: Annotated[Work, Parameter(name="*")],
    machine_options: Annotated[MachineOptions, Parameter(name="*")] = MachineOptions(),  # noqa: B008 (frozen)
    fixed_sizes: Annotated[FixedSizes, Parameter(name="*")] = FixedSizes(),
    software: Software = "megatron",
    top: int = 10,
    out: Path | None = None,
    html: Path | None = None,
    json: Flag = False,
) -> int:
    """Find the fastest way to cut a model over GPUs, and say why every other way is slower or does not fit.

    Exit code: 1 when nothing fits; what would help is said then.

    Parameters
    ----------
    software
        Whose efficiency is expected, in its newest version.
    top
        How many layouts are ranked.
    out
        Write the best layout's `parallel:` section for job.yaml here.
    html
        Write a page with the pictures here: layouts, time, memory.
    json
        Everything, in seconds and bytes, as one JSON document.
    """
    from clusterwright.cli.plan._inputs import read_options
    from clusterwright.errors import EXIT_FAILED
    from clusterwright.plan.run import Stack
    from clusterwright.plan.search import Options

    training, machine = read_options(work, machine_options)
    options = Options(**asdict(fixed_sizes), top=top, advise=True, stack=Stack(software))
    outcome, seconds = _timed(training, machine, options)
    _write(outcome, out, html)
    _show(outcome, seconds, json=json)
    return 0 if outcome.best else EXIT_FAILED


def _timed(training: Training, machine: Machine, options: Options) -> tuple[Outcome, float]:
    """The outcome, and the seconds it took."""
    from time import perf_counter

    from clusterwright.plan.search import search as searched

    began = perf_counter()
    outcome = searched(training, machine, options=options)
    return outcome, perf_counter() - began


def _show(outcome: Outcome, seconds: float, *, json: bool) -> None:
    if json:
        from clusterwright.cli._show import show_json
        from clusterwright.plan.search.record import record

        show_json(record(outcome, seconds))
        return

    show_outcome(outcome, seconds)


def _write(outcome: Outcome, out: Path | None, html: Path | None) -> None:
    from clusterwright.cli.plan._inputs import write_table
    from clusterwright.plan.search.record import fragment

    if out and outcome.best:
        write_table(out, fragment(outcome.best.run))
    if html:
        from clusterwright.plan.search.html_report import render_html

        write_table(html, render_html(outcome))


_COLUMNS = (
    "", "dp", "tp", "pp", "cp", "ep", "ZeRO", "micro", "inter", "recompute", "schedule", "offload",
    "s a step", "MFU", "tokens/s/GPU", "memory",
)  # fmt: skip


def show_outcome(outcome: Outcome, seconds: float) -> None:
    """The answer on stdout; how it was come by on stderr."""
    from clusterwright.plan.search.outcome import format_layout
    from clusterwright.plan.search.record import fragment

    show_text(describe_request(outcome))
    if outcome.best:
        show_text(_best(outcome, outcome.best))
        show_text(_("\nthe fastest layout of each mesh:"))
        show_table(_COLUMNS, [_row(number, plan) for number, plan in enumerate(outcome.meshes, 1)])
    else:
        show_text(_("\nnothing fits"))
    if outcome.families:
        show_text(_("\nwhy not:"))
        rows = [(loss.family, format_layout(loss.plan.run.layout), loss.why) for loss in outcome.families]
        show_table(("family", "its fastest, or smallest", "why it is not the best"), rows)
    if outcome.best:
        show_text(
            _(
                "\n{pareto}\n\nfor job.yaml:\n\n{fragment}",
                pareto=_pareto(outcome),
                fragment=fragment(outcome.best.run),
            )
        )
    for remedy in outcome.remedies:
        show_text(f"  {remedy}")
    show_message(counted(outcome, seconds))


def describe_request(outcome: Outcome) -> str:
    """The question: the model, the work and the machines, with what was assumed of them."""
    from clusterwright.plan import parameters

    work, model = outcome.training, outcome.training.architecture
    billions = parameters.count(model).total / 1e9
    return (
        f"{model.name} ({billions:.3g} B parameters), sequence {work.seq_len}, global batch {work.global_batch},"
        f" {work.precision}, {work.optimizer}, {outcome.stack.family}\n{_describe_machine(outcome.machine)}"
    )


def _describe_machine(on: Machine) -> str:
    net = on.network
    joined = f"NVLink joins {on.nvlink_domain}" if on.nvlink_domain > 1 else "no NVLink"
    text = f"{on.gpus} x {on.gpu.name}, {on.gpus_per_node} a node, {joined}"
    if net.kind == "none":
        return f"{text}, one node"
    over = f", oversubscribed {net.oversubscription:g}:1" if net.oversubscription > 1 else ""
    return f"{text}, {net.nics:g} x {net.nic_bytes_per_s * 8e-9:g} Gbit/s {net.kind} a node{over}"


def _best(outcome: Outcome, best: Plan) -> str:
    from clusterwright.plan.memory.peak import MemoryFit
    from clusterwright.plan.search.outcome import format_layout, gib
    from clusterwright.plan.speed import span

    low, high = span(best.run, best.time)
    second = outcome.runner_up
    total, memory = float(best.time.total), float(best.memory.total)
    takes = f"{total:.4g} s a step ({float(low):.3g} to {float(high):.3g} s in 8 of 10 cases)"
    memory_use = f"{gib(memory)} of {gib(best.run.machine.gpu.usable_bytes)}"
    lines = [f"\nbest       {format_layout(best.run.layout)}"]
    lines += [f"           {takes}, {100 * best.utilization:.1f}% MFU, {memory_use}"]
    if best.fit is MemoryFit.TIGHT and (roomy := outcome.roomy):
        slower = float(roomy.time.total) / total - 1
        lines += [
            f"roomier    {format_layout(roomy.run.layout)}",
            f"           {100 * slower:.1f}% slower, {gib(float(roomy.memory.total))}; the best is tight",
        ]
    if second:
        lines += [f"runner-up  {format_layout(second.run.layout)}", f"           {outcome.runner_up_why}"]
    return "\n".join(lines)


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
        f"{plan.tokens_per_s_per_gpu:.4g}",
        gib(float(plan.memory.total)) + (" tight" if plan.fit is MemoryFit.TIGHT else ""),
    )


def _pareto(outcome: Outcome) -> str:
    from clusterwright.plan.search.outcome import format_layout, gib

    last = outcome.pareto[-1]
    return (
        f"{len(outcome.pareto)} layouts trade time for memory; the smallest takes {gib(float(last.memory.total))}"
        f" and {float(last.time.total):.3g} s a step: {format_layout(last.run.layout)}"
    )


def counted(outcome: Outcome, seconds: float) -> str:
    """How many layouts there are, and what became of them."""
    count = outcome.counts
    refused = sum(count.indivisible.values())
    reasons = ", ".join(f"{reason} {number}" for reason, number in count.indivisible.items())
    rate = count.considered / max(seconds, 1e-9)
    return (
        f"{count.considered:,} layouts in {seconds:.2f} s ({rate:,.0f} a second): {count.too_large:,} do not fit,"
        f" {count.bounded:,} cannot be faster, {count.evaluated:,} predicted in full; with what is decided without"
        f" listing, {count.decided:,} plans"
        + (f"; {refused} meshes do not divide ({reasons})" if refused else "")
    )
