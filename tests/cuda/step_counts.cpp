// Prints what one training step asks of the device, counted in the emulation: a table per network with a line for every
// kernel of the backend's table.
//
//   step_counts [NETWORK…]     all, or those whose names begin so; step_counts_test.py compares them with step_counts.txt
//
// A line counts a kernel's calls, and what follows each of them up to the next call: own launches, calls of cuBLAS, cuDNN
// and CUB, copies within the device and between it and the host, fills, waits, and nodes of replayed graphs. `bytes`
// counts every tensor among a call's arguments once, and a repeated dimension as one element.
#include <array>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <map>
#include <string_view>

#include "tandem/core/backend/kernel_recorder.h"
#include "tandem/core/backend/optim.h"
#include "tandem/core/conv_epilogue.h"
#include "tandem/models/models.h"
#include "tandem/nn/captured_step.h"
#include "tandem/tandem.h"
#include "tandem/tests/cuda_emulation/emulation.h"

using namespace tandem;

namespace {

const Device kDevice("cuda:0");

using Counts = std::array<uint64_t, 8>;
constexpr std::size_t kCopies = 3;
constexpr const char* kColumns[] = {"calls", "launches", "library", "copies", "host", "fills", "waits", "nodes"};

// What the emulation has counted so far. The calls, and which copies are to or from the host, are the ledger's.
Counts counted() {
  const auto c = cuda_emulation::counters();
  return {0, c.launches, c.library_calls, c.copies, 0, c.memsets, c.syncs, c.graph_nodes};
}
uint64_t allocations() {
  const auto c = cuda_emulation::counters();
  return c.mallocs + c.pinned_mallocs;
}

struct Line {
  Counts counts{};
  uint64_t bytes = 0;
};

// Counts from its construction to finish().
class Ledger final : public KernelRecorder {
 public:
  Ledger() : recording_(*this) {}

  void called(const KernelCall& call) override {
    settle();
    bytes_ = 0;
    on_device_ = with_host_ = false;
    for (std::size_t i = 0; i < call.count; ++i) note_argument(call, i);
    now_ = &lines_[on_device_ ? call.name : "(host)"];
    now_->bytes += bytes_;
    now_->counts[0] += on_device_;
  }
  void read_on_host(const Tensor&, const char*) override {}

  void finish(const char* network, const FusionCounts& fused) {
    settle();
    Line total;
    std::printf("%s: %" PRIu64 " allocations from the system\n", network, allocations() - allocated_);
    if (fused.calls != 0)
      std::printf("%zu kernels are fused into %zu: %" PRId64 " bytes become %" PRId64 "\n", fused.calls, fused.kernels,
                  fused.bytes_before, fused.bytes_after);
    for (const char* column : kColumns) std::printf("%9s", column);
    std::printf("%12s\n", "bytes");
    for (const auto& [name, line] : lines_) {
      for (std::size_t i = 0; i < line.counts.size(); ++i) total.counts[i] += line.counts[i];
      total.bytes += line.bytes;
      if (line.counts != Counts{}) print(line, name.c_str());
    }
    print(total, "total");
    std::printf("\n");
  }

 private:
  static void print(const Line& line, const char* name) {
    for (const uint64_t count : line.counts) std::printf("%9" PRIu64, count);
    std::printf("%12" PRIu64 "  %s\n", line.bytes, name);
  }
  // Gives the line of the last call what has been counted since.
  void settle() {
    const Counts now = counted();
    for (std::size_t i = 0; i < now.size(); ++i)
      now_->counts[i == kCopies && with_host_ ? i + 1 : i] += now[i] - seen_[i];
    seen_ = now;
  }
  void note_argument(const KernelCall& call, std::size_t i) {
    if (const auto* tensor = call.argument<Tensor>(i)) note(*tensor);
    if (const auto* operand = call.argument<Operand>(i); operand != nullptr && operand->tensor != nullptr)
      note(*operand->tensor);
    if (const auto* list = call.argument<TensorList>(i)) note(*list);
    if (const auto* gradients = call.argument<Gradients>(i)) {
      note(gradients->of);
      note(gradients->others);
    }
    if (const auto* epilogue = call.argument<ConvEpilogue<Tensor>>(i)) {
      note(epilogue->bias);
      note(epilogue->residual);
    }
    if (const auto* device = call.argument<Device>(i)) {  // an end of a copy
      on_device_ = on_device_ || device->is_cuda();
      with_host_ = with_host_ || device->is_cpu();
    }
    if (const auto* stream = call.argument<StreamHandle>(i)) on_device_ = on_device_ || stream->device.is_cuda();
    if (const auto* count = call.argument<std::size_t>(i)) bytes_ += *count;
  }
  void note(TensorList tensors) {
    for (const Tensor& t : tensors) note(t);
  }
  void note(const Tensor& t) {
    if (!t.defined() || !t.device().is_cuda()) return;
    on_device_ = true;
    auto bytes = static_cast<uint64_t>(t.element_size());
    for (int64_t d = 0; d < t.dim(); ++d)
      if (t.stride(d) != 0 || t.size(d) == 0) bytes *= static_cast<uint64_t>(t.size(d));
    bytes_ += bytes;
  }

