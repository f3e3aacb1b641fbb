#!/usr/bin/env python3
"""Runs one of the host's commands from inside an image, by its name: srun, sbatch, scontrol, scancel, squeue, sinfo.

The host's files are mounted at ROOT; the process may chroot to it (CAP_SYS_CHROOT in the user's own namespace), and
then uses the host's libraries, Slurm's files and munge's socket. The user gains no rights by it.
"""

import os
import sys

ROOT = "/opt/clusterwright/host"


def main() -> None:
    """Replace this process, inside a container, by the host's command of the same name (argv[0]).

    It runs with the host's file system as root.
    """
    folder = os.getcwd()
    os.chroot(ROOT)
    os.chdir(folder if os.path.isdir(folder) else "/")
    name = os.path.basename(sys.argv[0])
    os.environ["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    os.environ.pop("LD_LIBRARY_PATH", None)
    os.execvp(name, [name, *sys.argv[1:]])


if __name__ == "__main__":
    main()
