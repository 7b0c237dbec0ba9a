"""What single calls say: by the function's name, by its last part, and by the names of its arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from jupyter_diamond.parsing import numbers

from .facts import Named, Shown, Sized
from .literals import fold, item_bytes, items, text, whole
from .shell import variable

if TYPE_CHECKING:
    from .code import Reader

Rule = Callable[["Reader", ast.Call, str], None]

_FILES = {
    "read_parquet": 4.0, "read_csv": 2.0, "read_table": 2.0, "read_json": 4.0, "read_feather": 2.0, "read_hdf": 2.0,
    "read_excel": 5.0, "read_pickle": 1.5, "read_orc": 4.0, "scan_parquet": 2.0, "loadtxt": 2.0, "genfromtxt": 4.0,
    "numpy.load": 1.0, "torch.load": 1.0, "joblib.load": 1.0, "open_dataset": 1.5, "read_h5ad": 2.0,
}  # fmt: skip
"""How many times a file's size its content takes in memory, about: compressed columns grow most."""
_MAKERS = {
    "zeros", "ones", "empty", "full", "rand", "randn", "random", "random_sample", "standard_normal", "arange", "eye",
    "identity",
}  # fmt: skip
_BY_SIZE = {"normal", "uniform", "randint", "integers", "choice", "poisson", "exponential"}
_ARRAYS = {"numpy": 8, "cupy": 8, "torch": 4, "jax.numpy": 4, "tensorflow": 4, "jnp": 4}
_MODELS = {
    "from_pretrained", "SentenceTransformer", "create_model", "load_model", "pipeline", "LLM", "CrossEncoder",
    "snapshot_download",
}  # fmt: skip
_TRAINERS = {"Trainer", "Seq2SeqTrainer", "SFTTrainer", "DPOTrainer", "GRPOTrainer", "RewardTrainer"}
_SPREADS = {
    "DataParallel", "DistributedDataParallel", "init_process_group", "pmap", "Accelerator", "MirroredStrategy",
    "MultiWorkerMirroredStrategy", "initialize_distributed",
}  # fmt: skip
_POOLS = {"Pool", "ThreadPool", "ProcessPoolExecutor", "ThreadPoolExecutor"}
_SHARDS = {"FullyShardedDataParallel", "fully_shard"}
_NETS = {"torch", "tensorflow", "keras", "lightning", "pytorch_lightning", "jax", "flax", "fastai"}
_TYPES = {"float16": "float16", "bfloat16": "float16", "half": "float16", "int8": "int8", "float8_e4m3fn": "int8"}
_SAVES = {"ModelCheckpoint", "save_checkpoint", "CheckpointManager"}
_OPTIMIZERS = {"Adam8bit": "adam8bit", "AdamW8bit": "adam8bit", "PagedAdamW8bit": "adam8bit", "SGD": "sgd"}


def read_call(reader: Reader, node: ast.Call) -> None:
    """One call."""
    name = reader.dotted(node.func)
    last = name.rpartition(".")[2]
    _device(reader, node, name, last)
    _learning(reader, node, name, last)
    _parallel(reader, node, name, last)
    _data(reader, node, name, last)
    for argument, value in reader.arguments(node):
        _argument(reader, node, argument, value)


def read_type(reader: Reader, node: ast.Attribute) -> None:
    """``torch.bfloat16``: the type that a model is held in."""
    if node.attr in _TYPES and reader.dotted(node).startswith(("torch.", "jax.")) and reader.facts.dtype is None:
        reader.facts.dtype = (_TYPES[node.attr], reader.shown(node))


def _device(reader: Reader, node: ast.Call, name: str, last: str) -> None:
    facts, line = reader.facts, reader.shown(node)
    if last == "cuda" and name != "cuda":
        (facts.gpu_if_there if reader.optional(node) else facts.gpu).append(line)
    elif last == "set_device" and ".cuda." in f".{name}.":
        facts.gpu.append(line)
    elif name.endswith(("jax.devices", "jax.local_devices", "list_physical_devices")):
        facts.gpu_if_there.append(line)
    elif last in ("device", "to") and node.args and text(node.args[0], reader.values) == "cpu":
        facts.no_gpu.append(line)
    elif last in ("autocast", "GradScaler") or (last in ("half", "bfloat16") and not node.args):
        facts.dtype = facts.dtype or ("float16", line)


