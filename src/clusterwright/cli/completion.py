"""`wright completion SHELL`."""

from __future__ import annotations

import sys
from typing import Literal


def completion(shell: Literal["bash", "zsh", "fish"], /) -> int:
    """Print the completion script of a shell: commands, options and their values.

    bash: wright completion bash > ~/.local/share/bash-completion/completions/wright

    zsh: wright completion zsh > ~/.zfunc/_wright

    fish: wright completion fish > ~/.config/fish/completions/wright.fish

    Parameters
    ----------
    shell
        The shell.
    """
    from clusterwright.cli import app

    script = app().generate_completion(shell=shell)  # nosec B604 (the name of a shell)
    # zsh loads a function from the file of its name; the file is _wright, as for other programs.
    sys.stdout.write(script.replace("_cyclopts_wright", "_wright"))
    return 0
