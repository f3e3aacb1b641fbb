"""The look and the words of the planner's pages."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.drawing import sheet as drawing
from clusterwright.drawing.sheet import Figure, Section, Theme

_STYLE = """
.ideal-line { fill: none; stroke: var(--soft); stroke-width: 1.4; stroke-dasharray: 5 5; }
.range { fill: var(--train); opacity: .14; }
.band { fill: var(--red); opacity: .08; }
.fault-line { stroke: var(--red); stroke-width: 1.6; } .fault-text { fill: var(--red); font-weight: 700; }
.new-line { stroke: var(--green); stroke-width: 1.6; } .new-text { fill: var(--green); font-weight: 700; }
.progress { fill: none; stroke: var(--train); stroke-width: 2.4; stroke-linejoin: round; }
.rented-line { fill: none; stroke: var(--start); stroke-width: 2.4; }
.checkpoint { fill: var(--card); stroke: var(--train); stroke-width: 1.6; }
.training { fill: var(--train); }
.dot-of { fill: var(--train); opacity: .55; }
.dot-of.f0 { fill: var(--p5); } .dot-of.f1 { fill: var(--p2); } .dot-of.f2 { fill: var(--p4); }
.dot-of.f3 { fill: var(--p0); } .dot-of.f4 { fill: var(--p6); } .dot-of.f5 { fill: var(--p3); }
.best-ring { fill: none; stroke: var(--green); stroke-width: 2.4; }
.place, .host-name { font-weight: 600; } .said { font-size: 12px; }
.key i { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 7px; }
"""


def sheet(
    headline: tuple[str, str], figures: Sequence[Figure], sections: Sequence[Section], *, footer: str = ""
) -> str:
    """The whole page as HTML; every text of the caller's but a section's body is escaped there."""
    return drawing.sheet(Theme(PAGE_LABELS["brand"], _STYLE), headline, figures, sections, footer=footer)


MEMORY = {  # field of Memory -> English, Chinese
    "weights": ("weights", "权重"),
    "gradients": ("gradients", "梯度"),
    "optimizer": ("optimiser states", "优化器状态"),
    "activations": ("activations", "激活"),
    "transients": ("transients", "临时缓冲"),
    "fragmentation": ("fragmentation", "显存碎片"),
    "context": ("CUDA and NCCL", "CUDA 与 NCCL"),
}
TIME = {  # field of Time -> English, Chinese
    "ideal": ("ideal: FLOPs at the peak", "理想 (峰值算力)"),
    "inefficiency": ("matrix products below the peak", "矩阵乘未达峰值"),
    "recompute": ("recomputation", "重计算"),
    "memory_bound": ("memory-bound operations", "访存受限算子"),
    "tensor_parallel": ("tensor-parallel communication", "张量并行通信"),
    "context_parallel": ("context-parallel communication", "上下文并行通信"),
    "expert_parallel": ("expert communication", "专家并行通信"),
    "pipeline_bubble": ("pipeline bubble", "流水线气泡"),
    "pipeline_comm": ("pipeline communication", "流水线通信"),
    "data_parallel": ("data-parallel communication", "数据并行通信"),
    "optimizer": ("optimiser step", "优化器更新"),
    "input": ("input", "数据输入"),
    "jitter": ("jitter and stragglers", "抖动与掉队"),
}
PAGE_LABELS = {
    "brand": ("Plan", "规划"),
    "memory": ("Memory of one GPU, stage by stage", "单卡显存 (逐级流水线)"),
    "waterfall": ("From the ideal to the wall clock", "从理想到实际耗时"),
    "scaling": ("Scaling", "扩展曲线"),
    "layouts": ("Layouts: speed against memory", "并行方案 (速度与显存)"),
    "fabric": ("The network", "网络"),
    "cost": ("Cost against hours", "成本与使用时长"),
    "figures": ("Every figure", "全部数据"),
    "limit": ("usable memory", "可用显存"),
    "ideal line": ("linear", "线性"),
    "predicted": ("predicted", "预测"),
    "range": ("P10 to P90", "P10 至 P90"),
    "best": ("best", "最优"),
    "owned": ("owned", "自建"),
    "rented": ("rented", "租用"),
    "break-even": ("break-even", "盈亏平衡"),
    "GPUs": ("GPUs", "GPU 数"),
    "GiB per GPU": ("GiB per GPU", "每卡 GiB"),
    "seconds per iteration": ("seconds per iteration", "每步秒数"),
    "tokens per second": ("tokens per second", "每秒 token 数"),
    "hours per year": ("hours per year", "每年小时数"),
}


def both_languages(pair: tuple[str, str]) -> str:
    """`English 中文`, for labels inside a drawing."""
    return f"{pair[0]} {pair[1]}"
