// Reductions, softmax, losses, running sums and pooling: sums have the CPU's order.
#include <bit>

#include "tandem/core/backend/reduce.h"
#include "tandem/tests/cuda/strict.h"

using namespace tandem;
namespace F = tandem::nn::functional;

namespace {

const std::vector<ScalarType> kTypes = {kFloat, kDouble, kBFloat16, kHalf};

Tensor sample(IntArrayRef sizes, ScalarType type) { return randn(sizes, TensorOptions(kDouble)).to(type); }

Tensor folded(const Tensor& in, uint32_t mask, ScalarType type, Device device) {
  Dims sizes(in.sizes());
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (mask >> d & 1u) sizes[d] = 1;
  return empty_raw(sizes, type, device);
}

// Every reduction kernel over the dimensions of `mask`.
void same_folds(const Tensor& x, uint32_t mask) {
  const Tensor z = to_cuda(x);
  const ScalarType type = x.dtype();
  const Tensor here = folded(x, mask, type, kCPU), there = folded(x, mask, type, cuda0());
  const Tensor shift = folded(x, mask, type, kCPU);
  const ReduceKernels &cpu = backend(x).reduce, &cuda = backend(z).reduce;
  const auto check = [&](const std::string& name, auto run) {
    run(cpu, here, x, shift);
    run(cuda, there, z, to_cuda(shift));
    INFO(name, " ", std::string(tandem::name(type)), " mask ", mask, " of ", x.sizes(), " with strides ", x.strides());
    CHECK(testing::identical(there, here));
  };
  using Kernels = const ReduceKernels&;
  using In = const Tensor&;
  check("sum", [&](Kernels k, In out, In in, In) { k.sum(out, in, mask); });
  check("prod", [&](Kernels k, In out, In in, In) { k.prod(out, in, mask); });
  check("amax", [&](Kernels k, In out, In in, In) { k.amax(out, in, mask); });
  for (const double p : {0.0, 1.0, 2.0, 3.5})
    check("norm", [&](Kernels k, In out, In in, In) { k.norm(out, in, mask, p); });
  check("mean", [&](Kernels k, In out, In in, In) { k.mean(out, in, mask); });
  if (x.numel() == 0) return;
  cpu.mean(shift, x, mask);
  check("var", [&](Kernels k, In out, In in, In mean) { k.squared_deviation(out, in, mean, mask, 3, true); });
  cpu.amax(shift, x, mask);
  check("logsumexp", [&](Kernels k, In out, In in, In max) { k.logsumexp(out, in, max, mask); });
}

}  // namespace

TEST_CASE("strict: reductions") {
  if (!is_strict_device()) return;
  // On both sides of every threshold of the order.
  const std::vector<std::vector<int64_t>> shapes = {
      {},        {7},       {31},       {32},       {4096},     {5000},      {70001}, {33, 129}, {10, 1000},
      {1000, 3}, {4200, 2}, {5000, 33}, {2, 3, 37}, {64, 1, 9}, {600, 2, 3}, {0, 4},  {4, 0},    {3, 1100}};
  for (const ScalarType type : kTypes)
    for (const auto& sizes : shapes) {
      const Tensor x = sample(sizes, type);
      if (isReducedFloatingType(type) && x.numel() > 2000) continue;  // they are folded as float
      std::vector<Tensor> layouts{x};
      if (x.dim() >= 2) layouts.push_back(x.transpose(0, -1));
      if (x.dim() >= 1 && x.size(-1) > 1) layouts.push_back(x.slice(-1, 1, x.size(-1), 2));
      if (x.dim() >= 2) layouts.push_back(x.slice(0, 0, 1).expand(x.sizes()));
      for (const Tensor& t : layouts)
        for (uint32_t mask = 0; mask < 1u << t.dim(); ++mask) same_folds(t, mask);
    }
  const Tensor image = sample({2, 5, 9, 8}, kFloat).contiguous(MemoryFormat::ChannelsLast);
  for (uint32_t mask = 0; mask < 16; ++mask) same_folds(image, mask);
  for (const auto& sizes : std::vector<std::vector<int64_t>>{{300000}, {3000, 100}, {200000, 2}})  // parts on the CPU
    same_folds(sample(sizes, kFloat), 1);
  const Tensor windows = alias(sample({4000}, kFloat), {300, 1030}, {6, 1}, 0);  // whose elements overlap
  for (uint32_t mask = 0; mask < 4; ++mask) same_folds(windows, mask);
}

