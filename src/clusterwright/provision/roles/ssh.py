"""SSH: who may log in, and logins of users between hosts without a password."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.render.authorized_keys import authorized_keys
from clusterwright.provision.render.ssh_config import CLUSTER_KEYS, ssh_config
from clusterwright.provision.resources import Directory, File, Resource, RoleContext, Unit

DEPENDENCIES = ("accounts",)
KEYS = "/etc/ssh/authorized_keys.d"

# Keys from the cluster file come last; users keep their own in the first two.
KEY_FILES = f".ssh/authorized_keys .ssh/authorized_keys2 {KEYS}/%u"
# OpenSSH 8.0 has no drop-in folder; options on its command line take precedence over its file.
OLD_UNIT = """[Service]
ExecStart=
ExecStart=/usr/sbin/sshd -D $OPTIONS $CRYPTO_POLICY {options}
"""


@alike
def ssh(cluster: Cluster, _host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return sshd's settings, the users' keys from the file, and a cluster key pair for each user.

    The pairs are outside home directories, because root cannot write to a home on NFS.
    """
    header = context.header()
    return (
        *_daemon(cluster, header),
        Directory(path=KEYS),
        *(
            File(path=f"{KEYS}/{name}", content=authorized_keys(cluster, name, context, header))
            for name in cluster.unix_users()
        ),
        Directory(path=CLUSTER_KEYS),
        *(_cluster_key(name, cluster.users[name].team, context) for name in cluster.unix_users()),
        File(path="/etc/ssh/ssh_config.d/50-clusterwright.conf", content=ssh_config(cluster, header)),
    )


def _cluster_key(name: str, team: str, context: RoleContext) -> File:
    """Return the private key, readable by its owner only: ssh rejects others."""
    secret = f"ssh/{name}"
    return File(
        path=f"{CLUSTER_KEYS}/{name}",
        content=context.secrets.get(secret, b""),
        owner=name,
        group=team,
        mode=0o600,
        secret=secret,
    )


def _daemon(cluster: Cluster, header: str) -> tuple[Resource, ...]:
    """Return sshd's settings in a file that sorts first: sshd uses the first value, and cloud images set some."""
    allowed = "yes" if cluster.security.password_login else "no"
    settings = {
        "AuthorizedKeysFile": KEY_FILES,
        "PasswordAuthentication": allowed,
        "KbdInteractiveAuthentication": allowed,
    }
    daemon = _by_folder if cluster.platform.has_sshd_folder else _by_unit
    return daemon(cluster.platform.unit("ssh.service"), settings, header)


def _by_folder(unit: str, settings: dict[str, str], header: str) -> tuple[Resource, ...]:
    text = header + "\n# Keys from the cluster file come last; users keep their own in the first two.\n"
    text += "".join(f"{key} {value}\n" for key, value in settings.items())
    path = "/etc/ssh/sshd_config.d/00-clusterwright.conf"
    file = File(path=path, content=text, validate=("sshd", "-t", "-f", "{}"))
    return (file, Unit(name=unit, restart_on=(file.id,), reload=True))


def _by_unit(unit: str, settings: dict[str, str], header: str) -> tuple[Resource, ...]:
    """Return the settings as command line options in a drop-in of sshd's unit: OpenSSH 8.0 has no drop-in folder.

    KbdInteractiveAuthentication is written by its former name, the one that release knows. `header`: the comment on
    top.
    """
    former = {"KbdInteractiveAuthentication": "ChallengeResponseAuthentication"}
    options = " ".join(f'-o "{former.get(key, key)} {value}"' for key, value in settings.items())
    text = header + OLD_UNIT.format(options=options.replace("%", "%%"))
    file = File(path=f"/etc/systemd/system/{unit}.d/clusterwright.conf", content=text)
    return (file, Unit(name=unit, restart_on=(file.id,)))
