// Attention's kernels on CUDA against float64 on the CPU; rows that do not depend on their batch; memory.
#include "tandem/tests/cuda/compare_devices.h"

#include <limits>

namespace tandem {
namespace {

// Normal numbers.
Tensor sample(IntArrayRef sizes, ScalarType type = kFloat) {
  static const Generator generator(11);
  return empty(sizes).normal_(0, 1, generator).to(type);
}

struct Sizes {
  int64_t batch, heads, groups, queries, keys, width, value_width;
};
struct Case {
  const char* name;
  Sizes sizes;
  bool causal = false;
  double dropout = 0;
  enum Mask { kNone, kPadding, kVisible, kNumbers, kFar, kPairs } mask = kNone;
  int64_t before = -1;  // behind a cache
};

Tensor mask_of(const Case& c, ScalarType type) {
  const Sizes& s = c.sizes;
  if (c.mask == Case::kNone) return {};
  // The keys of sequence n end after 3 n + 1.
  const Tensor padding = arange(s.keys) < (arange(s.batch) * 3 + 1).view({s.batch, 1, 1, 1});
  if (c.mask == Case::kPadding) return padding;
  if (c.mask == Case::kPairs) {  // each query sees two keys, in a block of its own; no others are near in memory
    const Tensor room = zeros({int64_t{1} << 20}, kBool), pairs = room.narrow(0, 0, s.queries * s.keys);
    for (int64_t i = 0; i < s.queries; ++i) pairs.narrow(0, (i + 1) * s.keys - 5 - 30 * i, 2).fill_(true);
    return pairs.view({1, 1, s.queries, s.keys});
  }
  const Tensor numbers = sample({s.heads, s.queries, s.keys}, kFloat);
  const Tensor visible =
      (numbers > -0.5).logical_and(arange(s.queries).view({s.queries, 1}) != 1);  // query 1 sees none
  if (c.mask == Case::kVisible) return visible;
  if (c.mask == Case::kFar) {  // query 0 has only the lowest scores, query 1 only low ones
    Tensor far = numbers.clone();
    far.select(1, 0).fill_(std::numeric_limits<float>::lowest());
    far.select(1, 1).fill_(-1e30);
    return far.to(type);
  }
  return numbers.to(type).masked_fill(visible.logical_not(), -std::numeric_limits<double>::infinity());
}

// The result and the gradients of q, k and v.
std::vector<Tensor> attend(const Case& c, const std::vector<Tensor>& qkv, const Tensor& mask, const Tensor& grad) {
  std::vector<Tensor> leaves;
  for (const Tensor& t : qkv) leaves.push_back(t.detach().requires_grad_());
  manual_seed(7);
  const Tensor out = c.before >= 0 ? autograd::causal_attention(leaves[0], leaves[1], leaves[2], c.before, mask)
                                   : scaled_dot_product_attention(leaves[0], leaves[1], leaves[2], mask, c.dropout,
                                                                  c.causal, {}, c.sizes.heads != c.sizes.groups);
  std::vector<Tensor> all = autograd::grad({out}, leaves, {grad});
  all.insert(all.begin(), out.detach());
  return all;
}

std::vector<Tensor> inputs(const Sizes& s, ScalarType type) {
  return {sample({s.batch, s.queries, s.heads, s.width}, type).transpose(1, 2),
          sample({s.batch, s.groups, s.keys, s.width}, type), sample({s.batch, s.groups, s.keys, s.value_width}, type)};
}

std::vector<Tensor> moved(const std::vector<Tensor>& tensors, Device device, ScalarType type) {
  std::vector<Tensor> to;
  for (const Tensor& t : tensors) to.push_back(t.to(device, type));
  return to;
}

// Of the largest element: a product of half types has a rounding of every operand.
double allowed(ScalarType type) { return type == kFloat ? 4e-6 : type == kHalf ? 0x1p-9 : 0x1p-6; }

void check_case(const Case& c, ScalarType type) {
  INFO(c.name, " ", name(type));
  const Sizes& s = c.sizes;
  const std::vector<Tensor> qkv = inputs(s, type);
  const Tensor mask = mask_of(c, type), grad = sample({s.batch, s.heads, s.queries, s.value_width}, type);
  const auto wide = [](const Tensor& t) { return t.defined() && t.is_floating_point() ? t.to(kDouble) : t; };
  const std::vector<Tensor> expected = attend(c, moved(qkv, Device(kCPU), kDouble), wide(mask), wide(grad)),
                            got = attend(c, moved(qkv, cuda0(), type), to_cuda(mask), to_cuda(grad));
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("result ", i);
    const double largest = expected[i].abs().max().item<double>();
    CHECK((got[i].dtype() == type));
    CHECK(near(got[i].cpu().to(kDouble) / largest, expected[i] / largest, allowed(type)));
  }
}

}  // namespace

