"""Files, folders and links on a host: compared, then replaced atomically.

Standard library only, Python 3.6 or later.
"""

import collections
import errno
import functools
import grp
import hashlib
import os
import pwd
import re
from typing import Callable, List, Optional, Union

from clusterwright.onhost.lib.files import SCRATCH, replace_link, replacing
from clusterwright.onhost.lib.trusted_paths import PathStep, exchange_risk, resolve_links
from clusterwright.onhost.provision.change import Verb, new_change
from clusterwright.onhost.provision.host import STATE, ChangeError, Json, LocalHost, bytes_of, read, run

TRIAL = ".wright-trial-"
TRIAL_S = 60  # limit for a trial: a daemon that only reads its files ends within seconds
DIFF_LINES = 120  # longer diffs are truncated: a diff is for the reader; programs compare `sum`


def content_of(resource: Json) -> bytes:
    """Return the desired content of a file resource as bytes."""
    return bytes_of(resource["content"])


@functools.lru_cache(maxsize=None)
def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def owner_of(path: str) -> str:
    """Return a path's `owner:group` by name, or by number where there is no name."""
    status = os.lstat(path)
    if status.st_uid == status.st_gid == 0:  # nearly all of our files: saves the name service query
        return "root:root"
    try:
        owner = pwd.getpwuid(status.st_uid).pw_name
    except KeyError:
        owner = str(status.st_uid)
    try:
        return "{}:{}".format(owner, grp.getgrgid(status.st_gid).gr_name)
    except KeyError:
        return "{}:{}".format(owner, status.st_gid)


def check_rights(path: str, resource: Json) -> List[str]:
    """Return how a path's owner and mode differ from the desired ones: `owner OLD -> NEW`, `mode OLD -> NEW`."""
    desired_owner, has = f"{resource['owner']}:{resource['group']}", owner_of(path)
    mode = os.lstat(path).st_mode & 0o7777
    wrong = [] if has == desired_owner else [f"owner {has} -> {desired_owner}"]
    return wrong + ([] if mode == resource["mode"] else [f"mode {mode:04o} -> {resource['mode']:04o}"])


def trusted_path(path: str) -> str:
    """Return a path that root will change with its symbolic links resolved; the last part may be missing.

    Raises:
        ChangeError: a link on the way belongs to a user, who could redirect a change by root to any file.
    """
    return resolve_trusted(path, _check_link)


def resolve_trusted(path: str, visit: Callable[[PathStep], None]) -> str:
    """Resolve the symbolic links of a path and visit each step; raise ChangeError for a cycle."""
    try:
        return resolve_links(path, visit)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise ChangeError(f"{path} has a cycle of links. Remove one of them") from error


def trusted_folder(host: LocalHost, path: str) -> str:
    """Return `trusted_path` of a folder, remembered if root alone can exchange its parts: most files share folders."""
    if path in host.safe_folders:
        return path
    risks = []  # type: List[object]

    def visit(step: PathStep) -> None:
        _check_link(step)
        is_folder = os.path.isdir(step.path)
        risks.append(not is_folder or exchange_risk(os.lstat(step.path), (0,), is_last=step.is_last))

    folder = resolve_trusted(path, visit)
    if folder == path and not any(risks):
        host.safe_folders.add(path)
    return folder


def _check_link(step: PathStep) -> None:
    """Reject a link of another user; a folder may belong to one, for set_folder_rights changes no other."""
    if os.path.islink(step.path) and exchange_risk(
        os.lstat(step.path), (0, os.getuid()), is_last=step.is_last
    ):
        owner = owner_of(step.path).partition(":")[0]
        raise ChangeError(
            f"{step.path} is a link of user {owner}, and root would change its target. Remove the link"
        )


def set_folder_rights(path: str, resource: Json) -> None:
    """Set owner and mode of the folder at the path, and of no other if a user renames folders meanwhile.

    Raises:
        ChangeError: the path leads to another folder now.
    """
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.readlink(f"/proc/self/fd/{handle}") != path:
            raise ChangeError(f"{path} was replaced during this change. Apply again")
        set_rights(handle, resource)
    finally:
        os.close(handle)


def set_rights(path: Union[str, int], resource: Json) -> None:
    """Set owner, then mode, of a path or an open file: chown clears setuid bits that the mode may set."""
    owner, group = resource["owner"], resource["group"]  # names; numbers in a rollback
    try:
        uid = owner if isinstance(owner, int) else 0 if owner == "root" else pwd.getpwnam(owner).pw_uid
        gid = group if isinstance(group, int) else 0 if group == "root" else grp.getgrnam(group).gr_gid
    except KeyError as error:
        raise ChangeError(f"{error}. Check that its package is installed") from error
    os.chown(path, uid, gid)
    os.chmod(path, resource["mode"])


