// The operation test harness: runs one OpTest in every mode.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/meta.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/core/random/philox.h"
#include "tandem/core/threads/parallel_for.h"
#include "tandem/testing.h"

namespace tandem::testing {
namespace {

const Device kHost(kCPU, 0);

double uniform(uint64_t seed, uint64_t draw, int64_t element) {
  const PhiloxBlock block = philox(seed, draw, static_cast<uint64_t>(element));
  return uniform_double(block.word[0], block.word[1]);
}

// n well separated values of both signs, shuffled with Philox.
std::vector<double> separated(int64_t n, uint64_t draw) {
  std::vector<double> out;
  for (int64_t i = 0; i < n; ++i) {
    const auto magnitude = 0.25 + 0.5 * static_cast<double>(i / 2);
    out.push_back(i % 2 == 0 ? magnitude : -magnitude - 0.1);
  }
  for (int64_t i = n - 1; i > 0; --i)
    std::swap(out[static_cast<std::size_t>(i)],
              out[static_cast<std::size_t>(uniform(23, draw, i) * static_cast<double>(i + 1))]);
  return out;
}

Tensor make_input(const InputSpec& spec, ScalarType floating, uint64_t draw) {
  const ScalarType type = spec.dtype == ScalarType::Undefined ? floating : spec.dtype;
  Tensor t = empty_raw(spec.sizes, kDouble, kHost);
  const std::vector<double> apart = spec.distinct ? separated(t.numel(), draw) : std::vector<double>();
  for (int64_t i = 0; i < t.numel(); ++i) {
    double value = spec.low + (spec.high - spec.low) * uniform(11, draw, i);
    if (!is_floating_point(type)) value = std::floor(value);
    // Rounded to float32, so both precisions compute with the same numbers.
    t.data_ptr<double>()[i] =
        static_cast<double>(static_cast<float>(spec.distinct ? apart[static_cast<std::size_t>(i)] : value));
  }
  t = t.to(type);
  if (spec.requires_grad && is_floating_point(type)) t.requires_grad_();
  return t;
}

// The same values with other strides: the last two dimensions are swapped in memory, the innermost stride is 2
// and the storage offset is 1.
Tensor scattered(const Tensor& t) {
  Dims sizes(t.sizes());
  if (sizes.empty() || t.numel() == 0) return t;
  const std::size_t n = sizes.size();
  if (n >= 2) std::swap(sizes[n - 1], sizes[n - 2]);
  Dims wide = sizes;
  wide.back() = 2 * wide.back() + 1;
  Tensor buffer = full(wide, 77, t.options());
  Dims strides(buffer.strides());
  strides.back() = 2;
  Dims shape(t.sizes());
  if (n >= 2) std::swap(strides[n - 1], strides[n - 2]);
  Tensor out = alias(buffer, shape, strides, 1);
  copy_raw(out, t.detach());
  return out.requires_grad_(t.requires_grad());
}

// The same values, channels-last.
Tensor channels_last(const Tensor& t) {
  const auto n = t.dim();
  if (n != 4 && n != 5) return t;
  const MemoryFormat format = n == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
  return t.detach().clone(format).requires_grad_(t.requires_grad());
}

Tensors map(const Tensors& in, const std::function<Tensor(const Tensor&)>& f) {
  Tensors out;
  for (const Tensor& t : in) out.push_back(f(t));
  return out;
}

Tensor leaf_on(const Tensor& t, Device device, ScalarType floating) {
  return t.detach()
      .to(device, t.is_floating_point() ? floating : t.dtype(), false, /*copy=*/true)
      .requires_grad_(t.requires_grad());
}

// `coarse`: with cotangents that bfloat16 represents.
Evaluation evaluated(const OpTest& test, const Tensors& inputs, bool coarse) {
  Evaluation e;
  Tensors wanted, outputs, cotangents;
  for (const Tensor& t : inputs)
    if (t.requires_grad()) wanted.push_back(t);
  e.outputs = test.fn(inputs);
  for (std::size_t i = 0; i < e.outputs.size(); ++i) {
    const Tensor& out = e.outputs[i];
    InputSpec spec = real(out.sizes().vec(), -1, 1);
    spec.requires_grad = false;
    e.cotangents.push_back(out.is_floating_point()
                               ? make_input(spec, coarse ? kBFloat16 : out.dtype(), 9000 + i)
                                     .to(out.device(), out.dtype(), false, false, out.suggest_memory_format())
                               : Tensor());
    if (!out.is_floating_point() || !out.requires_grad()) continue;
    outputs.push_back(out);
    cotangents.push_back(e.cotangents.back());
  }
  if (!test.first_order || wanted.empty()) return e;
  check(!outputs.empty(), "no output requires a gradient");
  e.gradients = autograd::grad(outputs, wanted, cotangents, nullopt, false, /*allow_unused=*/true);
  return e;
}

class Run {
 public:
  Run(const OpTest& test, const References& references) : test_(test), references_(references) {}