  std::map<std::string, Line> lines_;
  Line* now_ = &lines_["(host)"];
  Counts seen_ = counted();
  uint64_t allocated_ = allocations(), bytes_ = 0;
  bool on_device_ = false, with_host_ = false;
  const RecordKernels recording_;
};

// Counts the step after `warm_up` uncounted ones, by when it allocates nothing and all plans are made: the memory of
// converted weights is known after two.
template <class Step>
void count(const char* network, int warm_up, Step&& step, const cuda::CapturedStep* captured = nullptr) {
  for (int i = 0; i < warm_up; ++i) step();
  synchronize(kDevice);
  Ledger ledger;
  step();
  ledger.finish(network, captured != nullptr ? captured->fused() : FusionCounts());
  if (captured != nullptr) check(captured->captured(), network, ": ", captured->message());
}

// ---- the networks; that of LeNet and its step are those of bench/gpu/gpu_bench.cpp, with smaller batches

constexpr int64_t kImages = 16;

struct LeNet {
  LeNet() {
    for (const Dims& size : {Dims{20, 1, 3, 3}, Dims{20}, Dims{50, 20, 5, 5}, Dims{50}, Dims{800, 128}, Dims{128},
                             Dims{128, 10}, Dims{10}})
      p.push_back(full(IntArrayRef(size), 0.01, TensorOptions(kDevice)).requires_grad_(true));
  }
  Tensor step(const Tensor& x, const Tensor& y) {
    optimizer().zero_grad();
    Tensor h = avg_pool2d(relu(conv2d(x, p[0], p[1])), 2);
    h = avg_pool2d(relu(conv2d(h, p[2], p[3])), 2).flatten(1);
    h = addmm(p[7], relu(addmm(p[5], h, p[4])), p[6]);
    const Tensor loss = cross_entropy_loss(h, y, {}, Reduction::Sum);
    loss.backward();
    optimizer().step();
    return loss.detach();
  }
  optim::SGD& optimizer() {
    if (!sgd) sgd = std::make_unique<optim::SGD>(p, optim::SGDOptions(0.2 / 256));
    return *sgd;
  }
  std::vector<Tensor> p;
  std::unique_ptr<optim::SGD> sgd;
};

void lenet(const char* name, bool captured) {
  LeNet net;
  const Tensor pixels = randint(0, 256, {2 * kImages, 1, 28, 28}, TensorOptions(kDevice).dtype(kByte)),
               labels = randint(0, 10, {2 * kImages}, TensorOptions(kDevice).dtype(kLong)),
               order = randperm(2 * kImages, TensorOptions(kDevice).dtype(kLong));
  Tensor total = zeros({}, TensorOptions(kDevice));
  cuda::CapturedStep step([&](const Tensor& x, const Tensor& y) { return net.step(x, y); }, {&net.optimizer()});
  const auto run = [&] {
    const Tensor at_once = order.narrow(0, 0, kImages);
    const Tensor x = pixels.index_select(0, at_once).to(kFloat).div_(255), y = labels.index_select(0, at_once);
    total += captured ? step(x, y)[0] : net.step(x, y);
  };
  count(name, captured ? 5 : 1, run, captured ? &step : nullptr);
}

void train(const char* name, nn::Module& net, optim::Optimizer& optimizer, bool half,
           const std::function<Tensor()>& loss_of, bool captured = false) {
  net.train();
  const auto step = [&] {
    optimizer.zero_grad();
    Tensor loss;
    {
      const autocast::AutocastGuard mixed(kCUDA, kBFloat16, half);
      loss = loss_of();
    }
    loss.backward();
    optimizer.step();
  };
  if (!captured) return count(name, half ? 2 : 1, step);
  cuda::CapturedStep replayed(step, {&optimizer});
  count(
      name, 5, [&] { replayed(std::vector<Tensor>()); }, &replayed);
}

void resnet18(const char* name, bool half, MemoryFormat format = MemoryFormat::Contiguous, bool captured = false) {
  auto net = models::resnet18(10);
  net->to(kDevice);
  net->to(format);
  optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.1).momentum(0.9).weight_decay(1e-4));
  const Tensor x = rand({2, 3, 32, 32}, TensorOptions(kDevice)), y = zeros({2}, TensorOptions(kDevice).dtype(kLong));
  const auto loss = [&] { return cross_entropy_loss(net->forward(x), y); };
  train(name, *net, optimizer, half, loss, captured);
}

