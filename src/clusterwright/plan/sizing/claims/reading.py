"""Judgement of the lines of a text, a guide's or a user's: each line by every judge that recognizes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

from clusterwright.catalog import guides
from clusterwright.catalog.guides import WrongInstruction
from clusterwright.i18n import _
from clusterwright.plan.sizing.claims import commands, cpus, perftest
from clusterwright.plan.sizing.claims.claim import Checked, Verdict

Judge = Callable[..., Checked | None]
_JUDGES: tuple[tuple[str, str, Judge], ...] = (  # name, requirement, judge
    ("cpu-threads", "P2", cpus.judge),
    ("loader-workers", "H1", commands.judge_workers),
    ("conda-cudatoolkit", "B2", commands.judge_cudatoolkit),
)
_REQUESTS_GPUS = re.compile(r"^\s*#SBATCH\s+(?:--gres|--gpus|-G)", re.MULTILINE)
_WARNS = re.compile(
    r"\b(?:do not|don't|never|not|without|instead of|rather than|avoid|keep)\b|不要|切勿|请勿|无需|不必|而不是|保持",
    re.IGNORECASE,
)
_REACH = 30  # characters before an instruction in which a `do not` turns it round
_LONGEST = 2000  # characters of a line that are read


@cache
def _patterns() -> tuple[tuple[WrongInstruction, tuple[re.Pattern[str], ...]], ...]:
    return tuple(
        (entry, tuple(re.compile(pattern, re.IGNORECASE) for pattern in entry.patterns))
        for entry in guides.wrong_instructions()
    )


def _instructs(line: str, patterns: Iterable[re.Pattern[str]]) -> bool:
    """True if a line gives an instruction, and does not warn of it."""
    matches = (match for pattern in patterns for match in pattern.finditer(line))
    return any(not _WARNS.search(line[max(0, match.start() - _REACH) : match.start()]) for match in matches)


def _judge_instruction(entry: WrongInstruction, statement: str) -> Checked:
    """Return the verdict `disagree` on a guide's wrong instruction, with the reason and the right line."""
    inputs = _("no figure; the reason applies to every cluster")
    reason = _(entry.reason)
    return Checked(
        entry.name, entry.row, statement, None, None, "", inputs, Verdict.DISAGREE, reason, entry.right
    )


def judge_guide_lines() -> tuple[Checked, ...]:
    """Return the claims of the catalog's guide lines, judged as any other text."""
    return tuple(
        replace(checked, name=line.name, row=line.row, statement=_(line.statement))
        for line in guides.guide_lines()
        for checked in judge_text(line.text)
    )


def judge_text(text: str) -> tuple[Checked, ...]:
    """Judge every line of a text that a judge recognizes; the network ports of a line hold for the lines below it."""
    link, results = None, []
    has_gpus = bool(_REQUESTS_GPUS.search(text))
    for line in text.splitlines():
        link = perftest.find_link(line[:_LONGEST]) or link
        results += judge_line(line[:_LONGEST], link, has_gpus=has_gpus)
    return tuple(results)


def judge_line(line: str, link: perftest.Link | None = None, *, has_gpus: bool = False) -> list[Checked]:
    """Return a judged claim for each statement in a line that a judge recognizes; empty if there is none.

    `link`: the network ports that the line is about; `has_gpus`: the script around it requests GPUs.
    """
    statement, results = " ".join(line.split()), []
    for figure in perftest.find_figures(line):
        name = figure.tool.replace("_", "-")
        judged = (
            perftest.judge(figure, link, name=name, row="V2", statement=statement)
            if link
            else perftest.without_link(figure, name=name, row="V2", statement=statement)
        )
        results.append(judged)
    for name, row, judge in _JUDGES:
        checked = judge(line, name=name, row=row, statement=statement)
        results += [checked] if checked else []
    checked = commands.judge_srun(
        line, name=commands.SRUN_CLAIM, row="B5", statement=statement, has_gpus=has_gpus
    )
    results += [checked] if checked else []
    return results + [
        _judge_instruction(entry, statement) for entry, patterns in _patterns() if _instructs(line, patterns)
    ]
