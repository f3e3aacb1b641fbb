"""Starts a Slurm step in an OCI bundle, as its user and without root: `in_image.py BUNDLE ID HOST`.

Slurm has written BUNDLE/config.json from the image, with the step's command and environment. This program shares the
host's network, processes, devices and user ids with the container, because training needs them; only the files are the
image's. So the GPUs are those allocated to the step, and Slurm sees and ends every process.
"""

import errno
import glob
import json
import os
import re
import sys
import tempfile
from typing import Any, Dict, List, Optional

from clusterwright.onhost.lib import processes

PLACES = "/etc/clusterwright/containers.json"  # folders that hosts mount into containers; written by the role `oci`
STATE = "/run/clusterwright-oci"
MOUNTS = "CLUSTERWRIGHT_MOUNTS"  # further folders of the host, separated by colons
HOST = ("/proc", "/sys", "/dev", "/tmp", "/var/tmp")  # nosec B108 # the host's own, mounted into the container
ROOT, COMMANDS = "/opt/clusterwright/host", "/opt/clusterwright/containers/bin"  # same as in outside.py
SLURMS = "/tmp/slurm/"  # nosec B108 # Slurm's folder for a batch script
STEPS, STEP_PREFIX = "/tmp", "slurm-"  # nosec B108 # folders of ours in its place
# The host's users and name resolution, which an image lacks.
NAMES = ("/etc/passwd", "/etc/group", "/etc/hosts", "/etc/resolv.conf")
# NVIDIA's container toolkit mounts the host's driver libraries, which must match the host's kernel.
NVIDIA = "/usr/bin/nvidia-container-runtime-hook"

SETS = ("bounding", "effective", "permitted", "inheritable", "ambient")

Config = Dict[str, Any]


def main() -> None:
    """Adapt the OCI bundle's config.json to this host, and replace this process by crun, which runs the container.

    Exit with a message if the bundle must not run.
    """
    bundle, name, host = sys.argv[1:4]
    path = os.path.join(bundle, "config.json")
    with open(path) as file:
        config = json.load(file)
    # Random ends: users know each other's job numbers, and could create the folders first. Slurm removes both folders:
    # RunTimeDelete.
    state = tempfile.mkdtemp(prefix=name + ".", dir=STATE)
    step = tempfile.mkdtemp(prefix=STEP_PREFIX + name + ".", dir=STEPS)
    refused = adapt(config, places(), step, host)
    if refused:
        os.rmdir(state)
        os.rmdir(step)
        sys.exit("clusterwright: " + refused)
    os.unlink(path)  # owned by root, in a folder of ours
    with open(path, "w") as file:
        json.dump(config, file)
    crun = [
        "crun",
        "--root",
        state,
        "--cgroup-manager=disabled",
        "run",
        "--no-new-keyring",
        "--bundle",
        bundle,
        name,
    ]
    os.execvp(crun[0], crun)


def places() -> List[Dict[str, str]]:
    """Return the folders of the host that every container mounts, each with its path and mode (rw, ro)."""
    with open(PLACES) as file:
        return list(json.load(file))


def adapt(config: Config, folders: List[Dict[str, str]], step: str, host: str) -> str:
    """Change the OCI configuration so that only files are the image's, and mount the host's folders.

    `step` is the folder of its batch script. Return an error text, "" for none.
    """
    environment = dict(pair.partition("=")[::2] for pair in config["process"].get("env", []))
    complete(environment, host)
    ensure_home(environment, host)
    environment["PATH"] = COMMANDS + ":" + environment.get("PATH", "/usr/bin:/bin")
    config["process"]["env"] = ["=".join(pair) for pair in environment.items()]
    slurms = of_slurm(config, step)
    extra_paths = [path for path in environment.get(MOUNTS, "").split(":") if path]
    mounts = [bind(path) for path in HOST]
    mounts += [bind(path, "ro") for path in NAMES if os.path.exists(path)]
    mounts += [bind(folder["path"], folder["mode"]) for folder in folders if os.path.isdir(folder["path"])]
    mounts += [bind(path) for path in extra_paths]
    root = config["root"]["path"]
    refused = unfit(
        root, config["process"]["args"], environment, [mount["destination"] for mount in mounts + slurms]
    )
    if refused:
        return refused
    user_mapping = {"containerID": os.getuid(), "hostID": os.getuid(), "size": 1}
    group_mapping = {"containerID": os.getgid(), "hostID": os.getgid(), "size": 1}
    config["mounts"] = mounts + slurms + ([dict(bind("/"), destination=ROOT)] if os.path.isdir(ROOT) else [])
    config["linux"] = {
        "namespaces": [{"type": "user"}, {"type": "mount"}],
        "uidMappings": [user_mapping], "gidMappings": [group_mapping],
    }  # fmt: skip
    config["process"].update(
        user={"uid": os.getuid(), "gid": os.getgid()},
        cwd=working_folder(environment, mounts),
        noNewPrivileges=True,
        capabilities={
            capability_set: ["CAP_SYS_CHROOT"] for capability_set in SETS
        },  # for outside.py, in the user's own user namespace
    )
    for key in ("rlimits", "apparmorProfile", "selinuxLabel"):
        config["process"].pop(key, None)
    config.pop("hostname", None)
    if os.path.exists(NVIDIA):
        config["hooks"] = {"prestart": [{"path": NVIDIA, "args": [NVIDIA, "prestart"]}]}
    return ""


