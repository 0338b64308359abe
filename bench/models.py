#!/usr/bin/env python3
"""Inference and training steps of published models and the networks of networks.h in Tandem and in PyTorch, alternately;
needs torch, torchvision, transformers.

    models.py BUILD [--models NAME,...] [--what infer,fused,onnx,train,decode] [--batch N,...] [--threads N,...]
              [--turns N] [--seconds S] [--size N] [--precision fp32|bf16|fp16] [--compile]
              [--against pytorch,openvino,onnxruntime,models]

BUILD is Tandem's build folder. Each turn runs bench_models and PyTorch's eager mode, or what --against names, each in its
own process, and every other turn in reverse. Prints medians over the turns: milliseconds per step (per token for decode;
processor time on one thread), how much faster Tandem is, and the peak of memory beyond the model and its input: of
tensors in Tandem, of the process elsewhere, where OpenVINO's and onnxruntime's includes the model. In another precision,
both train under autocast; for everything else the model is converted, and images are channels-last in PyTorch. `fused`
is compared with PyTorch's plain inference, and with --compile both are compared with torch.compile. OpenVINO and onnxruntime infer, in float32, what torch.onnx.export writes; rows that
they cannot run say "-". `onnx` is inference of that same file in Tandem, after nn::fuse, and `models` the fused network of
models/ beside it.
"""
import argparse
import importlib.util
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

NAMES = {"pytorch": "PyTorch", "openvino": "OpenVINO", "onnxruntime": "onnxruntime", "models": "models/"}
MODELS = "mlp,resnet18,resnet50,vgg16,mobilenet_v2,vit_b_16,gpt2,gpt2-mini"


def make(name, batch, size):
    import torch
    if name == "mlp":
        layers = [torch.nn.Linear(784, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024), torch.nn.ReLU(),
                  torch.nn.Linear(1024, 10)]
        return torch.nn.Sequential(*layers), torch.randn(batch, 784)
    if name.startswith("gpt2"):
        import transformers
        small = dict(n_layer=6, n_head=6, n_embd=384, vocab_size=5000, n_positions=256) if name == "gpt2-mini" else {}
        config = transformers.GPT2Config(**small)
        return transformers.GPT2LMHeadModel(config), torch.randint(config.vocab_size, (batch, size or 128))
    import torchvision
    return getattr(torchvision.models, name)(), torch.randn(batch, 3, size or 224, size or 224)


