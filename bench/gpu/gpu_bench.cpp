// Tandem's performance on a GPU, one line of JSON per figure, medians:
//
//   p2_epoch_eager, p2_epoch_captured        seconds per epoch of LeNet: batch 256, data on the device; also
//                                            p2_epoch_captured_tf32, and _bf16 with autocast
//   small_op                                 host seconds to issue an addition of eight floats
//   captured_launches, _syncs, _allocations  per replayed step; measured with p2_epoch_captured. Syncs are
//                                            waits and copies of the runtime that the profiler records
//   matmul_fp32, _tf32, _bf16                seconds for a product of two 8192 x 8192 matrices
//   conv_forward, conv_input, conv_weight    seconds for ResNet-50's convolutions, batch 32, a part per shape; also
//                                            conv_forward_bf16, ...
//   add, relu, exp, copy, sum, mean, amax    bytes per second over tensors of 1 GiB; also add_bf16, ...
//   attention_fp32, _bf16                    seconds for causal attention and its gradients, 16,384 tokens, 12 heads of 64
//                                            features; attention_fp32_memory, ...: bytes that tensors take at the peak
//   resnet50_fp32, _bf16, gpt2_bf16          seconds per training step, SGD and AdamW: 64 images of 224 x 224, 8 texts
//                                            of 1,024 tokens; bf16 is autocast
//   gpt2_bf16_memory                         bytes that tensors take at the peak; measured with gpt2_bf16
//   gru_fp32                                 seconds per training step, Adam: 32 sequences of 80 steps, 40 features, 128
//                                            numbers of state
//   generate_fp32, _bf16                     seconds per token that is drawn greedily behind a prompt of 16, one sequence:
//                                            from a GPT-2 of 4 layers of 128 features, and of 12 of 768 in bfloat16
//   one_thread, two_threads                  seconds until one thread, or each of two, has trained a small network for 300
//                                            steps, each on a stream of its own
//   train_resnet18, _resnet50, _vgg11, _mobilenet_v2
//                                            seconds per training step in float32, with Tandem's defaults
//
// float32 is strict, except in the rows of TF32 and of defaults.
//
//   gpu_bench [--device cuda:0] [--small] [ROW…]     --small: use small sizes, to try the program out
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tandem/bench/gpu/rows.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/conv.h"
#include "tandem/core/backend/runtime.h"
#include "tandem/core/base/clock.h"
#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/core/profile.h"
#include "tandem/models/models.h"
#include "tandem/nn/captured_step.h"
#include "tandem/tandem.h"

using namespace tandem;

namespace {

constexpr const char* kSource = "tandem";

struct Options {
  Device device{kCUDA, 0};
  bool small = false;
  std::vector<std::string> rows;
  bool wanted(const std::string& row) const {
    return rows.empty() || std::find(rows.begin(), rows.end(), row) != rows.end();
  }
} options;

// Device seconds per call: the median of `repeats` calls after two warm-up calls.
template <class F>
double device_seconds(F&& call, int repeats = 10) {
  const Stream stream = Stream::current(options.device);
  Event begin(options.device.type()), end(options.device.type());
  return bench::median_of(2, repeats, [&] {
    begin.record(stream);
    call();
    end.record(stream);
    end.synchronize();
    return begin.elapsed_ms(end) / 1e3;
  });
}

// Whether products and convolutions of float32 may use TF32; otherwise they are strict.
void allow_tf32(bool value) {
  globalContext().setAllowTF32CuBLAS(value);
  globalContext().setAllowTF32CuDNN(value);
}

// Calls body() if one of the rows is requested; the message of an exception becomes the reason why there is no figure.
template <class F>
void measure_together(std::vector<std::string> rows, const std::string& suffix, F&& body) {
  for (std::string& row : rows) row += suffix;
  std::erase_if(rows, [](const std::string& row) { return !options.wanted(row); });
  if (rows.empty()) return;
  try {
    body();
  } catch (const std::exception& error) {
    for (const std::string& row : rows) bench::absent(kSource, row, error.what());
  }
}
template <class F, class... Arguments>
void measure(const std::string& row, F&& body, Arguments... arguments) {
  measure_together({row}, "", [&] { body(row, arguments...); });
}

// Returns the loss.
template <class Loss>
Tensor train_step(optim::Optimizer& optimizer, bool half, const Loss& loss_of) {
  optimizer.zero_grad();
  Tensor loss;
  {
    const autocast::AutocastGuard mixed(options.device.type(), kBFloat16, half);
    loss = loss_of();
  }
  loss.backward();
  optimizer.step();
  return loss.detach();
}

// ---- an epoch of LeNet

struct LeNet {
  std::vector<Tensor> p;
  LeNet() {
    for (const Dims& size : {Dims{20, 1, 3, 3}, Dims{20}, Dims{50, 20, 5, 5}, Dims{50}, Dims{800, 128}, Dims{128},
                             Dims{128, 10}, Dims{10}}) {
      Tensor t = zeros(IntArrayRef(size), TensorOptions(options.device));
      if (size.size() > 1) t.normal_(0, 0.01);
      p.push_back(t.requires_grad_(true));
    }
  }
  Tensor forward(const Tensor& x) const {
    Tensor h = avg_pool2d(relu(conv2d(x, p[0], p[1])), 2);
    h = avg_pool2d(relu(conv2d(h, p[2], p[3])), 2).flatten(1);
    return addmm(p[7], relu(addmm(p[5], h, p[4])), p[6]);
  }
};

struct Epochs {
  int64_t images = options.small ? 512 : 60'000;
  Tensor pixels = randint(0, 256, {images, 1, 28, 28}, TensorOptions(options.device).dtype(kByte));
  Tensor labels = randint(0, 10, {images}, TensorOptions(options.device).dtype(kLong));
  LeNet net;
  optim::SGD optimizer{net.p, optim::SGDOptions(0.2 / 256)};
  bool half = false;

