"""How large well-known models are, and how much memory of GPUs they take.

Bytes a parameter:

- inference: those of the type (float32 4, float16 and bfloat16 2, int8 1, 4-bit 0.5) and a fifth for what else is held
  (EleutherAI, Transformer Math 101, section Inference).
- training: 16 with Adam in mixed precision: weights and gradients 2 each, master weights and two moments 4 each
  (Rajbhandari et al., ZeRO, 2020, section 3.1); 16 in float32, too; 12 with SGD and momentum (4 + 4 + 4), 8 with plain
  SGD; 10 with an 8-bit optimizer (2 + 2 + 4 + 2: Transformer Math 101, section Optimizer States).
- adapters (LoRA): the frozen weights of their type; what is trained is a hundredth of it (Hu et al., LoRA, 2021).
- activations grow with the batch, which nobody knows before: a quarter is added, and said.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

GIB = 1 << 30
DType = Literal["float32", "float16", "int8", "int4"]
DTYPE_BYTES: dict[DType, float] = {"float32": 4.0, "float16": 2.0, "int8": 1.0, "int4": 0.5}
TRAINING_BYTES = {"adam": 16.0, "sgd-momentum": 12.0, "sgd": 8.0, "adam8bit": 10.0}
MILLION, BILLION = 10**6, 10**9


class Family(NamedTuple):
    """A model by a part of its name; ``parameters`` in all."""

    pattern: str
    parameters: int
    source: str


_BERT = "Devlin et al., BERT, 2018, section 3"
_GPT2 = "Radford et al., GPT-2, 2019, table 2, as released"
_T5 = "Raffel et al., T5, 2020, section 3.7"
_VIT = "Dosovitskiy et al., ViT, 2020, table 1"
_WHISPER = "Radford et al., Whisper, 2022, table 1"
_TORCHVISION = "torchvision's table of classification weights"
FAMILIES: tuple[Family, ...] = (
    Family(r"distilbert", 66 * MILLION, "Sanh et al., DistilBERT, 2019, table 3"),
    Family(r"roberta-large", 355 * MILLION, "Liu et al., RoBERTa, 2019"),
    Family(r"roberta-base", 125 * MILLION, "Liu et al., RoBERTa, 2019"),
    Family(r"bert-large", 340 * MILLION, _BERT),
    Family(r"bert-base|bert_base", 110 * MILLION, _BERT),
    Family(r"gpt2-xl", 1558 * MILLION, _GPT2),
    Family(r"gpt2-large", 774 * MILLION, _GPT2),
    Family(r"gpt2-medium", 355 * MILLION, _GPT2),
    Family(r"gpt2\b", 124 * MILLION, _GPT2),
    Family(r"t5-small", 60 * MILLION, _T5),
    Family(r"t5-base", 220 * MILLION, _T5),
    Family(r"t5-large", 770 * MILLION, _T5),
    Family(r"clip-vit-base", 151 * MILLION, "its model card, openai/clip-vit-base-patch32"),
    Family(r"clip-vit-large", 428 * MILLION, "its model card, openai/clip-vit-large-patch14"),
    Family(r"vit[-_]base|vit[-_]b[-_]?\d", 86 * MILLION, _VIT),
    Family(r"vit[-_]large|vit[-_]l[-_]?\d", 307 * MILLION, _VIT),
    Family(r"vit[-_]huge|vit[-_]h[-_]?\d", 632 * MILLION, _VIT),
    Family(r"whisper-tiny", 39 * MILLION, _WHISPER),
    Family(r"whisper-base", 74 * MILLION, _WHISPER),
    Family(r"whisper-small", 244 * MILLION, _WHISPER),
    Family(r"whisper-medium", 769 * MILLION, _WHISPER),
    Family(r"whisper-large", 1550 * MILLION, _WHISPER),
    Family(r"stable-diffusion-xl|sdxl", 3500 * MILLION, "Podell et al., SDXL, 2023, table 1 and section 2.1"),
    Family(r"stable-diffusion", 1066 * MILLION, "Rombach et al., LDM, 2022; its three parts by their model cards"),
    Family(r"all-minilm-l6", 23 * MILLION, "its model card, sentence-transformers/all-MiniLM-L6-v2"),
    Family(r"resnet18", 11_700_000, _TORCHVISION),
    Family(r"resnet34", 21_800_000, _TORCHVISION),
    Family(r"resnet50", 25_600_000, _TORCHVISION),
    Family(r"resnet101", 44_500_000, _TORCHVISION),
    Family(r"resnet152", 60_200_000, _TORCHVISION),
    Family(r"efficientnet[-_]b0", 5_300_000, _TORCHVISION),
    Family(r"efficientnet[-_]b7", 66_300_000, _TORCHVISION),
    Family(r"mistral-large", 123 * BILLION, "its model card, mistralai/Mistral-Large-Instruct-2407"),
    Family(r"deepseek-(v3|r1)\b(?!-distill)", 671 * BILLION, "DeepSeek-AI, DeepSeek-V3, 2024"),
    Family(r"phi-2\b", 2700 * MILLION, "its model card, microsoft/phi-2"),
)  # fmt: skip

_SIZED = re.compile(r"(?<![A-Za-z0-9.])(?:(\d{1,2})x)?(\d{1,4}(?:\.\d{1,3})?)(b|m)(?![A-Za-z0-9])", re.IGNORECASE)


class Size(NamedTuple):
    """How many parameters a model has, and who says so."""

    parameters: int
    source: str


def size_of(name: str) -> Size | None:
    """By the table; else by the number in the name itself (``Llama-3.1-8B``, ``esm2_t33_650M``); None: not known."""
    plain = name.casefold().replace("_", "-")
    for family in FAMILIES:
        if re.search(family.pattern, name.casefold()) or re.search(family.pattern, plain):
            return Size(family.parameters, family.source)
    found = _SIZED.search(plain)
    if found is None:
        return None
    times, number, unit = found.groups()
    parameters = int(float(number) * (BILLION if unit.lower() == "b" else MILLION)) * int(times or 1)
    return Size(parameters, "the number in its name") if 10**6 <= parameters <= 10**13 else None


def inference_bytes(parameters: int, dtype: DType) -> int:
    """GPU memory to run it."""
    return int(parameters * DTYPE_BYTES[dtype] * 1.2)


def training_bytes(parameters: int, optimizer: str, *, adapters: DType | None = None) -> int:
    """GPU memory to train it, over all GPUs that share its state. ``adapters``: only these are trained."""
    if adapters is not None:
        return int(parameters * (DTYPE_BYTES[adapters] + 0.01 * TRAINING_BYTES[optimizer]) * 1.25)
    return int(parameters * TRAINING_BYTES[optimizer] * 1.25)


def counted(parameters: int) -> str:
    """For people: ``8B``, ``110M``."""
    if parameters >= BILLION:
        return f"{parameters / BILLION:.3g}B"
    return f"{parameters / MILLION:.3g}M"
