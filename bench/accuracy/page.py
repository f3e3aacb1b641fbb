"""Formats docs/accuracy.md from scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean

from bench.accuracy.gates import Gate, Measures, gates
from bench.accuracy.rivals import CALCULON, CALCULON_A100, SIMUMAX_MEMORY, SIMUMAX_TIME
from bench.accuracy.scores import Off, Score, by, score
from bench.accuracy.speed_rows import Measured

Rows = Sequence[Sequence[str]]
BAD_SOURCE, BAD_ROW = 0.15, 0.5  # medians of a source and errors of a row above which they are listed
INTRODUCTION = """# Accuracy

This page lists the errors of `wright plan` on {rows} published training runs, {peaks} peak memories, {collectives}
collective operations and {networks} trainings of convolutional networks.

`python -m bench.accuracy` generates this page; `--check` reports whether it still matches the code.
An error is predicted over measured, minus one: -10% is a tenth too fast.
*Left out* means that no row of the same source was in the fit that predicted it: expect this error for your own runs.
*Publisher left out* is stricter: releases of one publisher repeat the same recipes, so all of
its pages are left out together. *In sample* uses the coefficients that are shipped.
Repeats of one plan by one source count once, with their median. *Complete* rows have shape, batch and parallel layout;
for the others some values were inferred, as the note of the prediction states.
The label of a row is model, GPU, precision, sequence length, and GPUs/tp/pp/cp/ep/microbatch/global batch.

