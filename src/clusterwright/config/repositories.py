"""Package repositories of the site, in addition to the distribution's."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, WithJsonSchema

from clusterwright.config.distribution import Os
from clusterwright.config.field import Cost, Section, refuse, setting
from clusterwright.config.names import Identifier
from clusterwright.i18n import N_, _
from clusterwright.platforms import EXAMPLE, Platform

_URL = r"(https?|file)://[A-Za-z0-9][A-Za-z0-9._~:/%+-]{0,500}|file:///[A-Za-z0-9._~:/%+-]{1,500}"
_BEGIN, _END = "-----BEGIN PGP PUBLIC KEY BLOCK-----", "-----END PGP PUBLIC KEY BLOCK-----"


def _url(value: str) -> str:
    if not re.fullmatch(_URL, value):
        raise refuse(
            "bad-name",
            _("`{value}` is not the URL of a repository", value=value[:80]),
            _("write the URL of the repository as https://packages.example.org/slurm"),
        )
    return value


def _key(value: str) -> str:
    lines = value.strip().splitlines()
    is_ascii = all(re.fullmatch(r"[ -~]*", line) for line in lines)
    if not is_ascii or len(lines) < 3 or lines[0] != _BEGIN or lines[-1] != _END:
        raise refuse(
            "bad-key",
            _("the value is not an ASCII-armored OpenPGP public key"),
            _("paste the output of `gpg --armor --export`, from {begin} on, below `key: |`", begin=_BEGIN),
        )
    return "\n".join(lines) + "\n"


Url = Annotated[str, AfterValidator(_url), WithJsonSchema({"type": "string", "form": N_("a URL")})]
PgpKey = Annotated[
    str, AfterValidator(_key), WithJsonSchema({"type": "string", "form": N_("an OpenPGP key")})
]


class Repository(Section):
    """A deb or rpm repository, depending on the distribution of the hosts."""

    url: Url = setting(
        "URL of the repository, reachable from the hosts.",
        cost=Cost.RESTART, example="https://packages.example.org/slurm",
    )  # fmt: skip
    os: tuple[Os, ...] = setting(
        "Operating systems of the hosts that use the repository; empty: all hosts.",
        cost=Cost.RESTART, default=(), example=f"[{EXAMPLE}]",
    )  # fmt: skip
    suite: Identifier | None = setting(
        "Suite of a deb repository; not set: a flat repository without suites.",
        cost=Cost.RESTART, default=None, example="jammy",
    )  # fmt: skip
    components: tuple[Identifier, ...] = setting(
        "Components of the suite of the package repository, such as main.",
        cost=Cost.RESTART,
        default=("main",),
        example="[main]",
    )
    key: PgpKey | None = setting(
        "Public key that signs the repository, ASCII-armored; required, unless `unsigned` is true.",
        cost=Cost.RESTART, default=None,
    )  # fmt: skip
    unsigned: bool = setting(
        "Install packages without verifying a signature; never over http. Whoever controls the server is root.",
        cost=Cost.RESTART, default=False,
    )  # fmt: skip

    def is_for(self, platform: Platform) -> bool:
        """Whether hosts with that release of a distribution use the repository."""
        return not self.os or platform.name in self.os
