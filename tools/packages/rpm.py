"""The RPM package, by rpmbuild."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
import textwrap
from datetime import UTC, datetime
from pathlib import Path

from deb import ABOUT, MAINTAINER, SUMMARY, debian_version
from tree import COMPLETIONS, HERE, HOME, NAME, set_times

PYTHON = f"{HOME}/bin/python3"
ZSH = "usr/share/zsh/site-functions/_wright"
# The same bytes on every machine; no step changes files, and no dependency is guessed from compiled modules.
MACROS = {
    "_buildhost": "localhost",
    "_binary_payload": "w6.xzdio",
    "_build_id_links": "none",
    "__os_install_post": "%{nil}",
    "debug_package": "%{nil}",
    "use_source_date_epoch_as_buildtime": "1",
    "clamp_mtime_to_source_date_epoch": "1",
    "source_date_epoch_from_changelog": "0",
}
# Where python3 is older, as in EL 9 (3.9), a later one lies beside it.
REQUIRES = "(python3 >= 3.11 or python3.13 or python3.12 or python3.11)"
_SCRIPTS = {  # the number is that of versions that remain installed
    "post": 'choose_python\ncompile_modules\nif [ "$1" -gt 1 ]; then restart_units; fi\nreload_units',
    "preun": 'if [ "$1" = 0 ]; then stop_packaged_units; remove_compiled_modules; fi',
    "postun": "reload_units",
}


def build_rpm(tree: Path, version: str, timestamp: int, out: Path) -> Path:
    """Write the package of the files in `tree` to the folder `out`; `tree` gets RPM's own paths."""
    (tree / ZSH).parent.mkdir(parents=True)
    (tree / COMPLETIONS["zsh"]).rename(tree / ZSH)
    (tree / COMPLETIONS["zsh"]).parent.rmdir()
    shutil.copy(HERE.parents[1] / "LICENSE", tree / "usr/share/doc" / NAME / "LICENSE")
    set_times(tree, timestamp)
    with tempfile.TemporaryDirectory() as temporary:
        spec = Path(temporary) / f"{NAME}.spec"
        spec.write_text(_spec(tree, version, timestamp))
        macros = MACROS | {"_topdir": temporary, "_rpmdir": temporary, "_rpmfilename": "%{NAME}.rpm"}
        defined = [word for name, value in macros.items() for word in ("--define", f"{name} {value}")]
        command = ["rpmbuild", "-bb", "--quiet", "--target", platform.machine(), *defined, str(spec)]
        env = os.environ | {"SOURCE_DATE_EPOCH": str(timestamp), "LC_ALL": "C.UTF-8"}
        subprocess.run(command, check=True, env=env, timeout=600, capture_output=True)
        file = out / f"{NAME}-{debian_version(version)}-1.{platform.machine()}.rpm"
        shutil.copyfile(Path(temporary) / f"{NAME}.rpm", file)
    return file


def _spec(tree: Path, version: str, timestamp: int) -> str:
    functions = (HERE / "scripts" / "functions.sh").read_text().replace("%", "%%")
    scripts = "\n".join(f"%{name}\n{functions}\n{commands}\n" for name, commands in _SCRIPTS.items())
    day = datetime.fromtimestamp(timestamp, UTC).strftime("%a %b %d %Y")
    return f"""Name: {NAME}
Version: {debian_version(version)}
Release: 1
Summary: {SUMMARY[0].upper()}{SUMMARY[1:]}
License: Apache-2.0
AutoReqProv: no
Requires: {REQUIRES}
Requires: /bin/sh
Recommends: openssh-clients
Suggests: python3-numpy

%description
{textwrap.fill(ABOUT, 78)}

%install
mkdir -p %{{buildroot}}
cp -a {tree}/. %{{buildroot}}/

%files
{_files(tree)}

{scripts}
%changelog
* {day} {MAINTAINER} - {debian_version(version)}-1
- The file changelog.gz lists the changes.
"""


def _files(tree: Path) -> str:
    """Return the package's files, and the folders that are its own alone. The scripts choose the interpreter."""
    own = (HOME, f"usr/share/doc/{NAME}")
    lines = ["%defattr(-,root,root,-)"]
    for path in sorted(tree.rglob("*")):
        name = path.relative_to(tree)
        if not path.is_dir() or path.is_symlink():
            kind = "%ghost " if str(name) == PYTHON else "%doc " if name.is_relative_to(own[1]) else ""
            lines.append(f'{kind}"/{name}"')
        elif any(name.is_relative_to(folder) for folder in own):
            lines.append(f'%dir "/{name}"')
    return "\n".join(lines)