def _learning(reader: Reader, node: ast.Call, name: str, last: str) -> None:
    facts, line = reader.facts, reader.shown(node)
    nets = not _NETS.isdisjoint(facts.imports)
    if last in _MODELS or name.startswith(("torchvision.models.", "timm.")):
        _model(reader, node, last)
    if last == "backward" or (nets and last in ("fit", "train_on_batch") and not name.startswith("sklearn")):
        facts.training.append(line)
    elif last in _TRAINERS:
        facts.training.append(line)
        facts.gpu_if_there.append(line)
    elif last in ("LoraConfig", "get_peft_model", "prepare_model_for_kbit_training"):
        facts.adapters = facts.adapters or line
    elif last in _SAVES or name in ("torch.save", "jupyter_diamond.checkpoint.save"):
        facts.checkpoints = facts.checkpoints or line
    if nets and last in ("fit", "generate", "predict") and not facts.imports.get("sklearn"):
        facts.gpu_if_there.append(line)
    optimizer = _OPTIMIZERS.get(last) or ("adam" if last in ("Adam", "AdamW", "adam", "adamw") else None)
    if optimizer is not None and facts.optimizer is None:
        momentum = any(argument == "momentum" for argument, _ in reader.arguments(node))
        facts.optimizer = ("sgd-momentum" if optimizer == "sgd" and momentum else optimizer, line)


def _model(reader: Reader, node: ast.Call, last: str) -> None:
    named = {argument: text(value, reader.values) for argument, value in reader.arguments(node)}
    first = text(node.args[0], reader.values) if node.args else None
    name = named.get("model") or named.get("model_name") or named.get("pretrained_model_name_or_path") or first
    if last == "pipeline":
        name = named.get("model")
    if name is None and not node.args:
        name = last if any(sign.isdigit() for sign in last) else None  # torchvision.models.resnet50()
    owner = reader.dotted(node.func)
    if name and len(name) <= 200 and "Tokenizer" not in owner and "Processor" not in owner:
        reader.facts.models.append(Named(name, reader.shown(node)))
    if last in ("pipeline", "from_pretrained") and "Tokenizer" not in owner:
        reader.facts.gpu_if_there.append(reader.shown(node))


def _parallel(reader: Reader, node: ast.Call, name: str, last: str) -> None:
    facts, line = reader.facts, reader.shown(node)
    first = whole(node.args[0], reader.values) if node.args else None
    if last in _SPREADS or (last == "initialize" and name.startswith("deepspeed")):
        facts.data_parallel.append(line)
        (facts.gpu_if_there if last in ("Accelerator", "pmap") else facts.gpu).append(line)
    if last in _SHARDS or name == "deepspeed.initialize":
        facts.sharded.append(line)
        facts.data_parallel.append(line)
        facts.gpu.append(line)
    if (last in _POOLS and not node.keywords) or (last in ("set_num_threads", "set_num_interop_threads") and first):
        facts.workers.append(Shown(first, line))
    elif last == "prange":
        facts.workers.append(Shown(None, line))
    elif last in ("LocalCluster", "Client") and "dask" in facts.imports.keys() | {name.split(".", maxsplit=1)[0]}:
        known = {each: whole(value, reader.values) for each, value in reader.arguments(node)}
        workers = known.get("n_workers")
        facts.workers.append(Shown(workers * (known.get("threads_per_worker") or 1) if workers else None, line))
    elif name.endswith("environ.setdefault") and len(node.args) == 2:
        key, value = (fold(each, reader.values) for each in node.args)
        variable(str(key), str(value), line, facts)
    if last == "Trainer":
        _lightning(reader, node, line)