  Tensor step(const Tensor& x, const Tensor& y) {
    return train_step(optimizer, half, [&] { return cross_entropy_loss(net.forward(x), y, {}, Reduction::Sum); });
  }
  template <class Step>
  double seconds_of_one(Step&& run_step) {
    synchronize(options.device);
    const double began = seconds_now();
    const Tensor order = randperm(images, TensorOptions(options.device).dtype(kLong));
    Tensor total = zeros({}, TensorOptions(options.device));
    for (int64_t at = 0; at < images; at += 256) {
      const Tensor at_once = order.narrow(0, at, std::min<int64_t>(256, images - at));
      const Tensor x = pixels.index_select(0, at_once).to(kFloat).div_(255);
      total += run_step(x, labels.index_select(0, at_once));
    }
    (void)total.item<float>();  // read once per epoch
    return seconds_now() - began;
  }
  // The median, after an epoch to warm up.
  template <class Step>
  double seconds(Step&& run_step) {
    return bench::median_of(1, options.small ? 1 : 7, [&] { return seconds_of_one(run_step); });
  }
};

void p2_eager(const std::string& row) {
  Epochs epochs;
  bench::row(kSource, row, epochs.seconds([&](const Tensor& x, const Tensor& y) { return epochs.step(x, y); }));
}

// Number of requests for device memory that the backend has made so far.
uint64_t system_allocations() { return backend(options.device).runtime.memory_use(options.device).system_allocations; }

// Number of spans in the profile at `path` that are waits or copies of the runtime.
int waits_in(const std::string& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  int count = 0;
  for (const char* name : {R"("name":"synchronize)", R"("name":"copy_bytes")"})
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; ++at) ++count;
  return count;
}

void captured_steps(CapturedStep& step, const Tensor& x, const Tensor& y) {
  constexpr int kSteps = 10;
  for (int i = 0; i < kSteps; ++i) (void)step(x, y);
  check(step.captured(), "the step was not captured: ", step.message());
  const profiler::HostOnly no_events;
  const std::string path = (std::filesystem::temp_directory_path() / concat("gpu_bench-", getpid(), ".json")).string();
  const uint64_t launches = step.launches();
  const uint64_t before = system_allocations();
  profiler::start(path);
  for (int i = 0; i < kSteps; ++i) (void)step(x, y);
  profiler::stop();
  bench::row(kSource, "captured_launches", static_cast<double>(step.launches() - launches) / kSteps);
  // Subtract the copies of the two inputs, which are device-to-device and do not wait.
  bench::row(kSource, "captured_syncs", static_cast<double>(waits_in(path) - 2 * kSteps) / kSteps);
  std::filesystem::remove(path);
  bench::row(kSource, "captured_allocations", static_cast<double>(system_allocations() - before) / kSteps);
}

void p2_captured(const std::string& row, bool half) {
  Epochs epochs;
  epochs.half = half;
  CapturedStep step([&](const Tensor& x, const Tensor& y) { return epochs.step(x, y); }, {&epochs.optimizer});
  const double seconds = epochs.seconds([&](const Tensor& x, const Tensor& y) {
    return x.size(0) == 256 ? step(x, y)[0] : epochs.step(x, y);  // the last, smaller batch runs eagerly
  });
  check(step.launches() > 0, "the step was not captured: ", step.message());
  bench::row(kSource, row, seconds);
  if (row == "p2_epoch_captured")
    captured_steps(step, epochs.pixels.narrow(0, 0, 256).to(kFloat), epochs.labels.narrow(0, 0, 256));
}

// ---- host time for a small operation, in bursts that fit in the device's queue

void small_op(const std::string& row) {
  const NoGradGuard no_grad;
  const Tensor a = ones({8}, TensorOptions(options.device)), b = ones({8}, TensorOptions(options.device));
  const double seconds = bench::median_of(10, 200, [&] {
    synchronize(options.device);
    const double began = seconds_now();
    for (int i = 0; i < 100; ++i) (void)tandem::add(a, b);
    return (seconds_now() - began) / 100;
  });
  bench::row(kSource, row, seconds);
}

void product(const std::string& row, ScalarType dtype) {
  const NoGradGuard no_grad;
  const int64_t n = options.small ? 64 : 8192;
  const TensorOptions here(options.device);
  const Tensor a = randn({n, n}, here).to(dtype), b = randn({n, n}, here).to(dtype);
  bench::row(kSource, row, device_seconds([&] { (void)mm(a, b); }));
}

// ---- ResNet-50's convolutions; half types use channels-last, which is the fastest

void convolution(const bench::ConvShape& s, const std::string& suffix, ScalarType dtype) {
  const NoGradGuard no_grad;
  const TensorOptions here(options.device);
  const int64_t batch = options.small ? 1 : bench::kConvBatch;
  const MemoryFormat format = isReducedFloatingType(dtype) ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous;
  const Tensor x = randn({batch, s.in, s.size, s.size}, here).to(dtype).to(format),
               w = randn({s.out, s.in, s.kernel, s.kernel}, here).to(dtype).to(format);
  const int64_t stride[2] = {s.stride, s.stride}, padding[2] = {s.padding(), s.padding()};
  const Tensor y = conv2d(x, w, {}, IntArrayRef(stride, 2), IntArrayRef(padding, 2));
  const Tensor g = randn(y.sizes(), here).to(dtype).to(format);
  const Conv2dParameters p{.stride = {stride[0], stride[1]}, .padding = {padding[0], padding[1]}};
  const int repeats = options.small ? 1 : 10;
  const auto report = [&](const char* pass, auto&& call) {
    const std::string row = pass + suffix;
    if (options.wanted(row)) bench::row(kSource, row, device_seconds(call, repeats), s.name());
  };
  report("conv_forward", [&] { (void)conv2d(x, w, {}, IntArrayRef(stride, 2), IntArrayRef(padding, 2)); });
  report("conv_input", [&] { (void)autograd::conv2d_backward_input(g, w, x.sizes(), p, format); });
  report("conv_weight", [&] { (void)autograd::conv2d_backward_weight(g, x, w.sizes(), p, format); });
}

void convolutions(const std::string& suffix, ScalarType dtype) {
  measure_together({"conv_forward", "conv_input", "conv_weight"}, suffix, [&] {
    for (const bench::ConvShape& shape : bench::kResNet50) {
      convolution(shape, suffix, dtype);
      if (options.small) break;
    }
  });
}

// ---- bytes per second over 1 GiB

void bandwidth_of_all(const std::string& suffix, ScalarType dtype) {
  const NoGradGuard no_grad;
  const int64_t bytes = options.small ? 1 << 16 : 1 << 30;
  const TensorOptions here = TensorOptions(options.device).dtype(dtype);
  const Dims count{bytes / item_size(dtype)};
  const Tensor a = rand(count, here), b = rand(count, here);
  Tensor out = empty(count, here);
  const auto report = [&](const char* name, double passes, auto&& call) {
    measure(name + suffix, [&](const std::string& row) {
      bench::row(kSource, row, passes * static_cast<double>(bytes) / device_seconds(call));
    });
  };
  report("add", 3, [&] { (void)(a + b); });
  report("relu", 2, [&] { (void)relu(a); });
  report("exp", 2, [&] { (void)exp(a); });
  report("copy", 2, [&] { out.copy_(a); });
  report("sum", 1, [&] { (void)a.sum(); });
  report("mean", 1, [&] { (void)a.mean(); });
  report("amax", 1, [&] { (void)a.amax(); });
}

void bandwidth(const std::string& suffix, ScalarType dtype) {
  measure_together({"add", "relu", "exp", "copy", "sum", "mean", "amax"}, suffix,
                   [&] { bandwidth_of_all(suffix, dtype); });
}

// ---- attention

void attention(const std::string& row, ScalarType dtype) {
  const int64_t length = options.small ? 64 : 16384;
  const Tensor x = randn({1, length, 3, 12, 64}, TensorOptions(options.device).dtype(dtype)).requires_grad_(),
               grad = randn({1, 12, length, 64}, TensorOptions(options.device).dtype(dtype));
  const auto& runtime = backend(options.device).runtime;
  runtime.reset_memory_peaks(options.device);
  const auto call = [&] {
    const std::vector<Tensor> parts = x.transpose(1, 3).unbind(2);  // [1, 12, length, 64]
    (void)autograd::grad({scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0, true)}, {x}, {grad});
  };
  bench::row(kSource, row, device_seconds(call));
  bench::row(kSource, row + "_memory", static_cast<double>(runtime.memory_use(options.device).allocated_peak));
}

