"""Workloads as researchers write them: the three published ones, and more."""

CPU_ONLY = """\
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_score

rng = np.random.default_rng(0)
X = rng.normal(size=(40_000, 2_000))
y = (X[:, 0] > 0).astype(int)
scores = cross_val_score(RandomForestClassifier(n_estimators=500, n_jobs=8), X, y, cv=5)
print(scores.mean())
"""
INFERENCE = """\
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

name = "meta-llama/Llama-3.1-8B-Instruct"
tokenizer = AutoTokenizer.from_pretrained(name)
model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16).to("cuda")
with torch.inference_mode():
    out = model.generate(**tokenizer("Why?", return_tensors="pt").to("cuda"), max_new_tokens=200)
print(tokenizer.decode(out[0]))
"""
DDP = """\
import torch
import torch.distributed as dist
import torchvision
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("nccl")
model = DDP(torchvision.models.resnet50().cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
loader = torch.utils.data.DataLoader(dataset, batch_size=256, num_workers=7)
epochs = 90
for epoch in range(epochs):
    for x, y in loader:
        loss = criterion(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
    torch.save(model.state_dict(), "model.pt")
"""
