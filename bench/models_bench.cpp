// Inference and training steps of the published models and of the networks in networks.h, and where their time goes.
//
//   bench_models [MODEL...] [--what infer|fused|train|decode] [--batch N,N] [--threads N,N] [--seconds S] [--layers]
//                [--size N] [--precision fp32|bf16|fp16] [--weights-bits 8] [--captured]
//
// MODEL is a published model or one of networks.h; tiny (a perceptron 20-32-5), small (24-64-64-4), cell (an LSTM cell in a
// loop of 20 steps) or lenet; or a file NAME.onnx, of which the first input gets random numbers.
// Without arguments: all models, inference with batch 1 and 8, training with batch 4 and 8, on 1 and 2 threads. Each
// line is MODEL WHAT BATCH THREADS, then the smallest and the median milliseconds per step (processor time on one
// thread), which bench/models.py compares with PyTorch's, and the peak of tensors' memory in MiB, without the model
// and its input. `fused` is inference after nn::fuse. `decode` is the time per token that GPT-2 generates after 16 given
// ones.
//
// With --captured every step but those of `decode` is also a CapturedStep, in turn with the eager one; a second line WHAT
// +captured has its times, and how many times as fast it is.
//
// In another precision, training runs under autocast, and for everything else the whole model is converted (for `fused`
// after fusing). --weights-bits quantises the weights (nn/quantize.h) for everything but training.
//
// --layers also measures each distinct layer alone, converted to that precision, with the shapes that it has in the
// model, and prints the layers sorted by lost time: the time that they would save at the roofline, which is the larger of
// arithmetic at the rate of a matrix product of 1024 x 1024 x 1024 and memory traffic at the bandwidth of an addition of
// 64 MiB tensors, both measured in the same run.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "networks.h"
#include "tandem/cli/commands/layer_work.h"
#include "tandem/core/base/clock.h"
#include "tandem/models/models.h"
#include "tandem/nn/nn.h"
#ifdef TANDEM_HAS_ONNX
#include "tandem/onnx/onnx.h"
#endif
#include "tandem/tandem.h"

using namespace tandem;

