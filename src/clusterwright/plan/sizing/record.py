"""JSON record of an answer of sizing: the training, the team's share, the bill of materials and the compared GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterwright.plan.assumptions import describe_assumptions
from clusterwright.plan.sizing.choices import currency

if TYPE_CHECKING:
    from clusterwright.plan.sizing.answer import Answer
    from clusterwright.plan.sizing.choices import Choice
    from clusterwright.plan.sizing.fewest import Sized
    from clusterwright.plan.sizing.materials import Materials


def record(answer: Answer | None, bought: Materials | None, choices: tuple[Choice, ...]) -> dict[str, Any]:
    """Return size, bill and compared GPUs as a dict for JSON; without an answer and materials only the choices."""
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
                    "reason": line.reason,
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
        "stack": sized.planned_layout.stack,
        "based_on": describe_assumptions(sized.run),
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