def diff_of(path: str, old: bytes, new: bytes) -> str:
    """Return the unified diff of a file's contents, truncated at DIFF_LINES; for binary files only the sizes."""
    try:
        old_lines, new_lines = old.decode().splitlines(), new.decode().splitlines()
    except UnicodeDecodeError:
        return f"binary file, {len(old)} -> {len(new)} bytes"
    lines = lines_of(path, old_lines, new_lines)
    more = [f"... (further lines: {len(lines) - DIFF_LINES})"] if lines[DIFF_LINES:] else []
    return "\n".join(lines[:DIFF_LINES] + more)


def lines_of(path: str, old_lines: List[str], new_lines: List[str]) -> List[str]:
    """Return the lines of the diff; a new file skips difflib, because a fresh host gets about a hundred of them."""
    if new_lines and not old_lines:
        head = "@@ -0,0 +1{} @@".format("," + str(len(new_lines)) if len(new_lines) > 1 else "")
        return ["--- " + path, "+++ " + path, head, *("+" + line for line in new_lines)]
    import difflib

    return list(difflib.unified_diff(old_lines, new_lines, path, path, lineterm=""))


def receipt_row(resource: Json) -> Json:
    """Return what the receipt, the record of an apply, stores of a file.

    The SHA-256 of its desired content, its mode, and the name of a secret.
    """
    row = {"sha256": _sum(content_of(resource)), "mode": f"{resource['mode']:04o}"}
    return dict(row, secret=resource["secret"]) if resource["secret"] else row


def plan_file(host: LocalHost, resource: Json) -> Optional[Json]:
    """Return a change if the file is missing or its content, owner or mode differs; else None.

    Raises:
        ChangeError: the path is a folder.
    """
    path, desired = host.resolve_path(resource["path"]), content_of(resource)
    if os.path.isdir(path) and not os.path.islink(path):
        raise ChangeError("a folder is in the place of this file")
    present = os.path.lexists(path)
    current = None if os.path.islink(path) else read(path)
    verbs = [Verb.CREATE] if not present else [Verb.REWRITE] if current != desired else []
    rights = check_rights(path, resource) if current is not None else []
    description = ", ".join([verb.value for verb in verbs] + rights)
    verbs += [Verb.SET_RIGHTS] if rights else []
    if not verbs:
        return None
    if not present and resource["id"] in host.shared:
        diff = _sum(desired)  # the sender has the content, and shows the diff
    else:
        diff = diff_of(resource["path"], current or b"", desired) if current != desired else ""
    if resource["secret"] and diff:
        diff = f"(secret {resource['secret']}: not shown)"
    is_changed = (
        current is not None and current != desired
    )  # a new file, or a new owner or mode, disrupts no job
    gentle = current is not None and is_gentle(resource["gentle"], current, desired)
    cost = "live" if not is_changed else "reconfigure" if gentle else resource["cost"]
    return new_change(description, *verbs, diff=diff, cost=cost)


def is_gentle(pattern: str, old: bytes, new: bytes) -> bool:
    """Return True if all lines that differ match the pattern, so that a reload suffices; comments do not count.

    An empty pattern matches no line.
    """
    if not pattern:
        return False
    old_counts, new_counts = (
        collections.Counter(text.decode(errors="replace").splitlines()) for text in (old, new)
    )
    differing = (line.strip() for line in (old_counts - new_counts) + (new_counts - old_counts))
    return all(re.match(pattern, line) for line in differing if line and not line.startswith("#"))


def do_file(host: LocalHost, resource: Json) -> None:
    """Make the planned change: write a temporary file with owner and mode, validate it, rename it to the target."""
    path = host.resolve_path(resource["path"])
    folder = trusted_folder(host, os.path.dirname(path))
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, os.path.basename(path))
    lasts = os.path.exists(path)  # a daemon may read it right after a crash of the host
    with replacing(path, mode=resource["mode"], durable=lasts) as file:
        file.write(content_of(resource))
        file.flush()
        set_rights(file.fileno(), resource)
        if resource["validate"] and has_program(resource["validate"][0]):
            accept(resource, file.name)
    relabel(host, path)
    host.touched.add(folder)


def relabel(host: LocalHost, path: str) -> None:
    """Set SELinux's label for the path; otherwise it has its folder's label, which is wrong for /etc/hosts."""
    if os.path.exists(host.resolve_path("/sys/fs/selinux/enforce")) and has_program("restorecon"):
        run(["restorecon", path])