def bind(path: str, mode: str = "rw") -> Config:
    """Return a recursive bind mount of the host's path to the same path."""
    return {"destination": path, "type": "none", "source": path, "options": ["rbind", "rprivate", mode]}


def of_slurm(config: Config, step: str) -> List[Config]:
    """Return the bind mounts that Slurm added to the step (batch script, spool), without the image's own mounts.

    The script moves to the folder `step`: Slurm's /tmp/slurm would be shared by all jobs, because /tmp is the host's.
    """

    def moved(path: str) -> str:
        return os.path.join(step, path[len(SLURMS) :]) if path.startswith(SLURMS) else path

    arguments = config["process"]["args"]
    arguments[0] = moved(arguments[0])
    mounts = [mount for mount in config.get("mounts", []) if "bind" in mount.get("options", [])]
    return [
        dict(mount, destination=moved(mount["destination"]))
        for mount in mounts
        if mount["destination"] not in HOST
    ]


def complete(environment: Dict[str, str], host: str) -> None:
    """Set the rank variables of a step with one task per host, and the visible GPUs; other steps stay unchanged.

    In a container, Slurm before 23.02 leaves them as in the batch script. Later releases set them for each task.
    """
    environment["SLURMD_NODENAME"] = host
    if set(re.sub(r"\(x[0-9]+\)", "", environment.get("SLURM_STEP_TASKS_PER_NODE", "")).split(",")) != {"1"}:
        return
    nodes = processes.run(("scontrol", "show", "hostnames", environment["SLURM_STEP_NODELIST"])).out.split()
    number = str(nodes.index(host))
    environment.update(SLURM_PROCID=number, SLURM_NODEID=number, SLURM_LOCALID="0")
    gpus = [path for path in glob.glob("/dev/nvidia[0-9]*") if is_ours(path)]
    if gpus:
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(str(index) for index in range(len(gpus)))


def ensure_home(environment: Dict[str, str], host: str) -> None:
    """Set HOME to /tmp, with a warning on stderr, if the user's home does not exist on this host."""
    home = environment.get("HOME", "")
    if os.path.isdir(home):
        return
    environment["HOME"] = "/tmp"  # nosec B108 # the container's own
    user = environment.get("USER", os.getuid())
    sys.stderr.write(
        "clusterwright: %s has no home at %s on %s, so HOME is /tmp. Run `wright apply` to create homes\n"
        % (user, home, host)
    )


def is_ours(device: str) -> bool:
    """Return True if the cgroup of Slurm's step lets this process open the device file."""
    try:
        os.close(os.open(device, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError as error:
        return error.errno not in (errno.EPERM, errno.EACCES)
    return True


def unfit(root: str, command: List[str], environment: Dict[str, str], inside: List[str]) -> str:
    """Return what the image or the host lacks to run the command, as an error text; "" if nothing.

    `inside` are the mounted paths. The runtime's own errors are less clear.
    """
    if not os.path.isdir(root):
        return "no image at %s on %s" % (os.path.dirname(root), os.uname().nodename)
    for path in inside:
        if any(path.startswith(parent + "/") for parent in inside):
            continue  # inside another mounted folder
        if not os.path.exists(path):
            return "%s is to be mounted, but does not exist on %s" % (path, os.uname().nodename)
        if not os.path.lexists(root + path) and not os.access(root, os.W_OK):
            return "the image has no mount point for %s. Its owner creates one with `mkdir -p %s`" % (
                path,
                root + path,
            )
    return "" if find_program(root, command[0], environment, inside) else "the image has no %s" % command[0]


def find_program(root: str, program: str, environment: Dict[str, str], inside: List[str]) -> Optional[str]:
    """Return the program's path inside the container, by PATH; None if neither image nor mounted folders have it.

    Symbolic links are not resolved.
    """
    folders = [""] if "/" in program else environment.get("PATH", "/usr/bin:/bin").split(":")
    for folder in folders:
        path = os.path.join(folder, program)
        below = any((path + "/").startswith(parent + "/") for parent in inside)
        if path in inside:
            return path
        if os.path.lexists(path if below else os.path.join(root, path.lstrip("/"))):
            return path
    return None


def working_folder(environment: Dict[str, str], mounts: List[Config]) -> str:
    """Return the step's working directory if it is mounted, else /."""
    folder = environment.get("PWD", "/")
    is_mounted = any((folder + "/").startswith(mount["destination"] + "/") for mount in mounts)
    return folder if is_mounted else "/"


if __name__ == "__main__":
    main()
