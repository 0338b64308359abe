#!/usr/bin/env python3
"""Follows the recipes of CONTRIBUTING.md in a copy of the tree, and compiles what they touch. Not part of the suite.

    tests/recipes.py [--test] [--keep FOLDER] [RECIPE...]     RECIPE: function, kernel, optimizer, layer; all without

Each recipe is a small example: edits in the order of the recipe's numbered list, which must name their files. `--test`
also builds the programs of the tests that the recipe adds to, and runs them. `--keep` makes the copy and its build
folder in FOLDER, where a second run finds what the first one has compiled. Needs CUDA's headers.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Edit:
    """Inserts `text` before the first line of a file in which `before` begins; makes a new file if that is None."""

    def __init__(self, path, before, text):
        self.path, self.before, self.text = path, before, text.removeprefix("\n")

    def make(self, tree):
        path = tree / self.path
        if self.before is None:
            assert not (ROOT / self.path).exists(), path
            path.write_text(self.text)
            return
        old = path.read_text()
        assert self.before in old, f"{self.path} lacks {self.before}"
        line = old.rfind("\n", 0, old.index(self.before)) + 1
        path.write_text(old[:line] + self.text + old[line:])


class Recipe:
    """`title` begins the recipe in CONTRIBUTING.md. `objects`: sources that the edits of headers concern, as globs.
    `tests`: names of tests."""

    def __init__(self, title, edits, objects=(), tests=()):
        self.title, self.edits, self.objects, self.tests = title, edits, objects, tests

    def steps(self):
        """For each numbered step, the patterns of the files that its first sentence begins with."""
        text = (ROOT / "CONTRIBUTING.md").read_text()
        assert text.count(self.title) == 1, self.title
        found = []
        for line in text[text.index(self.title):].splitlines()[1:]:
            step = re.match(r"(\d+)\. (`[^`]+`(?: and `[^`]+`)*)", line)
            if step:
                assert int(step[1]) == len(found) + 1, line
                found.append(re.findall(r"`([^`]+)`", step[2]))
            elif found and line and not line.startswith("   "):
                break
        return found

    def check_steps(self):
        """Every edit belongs to one step, in the order of the steps, and every step has one."""
        wanted = [pattern for step in self.steps() for pattern in step]
        edited = list(dict.fromkeys(e.path for e in self.edits))
        fits = len(wanted) == len(edited) and all(
            re.fullmatch(re.sub(r"NAME|FAMILY|\\\*", r"[\\w/]+", re.escape(p)) + (r".+" if p.endswith("/") else ""), e)
            for p, e in zip(wanted, edited))
        assert fits, f"{self.title}: CONTRIBUTING.md names {wanted}, the example edits {edited}"


FUNCTION = Recipe("An elementwise operation of one tensor takes", [
    Edit("core/formulas/exponential_ops.h", "struct Expm1 :", """
struct Gaussian : Elementwise<"gaussian", FloatTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x) { return math::exp(-(x * x)); }
  TANDEM_HD static auto gradient(const auto& g, const auto& x) { return g * (-2 * x * exp(-(x * x))); }
};
"""),
    Edit("core/backend/unary.h", "// trigonometric_ops.h", "    struct Gaussian,\n"),
    Edit("autograd/ops/pointwise/unary.h", "Tensor log2(", "/// exp(-self²)\nTensor gaussian(const Tensor& self);\n"),
    Edit("autograd/ops/pointwise/unary.cpp", "TANDEM_UNARY(log2,", "TANDEM_UNARY(gaussian, unary_float, Gaussian)\n"),
    Edit("core/tensor.h", "  Tensor log2() const;", "  Tensor gaussian() const;\n  Tensor& gaussian_() const;\n"),
    Edit("tests/ops/unary_table.cpp", "{BOTH(log2),", """
      {BOTH(gaussian), .torch = "lambda x: torch.exp(-x * x)"},
"""),
], ["core/cpu/pointwise/unary_*.cpp", "cuda/ops/unary_*.cu"], ["pointwise"])

KERNEL = Recipe("An operation with its own kernel takes", [
    Edit("core/backend/scan.h", "/// out (int64):", """
  /// The elements of `dim` from the last one to the first.
  Kernel<"mirror", void(const Tensor& out, const Tensor& in, int64_t dim)> mirror;
"""),
    Edit("core/cpu/scan.cpp", "void cummax(", """