TEST_CASE("attention on CUDA agrees with float64 on the CPU") {
  if (!has_devices(1)) return;
  const Case cases[] = {
      {"several blocks", {1, 2, 2, 130, 150, 20, 9}},
      {"causal", {1, 1, 1, 150, 130, 32, 32}, true},
      {"more keys than queries", {1, 1, 1, 5, 100, 16, 16}, true},
      {"padding", {3, 2, 2, 4, 140, 24, 24}, false, 0, Case::kPadding},
      {"visible", {1, 2, 2, 20, 40, 64, 40}, false, 0, Case::kVisible},
      {"numbers", {2, 2, 2, 7, 33, 16, 32}, false, 0, Case::kNumbers},
      {"far numbers", {2, 2, 2, 7, 33, 16, 32}, false, 0, Case::kFar},
      {"pairs of keys", {1, 1, 1, 3, 70, 16, 16}, false, 0, Case::kPairs},
      {"groups", {2, 6, 2, 40, 17, 16, 16}, true},
      {"dropout", {2, 2, 2, 19, 35, 16, 16}, false, 0.3},
      {"dropout, causal, groups", {1, 4, 2, 35, 36, 8, 8}, true, 0.5},
      {"behind a cache", {2, 1, 1, 3, 70, 8, 8}, false, 0, Case::kPadding, 66},
      {"heads of 128", {1, 1, 1, 18, 35, 128, 100}, true},
      {"heads of 256", {1, 1, 1, 17, 20, 250, 256}, true},
  };
  for (const Case& c : cases)
    for (const ScalarType type : {kFloat, kHalf, kBFloat16}) check_case(c, type);
}

TEST_CASE("a row of attention does not depend on its batch") {
  std::vector<Device> devices{Device(kCPU)};
  if (has_devices(1)) devices.push_back(cuda0());
  for (const Device device : devices)
    for (const ScalarType type : {kFloat, kBFloat16}) {
      const Case all{"", {64, 2, 2, 20, 33, 16, 16}, true, 0};
      const std::vector<Tensor> qkv = inputs(all.sizes, type);
      const Tensor grad = sample({64, 2, 20, 16}, type);
      std::vector<Tensor> alone;
      for (const int64_t batch : {1, 2, 7, 64}) {
        std::vector<Tensor> part;
        for (const Tensor& t : qkv) part.push_back(t.narrow(0, 0, batch));
        std::vector<Tensor> got;
        for (const Tensor& t : attend(all, moved(part, device, type), {}, grad.narrow(0, 0, batch).to(device)))
          got.push_back(t.narrow(0, 0, 1).cpu().contiguous());
        if (batch == 1) alone = got;
        INFO(device, " ", name(type), " ", batch);
        for (std::size_t i = 0; i < got.size(); ++i) CHECK(testing::identical(got[i], alone[i]));
      }
    }
}

