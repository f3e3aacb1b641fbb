"""The settings worth trying for a job: a knob per variable or field, with the reason why it can matter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from clusterwright.errors import EXIT_USAGE, WrightError, unknown_name_fix
from clusterwright.i18n import N_, _


@dataclass(frozen=True, slots=True, order=True)
class KnobSettings:
    """Settings that differ from the default, as sorted (name, value) pairs; empty is the default itself."""

    pairs: tuple[tuple[str, str], ...] = ()

    @property
    def is_default(self) -> bool:
        """True if nothing is set."""
        return not self.pairs

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.pairs) or "default"

    def merged(self, overrides: KnobSettings) -> KnobSettings:
        """Merge both; on a conflict the value of `overrides` wins."""
        return KnobSettings(tuple(sorted({**dict(self.pairs), **dict(overrides.pairs)}.items())))


@dataclass(frozen=True, slots=True)
class Knob:
    """One variable or field, the values worth trying besides the current one, and why it can matter.

    `numbers`: whether it changes results by more than the order of a sum.
    """

    variable: str
    values: tuple[str, ...]
    reason: str
    numbers: bool = False


DEFAULT = KnobSettings()


def singles(knobs: Iterable[Knob]) -> tuple[KnobSettings, ...]:
    """Return settings of one knob each, for every value of every knob."""
    return tuple(KnobSettings(((knob.variable, value),)) for knob in knobs for value in knob.values)


def chosen(
    knobs: Iterable[Knob], names: Sequence[str], now: Mapping[str, str], *, numbers: bool
) -> tuple[Knob, ...]:
    """Return the named knobs (all if none is named), each without its current value.

    Knobs that change numerical results are left out unless `numbers` is True.

    Raises:
        WrightError: There is no such knob here, or it changes numbers and `numbers` is False.
    """
    knobs_by_variable = {knob.variable: knob for knob in knobs}
    if unknown := [name for name in names if name not in knobs_by_variable]:
        raise _none(
            _("`{unknown}` is not a setting that can be tuned here", unknown=unknown[0]),
            unknown_name_fix(unknown[0], knobs_by_variable),
        )
    if refused := [name for name in names if knobs_by_variable[name].numbers and not numbers]:
        raise _none(
            _("`{refused}` changes numerical results", refused=refused[0]),
            _("add --allow-numbers to try settings that change numerical results"),
        )
    selection = [
        knobs_by_variable[name]
        for name in names or knobs_by_variable
        if numbers or not knobs_by_variable[name].numbers
    ]
    return tuple(
        replace(knob, values=tuple(value for value in knob.values if value != now.get(knob.variable)))
        for knob in selection
    )


def _none(message: str, fix: str) -> WrightError:
    return WrightError.from_code("tune-knob", message, fix, exit_code=EXIT_USAGE)


def of_network(backend: str, interface: str) -> tuple[Knob, ...]:
    """Return the knobs of collectives over that interface.

    NCCL's are those of its user guide, "Environment Variables"; Gloo opens a connection for each name in its list of
    interfaces, so the same name twice gives two parallel connections (torch, ProcessGroupGloo).
    """
    which = _("the interface of the network that the cluster file declares for gradients")
    if backend == "nccl":
        return (Knob("NCCL_SOCKET_IFNAME", (interface,), which), *_NCCL)
    lists = tuple(",".join([interface] * times) for times in (1, 2, 4, 8))
    reason = _("{which}; several connections if one does not fill the link", which=which)
    return (Knob("GLOO_SOCKET_IFNAME", lists, reason),)


_NCCL = (
    Knob(
        "NCCL_ALGO",
        ("Ring", "Tree", "CollNet", "NVLS"),
        N_("rings give bandwidth, trees low latency, NVLS uses reduction in the switch"),
    ),
    Knob(
        "NCCL_PROTO",
        ("Simple", "LL", "LL128"),
        N_("NCCL's low-latency protocols help small messages and fail on some links"),
    ),
    Knob(
        "NCCL_MIN_NCHANNELS",
        ("8", "16", "32"),
        N_("more NCCL channels use more ports and more of each GPU"),
    ),
    Knob("NCCL_BUFFSIZE", ("2097152", "8388608", "16777216"), N_("long links need larger NCCL buffers")),
    Knob(
        "NCCL_IB_QPS_PER_CONNECTION",
        ("2", "4", "8"),
        N_("several queue pairs spread over several paths of a fat tree"),
    ),
    Knob(
        "NCCL_IB_SPLIT_DATA_ON_QPS",
        ("0", "1"),
        N_("the setting decides whether a message is split over its queue pairs"),
    ),
    Knob("NCCL_IB_GID_INDEX", ("1", "3"), N_("RoCE v1 cannot be routed; the index of v2 differs by host")),
    Knob("NCCL_NSOCKS_PERTHREAD", ("2", "4", "8"), N_("one TCP connection does not fill a fast link")),
    Knob("NCCL_SOCKET_NTHREADS", ("2", "4", "8"), N_("one thread does not fill a fast link")),
    Knob("NCCL_CROSS_NIC", ("0", "1", "2"), N_("the setting decides whether NCCL's rings may change rails")),
    Knob(
        "NCCL_NET_GDR_LEVEL",
        ("PIX", "PXB", "PHB", "SYS"),
        N_("the largest PCIe distance between GPU and adapter for GPUDirect"),
    ),
)


def explain_settings(settings: KnobSettings, knobs: Sequence[Knob]) -> str:
    """Return the reasons why the settings' knobs can matter, joined by semicolons, for the table."""
    reasons = {knob.variable: knob.reason for knob in knobs}
    return "; ".join(reasons[name] for name, _value in settings.pairs if name in reasons)