void mirror(const Tensor& out, const Tensor& in, int64_t dim) {
  const LineSplit s(in.sizes(), dim);
  dispatch(in.dtype(), ScanTypes{}, "mirror", [&]<class T>(Type<T>) {
    parallel_for(in.numel(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) {
        const int64_t i = at / s.inner % s.n;
        out.ptr<T>()[at] = in.ptr<T>()[at + (s.n - 1 - 2 * i) * s.inner];
      }
    });
  });
}

"""),
    Edit("core/cpu/scan.cpp", ".cummax = cummax};", "    .mirror = mirror,\n"),
    Edit("cuda/ops/scan.cu", "void cummax(", """
template <class T>
__global__ void mirror_kernel(T* out, const T* in, int64_t count, int64_t n, int64_t inner) {
  const int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at < count) out[at] = in[at + (n - 1 - 2 * (at / inner % n)) * inner];
}
void mirror(const Tensor& out, const Tensor& in, int64_t dim) {
  const LineSplit s(in.sizes(), dim);
  dispatch(in.dtype(), ScanTypes{}, "mirror", [&]<class T>(Type<T>) {
    launch("mirror", context(out.device()), grid_for(in.numel()), mirror_kernel<T>, out.ptr<T>(), in.ptr<T>(),
           in.numel(), s.n, s.inner);
  });
}
"""),
    Edit("cuda/ops/scan.cu", ".cummax = cummax};", "    .mirror = mirror,\n"),
    Edit("autograd/ops/reduce/mirror.cpp", None, """
// mirror.
#include "tandem/autograd/ops/reduce/running.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/scan.h"

namespace tandem {
namespace {
using namespace autograd;

struct MirrorBackward final : NamedNode<MirrorBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = mirror(g[0], dim); }
  int64_t dim = 0;
};

}  // namespace

Tensor mirror(const Tensor& self, int64_t dim) {
  dim = wrap_dim(dim, self.dim());
  check(self.is_floating_point() || self.dtype() == kLong, "mirror: expected floating point or int64, got ", self);
  Tensor out = empty_raw(self.sizes(), self.dtype(), self.device());
  if (self.numel() > 0) backend(self).scan.mirror(out, self.detach().contiguous(), dim);
  if (auto* node = record<MirrorBackward>(out, self)) node->dim = dim;
  return out;
}
Tensor Tensor::mirror(int64_t dim) const { return tandem::mirror(*this, dim); }

}  // namespace tandem
"""),
    Edit("autograd/ops/meson.build", "'reduce/norm.cpp'", "  'reduce/mirror.cpp',\n"),
    Edit("autograd/ops/reduce/running.h", "/// The integral along", """
/// The elements of `dim` from the last one to the first.
Tensor mirror(const Tensor& self, int64_t dim);

"""),
    Edit("core/tensor.h", "  Tensor logcumsumexp(", "  Tensor mirror(int64_t dim) const;\n"),
    Edit("tests/ops/numeric_table.cpp", "{OPERATION(logcumsumexp,", """
      {OPERATION(mirror, T(CT, I)), .torch = "lambda x, dim: x.flip(dim)",
       .examples = {{"mirror", "x0, 1", {{real({2, 5})}, {real({2, 3, 4})}}}}},
"""),
], tests=["ops"])

OPTIMIZER = Recipe("An optimizer that is composed of operations takes", [
    Edit("nn/optim/lion.h", None, """
// Lion (X. Chen et al.: Symbolic discovery of optimization algorithms. NeurIPS 2023).
#pragma once
#include <tuple>

#include "tandem/nn/optim/optimizer.h"

namespace tandem::optim {

struct LionOptions : public OptimizerCloneableOptions<LionOptions> {
  LionOptions(double lr = 1e-4) : lr_(lr) {}
  std::vector<Field> fields() override;
  void validate() const override;
  using Betas = std::tuple<double, double>;
  TANDEM_ARG(double, lr);
  TANDEM_ARG(Betas, betas) = std::make_tuple(0.9, 0.99);
  /// Shrinks the parameter by lr weight_decay of it.
  TANDEM_ARG(double, weight_decay) = 0;
};

struct LionParamState : public OptimizerCloneableParamState<LionParamState> {
  std::vector<Field> fields() override;
  TANDEM_ARG(Tensor, exp_avg);
};

TANDEM_COMPOSED_OPTIMIZER(Lion);

}  // namespace tandem::optim
"""),
    Edit("nn/optim/lion.cpp", None, """
// Lion, composed of operations.
#include "tandem/nn/optim/lion.h"

#include "tandem/nn/optim/composed_step.h"

