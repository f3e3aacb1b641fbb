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

    sys.stdout.write(app().generate_completion(shell=shell))
    return 0
