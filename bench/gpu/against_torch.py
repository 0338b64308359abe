#!/usr/bin/env python3
"""PyTorch's counterpart of bench/gpu/gpu_bench.cpp: the same rows and the same work, one line of JSON per figure,
medians.

  against_torch.py [--compiled] [--device cuda:0] [--small] [ROW...]  exit code 77: no PyTorch, or PyTorch finds no GPU

--compiled measures training steps whose forward and backward passes torch.compile has compiled, under another source,
so that Tandem is compared with the faster of both. A row that fails or takes too long is reported as absent, with the
reason.
"""
import argparse
import contextlib
import json
import pathlib
import re
import signal
import statistics
import sys
import time

SOURCE = "torch"


def row(name, value, part=""):
    print(json.dumps({"source": SOURCE, "row": name, "value": value, "part": part}), flush=True)


def absent(name, why):
    print(json.dumps({"source": SOURCE, "row": name, "absent": str(why).splitlines()[0][:200]}), flush=True)


def shapes():
    """(name, channels in, size, channels out, kernel, stride) from rows.h, so both programs measure the same."""
    text = (pathlib.Path(__file__).parent / "rows.h").read_text(encoding="utf-8")
    table = re.search(r"kResNet50\[\] = \{(.*?)\n\};", text, re.S).group(1)
    for found in re.findall(r"\{(\d+), (\d+), (\d+), (\d+), (\d+)\}", table):
        i, size, out, kernel, stride = map(int, found)
        yield f"{i}x{size}x{size} {kernel}x{kernel}/{stride} -> {out}", i, size, out, kernel, stride


@contextlib.contextmanager
def limited(seconds):
    """Raises TimeoutError in its body after so many seconds, and again every ten in case somebody swallows it."""
    def late(*_):
        raise TimeoutError(f"more than {seconds} s")
    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds, 10)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


