"""A report's main table as CSV, for a spreadsheet."""

from __future__ import annotations

import csv
import io

from clusterwright.monitor.report.report import Language, Report, spoken

# A spreadsheet takes what begins so for a formula, and a job's name is anybody's text (OWASP, CSV injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def table(report: Report, language: Language = "en") -> str:
    """Rows under headings; bars as their name, ratio and what is said of them."""
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n")
    part = report.parts[report.table]
    if part.rows:
        write.writerow([spoken(head, language) for head in part.heads])
        write.writerows([[safe(cell) for cell in row] for row in part.rows])
        return out.getvalue()
    write.writerow(["part", "name", "ratio", "said"])
    for section in report.parts:
        for bar in section.bars:
            value = "" if bar.ratio is None else f"{bar.ratio:.6g}"
            write.writerow(
                [spoken(section.title, language), safe(spoken(bar.name, language)), value, bar.detail]
            )
    return out.getvalue()


def safe(cell: str) -> str:
    """The cell; what a spreadsheet would compute has a quote before it. A lone dash means nothing is known."""
    return f"'{cell}" if cell.startswith(_FORMULA) and cell != "-" else cell