  Report go() {
    for (std::size_t i = 0; i < test_.cases.size(); ++i) {
      index_ = i;
      guarded("values", [&] { values(); });
      if (test_.first_order) guarded("gradients", [&] { gradients(); });
      if (test_.first_order) guarded("single gradients", [&] { single_gradients(); });
      if (test_.first_order) guarded("release", [&] { releases(); });
      if (test_.noncontiguous) guarded("strides", [&] { strides(); });
      if (test_.noncontiguous) guarded("channels-last", [&] { layouts(); });
      guarded("threads", [&] { threads(); });
      guarded("devices", [&] { devices(); });
      guarded("half types", [&] { halves(); });
    }
    for (const Refusal& refusal : test_.refusals) refused(refusal);
    return std::move(report_);
  }

 private:
  template <class F>
  void guarded(const char* mode, F&& f) {
    mode_ = mode;
    try {
      f();
    } catch (const std::exception& error) {
      failed(error.what());
    }
  }
  void failed(const std::string& why) {
    report_.failures.push_back(concat(test_.name, ", case ", index_, ", ", mode_, ": ", why));
  }
  void expect_close(const Tensor& got, const Tensor& wanted, double tolerance, const std::string& what) {
    ++report_.checks;
    std::string why;
    if (got.defined() != wanted.defined())
      failed(what + (got.defined() ? ": a gradient where none was expected" : ": no gradient"));
    else if (got.defined() && !close(got, wanted, tolerance, &why))
      failed(what + ": " + why);
  }
  void compare(const Evaluation& got, const Evaluation& wanted, double tolerance, const char* what) {
    for (std::size_t i = 0; i < wanted.outputs.size(); ++i)
      expect_close(got.outputs.at(i), wanted.outputs[i], tolerance, concat(what, " output ", i));
    for (std::size_t i = 0; i < wanted.gradients.size(); ++i)
      expect_close(got.gradients.at(i), wanted.gradients[i], tolerance, concat(what, " gradient ", i));
  }

  void against_references(const Evaluation& got, ScalarType type, double tolerance) {
    if (!references_) return;
    const std::string key = concat(test_.name, "/", index_, "/", tandem::name(type), "/");
    for (std::size_t i = 0; i < got.outputs.size(); ++i)
      if (const Tensor wanted = references_(concat(key, "output", i)); wanted.defined())
        expect_close(got.outputs[i], wanted, tolerance, concat("against PyTorch, output ", i));
    for (std::size_t i = 0; i < got.gradients.size(); ++i)
      if (const Tensor wanted = references_(concat(key, "gradient", i)); wanted.defined())
        expect_close(got.gradients[i], wanted, tolerance, concat("against PyTorch, gradient ", i));
  }

  void values() {
    const Evaluation narrow = evaluate(test_, make_inputs(test_, index_, kFloat));
    const Evaluation wide = evaluate(test_, make_inputs(test_, index_, kDouble));
    against_references(narrow, kFloat, test_.tolerance32);
    against_references(wide, kDouble, test_.tolerance64);
    Evaluation rounded = wide;
    const auto like = [](Tensors& to, const Tensors& types) {
      for (std::size_t i = 0; i < to.size() && i < types.size(); ++i)
        if (to[i].defined() && types[i].defined()) to[i] = to[i].detach().to(types[i].dtype());
    };
    like(rounded.outputs, narrow.outputs);
    like(rounded.gradients, narrow.gradients);
    compare(narrow, rounded, test_.tolerance32, "float32 against float64,");
  }