// ---- training steps of whole networks

template <class Loss>
void train(const std::string& row, nn::Module& net, optim::Optimizer& optimizer, bool half, const Loss& loss_of) {
  net.train();
  bench::row(kSource, row, device_seconds([&] { (void)train_step(optimizer, half, loss_of); }, options.small ? 1 : 10));
}

template <class Net>
void images(const std::string& row, Net (*make)(int64_t classes), bool half) {
  const int64_t count = options.small ? 2 : 64, side = options.small ? 64 : 224;
  Net net = make(1000);
  net->to(options.device);
  if (half) net->to(MemoryFormat::ChannelsLast);
  optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.1).momentum(0.9).weight_decay(1e-4));
  const Tensor x = rand({count, 3, side, side}, TensorOptions(options.device)),
               y = randint(0, 1000, {count}, TensorOptions(options.device).dtype(kLong));
  train(row, *net, optimizer, half, [&] { return cross_entropy_loss(net->forward(x), y); });
}

void gpt2(const std::string& row) {
  const int64_t texts = options.small ? 1 : 8, length = options.small ? 16 : 1024;
  models::GPT2LMHeadModel net(
      models::GPT2Options().n_layer(options.small ? 1 : 12).resid_pdrop(0).embd_pdrop(0).attn_pdrop(0));
  net->to(options.device);
  optim::AdamW optimizer(net->parameters(), optim::AdamWOptions(1e-4));
  const Tensor x = randint(0, 50257, {texts, length}, TensorOptions(options.device).dtype(kLong)),
               y = randint(0, 50257, {texts * length}, TensorOptions(options.device).dtype(kLong));
  const auto& runtime = backend(options.device).runtime;
  runtime.reset_memory_peaks(options.device);
  train(row, *net, optimizer, true, [&] { return cross_entropy_loss(net->forward(x).view({texts * length, -1}), y); });
  bench::row(kSource, row + "_memory", static_cast<double>(runtime.memory_use(options.device).allocated_peak));
}