TEST_CASE("strict: zeros of both signs") {
  if (!is_strict_device()) return;
  const Tensor x = where(sample({70, 90}, kFloat) > 0, 0.0, -0.0);
  for (const int64_t dim : {0, 1}) {
    same([&](const Tensors& t) { return std::get<0>(t[0].max(dim)); }, {x}, false);
    same([&](const Tensors& t) { return std::get<0>(t[0].min(dim)); }, {x}, false);
    same([&](const Tensors& t) { return t[0].amax(dim); }, {x}, false);
  }
  for (const int64_t stride : {1, 2, 3})
    same([&](const Tensors& t) { return F::max_pool2d(t[0], F::MaxPool2dFuncOptions(3).stride(stride)); },
         {x.view({2, 5, 9, 70})}, false);
}

TEST_CASE("strict: gradients of broadcasting and of reductions") {
  if (!is_strict_device()) return;
  for (const ScalarType type : kTypes) {
    const Tensor x = sample({40, 3, 50}, type);
    same([](const Tensors& t) { return t[0] * t[1] + t[2] / t[3]; },
         {x, sample({50}, type), sample({3, 1}, type), sample({40, 1, 1}, type).abs() + 1});
    same(
        [](const Tensors& t) {
          return t[0].mean({0, 2}) + t[0].var({0, 2}) + t[0].std({0, 2}) + t[0].norm(3, {0, 2});
        },
        {x});
    same([](const Tensors& t) { return t[0].logsumexp({0, 2}) + t[0].nansum({0, 2}) + t[0].prod(1).sum(); }, {x});
  }
}

TEST_CASE("strict: softmax") {
  if (!is_strict_device()) return;
  for (const ScalarType type : kTypes)
    for (const int64_t n : {1, 7, 16, 31, 32, 33, 100, 4095, 4100, 9001})
      for (const int64_t dim : {0, 1, 2}) {
        const Tensor x = sample({3, 1, 2}, type) * sample({1, n, 1}, type);
        same([&](const Tensors& t) { return t[0].transpose(1, dim).contiguous().softmax(dim); }, {x});
        same([&](const Tensors& t) { return t[0].transpose(1, dim).contiguous().log_softmax(dim); }, {x});
      }
  const Tensor x = sample({3, 40}, kFloat);
  x[0].fill_(-INFINITY);
  x[1][3] = -INFINITY;
  same([](const Tensors& t) { return t[0].softmax(1).nan_to_num(2.0); }, {x}, false);
}

TEST_CASE("strict: losses over classes") {
  if (!is_strict_device()) return;
  const std::vector<std::vector<int64_t>> shapes = {{1, 1}, {3, 15}, {257, 16}, {700, 37}, {3, 5, 2, 3}, {90, 7, 3, 2}};
  for (const ScalarType type : kTypes)
    for (const auto& sizes : shapes)
      for (const bool plain : {false, true})
        for (const int reduction : {0, 1, 2}) {
          std::vector<int64_t> places = sizes;
          places.erase(places.begin() + 1);
          const Tensor target = randint(0, sizes[1], places, TensorOptions(kLong)), moved = to_cuda(target);
          Tensors inputs{sample(sizes, type)};
          if (!plain) inputs.push_back(rand({sizes[1]}, TensorOptions(kDouble)).to(type));  // weights
          const int64_t ignored = sizes[1] > 1 && !plain ? 1 : -100;
          const double smoothing = plain ? 0 : 0.1;
          const auto at = [&](const Tensors& t) { return t[0].is_cuda() ? moved : target; };
          same(
              [&](const Tensors& t) {
                return cross_entropy_loss(t[0], at(t), plain ? Tensor() : t[1].detach(), Reduction(reduction), ignored,
                                          smoothing);
              },
              inputs);
          same(
              [&](const Tensors& t) {
                return nll_loss(t[0], at(t), plain ? Tensor() : t[1].detach(), Reduction(reduction), ignored);
              },
              inputs);
        }
}

