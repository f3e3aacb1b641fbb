"""Claims on RDMA as `ib_read_bw`, `ib_write_bw`, `ib_send_bw` and the latency programs measure it; one judge."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from clusterwright.i18n import _
from clusterwright.plan.fabric.parts import ADAPTERS_S, HOP_S, RDMA_SHARE
from clusterwright.plan.sizing.claims.claim import Checked, Verdict, judged

GBIT = 10**9
# Names of InfiniBand rates, four lanes each; HDR100 and NDR200 are two.
_RATES = {
    "QDR": 40, "FDR": 56, "EDR": 100, "HDR100": 100, "HDR200": 200, "HDR": 200, "NDR200": 200, "NDR400": 400,
    "NDR": 400, "XDR": 800,
}  # fmt: skip
_COUNT = (
    r"(?:(?P<count>\d{1,2})\s*(?:[x\u00d7*个路]|ports? of)\s*"
    r"|(?P<word>two|dual|双口?|两个?)[\s-]*(?:ports? of\s*)?)?"
)
_FACTOR = r"(?:\s*[x\u00d7*]\s*(?P<after>\d)\b)?"
_INFINIBAND = re.compile(rf"\b{_COUNT}(?P<name>{'|'.join(_RATES)})\b{_FACTOR}", re.IGNORECASE)
_ETHERNET = re.compile(
    rf"\b{_COUNT}(?P<rate>\d{{1,3}})[\s-]*(?:"
    r"GbE|GigE|G(?:b(?:it)?(?:/s|ps)?)?[\s-]*(?P<kind>Ethernet|RoCE|InfiniBand|IB\b|NICs?\b|ports?\b|以太|网卡|端口))"
    + _FACTOR,
    re.IGNORECASE,
)
_TOOL = re.compile(r"\bib_(?P<verb>read|write|send)_(?P<what>bw|lat)\b")
_BANDWIDTH = r"G(?:b(?:its?)?|B(?:ytes?)?|iB)(?:/s(?:ec)?|ps)|M(?:B|iB)/s(?:ec)?"
_TIME = r"us(?:ec)?\b|µs|μs|微秒|microseconds?|ns\b"
_FIGURE = re.compile(
    r"(?P<bound><=?|≤|>=?|≥|under|below|less than|at most|above|over|more than|at least"
    r"|低于|小于|不超过|超过|不低于|大于)?"
    rf"\s*(?P<value>\d+(?:\.\d+)?)\s*(?P<plus>\+)?\s*(?P<unit>{_BANDWIDTH}|{_TIME})",
    re.IGNORECASE,
)
_ABOVE = {">", ">=", "≥", "above", "over", "more than", "at least", "超过", "不低于", "大于"}
_BELOW = {"<", "<=", "≤", "under", "below", "less than", "at most", "低于", "小于", "不超过"}


@dataclass(frozen=True, slots=True)
class Link:
    """The network ports of a host that a claim is about."""

    name: str
    port_bits_per_s: float
    ports: int = 1
    kind: str = "infiniband"  # infiniband, roce


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a perftest program: bits/s with the printed unit, or seconds; `bound` of it: "<", ">" or ""."""

    verb: str  # read, write, send
    value: float
    unit: str
    bound: str
    is_latency: bool

    @property
    def tool(self) -> str:
        """Name of the perftest program that measures the figure, such as `ib_write_bw`."""
        return f"ib_{self.verb}_{'lat' if self.is_latency else 'bw'}"


def find_link(line: str) -> Link | None:
    """Return the ports that a line names: `HDR100`, `2 x 25 GbE`, `100G RoCE`; None if it names none.

    Ethernet that does not name InfiniBand counts as RoCE.
    """
    if match := _INFINIBAND.search(line):
        rate = _RATES[match["name"].upper()]
        return Link(match["name"].upper(), rate * GBIT, _ports(match))
    if match := _ETHERNET.search(line):
        kind = (match["kind"] or "").lower()
        is_infiniband = kind in {"infiniband", "ib"}
        name = f"{match['rate']} Gbit/s InfiniBand" if is_infiniband else f"{match['rate']} GbE"
        return Link(
            name,
            int(match["rate"]) * GBIT,
            _ports(match),
            "infiniband" if is_infiniband else "roce",
        )
    return None


def _ports(match: re.Match[str]) -> int:
    return int(match["count"] or match["after"] or (2 if match["word"] else 1))


def find_figures(line: str) -> Iterator[Figure]:
    """Yield the figures of perftest programs in a line: those behind the program's name, else those before it."""
    tools = list(_TOOL.finditer(line))
    if not tools:
        return
    text = _ETHERNET.sub(lambda match: " " * len(match[0]), line)
    figures = list(_FIGURE.finditer(text))
    following = [match for match in figures if match.start() >= tools[0].end()]
    for match in following or figures:
        preceding = [tool for tool in tools if tool.end() <= match.start()]
        yield _figure((preceding or tools[:1])[-1]["verb"], match)


def _figure(verb: str, match: re.Match[str]) -> Figure:
    unit, value = match["unit"], float(match["value"])
    prefix = (match["bound"] or "").lower()
    bound = ">" if prefix in _ABOVE or match["plus"] else "<" if prefix in _BELOW else ""
    if re.fullmatch(_TIME, unit, re.IGNORECASE):
        return Figure(
            verb, value * (1e-9 if unit.lower().startswith("ns") else 1e-6), unit, bound, is_latency=True
        )
    scale = {"G": 1e9, "M": 2**20}[unit[0].upper()]
    is_bytes = unit[1:2] == "B" or unit.lower()[1:3] in {"ib", "by"}
    return Figure(verb, value * scale * (8 if is_bytes else 1), unit, bound, is_latency=False)


