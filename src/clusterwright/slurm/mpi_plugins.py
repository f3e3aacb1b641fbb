"""MPI plug-ins of Slurm, as `srun --mpi=list` lists them."""

import re
from typing import List, Tuple

# 22.05 to 26.05: a tab and the name on each line, then `specific pmix plugin versions available: pmix_v4,pmix_v5`.
# 21.08 and earlier: `srun: pmix`.
_NAME = re.compile(r"^(?:srun:)?\s+(\w+)$", re.MULTILINE)
_VERSIONS = re.compile(r"plugin versions available: *(.+)$", re.MULTILINE)


def list_mpi_plugins() -> List[str]:
    """Return the command whose output `parse_mpi_plugins` reads."""
    return ["srun", "--mpi=list"]


def parse_mpi_plugins(text: str) -> Tuple[str, ...]:
    """Return the names of the plug-ins, then those with versions such as `pmix_v4`.

    Empty if the text is no such list.
    """
    if "MPI" not in text:
        return ()
    versions = [name.strip() for names in _VERSIONS.findall(text) for name in names.split(",")]
    return tuple(dict.fromkeys(name for name in (*_NAME.findall(text), *versions) if name))
