"""Receivers of alerts: mail, chat channels, webhooks and Zabbix.

Secrets (webhook addresses, passwords) are in files of the site on the operator's machine; the cluster file holds
only the paths of these files.
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
            _("`{value}` is not an email address", value=value[:80]),
            _("write the email address as oncall@example.org"),
        )
    return value


def _server(value: str) -> str:
    if not re.fullmatch(_SERVER, value):
        raise refuse(
            "bad-address",
            _("`{value}` is not a mail server with a port", value=value[:80]),
            _("write the mail server as smtp.example.org:587"),
        )
    return value


def _zabbix_server(value: str) -> str:
    if not re.fullmatch(_SERVER, value) or int(value.rpartition(":")[2]) > _MOST_PORT:
        raise refuse(
            "bad-address",
            _("`{value}` is not a Zabbix server with the port of its trapper", value=value[:80]),
            _("write the Zabbix server as zabbix.example.org:10051"),
        )
    return value


def _zabbix_host(value: str) -> str:
    if not re.fullmatch(_ZABBIX_HOST, value):
        raise refuse(
            "bad-name",
            _("`{value}` is not a Zabbix host name", value=value[:80]),
            _("use at most 128 letters, digits, spaces, dots, dashes and underscores"),
        )
    return value


def _url(value: str) -> str:
    if not re.fullmatch(_URL, value):
        raise refuse(
            "bad-address",
            _("`{value}` is not an HTTP URL", value=value[:80]),
            _("write the URL as https://alerts.example.org/hook"),
        )
    return value


MailAddress = Annotated[str, AfterValidator(_mail)]
MailServer = Annotated[str, AfterValidator(_server)]
ZabbixServer = Annotated[str, AfterValidator(_zabbix_server)]
ZabbixHost = Annotated[str, AfterValidator(_zabbix_host)]
HttpAddress = Annotated[str, AfterValidator(_url)]
Severity = Literal["critical", "warning", "info"]


class _Receiver(Section):
    """A receiver of alerts."""

    severity: Severity = setting(
        "Minimum severity of alerts sent to it: critical is a page, warning a ticket, info a note.",
        default="warning", example="critical",
    )  # fmt: skip


class _WithFile(_Receiver):
    """A receiver whose address is a secret."""

    secret_file: HostPath = setting(
        "File on the operator's machine, mode 0600, with the full URL of the webhook;"
        " its second line is the key for signatures, where the channel requires them.",
        example="/root/secrets/oncall",
    )  # fmt: skip


class Email(_Receiver):
    """Email, sent by Alertmanager."""

    kind: Literal["email"] = setting("Email.", example="email")
    to: Annotated[tuple[MailAddress, ...], Field(min_length=1)] = setting(
        "Recipients.", example="[oncall@example.org]"
    )
    sender: MailAddress = setting("Sender address.", example="cluster@example.org")
    server: MailServer = setting(
        "Mail server that sends the alerts, with its port.", example="smtp.example.org:587"
    )
    user: Line | None = setting(
        "User name at the mail server; default: no login.", default=None, example="cluster"
    )
    secret_file: HostPath | None = setting(
        "File on the operator's machine, mode 0600, with the password.",
        default=None, example="/root/secrets/mail",
    )  # fmt: skip
    tls: bool = setting("Require TLS (STARTTLS, or implicit TLS on port 465).", default=True, example="true")


class Webhook(_Receiver):
    """A program of the site that receives Alertmanager's JSON."""

    kind: Literal["webhook"] = setting("An Alertmanager webhook.", example="webhook")
    url: HttpAddress = setting(
        "URL of the webhook to which alerts are sent.", example="https://alerts.example.org/hook"
    )
    secret_file: HostPath | None = setting(
        "File on the operator's machine, mode 0600, with the webhook's bearer token; default: no token.",
        default=None, example="/root/secrets/token",
    )  # fmt: skip


class Slack(_WithFile):
    """A Slack channel, through an incoming webhook."""

    kind: Literal["slack"] = setting("A Slack channel.", example="slack")


class Feishu(_WithFile):
    """A Feishu or Lark group, through a custom bot; messages are signed where the file has a second line."""

    kind: Literal["feishu"] = setting("A Feishu or Lark group.", example="feishu")


class DingTalk(_WithFile):
    """A DingTalk group, through a custom robot; messages are signed where the file has a second line."""

    kind: Literal["dingtalk"] = setting("A DingTalk group.", example="dingtalk")


class WeCom(_WithFile):
    """A WeCom group, through a group robot, whose URL is the only secret."""

    kind: Literal["wecom"] = setting("A WeCom group.", example="wecom")


class Zabbix(_Receiver):
    """A Zabbix server or proxy, 6.0 or later; alerts and metrics go to its trapper."""

    kind: Literal["zabbix"] = setting("A Zabbix server or proxy.", example="zabbix")
    server: ZabbixServer = setting(
        "Server or proxy with the port of its trapper. Without `tls`, use a private address: traffic is not encrypted.",
        example="zabbix.example.org:10051",
    )  # fmt: skip
    host: ZabbixHost | None = setting(
        "Host name of the cluster in Zabbix; default: the name of the cluster.",
        default=None, example="gpu-cluster",
    )  # fmt: skip
    tls: HostPath | None = setting(
        "File on the control host with the CA certificate of the server; enables TLS, with the client certificate that"
        " exporters accept from Prometheus.",
        default=None, example="/etc/zabbix/ca.crt",
    )  # fmt: skip

    @property
    def public(self) -> bool:
        """Return whether the server is a public IP address; False for a host name, which is not resolved here."""
        try:
            return ip_address(self.server.rpartition(":")[0]).is_global
        except ValueError:
            return False


Receiver = Annotated[
    Email | Webhook | Slack | Feishu | DingTalk | WeCom | Zabbix, Field(discriminator="kind")
]
CHAT_RECEIVERS = (Feishu, DingTalk, WeCom)  # not supported by Alertmanager: our own program sends to them