class Bench:
    def __init__(self, torch, args):
        self.torch, self.device, self.small = torch, torch.device(args.device), args.small
        self.cuda = self.device.type == "cuda"
        self.mode = args.mode if args.compiled else None

    def synchronize(self):
        if self.cuda:
            self.torch.cuda.synchronize(self.device)

    @contextlib.contextmanager
    def settings(self, timed=True, tf32=False):
        """float32 is strict unless TF32 is allowed. `timed`: cuDNN times its engines, and uses deterministic ones only,
        as Tandem always does."""
        cudnn, matmul = self.torch.backends.cudnn, self.torch.backends.cuda.matmul
        before = cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32, matmul.allow_tf32
        cudnn.benchmark = cudnn.deterministic = timed
        cudnn.allow_tf32 = matmul.allow_tf32 = tf32
        try:
            yield
        finally:
            cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32, matmul.allow_tf32 = before

    def compiled(self, function):
        """The function, compiled for the shapes of its first call if compiled steps are measured."""
        if self.mode is None:
            return function
        self.torch._dynamo.reset()
        return self.torch.compile(function, mode=self.mode, dynamic=False)

    def optimizer(self, kind, parameters, lr, **options):
        try:
            return kind(parameters, lr, **options, **({"fused": True} if self.cuda else {}))
        except (TypeError, RuntimeError):  # before PyTorch 2.3
            return kind(parameters, lr, **options)

    def device_seconds(self, call, repeats=10):
        times = []
        for i in range(-2, repeats):
            if self.cuda:
                begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                call()
                end.record()
                end.synchronize()
                spent = begin.elapsed_time(end) / 1e3
            else:
                began = time.perf_counter()
                call()
                spent = time.perf_counter() - began
            if i >= 0:
                times.append(spent)
        return statistics.median(times)

    # ---- LeNet epochs

    def lenet(self, half=False):
        torch, F = self.torch, self.torch.nn.functional
        sizes = [(20, 1, 3, 3), (20,), (50, 20, 5, 5), (50,), (800, 128), (128,), (128, 10), (10,)]
        p = [(torch.randn(s, device=self.device) * 0.01 if len(s) > 1 else torch.zeros(s, device=self.device))
             .requires_grad_() for s in sizes]

        def loss_of(x, y):
            # A graph cannot keep the converted weights, each of which is used once.
            with torch.autocast(self.device.type, torch.bfloat16, enabled=half, cache_enabled=False):
                h = F.avg_pool2d(F.relu(F.conv2d(x, p[0], p[1])), 2)
                h = F.avg_pool2d(F.relu(F.conv2d(h, p[2], p[3])), 2).flatten(1)
                h = torch.addmm(p[7], F.relu(torch.addmm(p[5], h, p[4])), p[6])
                return F.cross_entropy(h, y, reduction="sum")

        return loss_of, self.optimizer(torch.optim.SGD, p, 0.2 / 256)

    def epoch(self, step, images):
        torch = self.torch
        pixels = torch.randint(0, 256, (images, 1, 28, 28), device=self.device, dtype=torch.uint8)
        labels = torch.randint(0, 10, (images,), device=self.device)

        def run():
            self.synchronize()
            began = time.perf_counter()
            order = torch.randperm(images, device=self.device)
            total = torch.zeros((), device=self.device)
            for at in range(0, images, 256):
                chosen = order[at:at + 256]
                total += step(pixels.index_select(0, chosen).float().div_(255), labels.index_select(0, chosen))
            total.item()
            return time.perf_counter() - began

        run()
        return statistics.median(run() for _ in range(1 if self.small else 7))

    def images(self):
        return 512 if self.small else 60_000

    def p2_eager(self, name):
        """The last, smaller batch is not compiled."""
        loss_of, optimizer = self.lenet()
        fast = self.compiled(loss_of)

        def step(x, y):
            return self.train(fast if len(x) == 256 else loss_of, optimizer, x, y)

        with self.settings(timed=False):
            row(name, self.epoch(step, self.images()))

    def train(self, loss_of, optimizer, x, y, set_to_none=True):
        optimizer.zero_grad(set_to_none=set_to_none)
        loss = loss_of(x, y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    def p2_captured(self, name, tf32=False, half=False):
        """Full batches use a graph of the whole step; the last, smaller one runs eagerly."""
        torch = self.torch
        if not self.cuda:
            raise RuntimeError("needs a GPU")
        loss_of, optimizer = self.lenet(half)
        fast = self.compiled(loss_of)
        x = torch.zeros(256, 1, 28, 28, device=self.device)
        y = torch.zeros(256, dtype=torch.long, device=self.device)
        with self.settings(tf32=tf32):
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    self.train(fast, optimizer, x, y)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            optimizer.zero_grad(set_to_none=True)
            with torch.cuda.graph(graph):
                loss = self.train(fast, optimizer, x, y)

            def step(images, labels):
                if len(images) != 256:
                    return self.train(loss_of, optimizer, images, labels, set_to_none=False)
                x.copy_(images)
                y.copy_(labels)
                graph.replay()
                return loss

            row(name, self.epoch(step, self.images()))

    # ---- single operations

    def small_op(self):
        torch = self.torch
        a, b = torch.ones(8, device=self.device), torch.ones(8, device=self.device)
        times = []
        with torch.no_grad():
            for burst in range(-10, 200):
                self.synchronize()
                began = time.perf_counter()
                for _ in range(100):
                    torch.add(a, b)
                if burst >= 0:
                    times.append((time.perf_counter() - began) / 100)
        row("small_op", statistics.median(times))

    def matmul(self, name, tf32=False, dtype=None):
        torch, n = self.torch, 64 if self.small else 8192
        a, b = (torch.randn(n, n, device=self.device).to(dtype or torch.float32) for _ in range(2))
        with self.settings(timed=False, tf32=tf32):
            row(name, self.device_seconds(lambda: torch.mm(a, b)))

    def convolutions(self, wanted, suffix="", dtype=None):
        """The half types use channels_last, PyTorch's fastest way."""
        torch = self.torch
        kind = {"dtype": dtype or torch.float32,
                "memory_format": torch.channels_last if dtype else torch.contiguous_format}
        batch, repeats = (1, 1) if self.small else (32, 10)
        for name, i, size, out, kernel, stride in shapes():
            x = torch.randn(batch, i, size, size, device=self.device).to(**kind)
            w = torch.randn(out, i, kernel, kernel, device=self.device).to(**kind)
            at = {"stride": stride, "padding": kernel // 2}
            g = torch.randn_like(torch.nn.functional.conv2d(x, w, **at))

            def backward(mask):
                pair = [stride] * 2, [kernel // 2] * 2, [1, 1]
                return torch.ops.aten.convolution_backward(g, x, w, None, *pair, False, [0, 0], 1, mask)

            calls = {"conv_forward": lambda: torch.nn.functional.conv2d(x, w, **at),
                     "conv_input": lambda: backward([True, False, False]),
                     "conv_weight": lambda: backward([False, True, False])}
            with self.settings():
                for key, call in calls.items():
                    if key + suffix in wanted:
                        row(key + suffix, self.device_seconds(call, repeats), name)
            if self.small:
                break

    def bandwidth(self, wanted, suffix="", dtype=None):
        torch, size = self.torch, 1 << 16 if self.small else 1 << 30
        dtype = dtype or torch.float32
        count = size // dtype.itemsize
        a, b = (torch.rand(count, device=self.device, dtype=dtype) for _ in range(2))
        out = torch.empty_like(a)
        for name, passes, call in (("add", 3, lambda: a + b), ("relu", 2, lambda: torch.relu(a)),
                                   ("exp", 2, lambda: torch.exp(a)), ("copy", 2, lambda: out.copy_(a)),
                                   ("sum", 1, a.sum), ("mean", 1, a.mean), ("amax", 1, a.amax)):
            if name + suffix in wanted:
                row(name + suffix, passes * size / self.device_seconds(call))

    def attention(self, name, dtype):
        torch, length = self.torch, 64 if self.small else 16384
        x = torch.randn(1, length, 3, 12, 64, device=self.device, dtype=dtype, requires_grad=True)
        grad = torch.randn(1, 12, length, 64, device=self.device, dtype=dtype)

        def call():
            q, k, v = x.transpose(1, 3).unbind(2)
            out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            torch.autograd.grad(out, x, grad)

        if self.cuda:
            torch.cuda.reset_peak_memory_stats(self.device)
        with self.settings():
            row(name, self.device_seconds(call))
        if self.cuda:
            row(name + "_memory", torch.cuda.max_memory_allocated(self.device))

    # ---- training steps of whole networks

    def train_step(self, name, net, optimizer, half, loss_of):
        """Returns the bytes that tensors take on a GPU at the peak of a step."""
        torch, loss_of = self.torch, self.compiled(loss_of)
        net.train()

        def step():
            optimizer.zero_grad()
            with torch.autocast(self.device.type, torch.bfloat16, enabled=half):
                loss = loss_of()
            loss.backward()
            optimizer.step()

        step()  # what compiling takes does not count
        if self.cuda:
            torch.cuda.reset_peak_memory_stats(self.device)
        row(name, self.device_seconds(step, 1 if self.small else 10))
        return torch.cuda.max_memory_allocated(self.device) if self.cuda else 0

    def image_step(self, name, model, half=False):
        import torchvision
        torch, (images, side) = self.torch, (2, 64) if self.small else (64, 224)
        order = torch.channels_last if half else torch.contiguous_format  # the fastest for each
        net = getattr(torchvision.models, model)().to(self.device, memory_format=order)
        optimizer = self.optimizer(torch.optim.SGD, net.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
        x = torch.rand(images, 3, side, side, device=self.device).to(memory_format=order)
        y = torch.randint(0, 1000, (images,), device=self.device)
        self.train_step(name, net, optimizer, half, lambda: torch.nn.functional.cross_entropy(net(x), y))

    def resnet50(self, name, half):
        with self.settings():
            self.image_step(name, "resnet50", half)

    def gpt2(self, name):
        import transformers
        torch, (texts, length) = self.torch, (1, 16) if self.small else (8, 1024)
        config = transformers.GPT2Config(n_layer=1 if self.small else 12, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
        net = transformers.GPT2LMHeadModel(config).to(self.device)
        optimizer = self.optimizer(torch.optim.AdamW, net.parameters(), 1e-4)
        x, y = (torch.randint(0, 50257, (texts, length), device=self.device) for _ in range(2))
        with self.settings():
            peak = self.train_step(name, net, optimizer, True, lambda: torch.nn.functional.cross_entropy(
                net(x, use_cache=False).logits.flatten(0, 1), y.flatten()))
        if self.cuda:
            row(name + "_memory", peak)

    def gru(self, name):
        torch, (steps, batch) = self.torch, (4, 2) if self.small else (80, 32)
        gru, head = (net.to(self.device) for net in (torch.nn.GRU(40, 128, batch_first=True), torch.nn.Linear(128, 10)))
        net = torch.nn.ModuleList([gru, head])
        optimizer = self.optimizer(torch.optim.Adam, net.parameters(), 1e-3)
        x = torch.randn(batch, steps, 40, device=self.device)
        y = torch.randint(0, 10, (batch,), device=self.device)
        with self.settings():
            self.train_step(name, net, optimizer, False,
                            lambda: torch.nn.functional.cross_entropy(head(gru(x)[0][:, -1]), y))

    def generate(self, name, large):
        """With transformers, whose cache is as the model's default is."""
        import transformers
        torch, count = self.torch, 8 if self.small else 256
        shape = {} if large else {"n_layer": 4, "n_embd": 128, "n_head": 4, "vocab_size": 256, "n_positions": 512}
        if self.small:
            shape["n_layer"] = 1
        config = transformers.GPT2Config(bos_token_id=None, eos_token_id=None, **shape)
        net = transformers.GPT2LMHeadModel(config).to(self.device, torch.bfloat16 if large else torch.float32).eval()
        prompt = torch.ones(1, 16, dtype=torch.long, device=self.device)
        with self.settings(), torch.no_grad():
            seconds = self.device_seconds(lambda: net.generate(
                prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=count,
                min_new_tokens=count, pad_token_id=0), 1)
        row(name, seconds / count)


def groups_of(bench, half):
    """(names, what measures those of them that it is given, whether a compiled step can be measured, too)"""
    passes = ["conv_forward", "conv_input", "conv_weight"]
    streams = ["add", "relu", "exp", "copy", "sum", "mean", "amax"]
    # Those with the library's defaults come first.
    for model in ("resnet18", "resnet50", "vgg11", "mobilenet_v2"):
        yield ["train_" + model], lambda w, model=model: bench.image_step(w[0], model), True
    yield ["p2_epoch_eager"], lambda w: bench.p2_eager(w[0]), True
    yield ["small_op"], lambda w: bench.small_op(), False
    yield ["matmul_fp32"], lambda w: bench.matmul(w[0]), False
    yield ["matmul_tf32"], lambda w: bench.matmul(w[0], tf32=True), False
    yield ["matmul_bf16"], lambda w: bench.matmul(w[0], dtype=half), False
    yield passes, bench.convolutions, False
    yield [name + "_bf16" for name in passes], lambda w: bench.convolutions(w, "_bf16", half), False
    yield streams, bench.bandwidth, False
    yield [name + "_bf16" for name in streams], lambda w: bench.bandwidth(w, "_bf16", half), False
    yield ["attention_fp32"], lambda w: bench.attention(w[0], bench.torch.float32), False
    yield ["attention_bf16"], lambda w: bench.attention(w[0], half), False
    yield ["resnet50_fp32"], lambda w: bench.resnet50(w[0], False), True
    yield ["resnet50_bf16"], lambda w: bench.resnet50(w[0], True), True
    yield ["gpt2_bf16"], lambda w: bench.gpt2(w[0]), True
    yield ["gru_fp32"], lambda w: bench.gru(w[0]), False
    yield ["generate_fp32"], lambda w: bench.generate(w[0], False), False
    yield ["generate_bf16"], lambda w: bench.generate(w[0], True), False
    yield ["p2_epoch_captured"], lambda w: bench.p2_captured(w[0]), True
    yield ["p2_epoch_captured_tf32"], lambda w: bench.p2_captured(w[0], tf32=True), True
    yield ["p2_epoch_captured_bf16"], lambda w: bench.p2_captured(w[0], half=True), True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--small", action="store_true", help="use small sizes, to try the program out")
    parser.add_argument("--compiled", action="store_true", help="measure compiled training steps")
    parser.add_argument("--mode", default="default", help="torch.compile's mode (max-autotune-no-cudagraphs, ...)")
    parser.add_argument("--row-seconds", type=int, default=100, help="the most that a row may take")
    parser.add_argument("rows", nargs="*", metavar="ROW")
    args = parser.parse_args()
    if args.compiled:
        global SOURCE
        SOURCE = "compiled"
    try:
        import torch
    except ImportError as error:
        print(f"PyTorch is not installed: {error}")
        sys.exit(77)
    if args.device.startswith("cuda") and not torch.cuda.is_available():
        print(f"PyTorch {torch.__version__} finds no CUDA device")
        sys.exit(77)
    print(json.dumps({"fact": "PyTorch", "value": f"{torch.__version__}, CUDA {torch.version.cuda}, "
                                                  f"cuDNN {torch.backends.cudnn.version()}"}), flush=True)
    bench = Bench(torch, args)
    for names, measure, compilable in groups_of(bench, torch.bfloat16):
        wanted = [name for name in names if not args.rows or name in args.rows]
        if not wanted or (args.compiled and not compilable):
            continue
        try:
            with limited(args.row_seconds):
                measure(wanted)
        except Exception as error:  # a failing row must not prevent the others
            for name in wanted:
                absent(name, f"{type(error).__name__}: {error}")
        if bench.cuda:
            torch.cuda.empty_cache()


main()
