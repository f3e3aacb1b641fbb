"""The options of `wright web`, as they are typed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


@Parameter(name="*")
@dataclass(frozen=True)
class Listens:
    """Where the page is."""

    host: Annotated[
        str,
        Parameter(help="Where it listens; anything but loopback needs TLS, and everyone has to sign in."),
    ] = "127.0.0.1"
    port: Annotated[int, Parameter(help="Its port; 0 for any that is free.")] = 8080
    tls_cert: Annotated[
        Path | None,
        Parameter(help="The certificate: PEM, with all that stand between it and its authority."),
    ] = None
    tls_key: Annotated[Path | None, Parameter(help="The certificate's key: PEM, without a password.")] = None


@Parameter(name="*")
@dataclass(frozen=True)
class Members:
    """Who may sign in."""

    add_user: Annotated[
        str | None,
        Parameter(help="Let this user of Slurm's sign in; the password is asked for, and nothing is served."),
    ] = None
    role: Annotated[
        Literal["viewer", "user", "operator"],
        Parameter(
            help="With --add-user: a viewer looks, a user cancels their own jobs, an operator any, and drains nodes."
        ),
    ] = "viewer"
    remove_user: Annotated[str | None, Parameter(help="Let this user in no more; nothing is served.")] = None
    users: Annotated[
        Path | None, Parameter(help="The file of users; else one in the cluster's state folder.")
    ] = None


HERE, NOBODY = Listens(), Members()
