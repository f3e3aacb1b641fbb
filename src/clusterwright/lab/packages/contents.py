"""The contents of a package that stands in for NVIDIA's: control data, files, and a daemon that only runs."""

from __future__ import annotations

from dataclasses import dataclass, field

# Fabric manager exits if the loaded driver has another version (its user guide); the other daemons only run.
PROGRAMS = {
    "nvidia-persistenced": "#!/bin/sh\nexec sleep infinity\n",
    "nv-hostengine": "#!/bin/sh\nexec sleep infinity\n",
    "nv-fabricmanager": """#!/bin/sh
own={version}
[ "$1" = --version ] && {{ echo "Fabric Manager version is : $own"; exit; }}
loaded=$(sed -n 's/^driver.version //p' /run/clusterwright-lab/gpus/state 2>/dev/null | tail -n 1)
if [ -n "$loaded" ] && [ "$loaded" != "$own" ]; then
  echo "fabric manager $own: the driver that is loaded is $loaded" >&2
  exit 1
fi
exec sleep infinity
""",
    "nvidia-ctk": """#!/bin/sh
for word; do case "$word" in --output=*) out=${{word#--output=}};; esac; done
mkdir -p "$(dirname "$out")"
{{
  printf 'cdiVersion: "0.5.0"\\nkind: nvidia.com/gpu\\ndevices:\\n'
  for device in /dev/nvidia[0-9]*; do
    printf '  - name: "%s"\\n    containerEdits: {{deviceNodes: [{{path: %s}}]}}\\n' "${{device#/dev/nvidia}}" "$device"
  done
}} > "$out"
""",
}
UNIT = """[Unit]
Description=Stand-in for {unit}

[Service]
ExecStart=/usr/bin/{program}

[Install]
WantedBy=multi-user.target
"""


@dataclass(frozen=True, slots=True)
class StandIn:
    """One stand-in package in one version."""

    name: str
    full: str  # with epoch and package revision
    depends: str = ""
    conflicts: str = ""
    files: dict[str, str] = field(default_factory=dict)
    programs: tuple[str, ...] = ()
    daemon: dict[str, str] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """Return the package's version as NVIDIA counts: without epoch and package revision."""
        return self.full.partition(":")[2].rpartition("-")[0] or self.full.rpartition("-")[0]

    @property
    def file_name(self) -> str:
        """Return the package's file name in repositories, which lacks the version's epoch."""
        return f"{self.name}_{self.full.rpartition(':')[2]}_all.deb"

    def control(self) -> str:
        """Return the text of the package's DEBIAN/control."""
        more = "".join(
            f"{key}: {value}\n"
            for key, value in (
                ("Depends", self.depends.format(full=self.full)),
                ("Conflicts", self.conflicts),
            )
            if value
        )
        return (
            f"Package: {self.name}\nVersion: {self.full}\nArchitecture: all\nMaintainer: a lab <lab@localhost>\n"
            f"{more}Description: stand-in for NVIDIA's package of that name\n"
        )

    def tree(self) -> dict[str, tuple[str, int]]:
        """Return the files of a stand-in package by path, each with its text and mode."""
        entries = {path: (text.format(version=self.version), 0o644) for path, text in self.files.items()}
        entries[f"usr/share/clusterwright-lab/{self.name}"] = (f"stand-in {self.full}\n", 0o644)
        programs = (*self.programs, *([self.daemon["program"]] if self.daemon else ()))
        for program in programs:
            entries[f"usr/bin/{program}"] = (PROGRAMS[program].format(version=self.version), 0o755)
        if self.daemon:
            entries[f"lib/systemd/system/{self.daemon['unit']}.service"] = (UNIT.format(**self.daemon), 0o644)
        return entries
