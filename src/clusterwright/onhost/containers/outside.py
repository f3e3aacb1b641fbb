"""A command of the host's, called from inside an image by its name: srun, sbatch, scontrol, scancel, squeue, sinfo.

The host's files are at ROOT; the user may go there for good (CAP_SYS_CHROOT, in a namespace of the user's own), and
then has the host's libraries, Slurm's files and munge's socket. Nothing is gained that the user had not outside.
"""

import os
import sys

ROOT = "/opt/clusterwright/host"


def main() -> None:
    """Become the command."""
    folder = os.getcwd()
    os.chroot(ROOT)
    os.chdir(folder if os.path.isdir(folder) else "/")
    name = os.path.basename(sys.argv[0])
    os.environ["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    os.environ.pop("LD_LIBRARY_PATH", None)
    os.execvp(name, [name, *sys.argv[1:]])


if __name__ == "__main__":
    main()