// Two levels: what the first one sees is joined to what comes back from the second.
struct UNetImpl : nn::Module {
  static nn::Sequential block(int64_t in, int64_t out) {
    return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(in, out, 3).padding(1)), nn::BatchNorm2d(out), nn::ReLU(),
                          nn::Conv2d(nn::Conv2dOptions(out, out, 3).padding(1)), nn::BatchNorm2d(out), nn::ReLU());
  }
  UNetImpl() {
    register_module("down", down);
    register_module("middle", middle);
    register_module("up", up);
    register_module("join", join);
    register_module("head", head);
  }
  Tensor forward(const Tensor& x) {
    const Tensor wide = down->forward(x);
    return head->forward(join->forward(cat({wide, up->forward(middle->forward(max_pool2d(wide, 2)))}, 1)));
  }
  nn::Sequential down = block(3, 8), middle = block(8, 16), join = block(16, 8);
  nn::ConvTranspose2d up{nn::ConvTranspose2dOptions(16, 8, 2).stride(2)};
  nn::Conv2d head{nn::Conv2dOptions(8, 2, 1)};
};

void unet(const char* name) {
  UNetImpl net;
  net.to(kDevice);
  optim::Adam optimizer(net.parameters(), optim::AdamOptions(1e-3));
  const Tensor x = rand({2, 3, 16, 16}, TensorOptions(kDevice)), y = rand({2, 2, 16, 16}, TensorOptions(kDevice));
  const auto loss = [&] { return binary_cross_entropy_with_logits(net.forward(x), y); };
  train(name, net, optimizer, false, loss, true);
}

void gpt2(const char* name, bool captured) {
  constexpr int64_t kTexts = 2, kLength = 32, kTokens = 257;  // as many as are no multiple of eight
  models::GPT2LMHeadModel net(models::GPT2Options()
                                  .vocab_size(kTokens)
                                  .n_positions(kLength)
                                  .n_embd(128)
                                  .n_layer(2)
                                  .n_head(2)
                                  .resid_pdrop(0)
                                  .embd_pdrop(0)
                                  .attn_pdrop(0));
  net->to(kDevice);
  optim::AdamW optimizer(net->parameters(), optim::AdamWOptions(1e-4));
  const TensorOptions numbers = TensorOptions(kDevice).dtype(kLong);
  const Tensor x = randint(0, kTokens, {kTexts, kLength}, numbers),
               y = randint(0, kTokens, {kTexts * kLength}, numbers);
  train(
      name, *net, optimizer, true,
      [&] {
        return cross_entropy_loss(net->forward(x).view({kTexts * kLength, -1}), y);
      },
      captured);
}

// A token behind a cache, as generate() reads it.
void decode(const char* name, bool captured) {
  const NoGradGuard no_grad;
  models::GPT2LMHeadModel net(models::GPT2Options().vocab_size(257).n_positions(64).n_embd(128).n_layer(2).n_head(2));
  net->to(kDevice);
  net->eval();
  const models::GPT2Cache cache(net->options, 1, 64, TensorOptions(kDevice));
  const Tensor token = zeros({1, 1}, TensorOptions(kDevice).dtype(kLong));
  if (!captured) return count(name, 1, [&] { net->forward(token, cache); });
  cache.keep_places_on_device(64);
  cuda::CapturedStep step([&](const Tensor& t) { return net->forward(t, cache); });
  const auto run = [&] {
    step(token);
    cache.advance(1);
  };
  count(name, 5, run, &step);
}

}  // namespace

int main(int argc, char** argv) {
  const std::pair<const char*, std::function<void(const char*)>> networks[] = {
      {"lenet", [](const char* name) { lenet(name, false); }},
      {"lenet captured", [](const char* name) { lenet(name, true); }},
      {"resnet18", [](const char* name) { resnet18(name, false); }},
      {"resnet18 captured", [](const char* name) { resnet18(name, false, MemoryFormat::Contiguous, true); }},
      {"resnet18 bf16", [](const char* name) { resnet18(name, true); }},
      {"resnet18 bf16 channels-last", [](const char* name) { resnet18(name, true, MemoryFormat::ChannelsLast); }},
      {"resnet18 bf16 channels-last captured",
       [](const char* name) { resnet18(name, true, MemoryFormat::ChannelsLast, true); }},
      {"unet captured", unet},
      {"gpt2 bf16", [](const char* name) { gpt2(name, false); }},
      {"gpt2 bf16 captured", [](const char* name) { gpt2(name, true); }},
      {"gpt2 token", [](const char* name) { decode(name, false); }},
      {"gpt2 token captured", [](const char* name) { decode(name, true); }},
  };
  globalContext().setBenchmarkCuDNN(false);  // what is chosen by its time is not the same twice
  for (const auto& [name, run] : networks) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; ++i) wanted = wanted || std::string_view(name).starts_with(argv[i]);
    if (!wanted) continue;
    manual_seed(0);
    run(name);
  }
}