void gru(const std::string& row) {
  const int64_t steps = options.small ? 4 : 80, batch = options.small ? 2 : 32;
  struct Classifier final : nn::Module {
    nn::GRU gru = register_module("gru", nn::GRU(nn::GRUOptions(40, 128).batch_first(true)));
    nn::Linear head = register_module("head", nn::Linear(128, 10));
    Tensor forward(const Tensor& x) { return head(std::get<0>(gru(x)).select(1, x.size(1) - 1)); }
  };
  const auto net = std::make_shared<Classifier>();
  net->to(options.device);
  optim::Adam optimizer(net->parameters(), optim::AdamOptions(1e-3));
  const Tensor x = randn({batch, steps, 40}, TensorOptions(options.device)),
               y = randint(0, 10, {batch}, TensorOptions(options.device).dtype(kLong));
  train(row, *net, optimizer, false, [&] { return cross_entropy_loss(net->forward(x), y); });
}

void generate(const std::string& row, bool large) {
  models::GPT2Options shape;
  if (!large) shape.n_layer(4).n_embd(128).n_head(4).vocab_size(256).n_positions(512);
  if (options.small) shape.n_layer(1);
  models::GPT2LMHeadModel net(shape);
  net->to(options.device, large ? kBFloat16 : kFloat);
  net->eval();
  const int64_t count = options.small ? 8 : 256;
  const Tensor prompt = ones({1, 16}, TensorOptions(options.device).dtype(kLong));
  const auto draw = [&] {
    (void)models::generate(net, prompt, models::GenerateOptions{.max_new_tokens = count, .temperature = 0});
  };
  bench::row(kSource, row, device_seconds(draw, 1) / static_cast<double>(count));
}

