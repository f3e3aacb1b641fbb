"""What a check is: facts in, verdicts out, by `expect`; the runner adds the subject and the check's name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from clusterwright.check.fact import Fact, HostSpec
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _

T = TypeVar("T")
Answer = Verdict | Iterable[Verdict]
# A cluster that is new or changed; a running one, now and then; before a job, in a second; after load on all hosts;
# one host that has just been booted, while others run on.
Occasion = Literal["deploy", "periodic", "prolog", "burn-in", "boot"]


@dataclass(frozen=True, slots=True)
class Check:
    """One expectation: of every host by itself, or (`cluster_wide`) of the hosts against each other."""

    id: str
    about: str
    judge: Callable[..., Answer]
    needs: tuple[Fact[Any], ...]
    on: tuple[Occasion, ...]
    fix: str
    when: Callable[[HostSpec], bool]
    unless: Callable[[HostSpec], str]
    cluster_wide: bool
    field: str = ""


def _everywhere(_spec: HostSpec) -> bool:
    return True


def _no_reason(_spec: HostSpec) -> str:
    return ""


def check(
    needs: Fact[Any] | tuple[Fact[Any], ...],
    *,
    fix: str,
    on: tuple[Occasion, ...] = ("deploy", "periodic"),
    when: Callable[[HostSpec], bool] = _everywhere,
    unless: Callable[[HostSpec], str] = _no_reason,
    cluster_wide: bool = False,
    field: str = "",
) -> Callable[[Callable[..., Answer]], Check]:
    """Make a check of a judge.

    The judge gets `(want, *facts)` of one host; with `cluster_wide` it gets `(cluster, *facts)`, each fact a
    mapping from host to value that holds only the hosts where it was read. `when` says which hosts it
    concerns, `unless` gives the reason why a host is skipped without being asked, or no text. `on` names the
    occasions: `prolog` checks are quick and never ask slurmctld. `field` is what of the cluster file hosts are held
    against, with `{group}` and `{part}`: it is named where all hosts of a group differ from it alike.
    """

    def decorate(judge: Callable[..., Answer]) -> Check:
        about = (judge.__doc__ or "").strip().splitlines()[0]
        facts = needs if isinstance(needs, tuple) else (needs,)
        return Check(judge.__name__, about, judge, facts, on, fix, when, unless, cluster_wide, field)

    return decorate


def expect(
    is_ok: bool,  # noqa: FBT001 (the expectation itself reads best first)
    *,
    observed: str,
    expected: str,
    subject: str = "",
    part: str = "",
    fix: str = "",
    otherwise: Status = Status.FAIL,
    codes: tuple[str, ...] = (),
) -> Verdict:
    """`ok` when it holds, else `otherwise`; an empty subject is the host, an empty fix is the check's."""
    status = Status.OK if is_ok else otherwise
    return Verdict(subject, "", status, observed, expected, fix, part, () if is_ok else codes)


def fine(*, observed: str, expected: str, subject: str = "", part: str = "") -> Verdict:
    """`ok`, after everything that could be wrong was looked at."""
    return expect(True, observed=observed, expected=expected, subject=subject, part=part)  # noqa: FBT003 (what `fine` means)


def fault(
    *,
    observed: str,
    expected: str,
    subject: str = "",
    part: str = "",
    fix: str = "",
    otherwise: Status = Status.FAIL,
    codes: tuple[str, ...] = (),
) -> Verdict:
    """`fail`, or `otherwise`."""
    return Verdict(subject, "", otherwise, observed, expected, fix, part, codes)


def skip(reason: str, *, subject: str = "") -> Verdict:
    """Switched off, or not to be had here, and why; not green."""
    return Verdict(subject, "", Status.SKIPPED, reason)


def unknown(reason: str, *, expected: str = "", subject: str = "", fix: str = "", part: str = "") -> Verdict:
    """Could not be seen, and why; not green."""
    return Verdict(subject, "", Status.UNKNOWN, reason, expected, fix, part)


def most_common(have: Mapping[str, T], preferred_host: str) -> T:
    """The value that most hosts have; in a tie the one of the host named first, if it takes part in it."""
    counts = Counter(have.values())
    best = max(counts.values())
    tied = [value for value, count in counts.items() if count == best]
    return have[preferred_host] if have.get(preferred_host) in tied else tied[0]


def equal_everywhere(
    have: Mapping[str, T], preferred_host: str, label: str, *, otherwise: Status = Status.FAIL
) -> list[Verdict]:
    """One verdict per host: its value is the one that most hosts have."""
    usual = most_common(have, preferred_host)
    expected = (
        _("{usual}, as on most hosts of {count}", usual=usual, count=len(have))
        if len(set(have.values())) > 1
        else _("{label} equal everywhere", label=label)
    )
    return [
        expect(value == usual, observed=str(value), expected=expected, subject=host, otherwise=otherwise)
        for host, value in have.items()
    ]
