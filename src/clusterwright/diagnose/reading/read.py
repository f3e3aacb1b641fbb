"""Sources are read once, from beginning to end; what is kept does not grow with them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable

from clusterwright.diagnose.judge.sighting import Known, Witnessed
from clusterwright.diagnose.knowledge import Knowledge
from clusterwright.diagnose.mode import Mode
from clusterwright.diagnose.reading.blocks import Block, blocks
from clusterwright.diagnose.reading.kept import KEPT, RANKS, Kept
from clusterwright.diagnose.reading.last_words import last_words
from clusterwright.diagnose.reading.line import Line
from clusterwright.diagnose.reading.quoted import BEGINS, TOLD
from clusterwright.diagnose.reading.scanner import SMALL, Scanner
from clusterwright.diagnose.reading.source import HEAD, Source, is_binary, reading
from clusterwright.diagnose.reading.takers import Takers

FROM_OTHERS = 400  # lines of another log that lies in this one
TAIL = 32 << 10  # bytes at the end that are looked at where nothing is known


def read(sources: Iterable[Source], knowledge: Knowledge) -> Known:
    """All evidence in the sources, in their order."""
    scanner = Scanner([*knowledge.texts, *TOLD])
    parts = [_Reader(source, knowledge, scanner).read() for source in sources]
    witnessed: dict[str, tuple[Witnessed, ...]] = {}
    for part in parts:
        for text, lines in part.witnessed.items():
            witnessed[text] = (witnessed.get(text, ()) + lines)[:KEPT]
    return Known(
        tuple(each for part in parts for each in part.sightings),
        witnessed,
        tuple(each for part in parts for each in part.last_words),
        tuple(each for part in parts for each in part.unread),
        _maybe({each.mode.id for part in parts for each in part.sightings}, knowledge),
    )


def _maybe(seen: set[str], knowledge: Knowledge) -> dict[str, Mode]:
    """The modes that lines may tell of as well, and those that these name in turn."""
    found: dict[str, Mode] = {}
    for _ in range(2):
        names = {name for each in (*seen, *found) for name in knowledge[each].maybe}
        found |= {name: knowledge[name] for name in names}
    return found


class _Reader:
    """One source on its way through."""

    def __init__(self, source: Source, knowledge: Knowledge, scanner: Scanner) -> None:
        self._source, self._scanner = source, scanner
        self._takers = Takers(knowledge, source.kind)
        self._kept = Kept(source, knowledge)
        self._seen: Counter[str] = Counter()
        self._told_all: set[str] = set()  # texts that are looked for no longer
        self._others_until = 0  # the last line of another log that lies in this one
        self._tail: deque[bytes] = deque(maxlen=2)
        self._lines = 1

    def read(self) -> Known:
        try:
            with reading(self._source) as stream:
                for number, block in enumerate(blocks(stream)):
                    if number == 0 and is_binary(block.data[:HEAD]):
                        return Known(unread=((self._source.name, "it is no text"),))
                    self._block(block)
                    self._told_all |= self._kept.told_all()
                    if self._told_all:
                        self._scanner = self._scanner.without(self._told_all)
                        self._told_all = set()
        except (
            OSError,
            EOFError,
            ValueError,
        ) as error:  # a packed file that was cut is read as far as it goes
            if not self._tail:
                return Known(unread=((self._source.name, str(error)),))
        return self._kept.known(last_words(b"".join(self._tail)[-TAIL:], self._lines))

    def _block(self, block: Block) -> None:
        data, done, line, counted = block.data, -1, block.line, 0
        large = len(data) > SMALL
        for at in self._scanner.places(data):
            if at < done or at >= block.end:
                continue
            found = Line(data, at, self._source.year)
            line += data.count(b"\n", counted, found.begin)
            counted, done = found.begin, found.end
            texts = self._scanner.texts_in(data[found.begin : found.end], large=large)
            self._line(found, line, [text for text in texts if self._wanted(text)])
        self._lines = line + data.count(b"\n", counted, block.end)
        self._tail.append(data[max(0, block.end - TAIL) : block.end])

    def _wanted(self, text: str) -> bool:
        """So many lines with one text tell all that it has to tell."""
        self._seen[text] += 1
        if self._seen[text] <= RANKS * KEPT or text in TOLD:
            return True
        self._told_all.add(text)
        return False

    def _line(self, line: Line, number: int, texts: list[str]) -> None:
        if any(text in TOLD for text in texts) and BEGINS.search(line.text):
            self._others_until = number + FROM_OTHERS if number > 1 else 0
            return
        if number <= self._others_until:
            return
        for text in texts:
            tells = self._takers.of(text, line)
            if (tells or self._kept.is_noted(text)) and line.says(text):
                self._kept.note(text, number, line.text)
                for mode, signature, names in tells:
                    self._kept.keep(mode, signature, names, line, number)
