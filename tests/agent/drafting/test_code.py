"""What is read in code, without running any of it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_diamond.agent.drafting.families import inference_bytes, size_of, training_bytes
from jupyter_diamond.agent.drafting.guesses import Guesses
from jupyter_diamond.cell.reading.code import files_named, read_code
from jupyter_diamond.parsing.memory import GIB

TORCH = "import torch\n"
OPTIONS = {
    # devices
    'x.to("cuda")': {"gpus": "1"},
    "model.cuda()": {"gpus": "1"},
    'torch.zeros(3, device="cuda:3")': {"gpus": "4"},
    'device = "cuda" if torch.cuda.is_available() else "cpu"': {"gpus": "1"},
    'device = torch.device("cpu")\nmodel.to(device)': {"gpus": "0"},
    'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = ""': {"gpus": "0"},
    'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "0,1"': {"gpus": "2"},
    "import jax\nprint(jax.devices())": {"gpus": "1"},
    "import cupy as cp": {"gpus": "1"},
    # several GPUs
    "!torchrun --nproc_per_node=4 train.py": {"gpus": "4"},
    "!torchrun --nproc-per-node 2 --nnodes=3 train.py": {"gpus": "2", "nodes": "3"},
    "!deepspeed --num_gpus 8 train.py": {"gpus": "8"},
    'import subprocess\nsubprocess.run(["torchrun", "--nproc_per_node", "2", "t.py"])': {"gpus": "2"},
    "from accelerate import Accelerator\na = Accelerator()": {"gpus": "1-4"},
    "torch.nn.DataParallel(model)": {"gpus": "1-4"},
    'import lightning as L\nL.Trainer(accelerator="gpu", devices=2, num_nodes=4, strategy="ddp")': {"gpus": "2", "nodes": "4"},
    'import lightning as L\nL.Trainer(accelerator="cpu", devices=2)': {"gpus": "0"},
    "torch.multiprocessing.spawn(f, nprocs=3)": {"gpus": "3"},
    # CPUs
    "from joblib import Parallel\nParallel(n_jobs=12)(jobs)": {"cpus": "12"},
    "from joblib import Parallel\nParallel(n_jobs=-1)(jobs)": {"cpus": "4-16"},
    "from multiprocessing import Pool\nPool(6).map(f, x)": {"cpus": "6"},
    "from concurrent.futures import ProcessPoolExecutor\nProcessPoolExecutor(max_workers=10)": {"cpus": "10"},
    'import os\nos.environ["OMP_NUM_THREADS"] = "16"': {"cpus": "16"},
    "torch.set_num_threads(8)": {"cpus": "8"},
    "from dask.distributed import LocalCluster\nLocalCluster(n_workers=4, threads_per_worker=2)": {"cpus": "8"},
    "import ray\nray.init(num_cpus=24)": {"cpus": "24"},
    "!mpirun -n 64 ./solver": {"cpus": "64"},
    "!mpirun -np 256 ./solver": {"cpus": "128", "nodes": "2"},
    "!srun -n 32 -N 2 ./solver": {"cpus": "16", "nodes": "2"},
    # memory
    "import numpy as np\nN = 50_000\na = np.zeros((N, N))": {"memory": "39G-78G"},
    "import numpy as np\na = np.ones((10**5, 10**4), dtype=np.float32)": {"memory": "9G-18G"},
    "import numpy as np\na = np.random.rand(100_000, 20_000)": {"memory": "31G-62G"},
    'a = torch.zeros(100_000, 50_000, device="cuda")': {"gpus": "1", "gpu-memory": "19G"},
    "print('hello')": {},
}  # fmt: skip


@pytest.mark.parametrize("code", OPTIONS)
def test_code_shows_what_it_needs(code):
    found = Guesses(read_code(TORCH + code)).reasons
    interesting = {name: found[name].value for name in ("gpus", "nodes", "gpu-memory") if name in found}
    if "gpus" not in OPTIONS[code] or OPTIONS[code]["gpus"] == "0":
        interesting |= {name: found[name].value for name in ("cpus", "memory") if name in found}
    assert interesting == OPTIONS[code]


def test_every_guess_from_a_line_shows_the_line():
    found = Guesses(read_code("import torch\nmodel.cuda()\n"))
    assert found.reasons["gpus"].evidence == "line 2: model.cuda()"


def test_bash_is_read_by_its_commands():
    script = "# torchrun --nproc_per_node=9\nexport OMP_NUM_THREADS=4\ntorchrun \\\n  --nproc_per_node=2 train.py\n"
    found = Guesses(read_code(script, "bash")).reasons
    assert (found["gpus"].value, found["gpus"].evidence) == ("2", "torchrun --nproc_per_node=2 train.py")


@pytest.mark.parametrize(
    "code", ["def x(:", "x = (", "\x00", "(" * 5000, "%%bash\nmpirun -n 8 ./a", "?print", "!ls\n%time f()"]
)
def test_what_is_no_python_breaks_nothing(code):
    read_code(code)


@pytest.mark.parametrize(
    "code",
    [
        "x = 10 ** 10 ** 10",
        "import numpy as np\nnp.zeros((10**9, 10**9, 10**9))",
        "x = 'a' * 10**12",
        "x = 1 << 10**9",
        "x = int(1e999)",
    ],
)
def test_absurd_numbers_are_not_computed(code):
    read_code(code)


def test_a_cell_of_bash_in_a_notebook_is_read_as_such():
    assert read_code("%%bash\nmpirun -n 8 ./a").ranks[0].n == 8


def test_files_that_are_read_are_named_and_their_size_counts():
    code = 'import pandas as pd\ndf = pd.read_parquet("data/big.parquet")\nother = pd.read_csv("small.csv")\n'
    assert files_named(code) == ("data/big.parquet", "small.csv")
    found = Guesses(read_code(code), {"data/big.parquet": 3 * GIB})
    assert found.reasons["memory"].value == "13G-26G"
    assert "small.csv" in " ".join(found.unknown)


MODELS = {
    "meta-llama/Llama-3.1-8B-Instruct": 8e9, "mistralai/Mixtral-8x7B-v0.1": 56e9, "Qwen/Qwen2.5-0.5B": 0.5e9,
    "facebook/esm2_t33_650M_UR50D": 650e6, "bert-base-uncased": 110e6, "gpt2": 124e6, "gpt2-xl": 1558e6,
    "google/vit-base-patch16-224": 86e6, "openai/whisper-large-v3": 1550e6, "deepseek-ai/DeepSeek-R1": 671e9,
    "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B": 7e9, "resnet50": 25.6e6, "my-own-model": None, "llama-3": None,
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_the_size_of_a_model_is_known_by_table_or_name(name):
    found = size_of(name)
    assert (found.parameters if found else None) == MODELS[name]


def test_memory_follows_the_published_formulas():
    assert inference_bytes(8 * 10**9, "float16") / 10**9 == pytest.approx(19.2)
    assert training_bytes(10**9, "adam") / 10**9 == pytest.approx(20.0)
    assert training_bytes(10**9, "adam", adapters="int4") < inference_bytes(10**9, "float16")


@pytest.mark.parametrize(("code", "memory"), [
    ('AutoModel.from_pretrained("a/b-7b").cuda()', "32G"),
    ('AutoModel.from_pretrained("a/b-7b", torch_dtype=torch.float16).cuda()', "16G"),
    ('AutoModel.from_pretrained("a/b-13b", load_in_4bit=True).cuda()', "8G"),
    ('AutoModel.from_pretrained("a/b-7b").cuda()\nopt = torch.optim.AdamW(p)\nloss.backward()', "131G"),
    ('AutoModel.from_pretrained("a/b-7b").cuda()\nm = get_peft_model(m, LoraConfig())\nloss.backward()', "34G"),
])  # fmt: skip
def test_memory_of_a_gpu_follows_the_type_the_optimizer_and_adapters(code, memory):
    found = Guesses(read_code("import torch\nfrom transformers import AutoModel\n" + code))
    assert found.reasons.get("gpu-memory") is not None, found.unknown
    assert found.reasons["gpu-memory"].value == memory


def test_a_model_that_fits_on_no_gpu_is_split_where_the_code_allows_it():
    code = 'from transformers import AutoModelForCausalLM\nm = AutoModelForCausalLM.from_pretrained("x/y-70b", torch_dtype="bfloat16", device_map="auto")'
    found = Guesses(read_code(code)).reasons
    assert (found["gpus"].value, found["gpu-memory"].value) == ("3", "53G")


PIECES = ["import torch\n", "import numpy as np\n", "x = ", "np.zeros((", "10**9", ", ", "))", "\n", "for i in range(3):\n", "    ",
          "model.cuda()", "Pool(", "n_jobs=", "-1", ")", "!torchrun --nproc_per_node=", "4", "%%bash\n", '"cuda:', '1"', "lambda: ", "if ", "é"]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=30))
@settings(max_examples=80, deadline=None)
def test_no_code_breaks_it(pieces):
    Guesses(read_code("".join(pieces)))
    read_code("".join(pieces), "bash")
