"""Users and teams."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from clusterwright.spec.field import Cost, Section, setting
from clusterwright.spec.names import AccountName


def _public_key(value: str) -> str:
    kind = value.split(" ", 1)[0]
    if "\n" in value or not kind.startswith(("ssh-", "ecdsa-", "sk-")) or " " not in value:
        raise ValueError("this is not a public SSH key of one line, such as `ssh-ed25519 AAAA... name`")
    return value


class Team(Section):
    """People who share a part of the cluster: a Unix group, later a Slurm account."""

    gid: int = setting("Group id, the same on every host.", cost=Cost.REBUILD, example="5000")
    shares: int = setting("Fair share relative to the other teams.", default=1, example="30")


class User(Section):
    """A person with an account on every host."""

    uid: int = setting("User id, the same on every host.", cost=Cost.REBUILD, example="6001")
    team: AccountName = setting("The team whose share the jobs count against.", example="vision")
    ssh_keys: tuple[Annotated[str, AfterValidator(_public_key)], ...] = setting(
        "Public keys that may log in.", default=(), example="[ssh-ed25519 AAAA... alice]"
    )
    admin: bool = setting("May use sudo on every host.", default=False, example="true")
