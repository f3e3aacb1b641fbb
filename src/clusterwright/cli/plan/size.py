"""`wright plan size`."""

from __future__ import annotations

import math
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clusterwright.cli._live_names import MODELS
from clusterwright.cli._show import show_heading, show_note, show_table, show_text
from clusterwright.cli.plan._inputs import MachineOptions, MoneyOptions, show_rates
from clusterwright.cli.plan._workload import Amount, Teams
from clusterwright.i18n import _, _n
from clusterwright.units import HOUR_S, human_duration, human_number, human_percent

if TYPE_CHECKING:
    from clusterwright.plan.cost.figures import Estimate
    from clusterwright.plan.sizing.answer import Answer
    from clusterwright.plan.sizing.choices import Choice
    from clusterwright.plan.sizing.fewest import Sized
    from clusterwright.plan.sizing.materials import Materials


_NO_AMOUNT, _NO_MACHINE, _ONE_TEAM, _NO_MONEY = Amount(), MachineOptions(), Teams(), MoneyOptions()


def size(
    *,
    model: Annotated[str, MODELS] = "",
    amount: Annotated[Amount, Parameter(name="*")] = _NO_AMOUNT,
    machine_options: Annotated[MachineOptions, Parameter(name="*")] = _NO_MACHINE,
    sharing: Annotated[Teams, Parameter(name="*")] = _ONE_TEAM,
    scenario: str = "",
    money_options: Annotated[MoneyOptions, Parameter(name="*")] = _NO_MONEY,
    html: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Find the fewest GPUs and nodes that finish a training before its deadline, and list everything to buy with them.

    With --gpus or --cluster: how long the training takes there. With --scenario: GPUs for training, science or
    inference compared. Exit code: 1 if the training misses its deadline.

    Parameters
    ----------
    model
        Model, as in `wright plan catalog models`, or path of a Hugging Face config.json.
    scenario
        training, science or inference: compare the common GPUs for it with --gpu.
    html
        Write a report to this HTML file: scaling, memory, one iteration, the bill of materials.
    json
        Print one JSON document, in seconds, bytes and money.
    """
    from clusterwright.cli._show import show_json
    from clusterwright.cli.plan._inputs import write_table
    from clusterwright.cli.plan._workload import answered, compared, prepared
    from clusterwright.cli.plan.cost import finite
    from clusterwright.plan.sizing.materials import materials
    from clusterwright.plan.sizing.record import record

    inputs = prepared(model, amount, machine_options, sharing, scenario, money_options)
    answer, choices = answered(inputs), compared(inputs)
    bought = materials(answer.sized, answer.machine, inputs.user_catalog) if answer else None
    if html and answer and bought:
        from clusterwright.plan.sizing.html_report import render_html

        write_table(html, render_html(answer, bought, inputs.assumptions))
    if json:
        show_json(finite(record(answer, bought, choices) | {"exchange_rates": list(inputs.rates)}))
    else:
        show(answer, bought, choices)
        show_rates(list(inputs.rates))
    return 0 if answer is None or answer.in_time else 1


def show(answer: Answer | None, bought: Materials | None, choices: tuple[Choice, ...]) -> None:
    """Print the size, the bill and the compared GPUs on stdout, and the assumptions on stderr."""
    if answer and bought:
        show_text(_size(answer))
        if answer.shared:
            show_text(_shared(answer))
        show_heading(_("other parts of a node"))
        show_table(("part", "", "reason"), [(part.label, part.text, part.reason) for part in answer.parts])
        _show_bill(bought)
        for note in answer.notes:
            show_note(note)
    if choices:
        show_heading(_("comparison"))
        _show_choices(choices)


def _size(answer: Answer) -> str:
    from clusterwright.plan.assumptions import describe_assumptions
    from clusterwright.plan.search.outcome import format_layout

    sized = answer.sized
    low, high = sized.hours_range
    lines = [
        _(
            "{gpus} x {gpu} in {nodes}: {duration} likely ({low} to {high}, P10 to P90), {gpu_hours} GPU hours",
            gpus=sized.gpus,
            gpu=sized.machine.gpu.name,
            nodes=_nodes(sized.nodes),
            duration=_hours(sized.hours),
            low=_hours(low),
            high=_hours(high),
            gpu_hours=human_number(sized.gpu_hours),
        ),
        _(
            "{layout}; {rate} tokens/s per GPU, MFU {mfu}",
            layout=format_layout(sized.planned_layout.layout),
            rate=human_number(sized.tokens_per_s / sized.gpus),
            mfu=human_percent(sized.utilization),
        ),
        describe_assumptions(sized.run),
        *_alternative(sized),
        _(
            "goodput {share:.1%}: mean time between failures {mtbf}, checkpoint interval {interval}",
            share=sized.goodput.share,
            mtbf=human_duration(sized.goodput.mtbf_s),
            interval=human_duration(sized.goodput.checkpoint_every_s),
        ),
    ]
    if not math.isinf(answer.deadline_h):
        lines.append(_deadline(answer))
    return "\n  ".join(lines)


def _alternative(sized: Sized) -> list[str]:
    """Return a line with the throughput of the same layout in PyTorch's FSDP, which most fine-tuning uses.

    An empty list if the plan itself uses FSDP.
    """
    from dataclasses import replace

    from clusterwright.plan.assumptions import ALTERNATIVE
    from clusterwright.plan.run import Stack
    from clusterwright.plan.speed import iteration

    if sized.run.stack.family == ALTERNATIVE:
        return []
    seconds = float(iteration(replace(sized.run, stack=Stack(ALTERNATIVE))).total)
    tokens = sized.run.training.global_batch * sized.run.training.seq_len
    rate = human_number(tokens / seconds / sized.gpus)
    return [
        _(
            "with PyTorch's FSDP (--software {software}) this layout reaches {rate} tokens/s per GPU",
            software=ALTERNATIVE,
            rate=rate,
        )
    ]


def _deadline(answer: Answer) -> str:
    deadline = _hours(answer.deadline_h)
    if not answer.in_time:
        delay = _hours(answer.sized.hours - answer.deadline_h)
        return _("misses the deadline of {deadline} by {delay}", deadline=deadline, delay=delay)
    if answer.sure is None:
        return _("meets the deadline of {deadline} at P50; no size meets it at P90", deadline=deadline)
    if answer.sure.gpus == answer.sized.gpus:
        return _("meets the deadline of {deadline} at P90, too", deadline=deadline)
    return _(
        "meets the deadline of {deadline} at P50; at P90 with {gpus} GPUs in {nodes}",
        deadline=deadline,
        gpus=answer.sure.gpus,
        nodes=_nodes(answer.sure.nodes),
    )


def _shared(answer: Answer) -> str:
    among = answer.shared
    assert among is not None  # noqa: S101 (checked by the caller)
    size = _(
        "{teams} teams with {headroom:.0%} of the nodes free: {nodes}, {slots} concurrent trainings, load {load:.0%}",
        teams=among.teams,
        headroom=among.headroom,
        nodes=_nodes(among.nodes),
        slots=among.slots,
        load=among.load,
    )
    waiting = (
        _(
            "guaranteed share per team {share:.0%}; {waits:.0%} of the trainings wait, without end",
            share=among.share,
            waits=among.waits,
        )
        if math.isinf(among.wait_hours)
        else _(
            "guaranteed share per team {share:.0%}; {waits:.0%} of the trainings wait, {duration} on average",
            share=among.share,
            waits=among.waits,
            duration=_hours(among.wait_hours),
        )
    )
    return f"\n{size}\n  {waiting}"


def _show_bill(bought: Materials) -> None:
    money, total = bought.bill.currency, bought.bill.total
    show_heading(_("bill of materials ({currency}; likely, and low to high)", currency=money))
    rows = [
        (str(line.count), line.item, _money(line.total), _range(line.total), line.reason)
        for line in bought.bill.lines
    ]
    show_table(
        ("", "item", "total", "low - high", ""), [*rows, ("", _("total"), _money(total), _range(total), "")]
    )
    if lacking := bought.bill.without_price:
        show_note(_("the total excludes {items}: no price is known", items=", ".join(lacking)))
    if old := bought.bill.old(date.today().isoformat()):  # noqa: DTZ011 (a day, like the dates of prices)
        show_note(
            _("prices older than half a year (pass your own with --catalog): {items}", items=", ".join(old))
        )
    if (hall := bought.hall) is None:
        show_note(_("the power of the GPU is not known: racks, power and cooling are not planned"))
        return
    show_heading(
        _(
            "power {it_kw:,.1f} kW, {hall_kw:,.1f} kW with the hall; racks: {racks} of up to {rack_kw:,.0f} kW; "
            "cooling: {cooling}, {btu_per_h:,.0f} BTU/h",
            it_kw=hall.machine_w / 1000,
            hall_kw=hall.hall_w / 1000,
            racks=hall.racks,
            rack_kw=hall.rack_w / 1000,
            cooling=_(hall.cooling),
            btu_per_h=hall.btu_per_h,
        )
    )


def _show_choices(choices: tuple[Choice, ...]) -> None:
    from clusterwright.plan.sizing.choices import currency

    example = next((choice for choice in choices if not choice.why_not), choices[0])
    if example.serving:
        heads = ("GPU", _("GPUs"), _("sequences"), _("tokens/s per sequence"), _("tokens/s, maximum"))
        rows = _served
    elif example.roof:
        heads = ("GPU", "FP64 TFLOP/s", _("matrix units"), "GB/s", _("FLOP/byte at the ridge"))
        rows = _roofs
    else:
        heads, rows = ("GPU", _("GPUs"), _("nodes"), _("duration"), "P10 - P90"), _trained
    columns = (*heads, "kW", _("{currency}, bought", currency=currency(choices)), _("rented"), "")
    show_table(columns, [_row(choice, rows(choice), len(heads)) for choice in choices])


def _row(choice: Choice, cells: tuple[str, ...], width: int) -> tuple[str, ...]:
    if choice.why_not:
        return (choice.gpu.name, *[""] * (width - 1), "", "", "", choice.why_not)
    money = choice.money
    if money is None:
        return (*cells, "", "", "", _("the catalog has no server with this GPU"))
    return (
        *cells,
        f"{money.kw:,.1f}",
        _money(money.bought),
        _money(money.rented),
        f"{money.servers} x {money.server}",
    )


def _trained(choice: Choice) -> tuple[str, ...]:
    sized = choice.sized
    if sized is None:
        return ()
    low, high = sized.hours_range
    return (
        choice.gpu.name,
        str(sized.gpus),
        str(sized.nodes),
        _hours(sized.hours),
        f"{_hours(low)} - {_hours(high)}",
    )


def _served(choice: Choice) -> tuple[str, ...]:
    serving = choice.serving
    if serving is None:
        return ()
    single_rate, total_rate = f"{serving.tokens_per_s_single:,.0f}", f"{serving.tokens_per_s_all:,.0f}"
    return choice.gpu.name, str(serving.gpus), str(serving.sequences), single_rate, total_rate


def _roofs(choice: Choice) -> tuple[str, ...]:
    roof = choice.roof
    if roof is None:
        return ()
    matrix = f"{roof.matrix / 1e12:.1f}" if roof.matrix else "-"
    return (
        choice.gpu.name,
        f"{roof.vector / 1e12:.2f}",
        matrix,
        f"{roof.bytes_per_s / 1e9:,.0f}",
        f"{roof.ridge:.1f}",
    )


def _nodes(count: int) -> str:
    return _n("{count} node", "{count} nodes", count)


def _hours(hours: float) -> str:
    return human_duration(hours * HOUR_S)


def _money(amount: Estimate | None) -> str:
    if amount is None:
        return ""
    cents = amount.likely < 100
    return f"{amount.likely:,.2f}" if cents else f"{amount.likely:,.0f}"


def _range(amount: Estimate | None) -> str:
    return "" if amount is None else f"{amount.low:,.0f} - {amount.high:,.0f}"