namespace {

double g_seconds = 2;  // per measurement
int64_t g_size = 0;    // of images, or the number of tokens; 0: the model's own
ScalarType g_precision = kFloat;
int64_t g_weights_bits = 0;  // 0: as they are

bool g_captured = false;
bool g_processor_time = false;  // on one thread, because other programs disturb it less

double now_ms() { return 1e3 * (g_processor_time ? cpu_seconds_now() : seconds_now()); }

struct Times {
  double best, median;
};

// Repeats the functions in turn for `seconds` each, at least three and at most 1,000 times, after calls that warm up.
// A time is the mean of `calls` calls.
std::vector<Times> measure_in_turn(const std::vector<std::function<void()>>& functions, double seconds, int warm_up = 2,
                                   int calls = 1) {
  for (const auto& f : functions)
    for (int i = 0; i < warm_up; ++i) f();
  std::vector<std::vector<double>> times(functions.size());
  const double end = now_ms() + 1e3 * seconds * static_cast<double>(functions.size());
  while ((times[0].size() < 3 || now_ms() < end) && times[0].size() < 1000)
    for (std::size_t i = 0; i < functions.size(); ++i) {
      const double begin = now_ms();
      for (int k = 0; k < calls; ++k) functions[i]();
      times[i].push_back((now_ms() - begin) / calls);
    }
  std::vector<Times> out;
  for (auto& each : times) {
    std::sort(each.begin(), each.end());
    out.push_back({each.front(), each[each.size() / 2]});
  }
  return out;
}
Times measure(const std::function<void()>& f, double seconds) { return measure_in_turn({f}, seconds)[0]; }

struct Measured {
  Times times;
  int64_t peak;  // bytes of tensors
};
int64_t peak_of(const std::function<void()>& f) {
  reset_peak_memory_stats(Device(kCPU));
  f();
  return memory_stats(Device(kCPU)).peak_bytes;
}

// `step` and, with --captured, its captured form.
std::vector<Measured> measure_step(const std::function<Tensor()>& step, std::vector<optim::Optimizer*> optimizers) {
  step();
  const int64_t peak = peak_of([&] { step(); });
  if (!g_captured) return {{measure([&] { step(); }, g_seconds), peak}};
  CapturedStep captured([&] { return step(); }, std::move(optimizers));
  const std::vector<Tensor> none;
  for (int i = 0; i < 5; ++i) captured(none);
  check(captured.captured(), captured.message());
  const int64_t captured_peak = peak_of([&] { captured(none); });
  const double once = measure([&] { step(); }, 0.01).best;
  const std::vector<Times> times =
      measure_in_turn({[&] { step(); }, [&] { captured(none); }}, g_seconds, 2, once < 0.1 ? 100 : 1);
  return {{times[0], peak}, {times[1], captured_peak}};
}

struct Roofline {
  double flops_per_ms, bytes_per_ms;
  double floor(double flops, double bytes) const { return std::max(flops / flops_per_ms, bytes / bytes_per_ms); }
};

Roofline measure_roofline() {
  const InferenceMode guard;
  const Tensor a = randn({1024, 1024}, g_precision), b = randn({1024, 1024}, g_precision);
  const double product = measure([&] { a.mm(b); }, 0.5).best;
  const Tensor x = ones({1 << 24}), y = ones({1 << 24});
  const double addition = measure([&] { x.add_(y); }, 0.5).best;
  return {2.0 * 1024 * 1024 * 1024 / product, 3.0 * static_cast<double>(x.nbytes()) / addition};
}

// ---- models -------------------------------------------------------------------------------------------------------

using Subject = networks::Network;

models::GPT2Options gpt2_options(const std::string& name) {
  models::GPT2Options options;
  if (name == "gpt2-mini") options.n_layer(6).n_head(6).n_embd(384).vocab_size(5000).n_positions(256);
  return options;
}

const std::vector<std::string>& all_models() {
  static const std::vector<std::string> names{"mlp",          "resnet18", "resnet50", "vgg11",    "vgg16",
                                              "mobilenet_v2", "vit_b_16", "gpt2",     "gpt2-mini"};
  return names;
}

// A cell called in a loop, as a user would write it.
struct CellLoopImpl : nn::Module {
  nn::LSTMCell cell = register_module("cell", nn::LSTMCell(8, 16));
  nn::Linear head = register_module("head", nn::Linear(16, 4));
  Tensor forward(const Tensor& input) {
    std::tuple<Tensor, Tensor> state{zeros({input.size(0), 16}), zeros({input.size(0), 16})};
    for (int64_t t = 0; t < input.size(1); ++t) state = cell(input.select(1, t), state);
    return head(std::get<0>(state));
  }
};
TANDEM_MODULE(CellLoop);

bool is_text(const std::string& name) { return name.starts_with("gpt2"); }

Subject make(const std::string& name, int64_t batch) {
  manual_seed(0);
  if (std::ranges::count(networks::names(), name) > 0) return networks::make(name, batch);
  const Tensor classes = randint(10, {batch}, kLong);
#ifdef TANDEM_HAS_ONNX
  if (name.ends_with(".onnx")) {
    onnx::Model model = onnx::load(name);
    const onnx::Slot& slot = model->inputs().at(0);
    check(slot.sizes.has_value(), name, ": the sizes of its input are unknown");
    std::vector<int64_t> sizes = *slot.sizes;
    for (int64_t& size : sizes) size = size < 0 ? batch : size;
    const bool text = isIntegralType(slot.dtype);
    return {nn::AnyModule(model), text ? randint(1000, sizes, slot.dtype) : randn(sizes), classes, false};
  }
#endif
  if (name == "mlp")
    return {nn::AnyModule(nn::Sequential(nn::Linear(784, 1024), nn::ReLU(), nn::Linear(1024, 1024), nn::ReLU(),
                                         nn::Linear(1024, 10))),
            randn({batch, 784}), classes, false};
  if (name == "tiny")
    return {nn::AnyModule(nn::Sequential(nn::Linear(20, 32), nn::ReLU(), nn::Linear(32, 5))), randn({batch, 20}),
            randint(5, {batch}, kLong), false};
  if (name == "small")
    return {nn::AnyModule(
                nn::Sequential(nn::Linear(24, 64), nn::ReLU(), nn::Linear(64, 64), nn::ReLU(), nn::Linear(64, 4))),
            randn({batch, 24}), randint(4, {batch}, kLong), false};
  if (name == "cell") return {nn::AnyModule(CellLoop()), randn({batch, 20, 8}), randint(4, {batch}, kLong), false};
  if (name == "lenet") return {nn::AnyModule(models::lenet()), randn({batch, 1, 28, 28}), classes, false};
  if (is_text(name)) {
    const models::GPT2Options options = gpt2_options(name);
    const int64_t tokens = g_size == 0 ? 128 : g_size;
    const Tensor text = randint(options.vocab_size(), {batch, tokens}, kLong);
    return {nn::AnyModule(models::GPT2LMHeadModel(options)), text, text.roll(-1, 1), false};
  }
  const models::PublishedModel* model = models::find_published(name);
  check(model != nullptr, "no model is named \"", name, "\"");
  const int64_t size = g_size == 0 ? model->input[1] : g_size;
  return {model->make(model->num_classes), randn({batch, 3, size, size}), classes, false};
}

Tensor loss_of(const Tensor& out, const Tensor& target) {
  const bool text = out.dim() == 3 && out.size(1) == target.size(1);
  return text ? nn::functional::cross_entropy(out.reshape({-1, out.size(2)}), target.reshape({-1}))
              : nn::functional::cross_entropy(out, target);
}

// ---- layers -------------------------------------------------------------------------------------------------------

using Call = std::function<Tensor(const Tensor&)>;

template <class Holder>
bool call_as(nn::Module& module, Call& call) {
  auto* layer = module.as<Holder>();
  if (layer == nullptr) return false;
  call = [layer](const Tensor& x) { return layer->forward(x); };
  return true;
}

// How to call a layer with one tensor; empty for others, whose time then is in the row "other".
Call call_of(nn::Module& module) {
  Call call;
  (void)(call_as<nn::Conv2d>(module, call) || call_as<nn::BatchNorm2d>(module, call) ||
         call_as<nn::Linear>(module, call) || call_as<nn::ReLU>(module, call) || call_as<nn::ReLU6>(module, call) ||
         call_as<nn::GELU>(module, call) || call_as<nn::LayerNorm>(module, call) ||
         call_as<nn::MaxPool2d>(module, call) || call_as<nn::AvgPool2d>(module, call) ||
         call_as<nn::AdaptiveAvgPool2d>(module, call) || call_as<nn::Embedding>(module, call) ||
         call_as<models::Conv1D>(module, call) || call_as<models::GPT2Head>(module, call));
  if (auto* attention = module.as<nn::MultiheadAttention>())
    call = [attention](const Tensor& x) { return std::get<0>(attention->forward(x, x, x, {}, false)); };
  return call;
}

std::string text_of(const nn::Module& module, const Tensor& input) {
  std::ostringstream out;
  out << module << " of " << input.sizes();
  return out.str();
}

struct Layer {
  std::shared_ptr<nn::Module> module;
  Tensor input;
  double multiply_adds = 0, values = 0;  // of output
  int count = 0;
};

// The distinct layers of a forward pass, by what they print and the shape of their input.
std::map<std::string, Layer> layers_of(const Subject& subject) {
  std::map<std::string, Layer> layers;
  std::vector<nn::HookHandle> handles;
  for (const auto& item : subject.model.ptr()->named_modules("", false)) {
    const std::shared_ptr<nn::Module> module = item.value();
    if (!call_of(*module)) continue;
    handles.push_back(module->register_forward_hook(
        [&layers, module](nn::Module&, const std::vector<Tensor>& inputs, const Tensor& out) {
          Layer& layer = layers[text_of(*module, inputs[0])];
          if (layer.count++ > 0) return;
          layer.module = module;
          layer.input = inputs[0].is_floating_point() ? randn(inputs[0].sizes()) : inputs[0].clone();
          const Tensor result = out.defined() ? out : inputs[0];
          layer.values = static_cast<double>(result.numel());
          layer.multiply_adds = static_cast<double>(cli::work_of(*module, inputs, result).multiply_adds);
        }));
  }
  const NoGradGuard guard;
  subject.model.ptr()->eval();
  nn::AnyModule(subject.model).forward(subject.input);
  for (nn::HookHandle& handle : handles) handle.remove();
  return layers;
}

struct Row {
  std::string text;
  double lost;
};

void add_row(std::vector<Row>& rows, const Roofline& roofline, const std::string& name, const char* part, int count,
             double ms, double flops, double bytes) {
  const double floor = roofline.floor(flops, bytes);
  char text[400];
  std::snprintf(text, sizeof text, "%9.3f %9.3f %8.1f %7.1f %6.2f  %3d x %-15s %s", count * (ms - floor), ms,
                flops / ms * 1e-6, bytes / ms * 1e-6, floor / ms, count, part, name.c_str());
  rows.push_back({text, count * (ms - floor)});
}

void print_layers(const Subject& subject, bool train, double total, const Roofline& roofline) {
  std::vector<Row> rows;
  double sum = 0;
  for (auto& entry : layers_of(subject)) {
    const auto& name = entry.first;  // not bindings: clang 14 does not capture them
    auto& layer = entry.second;
    layer.module->train(train);
    layer.module->to(g_precision);
    if (layer.input.is_floating_point()) layer.input = layer.input.to(g_precision);
    const auto bytes_each = static_cast<double>(item_size(g_precision));
    if (auto* relu = layer.module->as<nn::ReLU>()) relu->options.inplace(false);  // gradients need the input
    if (auto* relu = layer.module->as<nn::ReLU6>()) relu->options.inplace(false);
    const Call call = call_of(*layer.module);
    const bool floating = layer.input.is_floating_point();
    double parameters = 0;
    std::vector<Tensor> weights;
    for (const Tensor& p : layer.module->parameters()) {
      parameters += bytes_each * static_cast<double>(p.numel());
      weights.push_back(p);
    }
    if (!floating) parameters = 0;  // of an embedding only the rows that occur are read
    const double in = static_cast<double>(layer.input.nbytes()), out = bytes_each * layer.values,
                 flops = 2 * layer.multiply_adds;
    {
      const InferenceMode guard(!train);
      const NoGradGuard no_grad;
      const double ms = measure([&] { call(layer.input); }, 0.1).median;
      sum += layer.count * ms;
      add_row(rows, roofline, name, "forward", layer.count, ms, flops, in + out + parameters);
    }
    if (!train) continue;
    // Gradients of the layer's parameters, and of its input if `input`.
    const auto gradient = [&](const char* part, bool of_weights, bool of_input, double bytes) {
      const Tensor x = layer.input.detach();
      std::vector<Tensor> wanted;
      for (const Tensor& p : weights) p.requires_grad_(of_weights);
      if (of_weights) wanted = weights;
      if (of_input) wanted.push_back(x.requires_grad_());
      const Tensor result = call(x), up = randn(result.sizes(), result.options());
      const double ms = measure([&] { autograd::grad({result}, wanted, {up}, /*retain_graph=*/true); }, 0.1).median;
      sum += layer.count * ms;
      add_row(rows, roofline, name, part, layer.count, ms, flops, bytes);
    };
    const bool first = layer.input.sizes() == subject.input.sizes();  // its input needs no gradient
    if (flops > 0 && floating) {
      if (!first) gradient("input gradient", false, true, in + out + parameters);
      gradient("weight gradient", true, false, in + out + parameters);
    } else {
      gradient("gradient", true, floating, 2 * in + out + parameters);
    }
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.lost > b.lost; });
  std::printf("  lost, ms  each, ms  GFLOP/s    GB/s  share  count\n");
  for (const Row& row : rows) std::printf("%s\n", row.text.c_str());
  std::printf("  %.2f ms in these layers, %.2f ms other (additions, functions, loss, optimizer, cold caches)\n", sum,
              total - sum);
}

