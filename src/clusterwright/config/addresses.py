"""Types of addresses of services; none has a user, a password or a query, which would be secrets in a file."""

from __future__ import annotations

from typing import Annotated

from clusterwright.config.names import matching
from clusterwright.i18n import N_

_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_HTTP = rf"https?://{_LABEL}(\.{_LABEL}){{0,9}}(:[1-9][0-9]{{0,4}})?(/[A-Za-z0-9._~/-]{{0,255}})?"
_OBJECTS = r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9!_.()/-]{0,512})?"  # S3's bucket naming rules

HttpAddress = Annotated[
    str,
    *matching(
        _HTTP,
        N_("the http or https address of a server, without user and password"),
        N_("write it as https://rgw.example.org; add a port that is not the default, such as :7480"),
    ),
]
ObjectAddress = Annotated[
    str,
    *matching(_OBJECTS, N_("a bucket and prefix in object storage"), N_("write it as s3://BUCKET/PREFIX")),
]
