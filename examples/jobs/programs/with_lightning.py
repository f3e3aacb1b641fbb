"""Lightning: fits a line on all ranks; Lightning sets up the process group."""

import os

import lightning
import torch


class Line(lightning.LightningModule):
    """A linear model, trained on y = 2 x."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def training_step(self, batch, _index):
        """Return the mean squared error of a batch."""
        return ((self.layer(batch[0]) - 2 * batch[0]) ** 2).mean()

    def configure_optimizers(self):
        """Return an SGD optimizer."""
        return torch.optim.SGD(self.parameters(), 0.1)


data = torch.utils.data.TensorDataset(torch.linspace(-1, 1, 64)[:, None])
trainer = lightning.Trainer(
    accelerator="cpu", devices=int(os.environ["LOCAL_WORLD_SIZE"]), num_nodes=2, strategy="ddp", max_steps=20,
    logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
)  # fmt: skip
model = Line()
trainer.fit(model, torch.utils.data.DataLoader(data, 8))
weight, found = model.layer.weight.item(), type(trainer.strategy.cluster_environment).__name__
print(f"rank {trainer.global_rank} of {trainer.world_size} weight {weight:.6f} {found}", flush=True)
