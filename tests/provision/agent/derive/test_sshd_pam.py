"""Sshd's PAM file: users need a job on the host, and the lines of the host stay."""

import re

import pytest

from clusterwright.onhost.provision.derive import sshd_pam

HEADER = "# made by clusterwright; edit the cluster file instead\n"
USERS = ["alice", "root"]
DEBIAN = {
    "sshd": """# PAM configuration for the Secure Shell service
@include common-auth
account    required     pam_nologin.so
# account  required     pam_access.so
@include common-account
session    required     pam_loginuid.so
@include common-session
session    required     pam_limits.so
@include common-password
""",
    "common-auth": """auth\t[success=1 default=ignore]\tpam_unix.so nullok
auth\trequisite\tpam_deny.so
auth\trequired\tpam_permit.so
""",
    "common-account": """account\t[success=1 new_authtok_reqd=done default=ignore]\tpam_unix.so
account\trequisite\tpam_deny.so
account\trequired\tpam_permit.so
""",
    "common-session": """session\t[default=1]\tpam_permit.so
session\trequisite\tpam_deny.so
session\trequired\tpam_permit.so
session\trequired\tpam_unix.so
session\toptional\tpam_systemd.so
""",
    "common-password": "password\trequired\tpam_permit.so\n",  # pragma: allowlist secret
}
ROCKY = {
    "sshd": """#%PAM-1.0
auth       substack     password-auth
auth       include      postlogin
account    required     pam_sepermit.so
account    required     pam_nologin.so
account    include      password-auth
password   include      password-auth
session    required     pam_loginuid.so
session    include      password-auth
session    include      postlogin
""",
    "password-auth": """auth        sufficient   pam_unix.so
account     sufficient   pam_localuser.so
account     required     pam_permit.so
password    required     pam_deny.so
session     required     pam_limits.so
-session    optional     pam_systemd.so
session     [success=1 default=ignore] pam_succeed_if.so service in crond quiet use_uid
session     required     pam_unix.so
""",
    "postlogin": "session     optional     pam_lastlog.so silent\n",
}


class Host:
    """A host whose files are below a folder."""

    def __init__(self, root, files):
        self.root = root
        (root / "etc/pam.d").mkdir(parents=True)
        for name, text in files.items():
            (root / "etc/pam.d" / name).write_text(text)

    def resolve_path(self, path):
        """Where the file lies."""
        return f"{self.root}{path}"

    def apply(self, login="jobs-only", users=USERS):
        """Write the derived file, as the agent does; return its text."""
        text = sshd_pam.text(self, {"login": login, "users": users}, [])
        if text is not None:
            (self.root / "etc/pam.d/sshd").write_text(HEADER + text)
        return text

    def stack(self, kind, file="sshd"):
        """The modules of one type as libpam reads them: control and module; a substack has a list."""
        rows = []
        for line in (self.root / "etc/pam.d" / file).read_text().splitlines():
            words = line.split()
            if not words or line.startswith("#"):
                continue
            if words[0] == "@include":
                rows += self.stack(kind, words[1])
            elif words[0].lstrip("-") == kind and words[1] == "include":
                rows += self.stack(kind, words[2])
            elif words[0].lstrip("-") == kind and words[1] == "substack":
                rows.append(("substack", self.stack(kind, words[2])))
            elif words[0].lstrip("-") == kind:
                rows.append(re.match(r"\S+\s+(\[[^]]*\]|\S+)\s+(\w+)\.so", line).groups())
        return rows


@pytest.fixture(params=[DEBIAN, ROCKY], ids=["debian", "rocky"])
def host(request, tmp_path):
    """A host as its distribution delivers it."""
    return Host(tmp_path, request.param)


def test_a_user_needs_a_job(host):
    """pam_slurm_adopt is last but for a module that admits all, and nothing before it ends the stack early."""
    host.apply()

    stack = host.stack("account")
    assert [module for _, module in stack[-3:]] == ["pam_succeed_if", "pam_slurm_adopt", "pam_permit"]
    assert [control for control, _ in stack[-3:]] == ["[success=1 default=ignore]", "required", "required"]
    assert not [row for row in stack[:-3] if row[0].startswith("sufficient") or "done" in row[0]]


def test_only_those_of_the_file_log_in_without_one(host):
    """One line skips exactly pam_slurm_adopt, and names them."""
    text = host.apply()

    assert "account [success=1 default=ignore] pam_succeed_if.so quiet user in alice:root\n" in text
    for what in ("no_jobs", "generic_failure", "adopt_failure"):
        assert f"action_{what}=deny" in text


def test_a_login_stays_in_the_control_group_of_its_job(host):
    """pam_systemd would move it; it is skipped for all but those who log in without a job."""
    before = host.stack("session")
    host.apply()

    stack = host.stack("session")
    at = next(i for i, (_, module) in enumerate(stack) if module == "pam_systemd")
    assert stack[at - 1] == ("[success=ignore default=1]", "pam_succeed_if")
    assert stack[: at - 1] + stack[at:] == before


def test_other_types_and_the_lines_of_the_site_stay(host):
    """A site's second factor is where it was."""
    path = host.root / "etc/pam.d/sshd"
    nologin = "account    required     pam_nologin.so"
    path.write_text(path.read_text().replace(nologin, f"auth required pam_duo.so\n{nologin}"))
    before = {kind: host.stack(kind) for kind in ("auth", "password")}
    host.apply()

    assert before == {kind: host.stack(kind) for kind in ("auth", "password")}
    assert ("required", "pam_duo") in host.stack("auth")


def test_a_second_apply_changes_nothing(host):
    """Our own lines are not ours to limit once more."""
    assert host.apply() == host.apply()


def test_free_restores_the_file(host):
    """The file stays in place: without it sshd would admit nobody, or everybody."""
    before = (host.root / "etc/pam.d/sshd").read_text()
    host.apply()

    assert host.apply("free") == before
    assert host.apply("free") == before


def test_the_header_of_an_earlier_version_is_recognized(host):
    """It named the cluster file."""
    before = (host.root / "etc/pam.d/sshd").read_text()
    host.apply()
    file = host.root / "etc/pam.d/sshd"
    file.write_text(file.read_text().replace(HEADER, "# made by clusterwright from a.yaml, do not edit\n"))

    assert host.apply("free") == before


def test_free_leaves_a_file_alone_that_was_never_changed(host):
    """The agent has no such file then, and writes and removes nothing."""
    assert host.apply("free") is None


def test_other_admins_replace_those_of_before(host):
    """As one leaves the cluster file."""
    host.apply()

    assert "alice" not in host.apply(users=["root"])


def test_without_a_file_nothing_is_made_up(tmp_path):
    """A host without PAM for sshd: the note names the reason."""
    with pytest.raises(ValueError, match="no PAM configuration of sshd"):
        Host(tmp_path, {}).apply()
