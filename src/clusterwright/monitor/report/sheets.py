"""A report's main table as CSV, for a spreadsheet."""

from __future__ import annotations

import csv
import io
import re

from clusterwright.i18n import _
from clusterwright.monitor.report.report import Report

# Spreadsheets compute cells that begin with these characters, and job names are untrusted (OWASP, CSV injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 (Excel takes the wide ones too)
_PARTS = re.compile(r"(?<=[;\t\r\n])")
_IGNORED = " \"'"  # before a formula


def table(report: Report) -> str:
    """Render the rows of the report's main part as CSV; if it has none, the bars of all parts with their ratios.

    Cells that a spreadsheet would take for a formula are made safe.
    """
    out = io.StringIO()
    write = csv.writer(
        out, quoting=csv.QUOTE_ALL, lineterminator="\n"
    )  # `;` separates cells in some languages
    part = report.parts[report.table]
    if part.rows:
        write.writerow([_(head) for head in part.heads])
        write.writerows([[safe(cell) for cell in row] for row in part.rows])
        return out.getvalue()
    write.writerow([_("section"), _("name"), _("ratio"), _("detail")])
    for section in report.parts:
        for bar in section.bars:
            value = "" if bar.ratio is None else f"{bar.ratio:.6g}"
            write.writerow([_(section.title), safe(bar.name), value, safe(bar.detail)])
    return out.getvalue()


def safe(cell: str) -> str:
    """Put a quote before each part of a cell that a spreadsheet would compute; a lone dash, "not known", stays.

    Some spreadsheets separate cells at each semicolon or tab, also inside of quotes.
    """
    parts = [cell] if cell == "-" else _PARTS.split(cell)
    return "".join(
        f"'{part}" if part != "-" and part.lstrip(_IGNORED).startswith(_FORMULA) else part for part in parts
    )
