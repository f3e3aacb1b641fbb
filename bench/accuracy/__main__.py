"""Writes docs/accuracy.md and docs/accuracy.svg from bench/accuracy/published and the stored coefficients.

python -m bench.accuracy            write the page; leave-one-source-out fits are from bench/accuracy/fit_plan.py
python -m bench.accuracy --check    check whether the page is current (half a minute); exit code 3 if not
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

from bench.accuracy import memory as accuracy_memory
from bench.accuracy import others as accuracy_others
from bench.accuracy import times as accuracy_time
from bench.accuracy import unseen_sources as unseen
from bench.accuracy.gates import Measures
from bench.accuracy.page import page
from bench.accuracy.plot import plot
from bench.accuracy.scores import Off, Verdicts, by, rankings, score
from bench.accuracy.speed_fit import cache_collectives

DOCS = Path(__file__).parents[2] / "docs"
PAGE, PICTURE = DOCS / "accuracy.md", DOCS / "accuracy.svg"
FEWEST_LAYOUTS = 4
CLOSE = 0.002  # change of an in-sample median from which the page counts as outdated
_MARK = re.compile(r"<!-- in sample: (\{.*\}) -->")


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        return check()
    found, wrong = measure()
    mark = f"<!-- in sample: {json.dumps(fingerprint())} -->"
    PAGE.write_text(f"{page(found, wrong)}\n{mark}\n", encoding="utf-8")
    gpus = [one.row["gpu_type"] for one in found.times.rows]
    PICTURE.write_text(plot(found.times.source_out, gpus), encoding="utf-8")
    print(f"{PAGE} and {PICTURE.name} written")
    return 0


def measure() -> tuple[Measures, list[str]]:
    """Return the errors of all models, held out and in sample; computed by three processes, as fits are slow."""
    with ProcessPoolExecutor(max_workers=3) as pool:
        times = pool.submit(_times)
        others = pool.submit(_others)
        memory = pool.submit(_memory)
        (told, wrong), peaks, peaks_in = memory.result()
        parts = others.result()
        found = Measures(
            times=times.result(), memory=peaks, memory_in=peaks_in, told=told, layouts=(), **parts
        )
    return replace(found, layouts=rankings(found.times.source_out, FEWEST_LAYOUTS)), wrong


def _times() -> accuracy_time.Times:
    cache_collectives()
    found = accuracy_time.held_out(accuracy_time.once_each(accuracy_time.measured_rows()))
    _say("time")
    return found


def _memory() -> tuple[tuple[Verdicts, list[str]], list[Off], list[Off]]:
    found = accuracy_memory.fit_verdicts(), accuracy_memory.held_out(), accuracy_memory.in_sample()
    _say("memory, and fits or not")
    return found


def _others() -> dict[str, Sequence[Off] | Sequence[float]]:
    found = {
        "collectives": accuracy_others.collectives(held=True),
        "collectives_in": accuracy_others.collectives(held=False),
        "networks": accuracy_others.networks(held=True),
        "networks_in": accuracy_others.networks(held=False),
        "scaling": accuracy_others.scaling(held=True),
        "scaling_in": accuracy_others.scaling(held=False),
        "unseen": unseen.offs(unseen.answered()),
    }
    _say("collectives, convolutional networks, unseen sources")
    return found


def fingerprint() -> dict[str, float]:
    """Return in-sample medians of errors by source, which change with the planner's code."""
    cache_collectives()
    rows: dict[str, Sequence[Off]] = {
        "time": accuracy_time.in_sample(accuracy_time.once_each(accuracy_time.measured_rows())),
        "memory": accuracy_memory.in_sample(),
        "collectives": accuracy_others.collectives(held=False),
        "networks": accuracy_others.networks(held=False),
        "unseen": unseen.offs(unseen.answered()),
    }
    return {
        f"{what} {source}": round(score(mine).median, 5)
        for what, every in rows.items()
        for source, mine in by(every, lambda each: each.source).items()
    }


def check() -> int:
    """Return 0 if the page is current, 3 if it is outdated."""
    written = _MARK.search(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else None
    then = json.loads(written[1]) if written else {}
    now = fingerprint()
    differ = [name for name in sorted({*then, *now}) if abs(then.get(name, 9.0) - now.get(name, 9.0)) > CLOSE]
    for name in differ:
        print(f"{name}: the page says {then.get(name, 'nothing')}, the code {now.get(name, 'nothing')}")
    print(f"{PAGE.name} is {'old: run python -m bench.accuracy' if differ else 'what the code gives'}")
    return 3 if differ else 0


def _say(what: str) -> None:
    print(f"{what}: done", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
