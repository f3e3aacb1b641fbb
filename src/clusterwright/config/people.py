"""Users and teams."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

from clusterwright.config.field import Cost, Section, refuse, setting
from clusterwright.config.names import AccountName
from clusterwright.i18n import _

# sshd(8) AUTHORIZED_KEYS: type, base64, comment; options before the type could run commands, and are refused.
_KEY = r"(ssh|ecdsa|sk-ssh|sk-ecdsa)-[a-z0-9@.-]+ [A-Za-z0-9+/]{16,}={0,3}( [ -~]*)?"

# Below 1000 are system accounts; from 60000 on distributions (nobody), systemd (61184) and containers
# (524288) have ranges of their own (Debian policy 9.2.2, systemd's UIDS-GIDS).
_FIRST_ID, _LAST_ID = 1000, 59999


def _public_key(value: str) -> str:
    if not re.fullmatch(_KEY, value):
        raise refuse(
            "bad-key",
            _("this is not a public SSH key of one line"),
            _("paste the line of a .pub file, such as `ssh-ed25519 AAAA... name`"),
        )
    return value


PublicKey = Annotated[str, AfterValidator(_public_key)]


class Team(Section):
    """People who share a part of the cluster: a Unix group, and an account of Slurm's."""

    gid: int = setting(
        "Group id, the same on every host.",
        cost=Cost.REBUILD, example="5000", least=_FIRST_ID, most=_LAST_ID,
    )  # fmt: skip
    # 10^6: enough steps for any division, far below the 2^31 that Slurm holds.
    shares: int = setting(
        "Fair share relative to the teams beside it; 0: only what nobody else wants.",
        default=1, example="30", least=0, most=1_000_000,
    )  # fmt: skip
    parent: AccountName | None = setting(
        "The team that it is a part of, whose share it divides.", default=None, example="research"
    )
    max_gpus: int | None = setting(
        "Most GPUs of all its jobs together; all if left out.", default=None, example="16", least=0
    )
    max_gpus_per_user: int | None = setting(
        "Most GPUs of one member's jobs together; all if left out.", default=None, example="8", least=0
    )
    max_jobs: int | None = setting(
        "Most running jobs of all members together.", default=None, example="50", least=0
    )


class User(Section):
    """A person with an account on every host."""

    uid: int = setting(
        "User id, the same on every host.",
        cost=Cost.REBUILD, example="6001", least=_FIRST_ID, most=_LAST_ID,
    )  # fmt: skip
    team: AccountName = setting("The team whose share the jobs count against.", example="vision")
    additional_teams: tuple[AccountName, ...] = setting(
        "Further teams; a job counts against one of them with `--account`.", default=(), example="[language]"
    )
    ssh_keys: tuple[PublicKey, ...] = setting(
        "Public keys that may log in.", default=(), example="[ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA alice]"
    )
    admin: bool = setting("May use sudo on every host.", default=False, example="true")