  // On numbers that both half types represent, against float64.
  void halves() {
    const auto as = [](ScalarType type) { return [type](const Tensor& t) { return leaf_on(t, kHost, type); }; };
    const Tensors inputs = map(make_inputs(test_, index_, kFloat), as(kBFloat16));
    if (test_.half_units == 0) {
      refuses(inputs, kBFloat16);
      return refuses(map(inputs, as(kHalf)), kHalf);
    }
    const Evaluation wide = evaluated(test_, map(inputs, as(kDouble)), true);
    half_results(kHost, inputs, wide);
    if (device_count(kCUDA) > 0) half_results(Device(kCUDA, 0), inputs, wide);
  }
  void half_results(Device device, const Tensors& inputs, const Evaluation& wide) {
    for (const ScalarType type : {kBFloat16, kHalf}) {
      const Evaluation half =
          evaluated(test_, map(inputs, [&](const Tensor& t) { return leaf_on(t, device, type); }), true);
      // Some operations say that their result is float64.
      const auto rounded = [type](const Tensors& exact, const Tensors& got) {
        Tensors out;
        for (std::size_t i = 0; i < exact.size(); ++i) {
          const bool keep = !exact[i].defined() || exact[i].dtype() != kDouble || got.at(i).dtype() == kDouble;
          out.push_back(keep ? exact[i] : exact[i].detach().to(type));
        }
        return out;
      };
      const Evaluation wanted{rounded(wide.outputs, half.outputs), {}, map(wide.gradients, [type](const Tensor& t) {
                                return t.defined() ? t.detach().to(type) : t;
                              })};
      compare(half, wanted, test_.half_units * (type == kHalf ? 0x1p-10 : 0x1p-7),
              concat(type, " on ", device, " against float64,").c_str());
    }
  }
  // The message must name the dtype or the operation, so that another error does not count as a refusal.
  void refuses(const Tensors& inputs, ScalarType type) {
    for (const Tensor& t : inputs)
      if (t.numel() == 0) return;
    ++report_.checks;
    try {
      test_.fn(inputs);
      failed(concat("no error for ", type));
    } catch (const Error& error) {
      std::string message = error.what(), operation = test_.name.substr(0, test_.name.find(' '));
      for (std::string* text : {&message, &operation})
        std::replace(text->begin(), text->end(), '.', '_');  // linalg.inv is linalg_inv
      // "bfloat16" does not name float16.
      const auto named = [&](const std::string& word) {
        for (std::size_t at = 0; (at = message.find(word, at)) != std::string::npos; ++at)
          if (at == 0 || std::isalnum(static_cast<unsigned char>(message[at - 1])) == 0) return true;
        return false;
      };
      if (!named(concat(type)) && !named(operation))
        failed(concat("the error names neither ", type, " nor ", operation, ": ", error.what()));
    }
  }

  void gradients() {
    const Tensors inputs = make_inputs(test_, index_, kDouble);
    bool any = false;
    for (const Tensor& t : inputs) any |= t.requires_grad();
    if (!any) return;
    ++report_.checks;
    gradcheck(test_.fn, inputs);
    if (!test_.second_order) return;
    ++report_.checks;
    mode_ = "second gradients";
    gradgradcheck(test_.fn, inputs);
  }

