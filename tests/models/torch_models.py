#!/usr/bin/env python3
"""Compares state dicts, logits, gradients, running statistics and GPT-2's tokens with torchvision's and transformers'.

  torch_models.py [--build DIR] [NAME...]

Weights are random, so nothing is downloaded. Builds BUILD/tests/models/torch_model first. Requires PyTorch 2,
torchvision, transformers and safetensors; Tandem's test suite does not run it. The last line is "N passed, N failed".
"""
import argparse
import fnmatch
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
    import torchvision
    import transformers
    from safetensors.torch import load_file, save_file
except ImportError as error:
    sys.exit(f"{sys.argv[0]}: this Python lacks {error.name}; install it in a virtual environment: python3 -m venv "
             f"DIR, DIR/bin/pip install torch torchvision transformers safetensors, DIR/bin/python " + sys.argv[0])

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SMALL_GPT2 = dict(n_layer=2, n_embd=32, n_head=4, vocab_size=100, n_positions=24, bos_token_id=0, eos_token_id=0)
NAMES = ["resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "vgg11", "vgg11_bn", "vgg13", "vgg13_bn",
         "vgg16",
         "vgg16_bn", "vgg19", "vgg19_bn", "mobilenet_v2", "vit_b_16", "vit_b_32", "vit_l_16", "gpt2", "gpt2_small"]
# Batch and side of the images (or length of the text) of the models that are run: logits in float32, logits and
# gradients in float64. Gradients in float32 differ by more than rounding,
# because rectifiers and maxima switch at rounding errors.
RUN = dict(resnet18=(4, 64), resnet50=(4, 64), resnet152=(2, 64), vgg11=(2, 64), vgg11_bn=(2, 64), mobilenet_v2=(4, 64),
           vit_b_16=(1, 224), gpt2_small=(3, 20))
MODES = [("eval", torch.float32), ("eval", torch.float64), ("train", torch.float64)]
# Largest difference, relative to the largest value of the tensor, or to 1e-6 of the largest gradient of all parameters:
# that of a bias before a normalisation is 0 but for rounding.
LOGITS, GRADIENTS = 1e-4, 1e-3


def original(name):
    if not name.startswith("gpt2"):
        return getattr(torchvision.models, name)(weights=None)
    config = transformers.GPT2Config(**(SMALL_GPT2 if name == "gpt2_small" else {}))
    config._attn_implementation = "eager"
    return transformers.GPT2LMHeadModel(config)


def check_names(tool, name):
    with torch.device("meta"):
        state = original(name).state_dict()
    expected = [f"{key} {str(t.dtype).removeprefix('torch.')} [{', '.join(map(str, t.shape))}]"
                for key, t in state.items()]
    found = subprocess.run([tool, "names", name], check=True, capture_output=True, text=True).stdout.splitlines()
    return [f"expected {e!r}, got {f!r}" for e, f in zip(expected, found) if e != f][:5] or (
        [] if len(expected) == len(found) else [f"expected {len(expected)} entries, got {len(found)}"])