def has_program(program: str) -> bool:
    """Return True if the program is on the host's PATH."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return any(os.access(os.path.join(folder, program), os.X_OK) for folder in folders)


def accept(resource: Json, scratch: str) -> None:
    """Run the validation command of a file resource on its new content; raise an error unless it accepts it."""
    result = run([argument.replace("{}", scratch) for argument in resource["validate"]])
    if result.code != 0:
        message = result.out.strip().replace(scratch, resource["path"])
        raise ChangeError(f"`{' '.join(resource['validate'])}` rejects the new content:\n{message}")


def needs_trial(host: LocalHost, trial: Json, changes: List[Json]) -> bool:
    """Return True if the trial's files change and at least one exists: on a fresh host no daemon uses them."""
    changed_ids = [
        change["id"] for change in changes if {Verb.CREATE, Verb.REWRITE}.intersection(change["verbs"])
    ]
    paths = [name.partition(":")[2] for name in trial["files"]]
    return bool(set(changed_ids) & set(trial["files"])) and any(
        os.path.exists(host.resolve_path(path)) for path in paths
    )


def try_out(host: LocalHost, trial: Json) -> None:
    """Write all files of a trial to a private scratch folder, run its command on them, and remove the folder.

    Raises:
        ChangeError: the command rejects the files; has its output.
    """
    import shutil

    folder = host.resolve_path(f"{STATE}/{TRIAL}{os.getpid()}")
    os.mkdir(folder, 0o700)
    try:
        for resource in host.resources:
            if resource["id"] in trial["files"]:
                path = os.path.join(folder, os.path.basename(resource["path"]))
                with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(content_of(resource))
                set_rights(path, resource)
        result = run([folder if argument == "{}" else argument for argument in trial["argv"]], TRIAL_S)
        if result.code != 0:
            message = result.out.strip().replace(folder, "SCRATCH")
            raise ChangeError(f"{trial['name']} rejects the new files, so none was changed:\n{message}")
        if result.out.strip():  # why no trial was possible
            host.notes.append(f"{trial['name']}: {result.out.strip()}")
    finally:
        shutil.rmtree(folder)


def sweep(host: LocalHost) -> None:
    """Remove temporary files and trial folders that an interrupted apply left; they may hold secrets."""
    import shutil

    for name in host.owed:
        kind, _, path = name.partition(":")
        folder, last = os.path.split(host.resolve_path(path))
        if kind in ("file", "symlink") and os.path.isdir(folder):
            for entry in os.listdir(folder):
                if entry.startswith(f".{last}{SCRATCH}"):
                    os.unlink(os.path.join(folder, entry))
    for entry in os.listdir(host.resolve_path(STATE)):
        if entry.startswith(TRIAL):
            shutil.rmtree(host.resolve_path(f"{STATE}/{entry}"))


def plan_directory(host: LocalHost, resource: Json) -> Optional[Json]:
    """Return a change if the folder is missing or its owner or mode differs; else None.

    Raises:
        ChangeError: its parent folder is missing and may not be created, or a user's link is on the path.
    """
    path = trusted_path(host.resolve_path(resource["path"]))
    if not os.path.isdir(path):
        if not resource["parents"] and not os.path.isdir(os.path.dirname(path)):
            raise ChangeError(f"{os.path.dirname(resource['path'])} does not exist. Mount or create it")
        return new_change("create", Verb.CREATE)
    wrong = check_rights(path, resource)
    return new_change(", ".join(wrong), Verb.SET_RIGHTS) if wrong else None


def do_directory(host: LocalHost, resource: Json) -> None:
    """Make the planned change: create the folder and set its owner and mode."""
    path = trusted_path(host.resolve_path(resource["path"]))
    os.makedirs(path, exist_ok=True)
    set_folder_rights(path, resource)
    relabel(host, path)


def plan_symlink(host: LocalHost, resource: Json) -> Optional[Json]:
    """Return a change if the link is missing, is no link, or has another target; else None."""
    path = host.resolve_path(resource["path"])
    current = os.readlink(path) if os.path.islink(path) else "a file" if os.path.exists(path) else "nothing"
    if current == resource["target"]:
        return None
    return new_change(f"link {current} -> {resource['target']}", Verb.LINK)


def do_symlink(host: LocalHost, resource: Json) -> None:
    """Make the planned change: create the link beside the target and rename it over the target."""
    path = host.resolve_path(resource["path"])
    os.makedirs(os.path.dirname(path), exist_ok=True)
    replace_link(path, resource["target"])
    relabel(host, path)