def measure(f, seconds, threads):
    f()
    f()
    now = time.process_time if threads == 1 else time.perf_counter
    times, end = [], time.perf_counter() + seconds
    while (len(times) < 3 or time.perf_counter() < end) and len(times) < 1000:
        begin = now()
        f()
        times.append((now() - begin) * 1e3)
    times.sort()
    return times[0], times[len(times) // 2]


def peak_kib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def export_apart(file, name, batch, size):
    """In a process of its own."""
    subprocess.run([sys.executable, __file__, "--export", file, "--models", name, "--batch", str(batch), "--size",
                    str(size)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def onnx_worker(peer, name, batch, threads, seconds, size):
    """Inference by OpenVINO or onnxruntime; export in a process of its own does not count as memory."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/model.onnx"
        export_apart(file, name, batch, size)
        import numpy
        if peer == "openvino":
            import openvino
            core, base = openvino.Core(), peak_kib()
            core.set_property("CPU", {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"})
            request = core.compile_model(file, "CPU").create_infer_request()
            x = numpy.random.randn(*request.get_input_tensor(0).shape).astype(numpy.float32)
            times = measure(lambda: request.infer([x]), seconds, threads)
        else:
            import onnxruntime
            options, base = onnxruntime.SessionOptions(), peak_kib()
            options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
            session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
            entry = session.get_inputs()[0]
            x = numpy.random.randn(*entry.shape).astype(numpy.float32)
            times = measure(lambda: session.run(None, {entry.name: x}), seconds, threads)
    print(name, f"{times[0]:.3f} {times[1]:.3f} {(peak_kib() - base) / 1024:.0f}")


def export(name, batch, size, file):
    import torch
    model, x = make(name, batch, size)
    torch.onnx.export(model.eval(), (x,), file, dynamo=False)


def torch_worker(name, what, batch, threads, seconds, size, precision, compiled):
    import torch
    import torch.nn.functional as F
    import networks
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    target, adam = None, False
    if name in networks.NAMES:
        model, x, target, adam = networks.make(name, batch)
    else:
        model, x = make(name, batch, size)
    text = name.startswith("gpt2")
    train = what == "train"
    half = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
    if half:
        order = torch.preserve_format if text or x.dim() < 4 else torch.channels_last
        model = model.to(memory_format=order)
        x = x.to(memory_format=order)
        if not train:
            model, x = model.to(half), x if text else x.to(half)
    model.train(train)
    call = torch.compile(model) if compiled else model
    base = peak_kib()
    tokens = 32

    def output():
        return call(x, use_cache=False).logits if text else call(x)

    def decode(count):
        out = model(x[:, :16], use_cache=True)
        for _ in range(count):
            token = out.logits[:, -1:].argmax(-1)
            out = model(token, past_key_values=out.past_key_values, use_cache=True)

    if train:
        if target is None:
            target = x.roll(-1, 1) if text else torch.randint(10, (batch,))
        optimizer = (torch.optim.Adam(model.parameters()) if adam else
                     torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9))

        def step():
            optimizer.zero_grad()
            with torch.autocast("cpu", half or torch.bfloat16, enabled=half is not None):
                out = output()
            if out.shape[:2] == target.shape:  # of a text
                loss = F.cross_entropy(out.reshape(-1, out.shape[-1]), target.reshape(-1))
            else:
                loss = F.cross_entropy(out, target)
            loss.backward()
            optimizer.step()
    elif what == "decode":
        def step():
            decode(tokens)
    else:
        step = output

    with torch.set_grad_enabled(train):
        if what == "decode":
            first = measure(lambda: decode(0), seconds / 4, threads)
            times = [(a - b) / tokens for a, b in zip(measure(step, seconds, threads), first)]
        else:
            times = measure(step, seconds, threads)
    peak = (peak_kib() - base) / 1024
    print(name, what, batch, threads, f"{times[0]:.3f} {times[1]:.3f} {peak:.0f}")


def last_line(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()[-2000:]}")
    words = done.stdout.strip().splitlines()[-1].split()
    return float(words[-2]), float(words[-1])


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", nargs="?")
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--what", default="infer,train")
    parser.add_argument("--batch", default="")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--size", type=int, default=0)
    parser.add_argument("--precision", choices=("fp32", "bf16", "fp16"), default="fp32")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--against", default="pytorch")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--export", help=argparse.SUPPRESS)
    o = parser.parse_args()
    if o.export:
        return export(o.models, int(o.batch), o.size, o.export)
    if o.worker == "pytorch":
        return torch_worker(o.models, o.what, int(o.batch), int(o.threads), o.seconds, o.size, o.precision,
                            o.compile)
    if o.worker:
        return onnx_worker(o.worker, o.models, int(o.batch), int(o.threads), o.seconds, o.size)
    if o.build is None:
        parser.error("BUILD is missing")
    peers = []
    for peer in o.against.split(","):
        if peer not in NAMES:
            parser.error(f"--against: expected {', '.join(NAMES)}, got {peer}")
        if peer == "models" or importlib.util.find_spec("torch" if peer == "pytorch" else peer):
            peers.append(peer)
        else:
            print(f"{NAMES[peer]} is not installed", file=sys.stderr)
    titles = [NAMES[peer] for peer in peers]
    header = ["model", "step", "batch", "threads", "Tandem, ms"]
    header += [word for title in titles for word in (f"{title}, ms", f"{title} / Tandem")]
    header += ["Tandem, MiB"] + [f"{title}, MiB" for title in titles]
    print("| " + " | ".join(header) + " |\n" + "|---" * len(header) + "|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in o.models.split(","):
            for what in o.what.split(","):
                batches = o.batch or {"train": "4,8", "decode": "1"}.get(what, "1,8")
                for batch in batches.split(","):
                    for threads in o.threads.split(","):
                        common = ["--batch", batch, "--threads", threads, "--seconds", str(o.seconds)]
                        common += ["--size", str(o.size)] if o.size else []
                        common += ["--precision", o.precision] if o.precision != "fp32" else []
                        bench = str(pathlib.Path(o.build) / "bench/bench_models")
                        if what == "onnx":
                            file = f"{folder}/{name}-{batch}.onnx"
                            export_apart(file, name, batch, o.size)
                            commands = {"tandem": [bench, file, "--what", "fused", *common]}
                        else:
                            commands = {"tandem": [bench, name, "--what", what, *common]}
                        for peer in peers:
                            if peer == "models":
                                commands[peer] = [bench, name, "--what", "fused", *common]
                            elif peer == "pytorch" or (what in ("infer", "fused", "onnx") and o.precision == "fp32"):
                                commands[peer] = [sys.executable, __file__, "--worker", peer, "--models", name, "--what",
                                                  what, *common] + (["--compile"] if o.compile else [])
                        turns = []
                        for turn in range(o.turns):
                            order = list(commands) if turn % 2 == 0 else list(commands)[::-1]
                            turns.append({key: last_line(commands[key]) for key in order})

                        def median(value):
                            return statistics.median(value(turn) for turn in turns)

                        row, memory = [f"{median(lambda t: t['tandem'][0]):.2f}"], [f"{median(lambda t: t['tandem'][1]):.0f}"]
                        for peer in peers:
                            if peer not in commands:
                                row, memory = row + ["-", "-"], memory + ["-"]
                                continue
                            row.append(f"{median(lambda t: t[peer][0]):.2f}")
                            row.append(f"{median(lambda t: t[peer][0] / t['tandem'][0]):.2f}")
                            memory.append(f"{median(lambda t: t[peer][1]):.0f}")
                        print("| " + " | ".join([name, what, batch, threads, *row, *memory]) + " |", flush=True)


main()
