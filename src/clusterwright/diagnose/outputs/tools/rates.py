"""Training logs: samples, tokens or steps per second that fall from epoch to epoch."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clusterwright.diagnose.outputs.trend import Trend, trend
from clusterwright.diagnose.outputs.value import Finding, Normal, Row
from clusterwright.i18n import _
from clusterwright.units import HOUR_S, human_number

COMPARES_HOSTS = True
_COUNTED_UNITS = (
    r"samples?|images?|imgs?|examples?|tokens?|toks?|seqs?|sequences?|its?|iters?|iterations?|steps?|batch(?:es)?"
    r"|frames?|records?"
)
_NUMBER = (
    r"(?P<value>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?) ?(?P<scale>[kKM](?![a-z]))?"
)
_PER_SECOND = r"(?:/ ?|[ _]?per[ _]?|_p)(?:s|sec|second)s?"
_OF_WHICH = r"(?:[ _/](?:per[ _])?(?:gpu|device|rank|worker|node))?"
_STEP = r"(?:it|iter|iteration|step|batch)"
_HIGHER = (
    re.compile(rf"(?<![\d.,]){_NUMBER} ?(?P<thing>{_COUNTED_UNITS}){_PER_SECOND}\b", re.IGNORECASE),
    re.compile(
        rf"\b(?:\w+_|[a-z]{{1,12}}(?=samples))?(?P<thing>{_COUNTED_UNITS}){_PER_SECOND}{_OF_WHICH}"
        rf"[)\]'\"]* ?[:=|]? ?['\"]?{_NUMBER}",
        re.IGNORECASE,
    ),
    re.compile(rf"\b(?P<thing>tps|wps|ips|sps)['\"]? ?[:=] ?['\"]?{_NUMBER}", re.IGNORECASE),
    re.compile(rf"\b(?P<thing>throughput)(?: \([^)]*\))?['\"]? ?[:=|] ?['\"]?{_NUMBER}", re.IGNORECASE),
)
_LOWER = (
    re.compile(rf"(?<![\d.,]){_NUMBER} ?(?P<unit>ms|s|sec)/(?P<thing>{_STEP})\b", re.IGNORECASE),
    re.compile(
        rf"\b(?P<thing>{_STEP})[ _]time(?: \((?P<unit>m?s)\))?['\"]? ?[:=|]? ?['\"]?{_NUMBER}", re.IGNORECASE
    ),
    re.compile(
        r"\bTime +(?P<value>\d+\.\d+) +\( *\d"
    ),  # torchvision's ImageNet example, with the mean behind it
    re.compile(r"\btime: (?P<value>\d+\.\d+),? +(?:last_time: [\d.]+ +)?data_time\b"),  # MMEngine, Detectron2
    re.compile(rf"(?<![a-z]){_STEP}_timing(?: in s)?['\"]? ?[:=] ?{_NUMBER}", re.IGNORECASE),  # NeMo
    re.compile(
        rf"\btime per (?P<thing>{_STEP})(?: \((?P<unit>m?s)\))? ?[:=]? ?{_NUMBER}|\b(?P<unit2>sec|ms|time)/"
        rf"(?P<thing2>{_STEP})['\"]? ?[:=|]? ?['\"]?(?P<value2>\d+(?:\.\d+)?)",
        re.IGNORECASE,
    ),
)
_OF_EPOCH = re.compile(
    r"\bepoch\b.{0,40}?\b(?:took|time|duration|elapsed|in|cost)\b['\" :=]{1,4}(?P<value>\d+(?:\.\d+)?) ?"
    r"(?:s|secs?|seconds?)\b",
    re.IGNORECASE,
)
_EPOCH = re.compile(
    r"\bep(?:och)?s?['\"]?(?: ?[:=#\[(]| |_) ?['\"\[(]*(?P<epoch>\d+(?:\.\d+)?)", re.IGNORECASE
)
_TRAINS = re.compile(
    r"\b(?:ep(?:och)?|(?:global_?)?step|iter(?:ation)?|it|batch|loss|lr)s?\b|%\|", re.IGNORECASE
)
# Work of another kind than training, whose rate says nothing about it.
_OTHER_WORK = re.compile(
    r"\b(?:map|filter|generating|tokeniz\w*|downloading|fetching|loading|saving|casting|creating|extracting|resolving"
    r"|preprocess\w*|eval_(?:samples|steps|runtime)\w*|sanity|warm-?up|compil\w+|benchmark\w*"
    r"|(?:eval(?:uat\w+)?|valid(?:at\w+)?|val|test(?:ing)?|infer\w*|predict\w*)\b(?! ?[_/]?(?:loss|acc|err|ppl))"
    r"|prompt throughput|generation throughput|reqs|requests?)\b",
    re.IGNORECASE,
)
_SETTINGS = re.compile(
    r"\b(?P<name>(?:(?:global|micro|train|per_device|local)_?)?(?:batch_?size|batch size|bs|mbs|gbs)"
    r"|seq(?:uence)?_?len(?:gth)?|world_?size|num_gpus|gpus|grad(?:ient)?_acc\w*)['\"]? ?[:=] ?(?P<value>\d+)",
    re.IGNORECASE,
)
_MAY_COUNT = re.compile(r"/ ?(?:s|it|ba)|[ _]p(?:er|s)|time|sec|throughput|took| in |=|: ?\d", re.IGNORECASE)
_OWNER = re.compile(r"(?<!\w)(\w+)['\"]? ?[:=]? ?['\"]?$")
_RATE_NAMES = re.compile(r"throughput|speed|rate|ips|perf|avg|average|mean|at$|is$|of$", re.IGNORECASE)
_UNIT_NAMES = {
    "img": "images",
    "tok": "tokens",
    "tp": "tokens",
    "seq": "sequences",
    "wp": "words",
    "ip": "samples",
    "sp": "samples",
    "throughput": "samples",
}
_LETTERS = re.compile(r"[^a-z]+")
_SCALES = {"k": 1e3, "m": 1e6}
LABEL = 40  # letters before a number that tell one series of a log from another
MOST_SERIES = 64
MOST_EPOCHS = 100  # of more, the trend is that of tenths of the log


@dataclass(slots=True)
class _Point:
    row: Row
    value: float  # per second
    epoch: float | None


def read(rows: Sequence[Row], _memory_bytes: int | None) -> Iterator[Finding | Normal]:
    """Yield a finding for each series of rates, such as samples per second, that falls; without one a normal value.

    The finding names the rank or host if others do not fall. The normal value is that of the first steady series.
    """
    series: dict[tuple[str, str, str], list[_Point]] = defaultdict(list)
    settings: dict[str, str] = {}
    part = 0
    for row in (row for row in rows if _MAY_COUNT.search(row.text)):
        part += _is_new_setting(row.text, settings)
        counted = _rate(row.text)
        if counted and _TRAINS.search(row.text) and not _OTHER_WORK.search(row.text):
            unit, label, value = counted
            key = (unit, f"{part} {label}", row.rank or row.host)
            if key in series or len(series) < MOST_SERIES:
                epoch = _EPOCH.search(row.text)
                series[key].append(_Point(row, value, float(epoch["epoch"]) if epoch else None))
    judged = [
        (key[0], points, series_trend) for key, points in series.items() if (series_trend := _trend(points))
    ]
    falling = [(unit, points, series_trend) for unit, points, series_trend in judged if series_trend.falls]
    for unit, points, series_trend in falling:
        yield Finding(
            points[-1].row, _text(unit, points[-1].row, series_trend, is_single=len(falling) < len(judged))
        )
    if not falling:
        for unit, points, series_trend in [series for series in judged if series[2].is_steady][:1]:
            texts = {
                "low": human_number(min(series_trend.values)),
                "high": human_number(max(series_trend.values)),
                "unit": unit,
            }
            yield Normal(
                points[-1].row, _("The rate stays between {low} and {high} {unit}: normal.", **texts)
            )


def _text(unit: str, row: Row, series_trend: Trend, *, is_single: bool) -> str:
    slope = f"{human_number(abs(series_trend.slope))} per {'epoch' if series_trend.has_epochs else 'tenth of the log'}"
    location = (
        f" on {'rank ' if row.rank else ''}{row.rank or row.host} alone"
        if is_single and (row.rank or row.host)
        else ""
    )
    initial, final = human_number(series_trend.initial), human_number(series_trend.final)
    return f"rates: fall from {initial} to {final} {unit}, {slope}{location}"


def _is_new_setting(text: str, settings: dict[str, str]) -> bool:
    """Store batch size, sequence length and number of GPUs that a line of a log states in `settings`.

    Return True if one differs from what was stored before.
    """
    changed = False
    for match in _SETTINGS.finditer(text):
        name = _LETTERS.sub("", match["name"].lower())
        changed = changed or settings.get(name, match["value"]) != match["value"]
        settings[name] = match["value"]
    return changed


def _rate(text: str) -> tuple[str, str, float] | None:
    """Return unit, label (the letters before it) and value of the rate in a line; None without a rate."""
    for pattern in _HIGHER:
        match = pattern.search(text)
        if match and not (pattern is _HIGHER[0] and _is_of_another_key(text, match)):
            value = float(match["value"].replace(",", "")) * _SCALES.get((match["scale"] or "").lower(), 1.0)
            return f"{_unit_name(match['thing'])}/s", _label(text, match), value
    for pattern in _LOWER:
        if match := pattern.search(text):
            values = match.groupdict()
            duration = float((values["value"] or values.get("value2") or "0").replace(",", ""))
            unit = (values.get("unit") or values.get("unit2") or "s").lower()
            seconds = duration / 1e3 if unit == "ms" else duration
            return ("steps/s", _label(text, match), 1 / seconds) if seconds > 0 else None
    match = _OF_EPOCH.search(text)
    seconds = float(match["value"]) if match else 0.0
    return ("epochs/h", _label(text, match), HOUR_S / seconds) if match and seconds > 0 else None


def _is_of_another_key(text: str, match: re.Match[str]) -> bool:
    """Return whether the number is the value of the word before it, as in `loss 2.31 tokens/s 2350`."""
    key_match = _HIGHER[1].search(text, match.start("thing"))
    if key_match is None or key_match.start() != match.start("thing"):
        return False
    owner = _OWNER.search(text[: match.start()])
    return owner is not None and not _RATE_NAMES.search(owner[1])


def _unit_name(text: str) -> str:
    name = text.lower()
    if name in ("it", "its", "iter", "iters", "iteration", "iterations", "step", "steps", "batch", "batches"):
        return "steps"
    return _UNIT_NAMES.get(name.removesuffix("s"), f"{name.removesuffix('s')}s")


def _label(text: str, match: re.Match[str]) -> str:
    return _LETTERS.sub("", text[: match.start()].lower())[:LABEL]


def _trend(points: Sequence[_Point]) -> Trend | None:
    """Return the trend by epochs, if all lines name one of at least three in order, else over the log.

    None for too few values.
    """
    by_epoch: dict[int, list[float]] = defaultdict(list)
    for point in points:
        if point.epoch is not None:
            by_epoch[int(point.epoch)].append(point.value)
    has_epochs = 3 <= len(by_epoch) <= MOST_EPOCHS and sum(map(len, by_epoch.values())) == len(points)
    if has_epochs and list(by_epoch) == sorted(by_epoch):
        return trend(list(by_epoch.values()), has_epochs=True)
    return trend([[point.value] for point in points], has_epochs=False)