// ---- steps --------------------------------------------------------------------------------------------------------

void run(const std::string& name, const std::string& what, int64_t batch, int threads, bool layers) {
  set_num_threads(threads);
  g_processor_time = threads == 1;
  const Device device(kCPU);
  Subject subject = make(name, batch);
  nn::Module& model = *subject.model.ptr();
  const bool train = what == "train";
  model.train(train);
  if (g_weights_bits != 0 && !train) nn::quantize_weights(model, {.bits = g_weights_bits});
  const int64_t before = memory_stats(device).current_bytes;
  reset_peak_memory_stats(device);
  std::vector<Measured> measured;
  if (train) {
    std::unique_ptr<optim::Optimizer> optimizer;
    if (subject.adam)
      optimizer = std::make_unique<optim::Adam>(model.parameters(), optim::AdamOptions(1e-3));
    else
      optimizer = std::make_unique<optim::SGD>(model.parameters(), optim::SGDOptions(1e-3).momentum(0.9));
    measured = measure_step(
        [&] {
          optimizer->zero_grad();
          Tensor loss;
          {
            const autocast::AutocastGuard mixed(kCPU, g_precision == kFloat ? kBFloat16 : g_precision,
                                                g_precision != kFloat);
            loss = loss_of(subject.model.forward(subject.input), subject.target);
          }
          loss.backward();
          optimizer->step();
          return loss;
        },
        {optimizer.get()});
  } else if (what == "decode") {
    check(is_text(name), "decode: ", name, " is no language model");
    constexpr int64_t kTokens = 32;
    const models::GPT2LMHeadModel net(std::dynamic_pointer_cast<models::GPT2LMHeadModelImpl>(subject.model.ptr()));
    model.to(g_precision);
    const Tensor prompt = subject.input.slice(1, 0, 16);
    const auto generate = [&](int64_t tokens) {
      models::generate(net, prompt, models::GenerateOptions{.max_new_tokens = tokens, .temperature = 0});
    };
    const Times first = measure([&] { generate(1); }, g_seconds / 4);
    const Times all = measure([&] { generate(1 + kTokens); }, g_seconds);
    measured = {
        {{(all.best - first.best) / kTokens, (all.median - first.median) / kTokens}, memory_stats(device).peak_bytes}};
  } else {
    check(what == "infer" || what == "fused", "--what: expected infer, fused, train or decode, got ", what);
    const InferenceMode guard;
    if (what == "fused") nn::fuse(*subject.model.ptr());
    model.to(g_precision);
    if (subject.input.is_floating_point()) subject.input = subject.input.to(g_precision);
    measured = measure_step([&] { return subject.model.forward(subject.input); }, {});
  }
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const auto& [times, peak] = measured[i];
    std::printf("%s %s%s %lld %d %.4f %.4f %.1f", name.c_str(), what.c_str(), i == 0 ? "" : "+captured",
                static_cast<long long>(batch), threads, times.best, times.median,
                static_cast<double>(peak - before) / (1 << 20));
    if (i > 0) std::printf("  %.2f x", measured[0].times.best / times.best);
    std::printf("\n");
  }
  std::fflush(stdout);
  if (layers && what != "decode") {
    const Roofline roofline = measure_roofline();
    std::printf("  roofline: %.1f GFLOP/s, %.1f GB/s\n", roofline.flops_per_ms * 1e-6, roofline.bytes_per_ms * 1e-6);
    print_layers(subject, train, measured[0].times.median, roofline);
    std::fflush(stdout);
  }
}

