"""The page a person looks at: one file, no script, nothing fetched. Drawn from the Report alone."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path
from string import Template

from clusterwright.check.verdict import Verdict
from clusterwright.drawing.page import both, document
from clusterwright.lab.demo.draw.bar import bar, colour
from clusterwright.lab.demo.draw.cluster import cluster
from clusterwright.lab.demo.draw.curves import curves
from clusterwright.lab.demo.draw.timeline import timeline
from clusterwright.lab.demo.figures import figures
from clusterwright.lab.demo.reckon import Part
from clusterwright.lab.demo.report import Report
from clusterwright.lab.demo.words import (
    ZH,
    again,
    applied_text,
    footer,
    headline,
    hero,
    loss_text,
    place_text,
)


def page(made: Report) -> str:
    """The whole page."""
    here = Path(__file__).parent
    english, chinese = headline(made)
    place = "The cluster" if made.cluster else "The machine"
    body = Template((here / "page.html").read_text()).substitute(
        headline=escape(english),
        headline_zh=escape(chinese),
        problems=_problems(made),
        hero="".join(_big(*row) for row in hero(made)),
        place_title=f"{place} {_zh(place)}",
        place_text=escape(place_text(made)),
        place_word="host" if made.mode == "lab" else "rank",
        cluster=both(lambda width: cluster(made, width)),
        timeline=both(lambda width: timeline(made, width)),
        recovery=_recovery(made),
        loss_text=escape(loss_text(made)),
        curves=both(lambda width: curves(made, width)),
        checks=_checks(made),
        figures="".join(_group(name, rows) for name, rows in figures(made)),
        again=escape(again(made)),
        footer=escape(footer(made)),
    )
    return document(english, body, style=(here / "page.css").read_text())


def _zh(english: str) -> str:
    return f'<span lang="zh">{escape(ZH[english])}</span>'


def _row(name: str, cells: Iterable[str]) -> str:
    return f'<tr><th scope="row">{name}</th>{"".join(cells)}</tr>'


def _big(value: str, unit: str, said: str) -> str:
    named = f"<dt>{escape(said)}<br>{_zh(said)}</dt>"
    return f"<div>{named}<dd>{escape(value)} <small>{escape(unit)}</small></dd></div>"


def _problems(made: Report) -> str:
    if made.ok:
        return ""
    rows = "".join(f"<li>{escape(problem)}</li>" for problem in made.problems)
    return f'<div class="wrong" role="alert"><strong>Not all of it happened.</strong><ul>{rows}</ul></div>'


def _recovery(made: Report) -> str:
    took = made.recovery
    if took is None:
        return "<p>No step was done after the fault.</p>"
    drawn = both(lambda width: bar(took, width))
    rows = "".join(_part(part) for part in took.parts)
    said = (
        f"The next step was complete {took.next_step_seconds:.1f} s after the fault, "
        f"and the first new one, beyond step {took.at_step}, after {took.seconds:.1f} s. Nobody did anything."
    )
    return f'<p>{said}</p><figure>{drawn}</figure><table class="parts">{rows}</table>'


def _part(part: Part) -> str:
    name = f'<i class="{colour(part.name)}"></i>{escape(part.name)} {_zh(part.name)}'
    seconds = f'<td class="number">{part.seconds:.2f} s</td>'
    return _row(name, (seconds, f'<td class="until">{escape(part.until)}</td>'))


def _checks(made: Report) -> str:
    if made.checks is None:
        return ""
    title = f"Proof before the training {_zh('Proof before the training')}"
    items = "".join(
        f'<li class="{name if count else "zero"}"><b>{count}</b>{name} {_zh(name)}</li>'
        for name, count in made.checks.items()
    )
    rows = "".join(_verdict(found) for found in made.checks_not_ok)
    table = f"<table>{rows}</table>" if rows else ""
    return (
        f'<section aria-labelledby="s-checks"><h2 id="s-checks">{title}</h2>'
        f'<p>{escape(applied_text(made))}</p><ul class="counts">{items}</ul>{table}</section>'
    )


def _verdict(found: Verdict) -> str:
    cells = (f"<td>{escape(cell)}</td>" for cell in (found.subject, found.status, found.saw))
    return _row(escape(found.check), cells)


def _group(name: str, rows: Iterable[tuple[str, str]]) -> str:
    cells = "".join(_row(escape(key), (f"<td>{escape(value)}</td>",)) for key, value in rows)
    return f"<div><h3>{escape(name)}</h3><table>{cells}</table></div>"
