"""AdamW by torch's own kernels, without what torch's class imports.

torch.optim.AdamW imports torch._dynamo when it is made: 820 modules that a run without torch.compile never
uses, 1.4 to 2.0 s on a quiet machine, a third of what a restarted rank needs until its first step. The
function torch.optim.adamw.adamw does the same arithmetic and needs none of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim.adamw import adamw


class AdamW:
    """Decoupled weight decay (Loshchilov and Hutter), on matrices only. Set `lr` before each step."""

    def __init__(
        self, parameters: Iterable[Tensor], *, betas: tuple[float, float], weight_decay: float
    ) -> None:
        self.lr = 0.0
        self._betas, self._weight_decay = betas, weight_decay
        self._state = {parameter: _fresh(parameter) for parameter in parameters}

    @torch.no_grad()
    def step(self) -> None:
        """Every parameter takes one step along its gradient."""
        self._step([p for p in self._state if p.dim() > 1], self._weight_decay)
        self._step([p for p in self._state if p.dim() <= 1], 0.0)

    def _step(self, parameters: list[Tensor], weight_decay: float) -> None:
        states = [self._state[p] for p in parameters]
        adamw(
            parameters,
            [p.grad for p in parameters if p.grad is not None],
            [each["exp_avg"] for each in states],
            [each["exp_avg_sq"] for each in states],
            [],
            [each["step"] for each in states],
            fused=True,
            amsgrad=False,
            beta1=self._betas[0],
            beta2=self._betas[1],
            lr=self.lr,
            weight_decay=weight_decay,
            eps=1e-8,
            maximize=False,
        )

    def state_dict(self) -> dict[str, Any]:
        """Moments and number of steps of each parameter, in the parameters' order."""
        return {"state": list(self._state.values())}

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        for mine, theirs in zip(self._state.values(), state["state"]):  # noqa: B905 (not in Python 3.9)
            for name, tensor in mine.items():
                tensor.copy_(theirs[name])


def _fresh(parameter: Tensor) -> dict[str, Tensor]:
    return {
        "step": torch.zeros((), device=parameter.device),
        "exp_avg": torch.zeros_like(parameter),
        "exp_avg_sq": torch.zeros_like(parameter),
    }
