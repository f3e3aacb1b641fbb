"""What GPU hours cost, and what they took from the wall."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.monitor.report.report import Bilingual

JOULES_PER_KWH = 3.6e6


@dataclass(frozen=True, slots=True)
class Price:
    """Of one GPU hour, and where that is from."""

    amount: float
    currency: str
    source: str


def cost(gpu_hours: float, price: Price) -> Bilingual:
    """In words, with what it rests on."""
    money = f"{gpu_hours * price.amount:,.2f} {price.currency}"
    unit_price = f"{price.amount:g} {price.currency}"
    return (
        f"{money}: {gpu_hours:,.1f} GPU hours at {unit_price} ({price.source})",
        f"{money}: {gpu_hours:,.1f} GPU 小时, 每小时 {unit_price} ({price.source})",
    )


def energy(joules: float, *, is_metered: bool, has_power: bool = True) -> Bilingual:
    """In words; what was not measured is an upper bound, and said to be one."""
    if not has_power:
        return (
            "energy: neither power was measured, nor is that of the GPU known",
            "能耗: 未测量, 且 GPU 功率未知",
        )
    kwh = f"{joules / JOULES_PER_KWH:,.1f} kWh"
    if is_metered:
        return f"{kwh} by the GPUs alone, from their measured power", f"仅 GPU 耗电 {kwh} (实测功率)"
    return (
        f"{kwh} at most by the GPUs alone: not measured, but their rated power times the time that they were held",
        f"仅 GPU 耗电至多 {kwh}: 未实测, 按额定功率乘占用时间估算",
    )
