"""Package repositories of the site's own, beside those of the distribution."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, WithJsonSchema

from clusterwright.config.field import Cost, Section, refuse, setting
from clusterwright.config.names import Identifier
from clusterwright.i18n import _

_URL = r"(https?|file)://[A-Za-z0-9][A-Za-z0-9._~:/%+-]{0,500}|file:///[A-Za-z0-9._~:/%+-]{1,500}"
_BEGIN, _END = "-----BEGIN PGP PUBLIC KEY BLOCK-----", "-----END PGP PUBLIC KEY BLOCK-----"


def _url(value: str) -> str:
    if not re.fullmatch(_URL, value):
        raise refuse(
            "bad-name",
            _("`{value}` is not the address of a repository", value=value[:80]),
            _("write it as https://packages.example.org/slurm"),
        )
    return value


def _key(value: str) -> str:
    lines = value.strip().splitlines()
    is_ascii = all(re.fullmatch(r"[ -~]*", line) for line in lines)
    if not is_ascii or len(lines) < 3 or lines[0] != _BEGIN or lines[-1] != _END:
        raise refuse(
            "bad-key",
            _("this is not a public key of OpenPGP as text"),
            _("paste what `gpg --armor --export` prints, from {begin} on, below `key: |`", begin=_BEGIN),
        )
    return "\n".join(lines) + "\n"


Url = Annotated[str, AfterValidator(_url), WithJsonSchema({"type": "string", "form": "an address"})]
PgpKey = Annotated[str, AfterValidator(_key), WithJsonSchema({"type": "string", "form": "an OpenPGP key"})]


class Repository(Section):
    """A repository of deb or rpm packages, as the hosts' distribution takes them."""

    url: Url = setting(
        "Where it is; what the hosts can reach.",
        cost=Cost.RESTART, example="https://packages.example.org/slurm",
    )  # fmt: skip
    suite: Identifier | None = setting(
        "Suite of a deb repository; a flat one, without suites, if left out.",
        cost=Cost.RESTART, default=None, example="jammy",
    )  # fmt: skip
    components: tuple[Identifier, ...] = setting(
        "Components of the suite.", cost=Cost.RESTART, default=("main",), example="[main]"
    )
    key: PgpKey | None = setting(
        "Public key that signs it, as text; without one its packages are taken as they come.",
        cost=Cost.RESTART, default=None,
    )  # fmt: skip
