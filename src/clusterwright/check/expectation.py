"""What a check is: facts in, verdicts out, by `expect`; the runner adds the subject and the check's name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from clusterwright.check.fact import Fact, Want
from clusterwright.check.verdict import Status, Verdict

T = TypeVar("T")
Answer = Verdict | Iterable[Verdict]
# A cluster that is new or changed; a running one, now and then; before a job, in a second; after load on all hosts;
# one host that has just been booted, while others run on.
Occasion = Literal["deploy", "periodic", "prolog", "burn-in", "boot"]


@dataclass(frozen=True, slots=True)
class Check:
    """One expectation: of every host by itself, or (`together`) of the hosts against each other."""

    id: str
    about: str
    judge: Callable[..., Answer]
    needs: tuple[Fact[Any], ...]
    on: tuple[Occasion, ...]
    mend: str
    when: Callable[[Want], bool]
    unless: Callable[[Want], str]
    together: bool
    field: str = ""


def _everywhere(_want: Want) -> bool:
    return True


def _never(_want: Want) -> str:
    return ""


def check(
    needs: Fact[Any] | tuple[Fact[Any], ...],
    *,
    mend: str,
    on: tuple[Occasion, ...] = ("deploy", "periodic"),
    when: Callable[[Want], bool] = _everywhere,
    unless: Callable[[Want], str] = _never,
    together: bool = False,
    field: str = "",
) -> Callable[[Callable[..., Answer]], Check]:
    """Make a check of a judge.

    The judge gets `(want, *facts)` of one host; with `together` it gets `(cluster, *facts)`, each fact a
    mapping from host to value that holds only the hosts where it was read. `when` says which hosts it
    concerns, `unless` gives the reason why a host is skipped without being asked, or no text. `on` names the
    occasions: `prolog` checks are quick and never ask slurmctld. `field` is what of the cluster file hosts are held
    against, with `{group}` and `{part}`: it is named where all hosts of a group differ from it alike.
    """

    def decorate(judge: Callable[..., Answer]) -> Check:
        about = (judge.__doc__ or "").strip().splitlines()[0]
        facts = needs if isinstance(needs, tuple) else (needs,)
        return Check(judge.__name__, about, judge, facts, on, mend, when, unless, together, field)

    return decorate


def expect(
    holds: bool,  # noqa: FBT001 (the expectation itself reads best first)
    *,
    saw: str,
    want: str,
    subject: str = "",
    part: str = "",
    mend: str = "",
    otherwise: Status = Status.FAIL,
    codes: tuple[str, ...] = (),
) -> Verdict:
    """`ok` when it holds, else `otherwise`; an empty subject is the host, an empty mend is the check's."""
    status = Status.OK if holds else otherwise
    return Verdict(subject, "", status, saw, want, mend, part, () if holds else codes)


def fine(*, saw: str, want: str, subject: str = "", part: str = "") -> Verdict:
    """`ok`, after everything that could be wrong was looked at."""
    return expect(True, saw=saw, want=want, subject=subject, part=part)  # noqa: FBT003 (what `fine` means)


def fault(
    *,
    saw: str,
    want: str,
    subject: str = "",
    part: str = "",
    mend: str = "",
    otherwise: Status = Status.FAIL,
    codes: tuple[str, ...] = (),
) -> Verdict:
    """`fail`, or `otherwise`."""
    return Verdict(subject, "", otherwise, saw, want, mend, part, codes)


def skip(why: str, *, subject: str = "") -> Verdict:
    """Switched off, or not to be had here, and why; not green."""
    return Verdict(subject, "", Status.SKIPPED, why)


def unknown(why: str, *, want: str = "", subject: str = "", mend: str = "", part: str = "") -> Verdict:
    """Could not be seen, and why; not green."""
    return Verdict(subject, "", Status.UNKNOWN, why, want, mend, part)


def most_common(have: Mapping[str, T], first: str) -> T:
    """The value that most hosts have; in a tie the one of the host named first, if it takes part in it."""
    counts = Counter(have.values())
    best = max(counts.values())
    tied = [value for value, count in counts.items() if count == best]
    return have[first] if have.get(first) in tied else tied[0]


def equal_everywhere(
    have: Mapping[str, T], first: str, what: str, *, otherwise: Status = Status.FAIL
) -> list[Verdict]:
    """One verdict per host: its value is the one that most hosts have."""
    usual = most_common(have, first)
    want = (
        f"{usual}, as on most hosts of {len(have)}"
        if len(set(have.values())) > 1
        else f"{what} equal everywhere"
    )
    return [
        expect(value == usual, saw=str(value), want=want, subject=host, otherwise=otherwise)
        for host, value in have.items()
    ]
