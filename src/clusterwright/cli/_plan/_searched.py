"""What `wright plan search` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.cli._show import say, show_table, show_text
from clusterwright.plan import parameters
from clusterwright.plan.memory.peak import Fit
from clusterwright.plan.run import Offload, Recompute
from clusterwright.plan.search.outcome import gib, layout_words
from clusterwright.plan.search.record import fragment
from clusterwright.plan.speed import span

if TYPE_CHECKING:
    from clusterwright.plan.run import Machine
    from clusterwright.plan.search import Outcome, Plan

_COLUMNS = (
    "", "dp", "tp", "pp", "cp", "ep", "ZeRO", "micro", "inter", "recompute", "schedule", "offload",
    "s a step", "MFU", "tokens/s/GPU", "memory",
)  # fmt: skip


def tell(outcome: Outcome, seconds: float) -> None:
    """The answer on stdout; how it was come by on stderr."""
    show_text(asked_words(outcome))
    if outcome.best:
        show_text(_best(outcome, outcome.best))
        show_text("\nthe fastest layout of each mesh:")
        show_table(_COLUMNS, [_row(number, plan) for number, plan in enumerate(outcome.meshes, 1)])
    else:
        show_text("\nnothing fits")
    if outcome.families:
        show_text("\nwhy not:")
        rows = [(loss.family, layout_words(loss.plan.run.layout), loss.why) for loss in outcome.families]
        show_table(("family", "its fastest, or smallest", "why it is not the best"), rows)
    if outcome.best:
        show_text(f"\n{_pareto(outcome)}\n\nfor job.yaml:\n\n{fragment(outcome.best.run)}")
    for remedy in outcome.remedies:
        show_text(f"  {remedy}")
    say(counted(outcome, seconds))


def asked_words(outcome: Outcome) -> str:
    """The question: the model, the work and the machines, with what was assumed of them."""
    work, model = outcome.training, outcome.training.architecture
    billions = parameters.count(model).total / 1e9
    return (
        f"{model.name} ({billions:.3g} B parameters), sequence {work.seq_len}, global batch {work.global_batch},"
        f" {work.precision}, {work.optimizer}, {outcome.stack.family}\n{_machine_words(outcome.machine)}"
    )


def _machine_words(on: Machine) -> str:
    net = on.network
    joined = f"NVLink joins {on.nvlink_domain}" if on.nvlink_domain > 1 else "no NVLink"
    words = f"{on.gpus} x {on.gpu.name}, {on.gpus_per_node} a node, {joined}"
    if net.kind == "none":
        return f"{words}, one node"
    over = f", oversubscribed {net.oversubscription:g}:1" if net.oversubscription > 1 else ""
    return f"{words}, {net.nics:g} x {net.nic_bytes_per_s * 8e-9:g} Gbit/s {net.kind} a node{over}"


def _best(outcome: Outcome, best: Plan) -> str:
    low, high = span(best.run, best.time)
    second = outcome.runner_up
    total, memory = float(best.time.total), float(best.memory.total)
    takes = f"{total:.4g} s a step ({float(low):.3g} to {float(high):.3g} s in 8 of 10 cases)"
    holds = f"{gib(memory)} of {gib(best.run.machine.gpu.usable_bytes)}"
    lines = [f"\nbest       {layout_words(best.run.layout)}"]
    lines += [f"           {takes}, {100 * best.utilization:.1f}% MFU, {holds}"]
    if best.fit is Fit.TIGHT and (roomy := outcome.roomy):
        slower = float(roomy.time.total) / total - 1
        lines += [
            f"roomier    {layout_words(roomy.run.layout)}",
            f"           {100 * slower:.1f}% slower, {gib(float(roomy.memory.total))}; the best is tight",
        ]
    if second:
        lines += [f"runner-up  {layout_words(second.run.layout)}", f"           {outcome.runner_up_why}"]
    return "\n".join(lines)


def _row(number: int, plan: Plan) -> tuple[str, ...]:
    cut = plan.run.layout
    sizes = (number, cut.dp, cut.tp, cut.pp, cut.cp, cut.ep)
    return (
        *(str(size) for size in sizes),
        f"{cut.zero}" + (f"/{cut.shard}" if cut.shard else ""),
        str(cut.micro_batch),
        str(cut.interleave),
        Recompute(int(cut.recompute)).name.lower(),
        str(cut.schedule) if cut.pp > 1 else "",
        Offload(int(cut.offload)).name.lower(),
        f"{float(plan.time.total):.4g}",
        f"{100 * plan.utilization:.1f}%",
        f"{plan.tokens_per_s_per_gpu:.4g}",
        gib(float(plan.memory.total)) + (" tight" if plan.fit is Fit.TIGHT else ""),
    )


def _pareto(outcome: Outcome) -> str:
    last = outcome.pareto[-1]
    return (
        f"{len(outcome.pareto)} layouts trade time for memory; the smallest takes {gib(float(last.memory.total))}"
        f" and {float(last.time.total):.3g} s a step: {layout_words(last.run.layout)}"
    )


def counted(outcome: Outcome, seconds: float) -> str:
    """How many layouts there are, and what became of them."""
    count = outcome.counts
    refused = sum(count.indivisible.values())
    reasons = ", ".join(f"{what} {number}" for what, number in count.indivisible.items())
    rate = count.considered / max(seconds, 1e-9)
    return (
        f"{count.considered:,} layouts in {seconds:.2f} s ({rate:,.0f} a second): {count.too_large:,} do not fit,"
        f" {count.bounded:,} cannot be faster, {count.evaluated:,} predicted in full; with what is decided without"
        f" listing, {count.decided:,} plans"
        + (f"; {refused} meshes do not divide ({reasons})" if refused else "")
    )