TEST_CASE("attention on CUDA keeps no scores, and skips what a mask hides") {
  if (!has_devices(1)) return;
  const Case c{"", {1, 1, 1, 512, 512, 16, 16}, true, 0.1};
  const std::vector<Tensor> qkv = moved(inputs(c.sizes, kFloat), cuda0(), kFloat);
  const Tensor grad = sample({1, 1, 512, 16}, kFloat).to(cuda0());
  tandem::synchronize(cuda0());
  cuda::reset_peak_memory_stats(0);
  const int64_t before = cuda::memory_allocated(0);
  const std::vector<Tensor> kept = attend(c, qkv, {}, grad);
  // The scores would be 512 x 512 numbers; there are 13 tensors of 512 x 16 at most.
  CHECK(cuda::max_memory_allocated(0) - before < 512 * 512 * 4 / 2);

  // What is in hidden blocks is not read.
  const Case padded{"", {2, 1, 1, 4, 200, 16, 16}, false, 0, Case::kPadding};
  std::vector<Tensor> clean = inputs(padded.sizes, kFloat), broken;
  for (const Tensor& t : clean) broken.push_back(t.clone());
  for (const std::size_t i : {1, 2}) broken[i].narrow(2, 64, 136).fill_(std::numeric_limits<double>::quiet_NaN());
  const Tensor mask = to_cuda(mask_of(padded, kFloat)), g = sample({2, 1, 4, 16}, kFloat).to(cuda0());
  const std::vector<Tensor> x = attend(padded, moved(clean, cuda0(), kFloat), mask, g),
                            y = attend(padded, moved(broken, cuda0(), kFloat), mask, g);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(testing::identical(x[i].cpu(), y[i].cpu()));
}

TEST_CASE("a captured step drops other elements of attention in every replay") {
  if (!has_devices(1)) return;
  const Tensor x = sample({1, 2, 20, 8}).to(cuda0());
  struct Run {
    explicit Run(const Tensor& x) : w(x.clone().requires_grad_()), sgd({w}, optim::SGDOptions(0.1)) {}
    Tensor step(const Tensor& y) {
      sgd.zero_grad();
      const Tensor loss = (scaled_dot_product_attention(w, w, w, {}, 0.4, true) * y).sum();
      loss.backward();
      sgd.step();
      return loss.detach();
    }
    Tensor w;
    optim::SGD sgd;
  } eager(x), recorded(x);
  cuda::CapturedStep step([&](const Tensor& y) { return recorded.step(y); }, {&recorded.sgd});
  const auto losses = [&](auto&& run) {
    std::vector<double> all;
    manual_seed(4);
    for (int i = 0; i < 6; ++i) all.push_back(run(x).template item<double>());
    return all;
  };
  CHECK(losses([&](const Tensor& y) { return eager.step(y); }) == losses([&](const Tensor& y) { return step(y)[0]; }));
  CHECK(step.captured());
  CHECK(testing::identical(recorded.w.detach().cpu(), eager.w.detach().cpu()));
}

TEST_CASE("gradients of second order of attention on CUDA") {
  if (!has_devices(1)) return;
  const Case c{"", {1, 2, 1, 3, 4, 4, 4}, true, 0.25};
  const std::vector<Tensor> qkv = inputs(c.sizes, kFloat);
  const auto second = [&](Device device) {
    std::vector<Tensor> leaves;
    for (const Tensor& t : qkv) leaves.push_back(t.to(device).detach().requires_grad_());
    manual_seed(7);
    const Tensor out = scaled_dot_product_attention(leaves[0], leaves[1], leaves[2], {}, c.dropout, true, {}, true);
    const Tensor first = autograd::grad({(out * out).sum()}, {leaves[0]}, {}, true, true)[0];
    return autograd::grad({(first * first).sum()}, leaves);
  };
  const std::vector<Tensor> here = second(Device(kCPU)), there = second(cuda0());
  for (std::size_t i = 0; i < here.size(); ++i) CHECK(near(there[i].cpu(), here[i], unless_strict(2e-5)));
}

}  // namespace tandem