def randomise(model):
    """Gives values to what starts at 0 or 1, so that no gradient vanishes; switches dropout off."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    with torch.no_grad():
        for name, tensor in list(model.named_parameters()) + list(model.named_buffers()):
            if tensor.is_floating_point() and (tensor.std() == 0 or tensor.numel() == 1):
                tensor.copy_(tensor + 0.1 * torch.rand_like(tensor))


def difference(expected, found, least):
    return (expected.double() - found.double()).abs().max().item() / (max(expected.abs().max().item(), least) or 1)


def check_run(tool, name, mode, dtype):
    torch.manual_seed(1)
    model = original(name)
    randomise(model)
    model.to(dtype).train(mode == "train")
    batch, side = RUN[name]
    gpt2 = name.startswith("gpt2")
    data = torch.randint(SMALL_GPT2["vocab_size"],
                         (batch, side)) if gpt2 else torch.randn(batch, 3, side, side, dtype=dtype)
    state = {f"state.{key}": t.detach().clone() for key, t in model.state_dict().items()}
    output = model(data).logits if gpt2 else model(data)
    cotangent = torch.randn_like(output)
    (output * cotangent).sum().backward()
    with tempfile.TemporaryDirectory() as folder:
        given, results = f"{folder}/in.safetensors", f"{folder}/out.safetensors"
        save_file({**state, "input": data, "cotangent": cotangent}, given)
        done = subprocess.run([tool, "run", name, mode, given, results], capture_output=True, text=True)
        if done.returncode:
            return [done.stderr.strip() or f"ended with code {done.returncode}"]
        found = load_file(results)
    expected = {"output": (output.detach(), LOGITS)}
    gradients = {key: p.grad for key, p in model.named_parameters()}
    largest = max(g.abs().max().item() for g in gradients.values())
    expected |= {f"gradient.{key}": (g, GRADIENTS) for key, g in gradients.items()}
    expected |= {f"buffer.{key}": (b, LOGITS) for key, b in model.named_buffers()}
    if expected.keys() != found.keys():
        return [f"other results: {sorted(expected.keys() ^ found.keys())[:5]}"]
    errors = {key: difference(value, found[key], 1e-6 * largest if key.startswith("gradient.") else 0)
              for key, (value, _) in expected.items() if dtype == torch.float64 or not key.startswith("gradient.")}
    bad = [f"{key}: relative difference {error:.1e}" for key, error in errors.items() if not error <= expected[key][1]]
    if not bad:
        worst = max((error for key, error in errors.items() if key.startswith("gradient.")), default=None)
        print(f"{name}, {mode}, {str(dtype).removeprefix('torch.')}: logits {errors['output']:.1e}" +
              (f", gradients {worst:.1e}" if worst is not None else ""))
    return bad[:5]


def check_generation(tool, name):
    torch.manual_seed(1)
    model = original(name).eval()
    randomise(model)
    with torch.no_grad():
        for parameter in model.parameters():  # otherwise the most probable token is soon always the same
            parameter.mul_(5 if parameter.dim() == 2 else 1)
    model.generation_config.eos_token_id = None
    prompt = torch.randint(SMALL_GPT2["vocab_size"], (4, 5))
    expected = model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=19,
                              pad_token_id=0)
    with tempfile.TemporaryDirectory() as folder:
        given, results = f"{folder}/in.safetensors", f"{folder}/out.safetensors"
        save_file({**{f"state.{key}": t.detach().clone() for key, t in model.state_dict().items()}, "input": prompt},
                  given)
        done = subprocess.run([tool, "generate", "19", given, results], capture_output=True, text=True)
        if done.returncode:
            return [done.stderr.strip() or f"ended with code {done.returncode}"]
        found = load_file(results)["output"]
    if expected.shape != found.shape or not torch.equal(expected, found):
        return [f"expected {expected.tolist()}, got {found.tolist()}"]
    print(f"{name}: {expected.shape[0]} x 19 tokens, {len(expected[:, 5:].unique())} different ones")
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("names", nargs="*", metavar="NAME", help="models; * and ? match")
    args = parser.parse_args()
    subprocess.run(["ninja", "-C", args.build, "-j2", "tests/models/torch_model"], check=True,
                   stdout=subprocess.DEVNULL)
    tool = args.build / "tests/models/torch_model"
    passed = failed = 0
    for name in NAMES:
        if args.names and not any(fnmatch.fnmatch(name, pattern) for pattern in args.names):
            continue
        checks = [("names", lambda: check_names(tool, name))]
        if name in RUN:
            checks += [(f"{mode}, {dtype}", lambda mode=mode, dtype=dtype: check_run(tool, name, mode, dtype))
                       for mode, dtype in MODES]
        if name == "gpt2_small":
            checks.append(("generation", lambda: check_generation(tool, name)))
        for kind, check in checks:
            problems = check()
            passed, failed = passed + (not problems), failed + bool(problems)
            if problems:
                print(f"{name}, {kind}: failed", *problems, sep="\n  ")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