![Predicted over measured time, each source left out](accuracy.svg)
"""


def page(found: Measures, wrong: Sequence[str]) -> str:
    """Return the Markdown text of docs/accuracy.md."""
    times = found.times
    parts = [
        INTRODUCTION.format(
            rows=len(times.rows),
            peaks=len(found.memory),
            collectives=len(found.collectives),
            networks=len(found.networks),
        ),
        _gates(gates(found)),
        _bad(found),
        _unseen(found),
        _times(found),
        _calculon(found),
        _layouts(found),
        _memory(found, wrong),
        _others(found),
    ]
    return "\n".join(parts).rstrip() + "\n"


def table(head: Sequence[str], rows: Rows) -> str:
    """Format a Markdown table; the first column left-aligned, numbers right."""
    lines = [head, [":---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines) + "\n"


def _gates(every: list[Gate]) -> str:
    rows = [
        [
            each.name,
            each.what,
            str(each.rows),
            each.known,
            each.aim,
            each.ours,
            each.in_sample,
            "yes" if each.reached else "no",
        ]
        for each in every
    ]
    done = sum(each.reached for each in every)
    head = ("gate", "rows of", "rows", "others", "goal", "ours, left out", "in sample", "reached")
    note = (
        "No published rows cover zero-bubble schedules (G8).\n"
        "Separate tests verify search speed (G11), start-up (G12) and fabrics (G13).\n"
    )
    return f"## Goals\n\n{done} of {len(every)} are reached.\n\n{table(head, rows)}\n{note}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _line(name: str, held: Score, seen: Score | None, publisher: Score | None = None) -> list[str]:
    worst = held.worst
    return [
        name,
        str(held.rows),
        str(held.complete),
        f"{held.median:.1%}",
        f"{held.p90:.1%}",
        f"{held.bias:+.1%}",
        _share(publisher.median if publisher else None),
        _share(held.inside),
        _share(seen.median if seen else None),
        f"{worst.label} {worst.error:+.0%}",
    ]


HEAD = (
    "",
    "rows",
    "complete",
    "median",
    "P90",
    "bias",
    "publisher out",
    "in range",
    "in sample",
    "worst row",
)


def _scored(found: Measures, key: Callable[[int], str]) -> str:
    times = found.times
    groups: dict[str, list[int]] = {}
    for index in range(len(times.rows)):
        groups.setdefault(key(index), []).append(index)
    lines = [
        _line(
            name,
            score([times.source_out[i] for i in mine]),
            score([times.inside[i] for i in mine]),
            score([times.publisher_out[i] for i in mine]),
        )
        for name, mine in sorted(groups.items())
    ]
    return table(HEAD, lines)


def _times(found: Measures) -> str:
    rows = found.times.rows
    weak = "an asterisk marks rows whose time was derived from printed FLOP/s"
    return "\n".join(
        [
            "## Time of an iteration, by source\n",
            f"Each source is left out of its own fit; {weak}.\n",
            _scored(found, lambda i: rows[i].source + (" *" if rows[i].weak else "")),
            "## Time, by GPU\n",
            _scored(found, lambda i: rows[i].run.machine.gpu.name),
            "## Time, by type of model and training\n",
            _scored(
                found, lambda i: f"{_sort(rows[i])}, {'complete' if rows[i].complete else 'partly inferred'}"
            ),
        ]
    )


def _sort(one: Measured) -> str:
    if one.run.training.architecture.experts:
        return "mixture of experts"
    if one.run.training.architecture.mamba_layers:
        return "hybrid"
    low = one.run.training.precision in {"fp8", "mxfp8", "nvfp4"}
    shape = "fully sharded" if one.run.layout.zero == 3 else "dense"
    return f"{shape}, {'8 or 4 bits' if low else '16 bits'}"


def _bad(found: Measures) -> str:
    every = by(found.times.source_out, lambda each: each.source)
    sources = [f"- {name}: median {score(rows).median:.0%} of {len(rows)} rows" for name, rows in every.items()
               if score(rows).median > BAD_SOURCE]  # fmt: skip
    rows = [each for each in found.times.source_out if abs(each.error) > BAD_ROW]
    told = [
        f"- {each.source}: {each.label}: {each.error:+.0%}"
        for each in sorted(rows, key=lambda each: -abs(each.error))
    ]
    held = by(found.memory, lambda each: each.source)
    peaks = [f"- {name}: median {score(rows).median:.0%} of {len(rows)} rows" for name, rows in held.items()
             if score(rows).median > BAD_SOURCE]  # fmt: skip
    lists = (
        (f"Sources with a median above {BAD_SOURCE:.0%} for time", sources),
        (f"Rows with a time error above {BAD_ROW:.0%} ({len(rows)} of {len(found.times.rows)})", told),
        (f"Sources with a median above {BAD_SOURCE:.0%} for peak memory", peaks),
    )
    return "## Largest errors\n\n" + "\n".join(
        f"{what}:\n\n{chr(10).join(each) or 'none'}\n" for what, each in lists
    )


def _unseen(found: Measures) -> str:
    head = ("", "rows", "median", "P90", "bias", "in range", "worst row")
    words = "Rows of bench/accuracy/unseen, predicted by `wright plan predict` with the shipped coefficients."
    parts = [f"## Held-out sources\n\n{words}\n"]
    for kind, members in by(found.unseen, lambda each: each.group).items():
        groups = {**by(members, lambda each: each.source), "all": members}
        rows = [[name, *_short(score(mine))] for name, mine in groups.items()]
        parts.append(table((kind, *head[1:]), rows))
    return "\n".join(parts)


def _short(of: Score) -> list[str]:
    shares = [f"{of.median:.1%}", f"{of.p90:.1%}", f"{of.bias:+.1%}", _share(of.inside)]
    return [str(of.rows), *shares, f"{of.worst.label} {of.worst.error:+.0%}"]


def _calculon(found: Measures) -> str:
    lines, ours, theirs = [], [], []
    for one, seen, held in zip(found.times.rows, found.times.inside, found.times.source_out, strict=True):
        key = (one.row["model"], one.row["recompute"])
        if "Table 5" not in one.source or key not in CALCULON:
            continue
        other = CALCULON[key] / one.seconds - 1
        ours.append(abs(held.error))
        theirs.append(abs(other))
        cells = [f"{one.seconds:g}", f"{CALCULON[key]:g}", f"{other:+.1%}", f"{held.predicted:.2f}"]
        lines.append(
            [f"{key[0]}, {key[1]} recomputation", *cells, f"{held.error:+.1%}", f"{seen.error:+.1%}"]
        )
    head = ("Korthikanti table 5", "measured s", "Calculon s", "", "ours s, left out", "", "in sample")
    mean, tail = CALCULON_A100
    words = (
        f"Calculon was fitted on these rows: mean {fmean(theirs):.2%}, maximum {max(theirs):.2%}.\n"
        f"Our fit left these rows out: mean {fmean(ours):.2%}, maximum {max(ours):.2%}.\n"
        f"On 137 A100 rows of five sources, the error of Calculon is {mean:.1%} (P90 {tail:.1%}), always too fast.\n"
        "SimuMax 1.2, with a measured table for every operation, reports "
        f"{SIMUMAX_TIME:.2%} for time and {SIMUMAX_MEMORY:.2%} for memory on its own 43 cases.\n"
    )
    return f"## Comparison with Calculon and SimuMax\n\n{table(head, lines)}\n{words}"


def _layouts(found: Measures) -> str:
    lines = [
        [each.label, str(len(each.rows)), str(each.place), f"{each.lost:.1%}"]
        for each in sorted(found.layouts, key=lambda each: -each.place)
    ]
    head = ("same training, other layouts", "layouts", "rank of the measured best", "time lost")
    lost = fmean(each.lost for each in found.layouts)
    words = f"The layout that we rank first costs {lost:.1%} of the time on average.\n"
    return f"## Ranking of layouts\n\n{table(head, lines)}\n{words}"


def _plain(name: str, held: Sequence[Off], seen: Sequence[Off]) -> list[str]:
    out, own = score(held), score(seen)
    cells = [str(out.rows), f"{out.median:.1%}", f"{out.p90:.1%}", f"{out.bias:+.1%}", f"{own.median:.1%}"]
    return [name, *cells, f"{out.worst.label} {out.worst.error:+.0%}"]


PLAIN = ("", "rows", "median", "P90", "bias", "in sample", "worst row")


def _two(held: Iterable[Off], seen: Iterable[Off], key: Callable[[Off], str]) -> str:
    own = by(seen, key)
    return table(PLAIN, [_plain(name, rows, own[name]) for name, rows in by(held, key).items()])


def _memory(found: Measures, wrong: Sequence[str]) -> str:
    told = found.told
    words = (
        f"Of {told.ran} runs that ran, {told.ran_called_fitting} are predicted to fit.\n"
        f"Of {told.oom} runs that ran out of memory, {told.oom - told.oom_called_fitting} are predicted to do so.\n\n"
        "Wrong predictions:\n"
    )
    return "\n".join(
        [
            "## Peak memory, by source\n",
            _two(found.memory, found.memory_in, lambda each: each.source),
            "## Peak memory, by type of model\n",
            _two(found.memory, found.memory_in, lambda each: each.group),
            "## Fit into memory\n",
            words,
            "\n".join(f"- {each}" for each in wrong) or "none",
            "",
        ]
    )


def _others(found: Measures) -> str:
    return "\n".join(
        [
            "## Collective operations\n",
            "Large means 64 MiB and more; a bus bandwidth below 0.1 GB/s was printed as 0 and is excluded.\n",
            _two(found.collectives, found.collectives_in, lambda each: each.group),
            _two(found.collectives, found.collectives_in, lambda each: each.source),
            "## Convolutional networks\n",
            _two(found.networks, found.networks_in, lambda each: f"{each.source}, {each.group}"),
        ]
    )
