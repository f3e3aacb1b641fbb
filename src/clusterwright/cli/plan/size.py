"""`wright plan size`."""

from __future__ import annotations

import math
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from clusterwright.cli._show import show_message, show_table, show_text
from clusterwright.cli.plan._inputs import MachineOptions
from clusterwright.cli.plan._workload import Amount, Teams
from clusterwright.i18n import _
from clusterwright.units import HOUR_S, MINUTE_S

if TYPE_CHECKING:
    from clusterwright.plan.cost.figures import Estimate
    from clusterwright.plan.sizing.answer import Answer
    from clusterwright.plan.sizing.choices import Choice
    from clusterwright.plan.sizing.fewest import Sized
    from clusterwright.plan.sizing.materials import Materials


_NOTHING, _ANYWHERE, _SINGLE_TEAM = Amount(), MachineOptions(), Teams()


def size(
    *,
    model: str = "",
    amount: Annotated[Amount, Parameter(name="*")] = _NOTHING,
    machine_options: Annotated[MachineOptions, Parameter(name="*")] = _ANYWHERE,
    sharing: Annotated[Teams, Parameter(name="*")] = _SINGLE_TEAM,
    scenario: str = "",
    html: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Find the fewest GPUs and nodes that do a training before its deadline, and all that is bought with them.

    With --gpus or --cluster: how long it takes there. With --scenario: GPUs for training, science or inference
    side by side. Exit code: 1 when it is not done in time.

    Parameters
    ----------
    model
        A model of the catalog, or the path of a Hugging Face config.json.
    scenario
        training, science or inference: the usual GPUs for it, beside the one of --gpu.
    html
        Write a page with the pictures here: scaling, memory, one iteration, the bill.
    json
        Everything, in seconds, bytes and money, as one JSON document.
    """
    from clusterwright.cli._show import show_json
    from clusterwright.cli.plan._inputs import write_table
    from clusterwright.cli.plan._workload import answered, compared, prepared
    from clusterwright.cli.plan.cost import finite
    from clusterwright.plan.sizing.materials import materials

    inputs = prepared(model, amount, machine_options, sharing, scenario)
    answer, choices = answered(inputs), compared(inputs)
    bought = materials(answer.sized, answer.machine, inputs.user_catalog) if answer else None
    if html and answer and bought:
        from clusterwright.plan.sizing.html_report import render_html

        write_table(html, render_html(answer, bought, inputs.assumptions))
    if json:
        show_json(finite(record(answer, bought, choices)))
    else:
        show(answer, bought, choices)
    return 0 if answer is None or answer.in_time else 1


def show(answer: Answer | None, bought: Materials | None, choices: tuple[Choice, ...]) -> None:
    """The answer on stdout, what was assumed on stderr."""
    if answer and bought:
        show_text(_size(answer))
        if answer.shared:
            show_text(_shared(answer))
        show_text(_("\na node beside its GPUs"))
        show_table(("part", "", "why"), [(part.what, part.shown, part.why) for part in answer.parts])
        _show_bill(bought)
        for note in answer.notes:
            show_message(f"note: {note}")
    if choices:
        show_text(_("\nside by side") if answer else _("side by side"))
        _show_choices(choices)


def _size(answer: Answer) -> str:
    from clusterwright.plan.search.outcome import format_layout

    sized = answer.sized
    low, high = sized.hours_range
    duration = f"{_hours(sized.hours)} h likely ({_hours(low)} to {_hours(high)} h, P10 to P90)"
    fails = f"a failure every {_hours(sized.goodput.mtbf_s / 3600)} h on average"
    saved = f"a checkpoint every {_lasting(sized.goodput.checkpoint_every_s)}"
    throughput = f"{sized.tokens_per_s / sized.gpus:,.0f} tokens/s a GPU, MFU {sized.utilization:.0%}"
    hosts = f"{sized.gpus} x {sized.machine.gpu.name} in {_nodes(sized.nodes)}"
    lines = [
        f"{hosts}: {duration}, {sized.gpu_hours:,.0f} GPU-hours",
        f"  {format_layout(sized.planned_layout.layout)}; {throughput}",
        f"  goodput {sized.goodput.share:.1%}: {fails}, {saved}",
    ]
    if not math.isinf(answer.deadline_h):
        lines.append(f"  {_deadline(answer)}")
    return "\n".join(lines)


def _deadline(answer: Answer) -> str:
    deadline = f"the deadline of {_hours(answer.deadline_h)} h"
    if not answer.in_time:
        return f"{deadline} is missed by {_hours(answer.sized.hours - answer.deadline_h)} h"
    if answer.sure is None:
        return f"{deadline} is met as likely as not; nothing meets it at the slow end of the prediction"
    if answer.sure.gpus == answer.sized.gpus:
        return f"{deadline} is met at the slow end of the prediction, too"
    return (
        f"{deadline} is likely met; nine times out of ten with "
        f"{answer.sure.gpus} GPUs in {_nodes(answer.sure.nodes)}"
    )


def _shared(answer: Answer) -> str:
    among = answer.shared
    assert among is not None  # noqa: S101 (asked by the caller)
    wait = "never ends" if math.isinf(among.wait_hours) else f"is {_hours(among.wait_hours)} h on average"
    return (
        f"\n{among.teams} teams with {among.headroom:.0%} of the nodes free: {_nodes(among.nodes)}, "
        f"{among.slots} trainings side by side, {among.load:.0%} busy\n"
        f"  each team is sure of {among.share:.0%}; {among.waits:.0%} of the trainings wait, and the wait {wait}"
    )


def _show_bill(bought: Materials) -> None:
    money, total = bought.bill.currency, bought.bill.total
    show_text(_("\nwhat is bought ({money}; likely, and from low to high)", money=money))
    rows = [
        (str(line.count), line.item, _money(line.total), _range(line.total), line.why)
        for line in bought.bill.lines
    ]
    show_table(
        ("", "item", "together", "from - to", ""), [*rows, ("", "total", _money(total), _range(total), "")]
    )
    if lacking := bought.bill.without_price:
        show_message(
            _("note: no price is known for {lacking}; the total leaves it out", lacking=", ".join(lacking))
        )
    if old := bought.bill.old(date.today().isoformat()):  # noqa: DTZ011 (a day, as the price tags have)
        show_message(
            _(
                "note: {count} prices are more than half a year old; give your own with --catalog: {old}",
                count=len(old),
                old=", ".join(old),
            )
        )
    if (hall := bought.hall) is None:
        show_message(
            _("note: the power of the GPU is not known, so there are no racks, no power and no cooling")
        )
        return
    racks = "1 rack" if hall.racks == 1 else f"{hall.racks} racks"
    show_text(
        _(
            "\n{it_w:,.1f} kW, {hall_w:,.1f} with the hall; {racks} of up to {rack_w:,.0f} kW, "
            "cooled by {cooling}; {btu_per_h:,.0f} BTU/h",
            it_w=hall.it_w / 1000.0,
            hall_w=hall.hall_w / 1000.0,
            racks=racks,
            rack_w=hall.rack_w / 1000.0,
            cooling=hall.cooling,
            btu_per_h=hall.btu_per_h,
        )
    )


def _show_choices(choices: tuple[Choice, ...]) -> None:
    from clusterwright.plan.sizing.choices import currency

    example = next((choice for choice in choices if not choice.why_not), choices[0])
    if example.serving:
        heads, rows = ("GPU", "cards", "sequences", "tokens/s, one", "all, at most"), _served
    elif example.roof:
        heads, rows = ("GPU", "FP64 TFLOP/s", "matrix units", "GB/s", "FLOPs a byte at the ridge"), _roofs
    else:
        heads, rows = ("GPU", "GPUs", "nodes", "hours", "P10 - P90"), _trained
    columns = (*heads, "kW", f"{currency(choices)} bought", "rented", "")
    show_table(columns, [_row(choice, rows(choice), len(heads)) for choice in choices])


def _row(choice: Choice, cells: tuple[str, ...], width: int) -> tuple[str, ...]:
    if choice.why_not:
        return (choice.gpu.name, *[""] * (width - 1), "", "", "", choice.why_not)
    money = choice.money
    if money is None:
        return (*cells, "", "", "", "no server with it is in the catalog")
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
    single_rate, total_rate = f"{serving.tokens_per_s_one:,.0f}", f"{serving.tokens_per_s_all:,.0f}"
    return choice.gpu.name, str(serving.gpus), str(serving.sequences), single_rate, total_rate


def _roofs(choice: Choice) -> tuple[str, ...]:
    roof = choice.roof
    if roof is None:
        return ()
    matrix = f"{roof.matrix / 1e12:.1f}" if roof.matrix else "none"
    return (
        choice.gpu.name,
        f"{roof.vector / 1e12:.2f}",
        matrix,
        f"{roof.bytes_per_s / 1e9:,.0f}",
        f"{roof.ridge:.1f}",
    )


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


def _hours(hours: float) -> str:
    return f"{hours:,.0f}" if hours >= 100 else f"{hours:.3g}"


def _lasting(seconds: float) -> str:
    units = ((HOUR_S, "h"), (MINUTE_S, "min"), (1, "s"))
    length, unit = next((entry for entry in units if seconds >= entry[0]), units[-1])
    return f"{seconds / length:.3g} {unit}"


def _money(amount: Estimate | None) -> str:
    if amount is None:
        return ""
    cents = amount.likely < 100
    return f"{amount.likely:,.2f}" if cents else f"{amount.likely:,.0f}"


def _range(amount: Estimate | None) -> str:
    return "" if amount is None else f"{amount.low:,.0f} - {amount.high:,.0f}"


def record(answer: Answer | None, bought: Materials | None, choices: tuple[Choice, ...]) -> dict[str, Any]:
    """Everything as one document; hours of training, money and power beside the plain values."""
    from clusterwright.plan.sizing.choices import currency

    document: dict[str, Any] = {
        "choices": [_choice(choice) for choice in choices],
        "choices_currency": currency(choices),
    }
    if answer and bought:
        document |= {
            "size": _sized(answer.sized),
            "in_time": answer.in_time,
            "sure": answer.sure and _sized(answer.sure),
            "shared": _among(answer),
            "nodes_to_buy": answer.nodes,
            "node": answer.parts,
            "notes": answer.notes,
            "bill": [
                {
                    "kind": line.kind,
                    "item": line.item,
                    "count": line.count,
                    "total": line.total,
                    "why": line.why,
                }
                for line in bought.bill.lines
            ],
            "total": bought.bill.total,
            "currency": bought.bill.currency,
            "hall": bought.hall,
            "storage": bought.storage,
        }
    return document


def _among(answer: Answer) -> dict[str, Any] | None:
    among = answer.shared
    if among is None:
        return None
    return {
        "teams": among.teams,
        "headroom": among.headroom,
        "busy": among.busy,
        "nodes": among.nodes,
        "side_by_side": among.slots,
        "share": among.share,
        "load": among.load,
        "waits": among.waits,
        "wait_hours": among.wait_hours,
    }


def _sized(sized: Sized) -> dict[str, Any]:
    return {
        "gpu": sized.machine.gpu.name,
        "gpus": sized.gpus,
        "nodes": sized.nodes,
        "hours": sized.hours,
        "hours_p10_p90": sized.hours_range,
        "gpu_hours": sized.gpu_hours,
        "tokens_per_s": sized.tokens_per_s,
        "mfu": sized.utilization,
        "steps": sized.workload.steps,
        "tokens": sized.workload.tokens,
        "goodput": sized.goodput,
        "layout": sized.planned_layout.layout,
        "memory": sized.planned_layout.memory,
        "time": sized.planned_layout.time,
        "network": sized.machine.network,
    }


def _choice(choice: Choice) -> dict[str, Any]:
    size = _sized(choice.sized) if choice.sized else None
    return {
        "gpu": choice.gpu.name,
        "size": size,
        "serving": choice.serving,
        "roof": choice.roof,
        "money": choice.money,
        "why_not": choice.why_not,
    }
