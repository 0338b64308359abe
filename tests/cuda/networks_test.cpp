// Classification losses on CUDA against the CPU.
#include "tandem/core/backend/loss.h"
#include "tandem/core/reduction.h"
#include "tandem/tests/cuda/compare_devices.h"

using namespace tandem;

namespace {

Tensor sample(IntArrayRef sizes, ScalarType type, uint64_t seed = 3) {
  Generator generator(seed);
  return randn(sizes, generator, TensorOptions(type));
}
Tensor make(IntArrayRef sizes, ScalarType type, bool cuda) {
  return empty_raw(sizes, type, cuda ? cuda0() : Device(kCPU));
}

// All results of a loss and its gradient on one device, copied to the CPU.
std::vector<Tensor> losses(bool cuda, const Tensor& scores, const Tensor& target, const Tensor& weight,
                           const ClassLoss& loss) {
  const ScalarType type = scores.dtype();
  const auto move = [&](const Tensor& t) { return cuda ? to_cuda(t) : t; };
  const Tensor x = move(scores), y = move(target), w = move(weight);
  const int64_t n = x.size(0), s = x.size(2);
  const bool each = loss.reduction == ReductionKind::kNone;
  const Dims out_sizes = each ? Dims({n, s}) : Dims();
  const Tensor g = move(each ? sample({n, s}, type, 8) : full({}, 1.5, TensorOptions(type)));
  const auto& kernels = backend(x).loss;
  std::vector<Tensor> out{make(out_sizes, type, cuda), make({2, n, s}, type, cuda), make({}, type, cuda),
                          make(x.sizes(), type, cuda), make(out_sizes, type, cuda), make({}, type, cuda),
                          make(x.sizes(), type, cuda)};
  kernels.cross_entropy(out[0], out[1], out[2], x, y, w, loss);
  kernels.cross_entropy_backward(out[3], g, out[1], out[2], x, y, w, loss);
  kernels.nll(out[4], out[5], x, y, w, loss);
  kernels.nll_backward(out[6], g, out[5], y, w, loss);
  for (Tensor& t : out) t = t.cpu();
  return out;
}

}  // namespace

TEST_CASE("classification losses agree with the CPU") {
  if (!has_devices(1)) return;
  const std::vector<std::vector<int64_t>> shapes = {{1, 2, 1},    {256, 10, 1}, {3000, 10, 1}, {7, 1000, 1},
                                                    {3, 9001, 1}, {4, 5, 63},   {2, 40, 700},  {0, 3, 1}};
  for (const ScalarType type : {kFloat, kDouble})
    for (const auto& sizes : shapes)
      for (const ReductionKind reduction : {ReductionKind::kNone, ReductionKind::kMean, ReductionKind::kSum})
        for (const bool plain : {true, false}) {
          const Tensor scores = sample(sizes, type) * 3;
          Generator generator(11);
          const Tensor target = randint(0, sizes[1], {sizes[0], sizes[2]}, generator, TensorOptions(kLong));
          const Tensor weight = plain ? Tensor() : sample({sizes[1]}, type, 12).abs();
          const ClassLoss loss{reduction, plain ? -100 : 1, plain ? 0 : 0.2};
          const auto a = losses(false, scores, target, weight, loss), b = losses(true, scores, target, weight, loss);
          for (std::size_t i = 0; i < a.size(); ++i) {
            INFO(std::string(name(type)), " ", sizes[0], " x ", sizes[1], " x ", sizes[2], " reduction ",
                 static_cast<int>(reduction), " plain ", plain, " result ", i);
            CHECK(near(b[i], a[i], tolerance_of(type) * 2));
          }
        }
}

TEST_CASE("a target out of range is reported and contributes nothing") {
  if (!has_devices(1)) return;
  const Tensor scores = to_cuda(sample({3, 4, 1}, kFloat));
  for (const int64_t bad : {4, -1}) {
    const Tensor target = to_cuda(tensor(std::vector<int64_t>{1, bad, 2}).view({3, 1}));
    const Tensor out = make({3, 1}, kFloat, true), total = make({}, kFloat, true);
    backend(scores).loss.nll(out, total, scores, target, Tensor(), {ReductionKind::kNone});
    CHECK_THROWS_WITH_AS(static_cast<void>(out.cpu()), doctest::Contains("is out of range"), IndexError);
    CHECK(out.cpu().view({-1})[1].item<float>() == 0);
    CHECK(total.cpu().item<float>() == 2);
  }
}