void threads(const std::string& row, int count) {
  const auto train_one = [] {
    const Stream stream(options.device);
    const StreamGuard own(stream);
    nn::Sequential net(nn::Linear(64, 64), nn::ReLU(), nn::Linear(64, 10));
    net->to(options.device);
    optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.01));
    const Tensor x = randn({32, 64}, TensorOptions(options.device)),
                 y = randint(0, 10, {32}, TensorOptions(options.device).dtype(kLong));
    for (int step = options.small ? 299 : 0; step < 300; ++step) {
      optimizer.zero_grad();
      cross_entropy_loss(net->forward(x), y).backward();
      optimizer.step();
    }
    stream.synchronize();
  };
  const double seconds = bench::median_of(1, 5, [&] {
    const double began = seconds_now();
    std::vector<std::thread> all;
    for (int t = 0; t < count; ++t) all.emplace_back(train_one);
    for (std::thread& one : all) one.join();
    return seconds_now() - began;
  });
  bench::row(kSource, row, seconds);
}

int run() {
  if (options.device.is_cuda() && device_count(kCUDA) == 0) {
    std::printf("no CUDA device: %s\n", cuda_reason());
    return 77;
  }
  const DeviceGuard guard(options.device);
  manual_seed(0);
  measure("train_resnet18", images<models::ResNet>, models::resnet18, false);
  measure("train_resnet50", images<models::ResNet>, models::resnet50, false);
  measure("train_vgg11", images<models::VGG>, models::vgg11, false);
  measure("train_mobilenet_v2", images<models::MobileNetV2>, models::mobilenet_v2, false);
  allow_tf32(false);
  measure("p2_epoch_eager", p2_eager);
  measure("small_op", small_op);
  measure("matmul_fp32", product, kFloat);
  measure("matmul_bf16", product, kBFloat16);
  globalContext().setBenchmarkCuDNN(true);  // from here on, as in against_torch.py
  convolutions("", kFloat);
  convolutions("_bf16", kBFloat16);
  bandwidth("", kFloat);
  bandwidth("_bf16", kBFloat16);
  measure("attention_fp32", attention, kFloat);
  measure("attention_bf16", attention, kBFloat16);
  measure("resnet50_fp32", images<models::ResNet>, models::resnet50, false);
  measure("resnet50_bf16", images<models::ResNet>, models::resnet50, true);
  measure("gpt2_bf16", gpt2);
  measure("gru_fp32", gru);
  measure("generate_fp32", generate, false);
  measure("generate_bf16", generate, true);
  measure("one_thread", threads, 1);
  measure("two_threads", threads, 2);
  measure("p2_epoch_captured", p2_captured, false);
  measure("p2_epoch_captured_bf16", p2_captured, true);
  allow_tf32(true);
  measure("matmul_tf32", product, kFloat);
  measure("p2_epoch_captured_tf32", p2_captured, false);
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--small") == 0)
      options.small = true;
    else if (std::strcmp(argv[i], "--device") == 0 && i + 1 < argc)
      options.device = Device(argv[++i]);
    else if (argv[i][0] == '-')
      fail("gpu_bench: unknown option ", argv[i], "; usage: gpu_bench [--device cuda:0] [--small] [ROW...]");
    else
      options.rows.emplace_back(argv[i]);
  }
  return run();
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
