"""The `check` decorator and constructors of verdicts; the runner fills in the subject and the check's name."""

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
# After a new cluster or a change; periodically; before a job (within a second); after a load test of all hosts;
# after a reboot of one host while the others run jobs.
Occasion = Literal["deploy", "periodic", "prolog", "burn-in", "boot"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its judge runs once per host, or (`cluster_wide`) once with the facts of all hosts."""

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
    in_jobs: bool = False


def _everywhere(_spec: HostSpec) -> bool:
    return True


def _no_reason(_spec: HostSpec) -> str:
    return ""


def unmanaged(*roles: str, otherwise: Callable[[HostSpec], str] = _no_reason) -> Callable[[HostSpec], str]:
    """Return a function, the `unless` of a check, that returns why the check is skipped on a host, or an empty text.

    It is skipped if the cluster file (`manage`) has none of the roles applied, as the site does their work in its way;
    otherwise the result is that of `otherwise`.
    """

    def reason(spec: HostSpec) -> str:
        if any(spec.cluster.manages(role) for role in roles):
            return otherwise(spec)
        return _(
            "the check is skipped, because `manage` of the cluster file does not list its roles: {roles}",
            roles=", ".join(roles),
        )

    return reason


def check(
    needs: Fact[Any] | tuple[Fact[Any], ...],
    *,
    fix: str,
    on: tuple[Occasion, ...] = ("deploy", "periodic"),
    when: Callable[[HostSpec], bool] = _everywhere,
    unless: Callable[[HostSpec], str] = _no_reason,
    cluster_wide: bool = False,
    field: str = "",
    in_jobs: bool = False,
) -> Callable[[Callable[..., Answer]], Check]:
    """Turn a judge function into a Check; the first line of its docstring is printed in docs/reference/checks.md.

    The judge is called with `(spec, *facts)` of one host; with `cluster_wide` with `(cluster, *facts)`, each fact a
    mapping from host name to value that lacks the hosts where it could not be read. `when` selects the hosts;
    `unless` returns why a host is skipped without a query, or an empty text. `on` lists the occasions: `prolog`
    checks are quick and never query slurmctld. `field` is the declared field of the cluster file, with `{group}`
    and `{part}`: the fix names it where all hosts of a group differ from it in the same way. `in_jobs`: the judge
    compares with nothing that only a cluster file declares, so that a user's job can run the check on any cluster.
    """

    def decorate(judge: Callable[..., Answer]) -> Check:
        about = (judge.__doc__ or "").strip().splitlines()[0]
        facts = needs if isinstance(needs, tuple) else (needs,)
        return Check(judge.__name__, about, judge, facts, on, fix, when, unless, cluster_wide, field, in_jobs)

    return decorate


def expect(
    is_ok: bool,  # noqa: FBT001 (the condition reads best first)
    *,
    observed: str,
    expected: str,
    subject: str = "",
    part: str = "",
    fix: str = "",
    otherwise: Status = Status.FAIL,
    codes: tuple[str, ...] = (),
) -> Verdict:
    """Return `ok` if the condition is true, else `otherwise`; empty subject: the host; empty fix: the check's."""
    status = Status.OK if is_ok else otherwise
    return Verdict(subject, "", status, observed, expected, fix, part, () if is_ok else codes)


def fine(*, observed: str, expected: str, subject: str = "", part: str = "") -> Verdict:
    """Return a verdict with status `ok`; an empty `subject` means the host itself, an empty `part` all of it."""
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
    """Return a `fail` verdict, or one of status `otherwise`; empty subject: the host; empty fix: the check's."""
    return Verdict(subject, "", otherwise, observed, expected, fix, part, codes)


def skip(reason: str, *, subject: str = "") -> Verdict:
    """Return a `skipped` verdict with its reason, such as that the feature is off; empty subject: the host."""
    return Verdict(subject, "", Status.SKIPPED, reason)


def unknown(reason: str, *, expected: str = "", subject: str = "", fix: str = "", part: str = "") -> Verdict:
    """Return an `unknown` verdict with the reason why the value could not be read; empty subject: the host."""
    return Verdict(subject, "", Status.UNKNOWN, reason, expected, fix, part)


def most_common(have: Mapping[str, T], preferred_host: str) -> T:
    """Return the value that most hosts have; in a tie the preferred host's, if it is one of the tied values."""
    counts = Counter(have.values())
    best = max(counts.values())
    tied = [value for value, count in counts.items() if count == best]
    return have[preferred_host] if have.get(preferred_host) in tied else tied[0]


def equal_everywhere(
    have: Mapping[str, T], preferred_host: str, label: str, *, otherwise: Status = Status.FAIL
) -> list[Verdict]:
    """Return one verdict per host: `ok` if its value is the one that most hosts have, else `otherwise`.

    In a tie the value of the preferred host counts, if it is one of the tied.
    """
    usual = most_common(have, preferred_host)
    expected = (
        _("{usual}, as most of {count} hosts have", usual=usual, count=len(have))
        if len(set(have.values())) > 1
        else _("{label} equal on all hosts", label=label)
    )
    return [
        expect(value == usual, observed=str(value), expected=expected, subject=host, otherwise=otherwise)
        for host, value in have.items()
    ]