def _lightning(reader: Reader, node: ast.Call, line: str) -> None:
    said = {each: fold(value, reader.values) for each, value in reader.arguments(node)}
    if not {"accelerator", "devices", "strategy", "num_nodes"} & set(said):
        return
    devices, strategy = said.get("devices"), str(said.get("strategy") or "")
    on_cpu = said.get("accelerator") == "cpu"
    if on_cpu:
        reader.facts.no_gpu.append(line)
    elif "devices" in said:
        many = devices in (-1, "-1", "auto", None)
        reader.facts.gpus.append(Shown(None if many else numbers.whole(str(devices)), line))
    if said.get("accelerator") in ("gpu", "cuda"):
        reader.facts.gpu.append(line)
    if strategy.startswith(("ddp", "fsdp", "deepspeed")):
        reader.facts.data_parallel.append(line)
    if strategy.startswith(("fsdp", "deepspeed")):
        reader.facts.sharded.append(line)


def _argument(reader: Reader, node: ast.Call, argument: str, value: ast.expr) -> None:
    facts, line = reader.facts, reader.shown(node)
    plain = fold(value, reader.values)
    if plain is not None:
        reader.number(argument, plain, node)
    count = plain if isinstance(plain, int) and not isinstance(plain, bool) and plain > 0 else None
    if argument in ("n_jobs", "processes", "max_workers", "nthread", "num_cpus"):
        facts.workers.append(Shown(count, line))
    elif argument == "num_workers" and count:
        facts.loaders.append(Shown(count, line))
    elif argument in ("tensor_parallel_size", "num_gpus", "nprocs") and count:
        facts.gpus.append(Shown(count, line))
        facts.gpu.append(line)
        (facts.sharded if argument == "tensor_parallel_size" else facts.data_parallel).append(line)
    elif argument == "num_nodes" and count:
        facts.nodes.append(Shown(count, line))
    elif argument == "device_map" and plain in ("auto", "balanced", "cuda"):
        facts.sharded.append(line)
        facts.gpu.append(line)
    elif argument == "parallel" and plain is True:
        facts.workers.append(Shown(None, line))
    else:
        _precision(reader, argument, plain, line)


def _precision(reader: Reader, argument: str, plain: object, line: str) -> None:
    facts = reader.facts
    if argument in ("load_in_4bit", "load_in_8bit") and plain is True:
        facts.dtype = ("int4" if argument == "load_in_4bit" else "int8", line)
    elif (argument in ("fp16", "bf16") and plain is True) or (
        argument in ("precision", "torch_dtype", "dtype") and ("16" in str(plain) or plain == "auto")
    ):
        facts.dtype = facts.dtype or ("float16", line)
    elif argument == "optim" and "8bit" in str(plain):
        facts.optimizer = ("adam8bit", line)
    elif (argument, plain) in (("tree_method", "gpu_hist"), ("device_type", "gpu")):
        facts.gpu.append(line)


def _data(reader: Reader, node: ast.Call, name: str, last: str) -> None:
    factor = _FILES.get(name) or (_FILES.get(last) if name not in ("json.load", "pickle.load") else None)
    path = text(node.args[0], reader.values) if node.args else None
    if factor is not None and path and len(path) <= 1000:
        reader.facts.files.append((path, reader.shown(node), factor))
    library = name.rpartition(".")[0].removesuffix(".random")
    if library not in _ARRAYS or last not in _MAKERS | _BY_SIZE:
        return
    named = dict(reader.arguments(node))
    shape = named.get("size") or named.get("shape")
    if shape is None and last in _BY_SIZE:
        return
    count = items([shape] if shape is not None else node.args[:1] if last == "full" else node.args, reader.values)
    if count is None:
        return
    if last in ("eye", "identity"):
        count = count if len(node.args) > 1 else count * count
    width = item_bytes(named.get("dtype"), _ARRAYS[library])
    device = text(named.get("device"), reader.values) or ""
    on_gpu = library == "cupy" or device.startswith("cuda")
    reader.facts.arrays.append(Sized(min(count * width, 10**18), reader.shown(node), on_gpu))
