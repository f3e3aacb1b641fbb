"""No secret is in a job."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.config.job import Job
from clusterwright.config.rules._clash import Clash

_NAMED = (
    r"(?i)(^|.*_)(token|api_?key|secret|secret_?key|access_?key|private_?key|credentials?|.*passw(or)?d|key)"
)


def is_secret(name: str) -> bool:
    """True of a variable whose value is nobody else's business, as its name tells: WANDB_API_KEY, HF_TOKEN."""
    return re.fullmatch(_NAMED, name) is not None


def secrets(job: Job) -> Iterator[Clash]:
    """Variables that are named like secrets are in a file of their own, which only the user can read."""
    for name in filter(is_secret, job.environment.variables):
        yield Clash(
            "secret-in-job",
            f"environment variable `{name}` is a secret, and a job's script and folder can be read by others",
            f"write {name}=VALUE into ~/.config/clusterwright/secrets.env of the job's user on the cluster (chmod 600)",
            (("environment", "variables", name),),
            hidden=True,
        )
