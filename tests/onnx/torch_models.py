#!/usr/bin/env python3
"""Compares models that torch.onnx.export writes with PyTorch: logits at two batch sizes, to 1e-4.

    torch_models.py RUN_MODELS [NAME...]

RUN_MODELS is the program tests/onnx/run_models. Each model is exported by both of PyTorch's exporters where they can,
and those of OPTIMIZED also go through onnxruntime's optimizer. Needs torch, torchvision, transformers, onnx,
onnxscript, onnxruntime. The last line is `N passed, N failed`.
"""
import pathlib
import subprocess
import sys
import tempfile
import warnings

try:
    import onnx
    import torch
    import torchvision
    import transformers
except ImportError as error:
    sys.exit(f"{sys.argv[0]}: this Python lacks {error.name}; install it in a virtual environment: python3 -m venv "
             f"DIR, DIR/bin/pip install torch torchvision transformers onnx onnxscript onnxruntime, DIR/bin/python "
             + sys.argv[0])


class Lstm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(16, 32, 2, bidirectional=True, batch_first=True)
        self.head = torch.nn.Linear(64, 5)

    def forward(self, x):
        y, (h, _) = self.lstm(x)
        return self.head(y[:, -1]), h


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(100, 64)
        layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, 3)

    def forward(self, x):
        return self.encoder(self.embedding(x))


class Gpt2(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = transformers.GPT2LMHeadModel(transformers.GPT2Config(
            vocab_size=1000, n_positions=128, n_embd=64, n_layer=3, n_head=4, attn_implementation="eager"))

    def forward(self, x):
        return self.net(x, use_cache=False).logits


SMALL = dict(vocab_size=1000, max_position_embeddings=128, hidden_size=64, intermediate_size=128, num_hidden_layers=3,
             num_attention_heads=4, attn_implementation="eager")


class Bert(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = transformers.BertModel(transformers.BertConfig(**SMALL))

    def forward(self, x):
        mask = torch.arange(x.shape[1]) < 8 + x[:, :1] % 4  # padding on the right, as the optimizer takes for granted
        return self.net(x, attention_mask=mask.long(), token_type_ids=x % 2)[0]


class ClipText(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = transformers.CLIPTextModel(transformers.CLIPTextConfig(**SMALL))

    def forward(self, x):
        return self.net(x)[0]


class Llama(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = transformers.LlamaModel(transformers.LlamaConfig(**SMALL))

    def forward(self, x):
        return self.net(x, use_cache=False)[0]


class Segmentation(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None)

    def forward(self, x):
        return self.net(x)["out"]


def images(count):
    return torch.randn(count, 3, 224, 224)


MODELS = {name: (getattr(torchvision.models, name), images) for name in (
    "resnet18", "resnet50", "mobilenet_v2", "vit_b_16", "convnext_tiny", "efficientnet_b0", "shufflenet_v2_x1_0")}
MODELS |= {
    "lraspp_mobilenet_v3": (Segmentation, images),
    "lstm": (Lstm, lambda count: torch.randn(count, 7, 16)),
    "transformer_encoder": (Encoder, lambda count: torch.randint(0, 100, (count, 9))),
    "gpt2": (Gpt2, lambda count: torch.randint(0, 1000, (count, 12))),
    "bert": (Bert, lambda count: torch.randint(0, 1000, (count, 12))),
    "clip_text": (ClipText, lambda count: torch.randint(0, 1000, (count, 12))),
    "llama": (Llama, lambda count: torch.randint(0, 1000, (count, 12))),
}
# What the optimizer calls their types.
OPTIMIZED = {"bert": "bert", "clip_text": "clip", "llama": "gpt2"}


def optimize(file, type):
    from onnxruntime.transformers.optimizer import optimize_model
    found = optimize_model(file, model_type=type, num_heads=4, hidden_size=64, opt_level=0)
    names = sorted({node.op_type for node in found.model.graph.node if node.domain == "com.microsoft"})
    assert names, "it has found nothing"
    found.save_model_to_file(file)


def write(folder, model, inputs, new, type=None):
    if new:
        options = {"dynamic_shapes": [{0: torch.export.Dim("N")}]}
    else:
        options = {"dynamic_axes": {"x": {0: "N"}}, "opset_version": 17}
    torch.onnx.export(model, (inputs(2),), str(folder / "model.onnx"), input_names=["x"], dynamo=new, verbose=False,
                      **options)
    if type:
        optimize(str(folder / "model.onnx"), type)
    for number, count in enumerate((2, 3)):
        x = inputs(count)
        with torch.no_grad():
            y = model(x)
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        for prefix, values in (("input", (x,)), ("output", y if isinstance(y, tuple) else (y,))):
            for i, value in enumerate(values):
                (data / f"{prefix}_{i}.pb").write_bytes(onnx.numpy_helper.from_array(value.numpy()).SerializeToString())
    (folder / "tolerance").write_text("1e-4 1e-4\n")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    passed = failed = 0
    for name in sys.argv[2:] or MODELS:
        make, inputs = MODELS[name]
        model = make().eval()
        for new, type in [(False, None), (True, None)] + [(False, OPTIMIZED[n]) for n in OPTIMIZED if n == name]:
            what = f"{name}, {'torch.export' if new else 'TorchScript'}{', optimized' if type else ''}"
            with tempfile.TemporaryDirectory() as folder:
                try:
                    write(pathlib.Path(folder), model, inputs, new, type)
                except Exception as error:  # each exporter has errors of its own
                    print(f"{what}: PyTorch cannot export it: {str(error).strip().splitlines()[-1][:100]}", flush=True)
                    continue
                out = subprocess.run([sys.argv[1], folder], capture_output=True, text=True)
                good = out.returncode == 0
                passed, failed = passed + good, failed + (not good)
                print(f"{what}: {'agrees' if good else out.stdout.splitlines()[0] if out.stdout else out.stderr}",
                      flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