  // Operations compute less if only one input requires a gradient, which is the same.
  void single_gradients() {
    const Tensors inputs = make_inputs(test_, index_, kDouble);
    const auto wants = [](const Tensor& t) { return t.requires_grad(); };
    if (std::count_if(inputs.begin(), inputs.end(), wants) < 2) return;
    const Evaluation all = evaluate(test_, inputs);
    std::size_t g = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].requires_grad()) continue;
      const Tensor& wanted = all.gradients[g++];
      if (!wanted.defined()) continue;
      Tensors alone = map(inputs, [](const Tensor& t) { return t.detach(); });
      alone[i] = alone[i].clone().requires_grad_();
      expect_close(evaluate(test_, alone).gradients.at(0), wanted, test_.tolerance64,
                   concat("gradient of input ", i, " alone"));
    }
  }

  // After the last backward pass no node holds a tensor, neither of the operation nor of its gradients.
  void releases() {
    const Tensors leaves = make_inputs(test_, index_, kFloat);
    if (std::none_of(leaves.begin(), leaves.end(), [](const Tensor& t) { return t.requires_grad(); })) return;
    std::vector<autograd::NodePtr> graph;
    ran(leaves, graph);  // fills caches
    graph.clear();
    const int64_t before = memory_stats(kHost).current_bytes;
    ran(leaves, graph);
    ++report_.checks;
    if (const int64_t held = memory_stats(kHost).current_bytes - before; held != 0)
      failed(concat("the graph holds ", held, " bytes after backward without retain_graph"));
  }
  // Runs the operation and its backward passes, and adds the nodes of the outputs and of the gradients to `graph`. The
  // inputs are copies: accumulators hold their leaves.
  void ran(const Tensors& leaves, std::vector<autograd::NodePtr>& graph) {
    Tensors wanted, outputs, cotangents;
    for (const Tensor& t : leaves)
      if (t.requires_grad()) wanted.push_back(t);
    const auto add = [&](const Tensors& results) {
      for (const Tensor& t : results) {
        if (!t.defined() || !t.requires_grad()) continue;
        outputs.push_back(t);
        cotangents.push_back(ones_like(t));
        graph.push_back(autograd::gradient_edge(t).function);
      }
    };
    add(test_.fn(map(leaves, [](const Tensor& t) { return t.requires_grad() ? t.clone() : t; })));
    if (test_.second_order)
      add(autograd::grad(outputs, wanted, cotangents, nullopt, /*create_graph=*/true, /*allow_unused=*/true));
    autograd::grad(outputs, wanted, cotangents, nullopt, false, /*allow_unused=*/true);
  }

  void strides() {
    const Tensors inputs = make_inputs(test_, index_, kDouble);
    compare(evaluate(test_, map(inputs, scattered)), evaluate(test_, inputs), test_.tolerance64, "other strides,");
  }

  // The same bits, whatever the layout.
  void layouts() {
    const Tensors inputs = make_inputs(test_, index_, kFloat);
    if (std::none_of(inputs.begin(), inputs.end(), [](const Tensor& t) { return t.dim() == 4 || t.dim() == 5; }))
      return;
    const Evaluation last = evaluate(test_, map(inputs, channels_last)), rows = evaluate(test_, inputs);
    same_bits(last.outputs, rows.outputs, "output", "row-major and channels-last inputs");
    same_bits(last.gradients, rows.gradients, "gradient", "row-major and channels-last inputs");
  }

  void same_bits(const Tensors& a, const Tensors& b, const char* what, const char* between) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      ++report_.checks;
      const bool same = a[i].defined() ? identical(a[i], b[i]) : !b[i].defined();
      if (!same) failed(concat(what, " ", i, " differs between ", between));
    }
  }

  void threads() {
    const int before = get_num_threads();
    set_num_threads(1);
    const Evaluation one = evaluate(test_, make_inputs(test_, index_, kFloat));
    set_num_threads(3);
    const Evaluation three = evaluate(test_, make_inputs(test_, index_, kFloat));
    set_num_threads(before);
    same_bits(one.outputs, three.outputs, "output", "1 and 3 threads");
    same_bits(one.gradients, three.gradients, "gradient", "1 and 3 threads");
  }

  void devices() {
    std::vector<Device> others;
    for (int i = 1; i < device_count(kCPU); ++i) others.emplace_back(kCPU, static_cast<DeviceIndex>(i));
    for (int i = 0; i < device_count(kCUDA); ++i) others.emplace_back(kCUDA, static_cast<DeviceIndex>(i));
    if (device_count(kCUDA) == 0 && index_ == 0)
      report_.skipped.push_back(concat(test_.name, " on cuda: ", cuda_reason()));
    for (const ScalarType type : {kFloat, kDouble}) {
      const Tensors inputs = make_inputs(test_, index_, type);
      const Evaluation here = evaluate(test_, inputs);
      for (const Device device : others) {
        const Tensors there = map(inputs, [&](const Tensor& t) { return leaf_on(t, device, type); });
        on_device(device, there, here, type, "");
        if (test_.noncontiguous && type == kDouble)
          on_device(device, map(there, scattered), here, type, ", other strides");
        if (test_.noncontiguous && type == kFloat)
          on_device(device, map(there, channels_last), here, type, ", channels-last");
      }
    }
  }
  void on_device(Device device, const Tensors& inputs, const Evaluation& here, ScalarType type, const char* what) {
    const Evaluation there = evaluate(test_, inputs);
    for (const Tensor& t : there.outputs)
      if (t.device() != device) failed(concat("an output is on ", t.device(), " instead of ", device));
    // Integers produce float32, whatever the type of the other inputs.
    const bool narrow = type == kFloat || std::any_of(here.outputs.begin(), here.outputs.end(),
                                                      [](const Tensor& t) { return t.dtype() == kFloat; });
    compare(there, here, narrow ? test_.tolerance32 : test_.tolerance64, concat(device, what).c_str());
  }

  void refused(const Refusal& refusal) {
    ++report_.checks;
    mode_ = "refusal";
    try {
      refusal.make(kHost);
      failed(concat("no error; expected one with \"", refusal.text, "\""));
    } catch (const Error& error) {
      if (std::string_view(error.what()).find(refusal.text) == std::string_view::npos)
        failed(concat("the error does not contain \"", refusal.text, "\": ", error.what()));
    }
  }

  const OpTest& test_;
  const References& references_;
  Report report_;
  std::size_t index_ = 0;
  const char* mode_ = "";
};

}  // namespace

