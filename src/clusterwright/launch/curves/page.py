"""The page: figures on top, a curve for each thing that was written down, the same values in a table. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from clusterwright.drawing.sheet import Figure, Section, Theme, drawn, legend, sheet, table
from clusterwright.launch.curves.drawn import Curve, Point, drawing, number

CURVES = (
    Curve("loss", ("Loss", "损失"), ""),
    Curve("lr", ("Learning rate", "学习率"), ""),
    Curve("norm", ("Norm of the gradients", "梯度范数"), ""),
    Curve("tokens_per_s", ("Tokens a second", "每秒词元"), ""),
    Curve("samples_per_s", ("Samples a second", "每秒样本"), ""),
    Curve("data_wait", ("Share of the step that waits for data", "等待数据占比"), "", share=True),
    Curve("communication", ("Share of the step that is communication", "通信占比"), "", share=True),
    Curve("memory", ("Memory", "内存"), "B"),
)
ROWS = 12  # of the table
ON_LOSS = "validation"  # the measure that is a loss, too


def render_page(report: Mapping[str, Any]) -> str:
    """The whole page as HTML, from what far_series.py says; `report` is a run's own word and is escaped."""
    curves = [(curve, report["series"][curve.name]) for curve in CURVES if report["series"].get(curve.name)]
    if any(curve.name == "tokens_per_s" for curve, _ in curves):
        curves = [pair for pair in curves if pair[0].name != "samples_per_s"]
    theme = Theme(
        ("training curves", "训练曲线"), Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    )
    sections = [*_drawn(curves, report), *_restarts(report), *_measures(report), *_values(curves)]
    return sheet(theme, _headline(report), _figures(report["now"]), sections, footer=f"run {report['run']}")


def _headline(report: Mapping[str, Any]) -> tuple[str, str]:
    now = report["now"]
    if now["step"] is None:
        return f"{report['run']} has made no step yet", "尚未训练任何一步"
    restarts = len(report["marks"])
    restart_text = f", restarted {restarts} time{'s' if restarts > 1 else ''}" if restarts else ""
    total_text = f" of {now['until']}" if now["until"] else ""
    return (
        f"{report['run']}: {now['state']} at step {now['step']}{total_text}{restart_text}",
        f"第 {now['step']} 步, 重启 {restarts} 次",
    )


def _figures(now: Mapping[str, Any]) -> list[Figure]:
    figures = (
        ("loss", "", ("loss", "损失"), lambda value: f"{value:.4g}"),
        ("mfu", "", ("MFU: of the GPUs' peak", "模型算力利用率"), lambda value: f"{value:.1%}"),
        (
            "goodput",
            "",
            ("goodput: GPU time in kept steps", "有效训练时间占比"),
            lambda value: f"{value:.1%}",
        ),
        (
            "data_wait",
            "",
            ("of the newest steps waited for data", "最近各步等待数据"),
            lambda value: f"{value:.1%}",
        ),
        ("failures", "", ("failures", "故障次数"), str),
    )
    return [
        Figure(format_value(now[key]), unit, labels)
        for key, unit, labels, format_value in figures
        if now.get(key) is not None
    ][:4]


def _drawn(curves: Sequence[tuple[Curve, Sequence[Point]]], report: Mapping[str, Any]) -> Iterator[Section]:
    restarts = report["marks"]
    for curve, points in curves:
        dots = report["measures"].get(ON_LOSS, []) if curve.name == "loss" else []
        keys = [("dotted", (ON_LOSS, "验证"))] if dots else []
        keys += [("restarted", ("restart", "重启"))] if restarts else []

        def draw_curve(width: float, curve: Curve = curve, points: Any = points, dots: Any = dots) -> str:
            return drawing(curve, points, restarts, width, dots=dots)

        yield Section(curve.title, drawn(draw_curve, legend(keys) if keys else ""))


def _restarts(report: Mapping[str, Any]) -> Iterator[Section]:
    if report["marks"]:
        rows = [
            (str(restart["generation"]), str(restart["step"]), str(restart["reason"]))
            for restart in report["marks"]
        ]
        yield Section(("Restarts", "重启"), table(("generation 代", "from step 自", "why 原因"), rows))


def _measures(report: Mapping[str, Any]) -> Iterator[Section]:
    """Every measure, at its own steps; the newest ones where they are many."""
    rows = [
        (name, str(step), f"{value:.6g}")
        for name, points in report["measures"].items()
        for step, value in points[-ROWS:]
    ]
    if rows:
        yield Section(("Measured", "评估"), table(("measure 指标", "step 步", "value 值"), rows))


def _values(curves: Sequence[tuple[Curve, Sequence[Point]]]) -> Iterator[Section]:
    """The curves as numbers, at steps that lie evenly apart."""
    if not curves:
        return
    steps = sorted({int(point[0]) for point in curves[0][1]})
    chosen = steps[:: max(1, len(steps) // ROWS)]
    chosen = chosen if chosen[-1] == steps[-1] else [*chosen, steps[-1]]
    curve_values = [(curve, {int(point[0]): point[1] for point in points}) for curve, points in curves]
    rows = [
        (
            str(step),
            *(number(curve, values[step]) if step in values else "" for curve, values in curve_values),
        )
        for step in chosen
    ]
    head = ("step 步", *(f"{curve.title[0]} {curve.title[1]}" for curve, _ in curves))
    yield Section(("The same in numbers", "数值"), table(head, rows))
