"""Examples of rules: a text with several files becomes the content of a site."""

from __future__ import annotations

import re
from dataclasses import replace

from clusterwright.config.slurm_keys import RELEASES
from clusterwright.config.slurm_rules.conf import KINDS, SlurmConf, Source, parse_conf


def example_files(text: str) -> dict[str, str]:
    """Return the texts of an example by file: slurm.conf, and those behind lines such as `--- gres.conf`."""
    former, *remaining = re.split(r"^--- (\S+)\n", text + "\n", flags=re.MULTILINE)
    files = dict(zip(remaining[::2], remaining[1::2], strict=True))
    return {"slurm.conf": former, **files} if former.strip() else files


def example_conf(text: str) -> SlurmConf:
    """Return the content of an example.

    The sections `folder`, `includes`, `programs` and `unresolved` are no files: the example is a whole folder, files
    that do not exist, programs that a host lacks, and names that do not resolve.
    """
    files = example_files(text)
    includes: dict[str, tuple[Source, ...]] = dict.fromkeys(files.get("includes", "").split(), ())
    sources = [Source(name, name, files[name], includes) for name in files if name in KINDS]
    programs = dict(line.split(" ", 1) for line in files.get("programs", "").splitlines() if line)
    return replace(
        parse_conf(sources, RELEASES[-1], is_folder="folder" in files),
        programs=programs,
        unresolved=frozenset(files.get("unresolved", "").split()),
    )
