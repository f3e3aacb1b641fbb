"""Measurements by name: `python -m bench` lists them, `python -m bench NAME...` runs some, `--all` runs every one.

Each is a module with a main of its own: `python -m bench.startup --help`. Those that need root say so and end.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
LIMIT_S = 900


def main() -> int:
    """Exit code 1 if one of them failed."""
    known = scripts()
    names = list(known) if "--all" in sys.argv[1:] else sys.argv[1:]
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"no measurement of the name {', '.join(unknown)}; there are {', '.join(known)}")
    if not names:
        print("\n".join(f"{name:<20} {line}" for name, line in known.items()))
        return 0
    return max(run(name) for name in names)


def scripts() -> dict[str, str]:
    """Name and first line of each measurement: a module here with a main, or a package that can be run."""
    found = {}
    for path in sorted([*HERE.glob("[a-z]*.py"), *HERE.glob("*/__main__.py")]):
        text = path.read_text(encoding="utf-8")
        if 'if __name__ == "__main__":' in text:
            name = path.parent.name if path.name == "__main__.py" else path.stem
            found[name] = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    return found


def run(name: str) -> int:
    """One of them, for a quarter of an hour at most; 1 if it failed."""
    print(f"== {name}", flush=True)
    try:
        done = subprocess.run(
            [sys.executable, "-m", f"bench.{name}"], cwd=HERE.parent, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        print(f"{name} takes more than {LIMIT_S} s")
        return 1
    return int(done.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
