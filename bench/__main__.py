"""Runs measurements: `python -m bench` lists them, `python -m bench NAME...` runs some, `--all` runs all.

Each is a module with its own options: `python -m bench.startup --help`. Those that need root exit without it.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
LIMIT_S = 900


def main() -> int:
    """List or run measurements; return 1 if one of them failed."""
    known = scripts()
    names = list(known) if "--all" in sys.argv[1:] else sys.argv[1:]
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"unknown measurement: {', '.join(unknown)}; available: {', '.join(known)}")
    if not names:
        print("\n".join(f"{name:<20} {line}" for name, line in known.items()))
        return 0
    return max(run(name) for name in names)


def scripts() -> dict[str, str]:
    """Return name and summary of each measurement: a module in this folder with a main, or a runnable package."""
    found = {}
    for path in sorted([*HERE.glob("[a-z]*.py"), *HERE.glob("*/__main__.py")]):
        text = path.read_text(encoding="utf-8")
        if 'if __name__ == "__main__":' in text:
            name = path.parent.name if path.name == "__main__.py" else path.stem
            found[name] = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    return found


def run(name: str) -> int:
    """Run a measurement with a timeout of 15 minutes; return 1 if it failed."""
    print(f"== {name}", flush=True)
    try:
        done = subprocess.run(
            [sys.executable, "-m", f"bench.{name}"], cwd=HERE.parent, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        print(f"{name}: timeout after {LIMIT_S} s")
        return 1
    return int(done.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
