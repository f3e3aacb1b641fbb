"""Users and teams."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

from clusterwright.config.field import Cost, Section, refuse, setting
from clusterwright.config.names import AccountName, ConfLine, SlurmKey
from clusterwright.i18n import _

# sshd(8) AUTHORIZED_KEYS: type, base64, comment. Options before the type can run commands and are rejected.
_KEY = r"(ssh|ecdsa|sk-ssh|sk-ecdsa)-[a-z0-9@.-]+ [A-Za-z0-9+/]{16,}={0,3}( [ -~]*)?"

# Below 1000 are system accounts; ids from 60000 on are reserved by distributions (nobody), systemd (61184) and
# containers (524288) (Debian policy 9.2.2, systemd's UIDS-GIDS).
FIRST_ID, LAST_ID = 1000, 59999


def _public_key(value: str) -> str:
    if not re.fullmatch(_KEY, value):
        raise refuse(
            "bad-key",
            _("the value is not a one-line SSH public key"),
            _("paste the line of a .pub file, such as `ssh-ed25519 AAAA... name`"),
        )
    return value


PublicKey = Annotated[str, AfterValidator(_public_key)]


class Team(Section):
    """Users who share a part of the cluster: a Unix group and a Slurm account."""

    gid: int | None = setting(
        "Group id on every host (gid); not set: a Slurm account without a Unix group of ours, only with"
        " `slurm.defaults: slurm`.",
        cost=Cost.REBUILD, default=None, example="5000", least=FIRST_ID, most=LAST_ID,
    )  # fmt: skip
    # 10^6: enough steps for any division, far below the 2^31 that Slurm holds.
    shares: int = setting(
        "Fair share relative to sibling teams; 0: only resources that no other team requests.",
        default=1, example="30", least=0, most=1_000_000,
    )  # fmt: skip
    parent: AccountName | None = setting(
        "Parent team, whose share is divided among its child teams.", default=None, example="research"
    )
    max_gpus: int | None = setting(
        "Maximum GPUs of all jobs of the team; default: no limit.", default=None, example="16", least=0
    )
    max_gpus_per_user: int | None = setting(
        "Maximum GPUs of all jobs of a member; default: no limit.", default=None, example="8", least=0
    )
    max_jobs: int | None = setting(
        "Maximum running jobs of all members; default: no limit.", default=None, example="50", least=0
    )
    options: dict[SlurmKey, ConfLine] = setting(
        "Additional settings of the account, named as in sacctmgr; a setting here replaces the value of another field.",
        default={},
        example='{MaxSubmitJobs: "200"}',
    )


class User(Section):
    """A person with an account on every host."""

    uid: int | None = setting(
        "User id on every host (uid); not set: the site creates the account, such as by LDAP, only with"
        " `slurm.defaults: slurm`.",
        cost=Cost.REBUILD, default=None, example="6001", least=FIRST_ID, most=LAST_ID,
    )  # fmt: skip
    team: AccountName = setting("Team that the user's jobs are charged to.", example="vision")
    additional_teams: tuple[AccountName, ...] = setting(
        "Additional teams; `--account` charges a job to one of them.", default=(), example="[language]"
    )
    ssh_keys: tuple[PublicKey, ...] = setting(
        "SSH public keys for login.", default=(), example="[ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA alice]"
    )
    admin: bool = setting("Allow the user sudo on every host.", default=False, example="true")
