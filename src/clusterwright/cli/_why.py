"""What the sides of `wright why` have in common: logs are judged, and diagnoses shown."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable

from clusterwright.diagnose.diagnosis import Diagnosis, document
from clusterwright.diagnose.flight import recorded
from clusterwright.diagnose.judge import judge
from clusterwright.diagnose.knowledge import knowledge
from clusterwright.diagnose.reading import Source, found, read
from clusterwright.errors import EXIT_DONE, EXIT_FAILED

_MARKUP = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"}  # of a log's own; JSON reads it as it was


def of_logs(words: Iterable[str], lang: str) -> list[Diagnosis]:
    """The diagnoses of files, folders and the stream."""
    return of_sources(found(words), lang)


def of_sources(sources: list[Source], lang: str) -> list[Diagnosis]:
    """The diagnoses of lines from anywhere; what cannot be read is said on stderr."""
    known = read(recorded(sources), knowledge())
    for name, reason in known.unread:
        sys.stderr.write(f"{_printable(name)} is not read: {_printable(reason)}\n")
    return judge(known, lang)


def answer(diagnoses: list[Diagnosis], lang: str, *, everything: bool, as_json: bool) -> int:
    """Show them; the exit code says whether a cause is named."""
    if as_json:
        text = json.dumps(document(diagnoses), ensure_ascii=lang != "zh", indent=2)
        sys.stdout.write(text.translate(_MARKUP) + "\n")
    else:
        from clusterwright.diagnose.shown import coloured, plain, shown

        paint = coloured if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else plain
        sys.stdout.write(shown(diagnoses, lang, everything=everything, paint=paint) + "\n")
    return EXIT_FAILED if diagnoses and diagnoses[0].kind == "unknown" else EXIT_DONE


def language() -> str:
    """`zh` where the locale is Chinese."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(name):
            return "zh" if value.startswith("zh") else "en"
    return "en"


def _printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in text)