def judge(figure: Figure, link: Link, *, name: str, row: str, statement: str) -> Checked:
    """Judge a figure of a perftest program, a latency or a bandwidth, by the ports that it was measured over."""
    judge_figure = _latency if figure.is_latency else _bandwidth
    return judge_figure(
        figure, link, Checked(name, row, statement, None, None, "", "", Verdict.INCONCLUSIVE, "")
    )


def without_link(figure: Figure, *, name: str, row: str, statement: str) -> Checked:
    """Return a claim whose figure cannot be judged, because the text does not name the network ports."""
    return Checked(
        name,
        row,
        statement,
        None,
        None,
        "",
        _("no network is named"),
        Verdict.INCONCLUSIVE,
        _(
            "A figure of {tool} is judged by the rate and the number of the ports that the test ran over, and the text "
            "names none.",
            tool=figure.tool,
        ),
        _("name the ports in the line, such as HDR100 or 2 x 25 GbE"),
    )


def _bandwidth(figure: Figure, link: Link, base: Checked) -> Checked:
    line = link.port_bits_per_s
    scale, unit = (8e9, "GB/s") if "B" in figure.unit else (1e9, "Gbit/s")
    values = {
        "tool": figure.tool,
        "port": link.name,
        "bits": line / 1e9,
        "bytes": line / 8e9,
        "ports": link.ports,
        "share": figure.value / line,
        "least": RDMA_SHARE * line / 1e9,
    }
    verdict, reason = _judge_bandwidth(figure, link, values)
    correction = _("{tool} on one port of {port}: {least:.3g} to {bits:.3g} Gbit/s", **values)
    return replace(
        base,
        figure=figure.value / scale,
        computed=line / scale,
        unit=unit,
        inputs=_port(link),
        verdict=verdict,
        reason=reason,
        right="" if verdict is Verdict.AGREE else correction,
    )


def _judge_bandwidth(figure: Figure, link: Link, values: dict[str, Any]) -> tuple[Verdict, str]:
    """Return the verdict on a bandwidth, and the reason, whose fields are `values`: agree from 90% of one port on.

    Partly above one port, as a sum of several; disagree below 90%, above all ports, or with a misprinted unit.
    """
    line, every = link.port_bits_per_s, link.port_bits_per_s * link.ports
    if "B" in figure.unit and figure.value > every and figure.value / 8 <= line:
        return Verdict.DISAGREE, _(
            "The unit of the claim is a misprint: a port of {bits:.3g} Gbit/s carries at most {bytes:.3g} GB/s. "
            "As a figure in Gbit/s, the claimed number is {read:.0%} of the line rate of the port, which {tool} "
            "reaches.",
            read=figure.value / 8 / line,
            **values,
        )
    if figure.value > every:
        return Verdict.DISAGREE, _(
            "The claim is above the line rate: {ports} x {bits:.3g} Gbit/s carry at most {every:.3g} Gbit/s.",
            every=every / 1e9,
            **values,
        )
    if figure.value > line:
        return Verdict.PARTLY, _(
            "One run of {tool} measures one port, so it shows at most {bits:.3g} Gbit/s. The claimed bandwidth is"
            " the sum of {ports} runs of {tool} at the same time, one for each port (-d mlx5_0, -d mlx5_1).",
            **values,
        )
    if figure.value >= RDMA_SHARE * line:
        return Verdict.AGREE, _(
            "The figure is {share:.0%} of the line rate of one port, which a sound link reaches.", **values
        )
    return Verdict.DISAGREE, _(
        "The figure is {share:.0%} of the line rate of one port; a sound link reaches 90% and more. Usual causes: "
        "PCIe width or generation of the adapter, the remote NUMA node, an MTU of 1024, a link at a lower rate.",
        **values,
    )


def _latency(figure: Figure, link: Link, base: Checked) -> Checked:
    turns = 2 if figure.verb == "read" else 1
    expected_s = turns * (ADAPTERS_S + HOP_S[link.kind])
    if figure.bound == "<":
        verdict = Verdict.AGREE if expected_s <= figure.value else Verdict.DISAGREE
    else:
        verdict = judged(figure.value, expected_s)
    values = {"tool": figure.tool, "us": 1e6 * expected_s}
    text = (
        _(
            "{tool} measures a whole round trip through two adapters and one switch, which takes {us:.2g} us. "
            "ib_write_lat and ib_send_lat measure half of a round trip, so a limit that is right for these "
            "programs is too low for {tool}.",
            **values,
        )
        if turns == 2
        else _(
            "{tool} measures half of a round trip: two adapters and one switch take {us:.2g} us, and each further"
            " switch on the path adds {hop:.2g} us. A step of an NCCL collective takes longer than the latency "
            "that {tool} shows.",
            hop=1e6 * HOP_S[link.kind],
            **values,
        )
    )
    correction = (
        "" if verdict is Verdict.AGREE else _("{tool} through one switch: about {us:.2g} us", **values)
    )
    inputs = _(
        "two adapters, {adapters:g} us, and one switch of {kind}, {hop:.2g} us; cables are 5 ns a meter",
        adapters=1e6 * ADAPTERS_S,
        kind=link.kind,
        hop=1e6 * HOP_S[link.kind],
    )
    return replace(
        base,
        figure=1e6 * figure.value,
        computed=1e6 * expected_s,
        unit="us",
        inputs=inputs,
        verdict=verdict,
        reason=text,
        right=correction,
    )


def _port(link: Link) -> str:
    return _(
        "one port of {name}, {bits:.3g} Gbit/s, one direction",
        name=link.name,
        bits=link.port_bits_per_s / 1e9,
    )