InputSpec real(std::vector<int64_t> sizes, double low, double high) { return {std::move(sizes), low, high}; }
InputSpec distinct(std::vector<int64_t> sizes) { return {.sizes = std::move(sizes), .distinct = true}; }
InputSpec constant(std::vector<int64_t> sizes, double low, double high) {
  return {.sizes = std::move(sizes), .low = low, .high = high, .requires_grad = false};
}
InputSpec integers(std::vector<int64_t> sizes, int64_t low, int64_t high, ScalarType dtype) {
  return {std::move(sizes), static_cast<double>(low), static_cast<double>(high), dtype, false};
}
InputSpec booleans(std::vector<int64_t> sizes) { return {std::move(sizes), 0, 2, kBool, false}; }

Tensors make_inputs(const OpTest& test, std::size_t index, ScalarType dtype) {
  Tensors out;
  for (const InputSpec& spec : test.cases.at(index)) out.push_back(make_input(spec, dtype, 100 * index + out.size()));
  return out;
}

Evaluation evaluate(const OpTest& test, const Tensors& inputs) { return evaluated(test, inputs, false); }

bool close(const Tensor& a, const Tensor& b, double tolerance, std::string* why) {
  std::string text;
  if (a.sizes() != b.sizes() || a.dtype() != b.dtype()) {
    text = concat("got ", a, ", expected ", b);
  } else {
    const Tensor x = a.detach().to(kHost, kDouble).contiguous(), y = b.detach().to(kHost, kDouble).contiguous();
    for (int64_t i = 0; i < x.numel() && text.empty(); ++i) {
      const double p = x.data_ptr<double>()[i], q = y.data_ptr<double>()[i];
      const bool good = p == q || (std::isnan(p) && std::isnan(q)) ||
                        (std::isfinite(q) && std::abs(p - q) <= tolerance * (1 + std::abs(q)));
      if (!good) text = concat("element ", i, " of ", a.describe(), ": got ", p, ", expected ", q);
    }
  }
  if (why != nullptr) *why = text;
  return text.empty();
}

bool identical(const Tensor& a, const Tensor& b) {
  if (!b.defined() || a.sizes() != b.sizes() || a.dtype() != b.dtype()) return false;
  const Tensor x = a.detach().to(kHost).contiguous(), y = b.detach().to(kHost).contiguous();
  return x.numel() == 0 || std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0;
}

Report run(const OpTest& test, const References& references) { return Run(test, references).go(); }

}  // namespace tandem::testing
