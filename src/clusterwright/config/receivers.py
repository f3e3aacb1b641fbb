"""Who is told of alerts: by mail, in a chat room, or by a program of the site's.

What is secret (an address that lets anyone write, a password) is in a file of the site's on the machine that applies;
the cluster file names it and never holds it.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from clusterwright.config.field import Section, refuse, setting
from clusterwright.config.names import HostPath, Line
from clusterwright.i18n import _

_MAIL = r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})*"
_SERVER = r"[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?:[1-9][0-9]{0,4}"
_MOST_PORT = 65535
_ZABBIX_HOST = r"[A-Za-z0-9._-]([A-Za-z0-9 ._-]{0,126}[A-Za-z0-9._-])?"
_URL = r"https?://[A-Za-z0-9.\[\]:-]{1,255}(/[!-~]{0,1024})?"


def _mail(value: str) -> str:
    if not re.fullmatch(_MAIL, value):
        raise refuse(
            "bad-address",
            _("`{value}` is not a mail address", value=value[:80]),
            _("write it as oncall@example.org"),
        )
    return value


def _server(value: str) -> str:
    if not re.fullmatch(_SERVER, value):
        raise refuse(
            "bad-address",
            _("`{value}` is not a mail server and its port", value=value[:80]),
            _("write it as smtp.example.org:587"),
        )
    return value


def _zabbix_server(value: str) -> str:
    if not re.fullmatch(_SERVER, value) or int(value.rpartition(":")[2]) > _MOST_PORT:
        raise refuse(
            "bad-address",
            _("`{value}` is not a Zabbix server and the port of its trapper", value=value[:80]),
            _("write it as zabbix.example.org:10051"),
        )
    return value


def _zabbix_host(value: str) -> str:
    if not re.fullmatch(_ZABBIX_HOST, value):
        raise refuse(
            "bad-name",
            _("`{value}` is not the name of a host in Zabbix", value=value[:80]),
            _("use up to 128 letters, digits, blanks, dots, dashes and underscores"),
        )
    return value


def _url(value: str) -> str:
    if not re.fullmatch(_URL, value):
        raise refuse(
            "bad-address",
            _("`{value}` is not an address of HTTP", value=value[:80]),
            _("write it as https://alerts.example.org/hook"),
        )
    return value


MailAddress = Annotated[str, AfterValidator(_mail)]
MailServer = Annotated[str, AfterValidator(_server)]
ZabbixServer = Annotated[str, AfterValidator(_zabbix_server)]
ZabbixHost = Annotated[str, AfterValidator(_zabbix_host)]
HttpAddress = Annotated[str, AfterValidator(_url)]
Severity = Literal["critical", "warning", "info"]


class _Receiver(Section):
    """One that is told."""

    severity: Severity = setting(
        "From which severity on it is told: critical is a page, warning a ticket, info a note.",
        default="warning", example="critical",
    )  # fmt: skip


class _WithFile(_Receiver):
    """One whose address is a secret."""

    secret_file: HostPath = setting(
        "File on the machine that applies, for its owner's eyes only, that holds the webhook's whole address;"
        " on its second line the key for signatures, where the room wants them.",
        example="/root/secrets/oncall",
    )  # fmt: skip


class Email(_Receiver):
    """Mail, sent by Alertmanager."""

    kind: Literal["email"] = setting("Mail.", example="email")
    to: Annotated[tuple[MailAddress, ...], Field(min_length=1)] = setting(
        "Who gets it.", example="[oncall@example.org]"
    )
    sender: MailAddress = setting("Who it comes from.", example="cluster@example.org")
    server: MailServer = setting("The mail server and its port.", example="smtp.example.org:587")
    user: Line | None = setting("Who logs in there; nobody if left out.", default=None, example="cluster")
    secret_file: HostPath | None = setting(
        "File on the machine that applies, for its owner's eyes only, with the password.",
        default=None, example="/root/secrets/mail",
    )  # fmt: skip
    tls: bool = setting(
        "Only over TLS (STARTTLS, or from the start on port 465).", default=True, example="true"
    )


class Webhook(_Receiver):
    """A program of the site's, which gets Alertmanager's own JSON."""

    kind: Literal["webhook"] = setting("Alertmanager's webhook.", example="webhook")
    url: HttpAddress = setting("Where it is sent.", example="https://alerts.example.org/hook")
    secret_file: HostPath | None = setting(
        "File on the machine that applies, for its owner's eyes only, with a bearer token.",
        default=None, example="/root/secrets/token",
    )  # fmt: skip


class Slack(_WithFile):
    """A channel of Slack, by an incoming webhook."""

    kind: Literal["slack"] = setting("Slack.", example="slack")


class Feishu(_WithFile):
    """A group of Feishu or Lark, by a custom bot; with its signature where the file has a second line."""

    kind: Literal["feishu"] = setting("Feishu or Lark.", example="feishu")


class DingTalk(_WithFile):
    """A group of DingTalk, by a custom robot; with its signature where the file has a second line."""

    kind: Literal["dingtalk"] = setting("DingTalk.", example="dingtalk")


class WeCom(_WithFile):
    """A group of WeCom, by a group robot; whose address is its only secret."""

    kind: Literal["wecom"] = setting("WeCom.", example="wecom")


class Zabbix(_Receiver):
    """A Zabbix server or proxy of 6.0 or later, which takes alerts and figures as a trapper."""

    kind: Literal["zabbix"] = setting("Zabbix.", example="zabbix")
    server: ZabbixServer = setting(
        "The server or proxy, and its trapper's port. Without `tls`, a private address: it goes in the clear.",
        example="zabbix.example.org:10051",
    )  # fmt: skip
    host: ZabbixHost | None = setting(
        "What the cluster is called there as a host; the cluster's name if left out.",
        default=None, example="gpu-cluster",
    )  # fmt: skip
    tls: HostPath | None = setting(
        "File on the control host with the authority that signed the server's certificate: then it is spoken to over"
        " TLS, by the certificate by which exporters know Prometheus.",
        default=None, example="/etc/zabbix/ca.crt",
    )  # fmt: skip

    @property
    def public(self) -> bool:
        """True for an address that anybody has a way to; what a name stands for is seen when it is spoken to."""
        try:
            return ip_address(self.server.rpartition(":")[0]).is_global
        except ValueError:
            return False


Receiver = Annotated[
    Email | Webhook | Slack | Feishu | DingTalk | WeCom | Zabbix, Field(discriminator="kind")
]
CHAT_RECEIVERS = (Feishu, DingTalk, WeCom)  # what Alertmanager does not speak, and our own program does