std::vector<int64_t> numbers(const char* text) {
  std::vector<int64_t> out;
  for (const char* at = text; *at != 0; at += *at == ',') {
    char* end = nullptr;
    out.push_back(std::strtoll(at, &end, 10));
    check(end != at && (*end == 0 || *end == ',') && out.back() > 0, "expected positive numbers, got \"", text, '"');
    at = end;
  }
  return out;
}

ScalarType precision(const std::string& word) {
  for (const auto& [name, type] : {std::pair("fp32", kFloat), std::pair("bf16", kBFloat16), std::pair("fp16", kHalf)})
    if (word == name) return type;
  throw Error(concat("--precision: expected fp32, bf16 or fp16, got ", word));
}

int run_all(int argc, char** argv) {
  std::vector<std::string> names, whats;
  std::vector<int64_t> batches, threads{1, 2};
  bool layers = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] {
      check(i + 1 < argc, word, " needs a value");
      return argv[++i];
    };
    if (word == "--what")
      whats.push_back(value());
    else if (word == "--batch")
      batches = numbers(value());
    else if (word == "--threads")
      threads = numbers(value());
    else if (word == "--seconds")
      g_seconds = std::atof(value());
    else if (word == "--size")
      g_size = numbers(value()).front();
    else if (word == "--precision")
      g_precision = precision(value());
    else if (word == "--weights-bits")
      g_weights_bits = numbers(value()).front();
    else if (word == "--captured")
      g_captured = true;
    else if (word == "--layers")
      layers = true;
    else if (word.starts_with("-"))
      throw Error(concat("unknown option ", word));
    else
      names.push_back(word);
  }
  if (names.empty()) names = all_models();
  if (whats.empty()) whats = {"infer", "train"};
  std::printf("model what batch threads best_ms median_ms peak_MiB\n");
  for (const std::string& name : names)
    for (const std::string& what : whats)
      for (int64_t batch : !batches.empty()   ? batches
                           : what == "decode" ? std::vector<int64_t>{1}
                           : what == "train"  ? std::vector<int64_t>{4, 8}
                                              : std::vector<int64_t>{1, 8})
        for (int64_t count : threads) run(name, what, batch, static_cast<int>(count), layers);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_all(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_models: %s\n", error.what());
    return 2;
  }
}
