"""Render the page of training curves: figures, one curve for each series, restarts, and the values as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from clusterwright.drawing.sheet import Figure, Section, Theme, drawn, legend, sheet, table
from clusterwright.launch.curves.drawn import Curve, Point, drawing, number

CURVES = (
    Curve("loss", ("Loss", "损失"), ""),
    Curve("lr", ("Learning rate", "学习率"), ""),
    Curve("norm", ("Gradient norm", "梯度范数"), ""),
    Curve("tokens_per_s", ("Tokens per second", "每秒词元"), ""),
    Curve("samples_per_s", ("Samples per second", "每秒样本"), ""),
    Curve("data_wait", ("Data wait (share of the step)", "等待数据占比"), "", share=True),
    Curve("communication", ("Communication (share of the step)", "通信占比"), "", share=True),
    Curve("memory", ("Memory", "内存"), "B"),
)
ROWS = 12  # of the table of values
ON_LOSS = "validation"  # measure whose values are dots on the loss curve


def render_page(report: Mapping[str, Any]) -> str:
    """Return the page as HTML; `report` is untrusted data of the run, from onhost/runs, and is escaped."""
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
        return f"{report['run']} has completed no step yet", "尚未完成任何训练步"
    restarts = len(report["restarts"])
    restart_text = f", restarted {restarts} time{'s' if restarts > 1 else ''}" if restarts else ""
    total_text = f" of {now['total_steps']}" if now["total_steps"] else ""
    return (
        f"{report['run']}: {now['state']} at step {now['step']}{total_text}{restart_text}",
        f"第 {now['step']} 步, 重启 {restarts} 次",
    )


def _figures(now: Mapping[str, Any]) -> list[Figure]:
    figures = (
        ("loss", "", ("loss", "损失"), lambda value: f"{value:.4g}"),
        ("mfu", "", ("MFU (share of peak FLOPS)", "模型算力利用率"), lambda value: f"{value:.1%}"),
        (
            "goodput",
            "",
            ("goodput (share of GPU time)", "有效训练时间占比"),
            lambda value: f"{value:.1%}",
        ),
        (
            "data_wait",
            "",
            ("data wait of the newest steps", "最近各步等待数据"),
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
    restarts = report["restarts"]
    for curve, points in curves:
        dots = report["measures"].get(ON_LOSS, []) if curve.name == "loss" else []
        keys = [("dotted", (ON_LOSS, "验证"))] if dots else []
        keys += [("restarted", ("restart", "重启"))] if restarts else []

        def draw_curve(width: float, curve: Curve = curve, points: Any = points, dots: Any = dots) -> str:
            return drawing(curve, points, restarts, width, dots=dots)

        yield Section(curve.title, drawn(draw_curve, legend(keys) if keys else ""))


def _restarts(report: Mapping[str, Any]) -> Iterator[Section]:
    if report["restarts"]:
        rows = [
            (str(restart["generation"]), str(restart["step"]), str(restart["reason"]))
            for restart in report["restarts"]
        ]
        yield Section(("Restarts", "重启"), table(("generation 代", "from step 自", "reason 原因"), rows))


def _measures(report: Mapping[str, Any]) -> Iterator[Section]:
    """Yield the table of measures, with the newest values of each."""
    rows = [
        (name, str(step), f"{value:.6g}")
        for name, points in report["measures"].items()
        for step, value in points[-ROWS:]
    ]
    if rows:
        yield Section(("Measures", "评估"), table(("measure 指标", "step 步", "value 值"), rows))


def _values(curves: Sequence[tuple[Curve, Sequence[Point]]]) -> Iterator[Section]:
    """Yield one section, a table of all curves' values at evenly spaced steps; nothing without curves."""
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
    yield Section(("Values", "数值"), table(head, rows))