namespace tandem::optim {
namespace {

void update(Tensor p, const LionOptions& o, LionParamState& state) {
  ensure_state(state.exp_avg(), p);
  const auto [beta1, beta2] = o.betas();
  const Tensor gradient = p.grad().detach();
  p.mul_(1 - o.lr() * o.weight_decay());
  p.add_(state.exp_avg().lerp(gradient, 1 - beta1).sign_(), -o.lr());
  state.exp_avg().lerp_(gradient, 1 - beta2);
}

}  // namespace

std::vector<Field> LionOptions::fields() {
  return {{.name = "lr", .number = &lr_},
          {.name = "beta1", .number = &std::get<0>(betas_)},
          {.name = "beta2", .number = &std::get<1>(betas_)},
          {.name = "weight_decay", .number = &weight_decay_}};
}
void LionOptions::validate() const {
  check_not_negative("learning rate", lr());
  check_unit("beta parameter at index 0", std::get<0>(betas()));
  check_unit("beta parameter at index 1", std::get<1>(betas()));
  check_not_negative("weight_decay value", weight_decay());
}
std::vector<Field> LionParamState::fields() { return {{.name = "exp_avg", .tensor = &exp_avg_}}; }

TANDEM_DEFINE_COMPOSED(Lion)

}  // namespace tandem::optim
"""),
    Edit("nn/optim/meson.build", "'nadam.cpp'", "  'lion.cpp',\n"),
    Edit("nn/optim/optim.h", "nadam.h", '#include "tandem/nn/optim/lion.h"\n'),
    Edit("docs/reference/optim.dox", "/**\n@class tandem::optim::NAdam", """
/**
@class tandem::optim::Lion
@par Formula
- `p ← (1 - lr weight_decay) p - lr sign(β₁ m + (1 - β₁) g)`
- `m ← β₂ m + (1 - β₂) g`

g: the gradient. m starts at 0.
@par Source
X. Chen et al.: Symbolic discovery of optimization algorithms. NeurIPS 2023.
*/
"""),
    Edit("packaging/debugger/tandem_printers.py", '"NAdamOptions"',
         '    "LionOptions": "d lr betas betas d weight_decay",\n'),
    Edit("tests/debugger/debugged.cpp", '"NAdamOptions"', '  print_options("LionOptions", optim::LionOptions());\n'),
    Edit("tests/nn/optim/adaptive_test.cpp", "  expect<NAdam>(NAdamOptions(), 4", """
  expect<Lion>(LionOptions(0.1), 1, {0.9, -1.9, 2.9});
  expect<Lion>(LionOptions(0.1).weight_decay(0.5), 1, {0.85, -1.8, 2.75});
"""),
], tests=["nn"])

LAYER = Recipe("A layer in a file of its own takes", [
    Edit("nn/options/activation.h", "TANDEM_OPTION(GLUOptions", """
struct SoftCapOptions {
  SoftCapOptions(double cap) : cap_(cap) {}
  TANDEM_ARG(double, cap);
};
"""),
    Edit("nn/options/activation.h", "using GLUFuncOptions", "using SoftCapFuncOptions = SoftCapOptions;\n"),
    Edit("nn/functional/activation.h", "Tensor tanhshrink(",
         "Tensor soft_cap(const Tensor& input, const SoftCapFuncOptions& options);\n"),
    Edit("nn/layers/soft_cap.h", None, """
// SoftCap.
#pragma once
#include "tandem/nn/layers/activation.h"

namespace tandem::nn {

class SoftCapImpl : public detail::Optioned<SoftCapImpl, SoftCapOptions> {
 public:
  /// Throws Error unless the cap is positive.
  explicit SoftCapImpl(const SoftCapOptions& options_);
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(SoftCap);

}  // namespace tandem::nn
"""),
    Edit("nn/layers/soft_cap.cpp", None, """
// SoftCap with its functional form.
#include "tandem/nn/layers/soft_cap.h"

#include <ostream>

#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/nn/functional/activation.h"

namespace tandem::nn::functional {

Tensor soft_cap(const Tensor& input, const SoftCapFuncOptions& options) {
  return (input / options.cap()).tanh() * options.cap();
}

}  // namespace tandem::nn::functional

namespace tandem::nn {

SoftCapImpl::SoftCapImpl(const SoftCapOptions& options_) : Optioned(options_) {
  check(options.cap() > 0, "SoftCap: the cap must be positive, got ", options.cap());
}
Tensor SoftCapImpl::forward(const Tensor& input) { return functional::soft_cap(input, options); }
void SoftCapImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::SoftCap(" << options.cap() << ")";
}

}  // namespace tandem::nn
"""),
    Edit("nn/layers/meson.build", "'transformer.cpp'", "  'soft_cap.cpp',\n"),
    Edit("nn/nn.h", "layers/transformer.h", '#include "tandem/nn/layers/soft_cap.h"\n'),
    Edit("docs/reference/layers.dox", '@ref tandem::nn::ThresholdImpl "Threshold"',
         '| @ref tandem::nn::SoftCapImpl "SoftCap" | bounds values smoothly |\n'),
    Edit("docs/reference/layers.dox", "/**\n@class tandem::nn::SoftshrinkImpl", """
