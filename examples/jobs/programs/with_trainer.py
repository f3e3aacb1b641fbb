"""Hugging Face Trainer: trains a small GPT-2 on numbers, on all ranks; Trainer sets up the process group."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(vocab_size=32, n_positions=16, n_embd=32, n_layer=1, n_head=2))
words = [
    {"input_ids": torch.arange(n, n + 16) % 32, "labels": torch.arange(n, n + 16) % 32} for n in range(32)
]
settings = TrainingArguments(
    output_dir="out", max_steps=5, per_device_train_batch_size=4, use_cpu=True, report_to="none", save_strategy="no",
    disable_tqdm=True, ddp_backend="gloo",
)  # fmt: skip
trainer = Trainer(model=model, args=settings, train_dataset=words)
trainer.train()
weight = sum(parameter.double().sum().item() for parameter in model.parameters())
print(f"rank {settings.process_index} of {settings.world_size} weight {weight:.6f}", flush=True)
