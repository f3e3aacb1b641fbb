"""Tables of prediction errors, by source and by goal."""

from __future__ import annotations

import numpy as np

from bench.accuracy.speed_rows import Measured

GATES = {
    "complete pretraining rows": lambda one: one.complete and not one.weak,
    "A100, Megatron (G1)": lambda one: "A100" in one.row["gpu_type"] and "megatron" in one.run.stack.family,
    "Korthikanti (G2)": lambda one: "Korthikanti" in one.source,
    "H100 and Blackwell, NVIDIA's tables (G4)": lambda one: one.source.startswith(
        ("DGXC", "Megatron-B", "NeMo")
    ),
    "the same, complete": lambda one: one.complete and one.source.startswith(("DGXC", "Megatron-B", "NeMo")),
    "fully sharded (G5)": lambda one: one.run.layout.zero == 3,
    "mixture of experts": lambda one: bool(one.run.training.architecture.experts),
}


def errors(held: np.ndarray) -> tuple[float, float, float, float]:
    """Return median, mean and 90th percentile of the absolute error, and the bias, as shares."""
    wrong = np.abs(np.expm1(held))
    return (
        float(np.median(wrong)),
        float(wrong.mean()),
        float(np.quantile(wrong, 0.9)),
        float(np.expm1(np.median(held))),
    )


def line(name: str, rows: list[Measured], held: np.ndarray) -> str:
    """Format the line of a group of rows, with its worst row."""
    median, mean, tail, bias = errors(held)
    worst = int(np.argmax(np.abs(held)))
    figures = f"{len(rows):5} {median:7.1%} {mean:7.1%} {tail:7.1%} {bias:+7.1%}"
    return f"{name[:44]:44} {figures}  {np.expm1(held[worst]):+5.0%} {rows[worst].label[:70]}"


def table(rows: list[Measured], held: np.ndarray) -> str:
    """Format the table of errors by source."""
    lines = [f"{'source':44} {'rows':>5} {'median':>7} {'mean':>7} {'P90':>7} {'bias':>7}  worst row"]
    for source in sorted({one.source for one in rows}):
        mine = np.array([one.source == source for one in rows])
        lines.append(
            line(source, [one for one, is_mine in zip(rows, mine, strict=True) if is_mine], held[mine])
        )
    return "\n".join(lines)


def gates(rows: list[Measured], held: np.ndarray) -> str:
    """Format the table of errors of groups with goals."""
    lines = []
    for name, belongs in GATES.items():
        mine = np.array([belongs(one) for one in rows])
        if mine.any():
            lines.append(
                line(name, [one for one, is_mine in zip(rows, mine, strict=True) if is_mine], held[mine])
            )
    return "\n".join(lines)
