"""What other planners print of themselves on the same rows."""

from __future__ import annotations

# Calculon at commit caa4b11, its own validation (`calculon llm-validation`): model, recomputation -> seconds.
CALCULON = {
    ("GPT-22B", "full"): 1.40,
    ("GPT-22B", "selective"): 1.14,
    ("GPT-175B", "full"): 18.03,
    ("GPT-175B", "selective"): 13.64,
    ("GPT-530B", "full"): 49.89,
    ("GPT-530B", "selective"): 34.47,
    ("GPT-1T", "full"): 90.08,
    ("GPT-1T", "selective"): 66.04,
}
# The same commit on 137 A100 rows of five sources, shapes, plans and network given: mean and P90 of the error's size.
CALCULON_A100 = (0.212, 0.323)
CALCULON_OOM = "0 of 6"  # runs that ran out of memory which it calls not fitting
# SimuMax 1.2 on 43 cases of its own, all on 8 B200 with a measured table per operation: mean of the error's size.
SIMUMAX_TIME, SIMUMAX_MEMORY = 0.0562, 0.0046