/**
@class tandem::nn::SoftCapImpl
@par Formula
`y = cap tanh(x / cap)`
@par Shapes
any shape → the same shape
@par Source
Gemma Team: Gemma 2, improving open language models at a practical size. arXiv:2408.00118, section 2.
*/

"""),
    Edit("tests/nn/layers/activation_test.cpp", "  CHECK(near(nn::Tanhshrink()(x)", """
  CHECK(near(nn::SoftCap(2.0)(x), {-1.5231884, -0.2487060, 0.2487060, 1.5231884}));
  CHECK_THROWS_AS(nn::SoftCap(0.0), Error);
"""),
    Edit("tests/onnx/export_layers.cpp", '  layer("Tanhshrink"', '  layer("SoftCap", SoftCap(2.0), {kRow});\n'),
], tests=["nn", "onnx_export_layers"])

RECIPES = {"function": FUNCTION, "kernel": KERNEL, "optimizer": OPTIMIZER, "layer": LAYER}


def run(*words, **options):
    print("+", *words, flush=True)
    subprocess.run(words, check=True, **options)


def copy_tree(to):
    """The files that Git knows or would add. Those that are the same keep their times: Ninja goes by them."""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        source, target = ROOT / name, to / name
        if source.is_file() and not (target.is_file() and target.read_bytes() == source.read_bytes()):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)


def follow(recipe, tree, build, test):
    recipe.check_steps()
    for edit in recipe.edits:
        edit.make(tree)
    touched = [tree / e.path for e in recipe.edits] + [f for glob in recipe.objects for f in tree.glob(glob)]
    # In the emulation, a .cu file is compiled from a generated one that includes it.
    emulated = [re.sub(r"[/.]", "_", str(f.relative_to(tree / "cuda"))) + ".cpp" for f in touched if f.suffix == ".cu"]
    run("ninja", "-C", build, "build.ninja", stdout=subprocess.DEVNULL)
    database = subprocess.run(["ninja", "-C", build, "-t", "compdb"], check=True, capture_output=True, text=True).stdout
    commands = {entry["output"]: entry["command"] for entry in json.loads(database)
                if (build / entry["file"]).resolve() in touched or pathlib.Path(entry["file"]).name in emulated}
    objects = sorted(o for o in commands if o.endswith(".o"))
    run("ninja", "-C", build, *(o for o in objects if not o.startswith("tests/")))
    for o in objects:  # ninja would first build the libraries that the tests link
        if o.startswith("tests/"):
            print("+", o, flush=True)
            (build / o).parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(commands[o], shell=True, cwd=build, check=True)
    if test and recipe.tests:
        run("python3", tree / "tests/run.py", build, *recipe.tests)
    return len(objects)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--test", action="store_true", help="build and run the tests, too")
    parser.add_argument("--keep", metavar="FOLDER", type=pathlib.Path, help="make the copy there")
    parser.add_argument("recipes", metavar="RECIPE", nargs="*", help=", ".join(RECIPES))
    args = parser.parse_args()
    unknown = [name for name in args.recipes if name not in RECIPES]
    if unknown:
        parser.error(f"no recipe {unknown[0]}; there are {', '.join(RECIPES)}")
    with tempfile.TemporaryDirectory() as work:
        folder = (args.keep or pathlib.Path(work)).resolve()
        tree, build = folder / "tandem", folder / "build"
        results = []
        for name in args.recipes or RECIPES:
            recipe = RECIPES[name]
            copy_tree(tree)
            if not (build / "build.ninja").exists():
                run("meson", "setup", build, tree, "-Dcuda=emulated", "-Db_pch=false", stdout=subprocess.DEVNULL)
            count = follow(recipe, tree, build, args.test)
            results.append(f"{name}: {len({e.path for e in recipe.edits})} files by hand, {count} objects compiled")
            for edit in recipe.edits:
                if edit.before is None:
                    (tree / edit.path).unlink(missing_ok=True)
        print("\n".join(results))


if __name__ == "__main__":
    main()