TEST_CASE("strict: other losses and distances") {
  if (!is_strict_device()) return;
  for (const ScalarType type : {kFloat, kDouble}) {
    const Tensor x = sample({37, 70}, type), y = sample({37, 70}, type);
    same([](const Tensors& t) { return F::mse_loss(t[0], t[1]) + F::smooth_l1_loss(t[0], t[1]); }, {x, y});
    same([](const Tensors& t) { return F::cosine_similarity(t[0], t[1]); }, {x, y});
    for (const double p : {1.0, 2.0, 3.0}) same([p](const Tensors& t) { return cdist(t[0], t[1], p, 2); }, {x, y});
    same([](const Tensors& t) { return F::prelu(t[0], t[1]); }, {x, sample({70}, type)});
  }
}

TEST_CASE("strict: running sums") {
  if (!is_strict_device()) return;
  for (const ScalarType type : kTypes)
    for (const auto& sizes : std::vector<std::vector<int64_t>>{{5}, {3, 17}, {2, 1000}, {1000, 3}, {20011}, {0, 3}})
      for (int64_t dim = 0; dim < static_cast<int64_t>(sizes.size()); ++dim) {
        const Tensor x = sample(sizes, type);
        same([&](const Tensors& t) { return t[0].cumsum(dim); }, {x});
        same([&](const Tensors& t) { return t[0].cumprod(dim); }, {x * 0.1 + 1});
        same([&](const Tensors& t) { return t[0].logcumsumexp(dim); }, {x});
      }
}

TEST_CASE("strict: additions at repeated positions") {
  if (!is_strict_device()) return;
  for (const ScalarType type : kTypes)
    for (const auto& sizes : std::vector<std::vector<int64_t>>{{20, 5}, {3000, 1}, {500, 90}}) {
      const int64_t rows = sizes[0], width = sizes[1];
      const Tensor index = randint(0, 7, {rows}, TensorOptions(kLong)), table = sample({7, width}, type),
                   source = sample({rows, width}, type);
      const Tensor wide = index.unsqueeze(1).expand({rows, width}).contiguous();
      const auto on = [](const Tensor& t, const Tensor& like) { return like.is_cuda() ? to_cuda(t) : t; };
      same([&](const Tensors& t) { return t[0].index_add(0, on(index, t[0]), t[1]); }, {table, source});
      same([&](const Tensors& t) { return t[0].scatter_add(0, on(wide, t[0]), t[1]); }, {table, source});
      same([&](const Tensors& t) { return t[0].index_put({on(index, t[0])}, t[1], true); }, {table, source});
      same([&](const Tensors& t) { return t[0].index_select(0, on(index, t[0])); }, {table});
      same([&](const Tensors& t) { return F::embedding(on(index, t[0]), t[0]); }, {table});
    }
  const Tensor index = randint(0, 9, {5000}, TensorOptions(kLong));
  for (const ScalarType type : {kFloat, kDouble})
    same([&](const Tensors& t) { return (t[0].is_cuda() ? to_cuda(index) : index).bincount(t[0].abs()); },
         {sample({5000}, type)}, false);
  same([](const Tensors& t) { return t[0].trace(); }, {sample({70, 90}, kFloat)});
}

TEST_CASE("strict: pooling") {
  if (!is_strict_device()) return;
  for (const ScalarType type : kTypes)
    for (const auto& sizes : std::vector<std::vector<int64_t>>{{4, 4}, {7, 7}, {9, 14}, {70, 65}})
      for (const bool channels_last : {false, true}) {
        const int64_t h = sizes[0], w = sizes[1];
        const Tensor planes = sample({2, 9, h, w}, type),
                     x = channels_last ? planes.contiguous(MemoryFormat::ChannelsLast) : planes;
        for (const int64_t out : {1, 2, 3})
          same([&](const Tensors& t) { return F::adaptive_avg_pool2d(t[0], F::AdaptiveAvgPool2dFuncOptions(out)); },
               {x});
        for (const auto& window : std::vector<std::vector<int64_t>>{{2, 2, 0}, {3, 1, 1}, {3, 2, 1}, {4, 3, 2}}) {
          same([&](const Tensors& t) { return avg_pool2d(t[0], window[0], window[1], window[2]); }, {x});
          for (const bool gradients : {false, true})
            same([&](const Tensors& t) { return max_pool2d(t[0], window[0], window[1], window[2]); }, {x}, gradients);
        }
        same([&](const Tensors& t) { return F::avg_pool2d(t[0], F::AvgPool2dFuncOptions({3, w}).stride(1)); }, {x});
      }
}
