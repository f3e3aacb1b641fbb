"""Read sources in one pass, with memory that does not grow with their size."""

from __future__ import annotations

import re
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from clusterwright.diagnose.judge.sighting import Observations, Position, Witnessed
from clusterwright.diagnose.knowledge import Knowledge
from clusterwright.diagnose.mode import Mode
from clusterwright.diagnose.outputs import Finding, observe
from clusterwright.diagnose.reading.line import Line, clean, split_prefix
from clusterwright.diagnose.reading.quoted import BEGINS, NESTED_LOG_PREFIXES
from clusterwright.diagnose.reading.sample import LogSample
from clusterwright.diagnose.reading.sighting_store import MAX_SIGHTINGS, RANKS, SightingStore
from clusterwright.diagnose.reading.source import HEAD, LogSource, is_binary, reading
from clusterwright.diagnose.reading.takers import Takers
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.diagnose.reading.journal_text import JournalText

SIZE = 4 << 20
OVERLAP = 4096  # longer than any text that is searched for


class LogBlock(NamedTuple):
    """Bytes of a source, the number of their first line, and the end of the block's own part."""

    data: bytes
    line: int
    end: int  # matches that begin here or later belong to the next block


def blocks(stream: BinaryIO, size: int = SIZE) -> Iterator[LogBlock]:
    """Yield a stream as blocks of whole lines of about `size` bytes; longer lines are split, with an overlap."""
    carried, line = b"", 1
    while True:
        piece = stream.read(size)
        data = carried + piece
        if not piece:
            if data:
                yield LogBlock(data, line, len(data))
            return
        end = data.rfind(b"\n") + 1
        if end == 0:
            end = max(0, len(data) - OVERLAP) if len(data) >= size else 0
            if end:
                yield LogBlock(data, line, end)
        else:
            yield LogBlock(data[:end], line, end)
        line += data.count(b"\n", 0, end)
        carried = data[end:]


JOURNAL_FIELD = b"__REALTIME_TIMESTAMP"  # in each entry of `journalctl -o json` and `-o export`


def _without_fields(parts: Iterator[LogBlock]) -> Iterator[LogBlock]:
    """Yield blocks of a log as text: entries of the journal (JSON or export) become as many lines of text.

    Blocks of any other log are yielded as they are.
    """
    head = next(parts, None)
    if head is None:
        return
    journal = _journal(head.data)
    if journal is None:
        yield from chain((head,), parts)
        return
    line = 1
    for block in chain((head,), parts):
        data = journal.feed(block.data[: block.end])
        yield LogBlock(data, line, len(data))
        line += data.count(b"\n")
    data = journal.finish()
    yield LogBlock(data, line, len(data))


def _journal(head: bytes) -> JournalText | None:
    if JOURNAL_FIELD not in head:
        return None
    from clusterwright.diagnose.reading.journal_text import journal_text

    return journal_text(head, HEAD)


# Lines that report a failure; "failed" alone is in many lines of runs that succeed.
_ERROR = re.compile(
    r"\b(?:ERROR|FATAL|CRITICAL)\b|^(?:[\w.-]+: )?(?:fatal|panic|error|Error)\b ?:|\b(?:fatal error|core dumped)\b"
    r"|^(?:[\w.]+: )?[\w.]*(?:Error|Exception)\b[:(]|^Aborted|^Killed|\bSIG(?:SEGV|ABRT|BUS|KILL|FPE|ILL)\b"
    r"|错误：|失败：|异常："
)
_NONE = re.compile(
    r"\b(?:0|no|without) (?:errors?|failures?|failed)\b|errors?[=:] ?0\b|\[I\d{4} |NCCL", re.IGNORECASE
)
_BEGINS = "Traceback (most recent call last)"
QUOTE_LENGTH = 300


def last_lines(
    tail: bytes, lines: int, check: Callable[[], None] = lambda: None
) -> list[tuple[int, tuple[str, ...]]]:
    """Return, in a list, number and text of a source's last error line; `lines` is the number after the last line.

    That is the end of the last traceback, which names the exception, else the last line that reports an error. Empty
    without either. `check` is called for each line.
    """
    rows = [clean(raw) for raw in tail.split(b"\n")]
    end = error = None  # the next line that continues no traceback, and the last one with an error
    for index in range(len(rows) - 1, -1, -1):
        check()
        if _BEGINS in rows[index] and end is not None:
            return [_quoted(rows, end, lines)]
        body = split_prefix(rows[index]).body
        if error is None and _ERROR.search(body) and not _NONE.search(rows[index]):
            error = index
        if any(map(str.isalnum, body)) and not body.startswith((" ", "\t")):
            end = index
    return [] if error is None else [_quoted(rows, error, lines)]


def _quoted(rows: list[str], index: int, lines: int) -> tuple[int, tuple[str, ...]]:
    return lines - len(rows) + 1 + index, (rows[index].strip()[:QUOTE_LENGTH],)


