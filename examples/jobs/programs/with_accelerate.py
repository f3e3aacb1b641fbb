"""Hugging Face Accelerate: fits a line on all ranks; Accelerate sets up the process group."""

import torch
from accelerate import Accelerator

torch.manual_seed(0)
accelerator = Accelerator(cpu=True)
model, data = torch.nn.Linear(1, 1), torch.utils.data.TensorDataset(torch.linspace(-1, 1, 64)[:, None])
loader = torch.utils.data.DataLoader(data, 8)
model, optimizer, loader = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.1), loader)
for _ in range(10):
    for (x,) in loader:
        optimizer.zero_grad()
        accelerator.backward(((model(x) - 2 * x) ** 2).mean())
        optimizer.step()
weight = accelerator.unwrap_model(model).weight.item()
print(f"rank {accelerator.process_index} of {accelerator.num_processes} weight {weight:.6f}", flush=True)
accelerator.end_training()