SMALL = (
    128 << 10
)  # bytes; larger blocks are searched with an automaton, whose import and build pay off only there


class Scanner:
    """Finds the texts of failure modes in blocks of bytes."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts
        self._bytes = [text.encode() for text in texts]

    @cached_property
    def _automaton(self) -> Any:
        from ahocorasick_rs import BytesAhoCorasick, Implementation

        # A full state table (DFA): 300 MB/s on one core; the library's own choice reached 200.
        return BytesAhoCorasick(self._bytes, implementation=Implementation.DFA)

    def exclude_texts(self, texts: set[str]) -> Scanner:
        """Return a scanner for the other texts, without these."""
        return Scanner([text for text in self._texts if text not in texts])

    def places(self, block: bytes) -> Iterator[int]:
        """Yield the offsets in the block at which one of the scanner's texts begins, in order.

        Of overlapping texts at least one is yielded.
        """
        if len(block) > SMALL:
            yield from (start for _text, start, _end in self._automaton.find_matches_as_indexes(block))
            return
        offsets = set()
        for text in self._bytes:
            offset = block.find(text)
            while offset >= 0:
                offsets.add(offset)
                offset = block.find(text, offset + 1)
        yield from sorted(offsets)

    def texts_in(self, line: bytes, *, large: bool) -> list[str]:
        """Return all texts in the line; `large`: use the automaton, which its block has built already."""
        if large:
            hits = {
                which
                for which, _start, _end in self._automaton.find_matches_as_indexes(line, overlapping=True)
            }
            return [self._texts[which] for which in sorted(hits)]
        return [text for text, data in zip(self._texts, self._bytes, strict=True) if data in line]


# A crafted log must not keep its reader busy for minutes. Processor time of the reader,
SOURCE_S = 5.0  # of one source, however small,
ALL_S = 60.0  # and of all together;
S_PER_MIB = 0.2  # more for each MiB: ordinary logs need a tenth of it
MOST_MIB = 256  # that add time: a stream without end and a small file that unpacks to terabytes end too


class OverBudgetError(Exception):
    """The processor time for a source, or for all, is used up."""


class TimeBudget:
    """Processor time of this thread, at most `most_s`; waiting for storage costs nothing."""

    def __init__(self, clock: Callable[[], float] = time.thread_time, most_s: float = inf) -> None:
        self._clock, self._most_s = clock, most_s
        self._begun_s = self._source_begun_s = clock()
        self._mib = self._source_mib = 0.0

    def begin_source(self) -> None:
        """Begin the budget of time and size of the next source."""
        self._source_begun_s, self._source_mib = self._clock(), 0.0

    def add(self, size: int) -> None:
        """Extend the budget for `size` further bytes of the source."""
        self._mib += size / 2**20
        self._source_mib += size / 2**20

    def check(self) -> None:
        """Raise OverBudgetError once the time for reading logs is used up."""
        now_s = self._clock()
        source_s = SOURCE_S + S_PER_MIB * min(self._source_mib, MOST_MIB)
        all_s = min(self._most_s, ALL_S + S_PER_MIB * min(self._mib, MOST_MIB))
        if now_s - self._source_begun_s > source_s or now_s - self._begun_s > all_s:
            raise OverBudgetError


OF_OUTPUTS = ("log", "output")  # kinds of sources that may be or contain the output of a command
FROM_OTHERS = 400  # lines that are skipped after the header of a log inside this log
TAIL = 32 << 10  # bytes at the end that are searched for the last error line


def read(
    sources: Iterable[LogSource],
    knowledge: Knowledge,
    budget: TimeBudget | None = None,
    *,
    memory_bytes: int | None = None,
) -> Observations:
    """Return the observations of all sources, in their order, as far as the budget of processor time allows.

    `memory_bytes` is the memory limit of a job per host, for the outputs that show its memory.
    """
    scanner, time_budget = Scanner([*knowledge.texts, *NESTED_LOG_PREFIXES]), budget or TimeBudget()
    readers = (_LogReader(source, knowledge, scanner, time_budget) for source in sources)
    parts = [reader.read(memory_bytes) for reader in readers]
    witnessed: dict[str, tuple[Witnessed, ...]] = {}
    for part in parts:
        for text, lines in part.witnessed.items():
            witnessed[text] = (witnessed.get(text, ()) + lines)[:MAX_SIGHTINGS]
    return Observations(
        tuple(sighting for part in parts for sighting in part.sightings),
        witnessed,
        tuple(last_line for part in parts for last_line in part.last_lines),
        tuple(failure for part in parts for failure in part.unread),
        normal=tuple(value for part in parts for value in part.normal),
        cut_short=tuple(position for part in parts for position in part.cut_short),
        modes=_maybe({sighting.mode.id for part in parts for sighting in part.sightings}, knowledge),
    )


def _maybe(mode_ids: set[str], knowledge: Knowledge) -> dict[str, Mode]:
    """Return the alternative modes (`maybe`) of the modes, and those of these alternatives."""
    modes: dict[str, Mode] = {}
    for _round in range(2):
        names = {name for mode_id in (*mode_ids, *modes) for name in knowledge[mode_id].maybe}
        modes |= {name: knowledge[name] for name in names}
    return modes


class _LogReader:
    """Reads one source into observations."""

    def __init__(self, source: LogSource, knowledge: Knowledge, scanner: Scanner, budget: TimeBudget) -> None:
        self._source, self._scanner, self._budget = source, scanner, budget
        self._takers = Takers(knowledge, source.kind)
        self._store = SightingStore(source, knowledge)
        self._counts: Counter[str] = Counter()
        self._saturated: set[str] = set()  # texts that are no longer searched for
        self._others_until = 0  # the last line of a log inside this log
        self._tail: deque[bytes] = deque(maxlen=2)
        self._sample = LogSample() if source.kind in OF_OUTPUTS else None
        self._lines = 1

    def read(self, memory_bytes: int | None) -> Observations:
        self._budget.begin_source()
        try:
            with reading(self._source) as stream:
                for number, block in enumerate(_without_fields(blocks(stream))):
                    if number == 0 and is_binary(block.data[:HEAD]):
                        return Observations(unread=((self._source.name, _("not a text file")),))
                    self._block(block)
                    self._saturated |= self._store.saturated_texts()
                    if self._saturated:
                        self._scanner = self._scanner.exclude_texts(self._saturated)
                        self._saturated = set()
        except (
            OSError,
            EOFError,
            ValueError,
        ) as error:  # a truncated compressed file is read as far as possible
            if not self._tail:
                reason = getattr(error, "strerror", None) or str(error)  # without the descriptor's path
                return Observations(unread=((self._source.name, reason),))
        except OverBudgetError:
            return self._truncated()
        try:
            self._observe(memory_bytes)
            tail = b"".join(self._tail)[-TAIL:]
            return self._store.observations(last_lines(tail, self._lines, self._budget.check))
        except OverBudgetError:
            return self._truncated()

    def _truncated(self) -> Observations:
        """Return what was found before the budget was used up, and the line that was reached."""
        position = Position(self._source.name, self._lines)
        return replace(self._store.observations([]), cut_short=(position,))

    def _observe(self, memory_bytes: int | None) -> None:
        """Read the sample of the source as output of known commands, and store its findings and normal values.

        Nothing if the source has no sample.
        """
        for observation in observe(self._sample, memory_bytes, self._budget.check) if self._sample else ():
            if isinstance(observation, Finding):
                for match in self._takers.matches_of_finding(observation.text):
                    self._store.add_finding(match, observation)
            else:
                self._store.add_normal(observation)

    def _block(self, block: LogBlock) -> None:
        data, line_end, line, counted = block.data, -1, block.line, 0
        large = len(data) > SMALL
        self._budget.add(block.end)
        self._budget.check()
        for offset in self._scanner.places(data):
            if offset < line_end or offset >= block.end:
                continue
            log_line = Line(data, offset, self._source.year)
            line += data.count(b"\n", counted, log_line.begin)
            counted, line_end, self._lines = log_line.begin, log_line.end, line
            self._budget.check()
            texts = self._scanner.texts_in(data[log_line.begin : log_line.end], large=large)
            self._line(log_line, line, [text for text in texts if self._is_below_limit(text)])
        self._lines = line + data.count(b"\n", counted, block.end)
        self._tail.append(data[max(0, block.end - TAIL) : block.end])
        if self._sample:
            self._sample.add(data[: block.end], block.line)

    def _is_below_limit(self, text: str) -> bool:
        """Count a line with the text; return whether it is below the limit, after which the text is not searched for.

        Prefixes of nested logs have no limit.
        """
        self._counts[text] += 1
        if self._counts[text] <= RANKS * MAX_SIGHTINGS or text in NESTED_LOG_PREFIXES:
            return True
        self._saturated.add(text)
        return False

    def _line(self, line: Line, number: int, texts: list[str]) -> None:
        if any(text in NESTED_LOG_PREFIXES for text in texts) and BEGINS.search(line.text):
            self._others_until = number + FROM_OTHERS if number > 1 else 0
            return
        if number <= self._others_until:
            return
        for text in texts:
            matches = self._takers.matches(text, line)
            if (matches or self._store.is_noted(text)) and line.has_unquoted(text):
                self._store.note(text, number, line.text)
                for mode, signature, names in matches:
                    if mode.exclude == "host" and line.is_of_user:
                        continue
                    self._store.add(mode, signature, names, line, number)
