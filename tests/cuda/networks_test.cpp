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

// All results of a loss and its gradient on one device, copied to the CPU: out, norms, total weight and gradient of
// cross_entropy, then out, total weight and gradient of nll. Only the scores and the gradients have a half type.
std::vector<Tensor> losses(bool cuda, const Tensor& scores, const Tensor& target, const Tensor& weight,
                           const ClassLoss& loss) {
  const ScalarType type = scores.dtype(), sums = computed_type(type);
  const auto move = [&](const Tensor& t) { return cuda ? to_cuda(t) : t; };
  const Tensor x = move(scores), y = move(target), w = move(weight);
  const int64_t n = x.size(0), s = x.size(2);
  const bool each = loss.reduction == ReductionKind::kNone;
  const Dims out_sizes = each ? Dims({n, s}) : Dims();
  const Tensor g = move(each ? sample({n, s}, sums, 8) : full({}, 1.5, TensorOptions(sums)));
  const auto& kernels = backend(x).loss;
  std::vector<Tensor> out{make(out_sizes, sums, cuda), make({2, n, s}, sums, cuda), make({}, sums, cuda),
                          make(x.sizes(), type, cuda), make(out_sizes, sums, cuda), make({}, sums, cuda),
                          make(x.sizes(), type, cuda)};
  kernels.cross_entropy(out[0], out[1], out[2], x, y, w, loss);
  kernels.cross_entropy_backward(out[3], g, out[1], out[2], x, y, w, loss);
  kernels.nll(out[4], out[5], x, y, w, loss);
  kernels.nll_backward(out[6], g, out[5], y, w, loss);
  for (Tensor& t : out) t = t.cpu();
  return out;
}

// Equal up to the rounding of their dtype, for the half types relative to the largest element.
bool near_enough(const Tensor& a, const Tensor& b) {
  if (!isReducedFloatingType(b.scalar_type())) return near(a, b, tolerance_of(b.scalar_type()) * 2);
  const double largest = b.numel() == 0 ? 1 : b.to(kDouble).abs().max().item<double>();
  return near(a.to(kDouble) / largest, b.to(kDouble) / largest, unless_strict(b.dtype() == kHalf ? 0x1p-10 : 0x1p-8));
}

Tensor targets(int64_t classes, IntArrayRef sizes) {
  Generator generator(11);
  return randint(0, classes, sizes, generator, TensorOptions(kLong));
}

}  // namespace

TEST_CASE("classification losses agree with the CPU") {
  if (!has_devices(1)) return;
  const std::vector<std::vector<int64_t>> shapes = {{1, 2, 1},    {256, 10, 1}, {3000, 10, 1}, {7, 1000, 1},
                                                    {3, 9001, 1}, {4, 5, 63},   {2, 40, 700},  {0, 3, 1}};
  for (const ScalarType type : {kFloat, kDouble, kHalf, kBFloat16})
    for (const auto& sizes : shapes)
      for (const ReductionKind reduction : {ReductionKind::kNone, ReductionKind::kMean, ReductionKind::kSum})
        for (const bool plain : {true, false}) {
          const Tensor scores = (sample(sizes, computed_type(type)) * 3).to(type);
          const Tensor target = targets(sizes[1], {sizes[0], sizes[2]});
          const Tensor weight = plain ? Tensor() : sample({sizes[1]}, computed_type(type), 12).abs();
          const ClassLoss loss{reduction, plain ? -100 : 1, plain ? 0 : 0.2};
          const auto a = losses(false, scores, target, weight, loss), b = losses(true, scores, target, weight, loss);
          for (std::size_t i = 0; i < a.size(); ++i) {
            INFO(std::string(name(type)), " ", sizes[0], " x ", sizes[1], " x ", sizes[2], " reduction ",
                 static_cast<int>(reduction), " plain ", plain, " result ", i);
            CHECK(near_enough(b[i], a[i]));
          }
        }
}

TEST_CASE("scores of a half type have the same loss wherever they begin, and masked classes none") {
  if (!has_devices(1)) return;
  for (const ScalarType type : {kHalf, kBFloat16})
    for (const int64_t classes : {5, 16, 157, 8200}) {
      Tensor scores = sample({6, classes, 1}, kFloat) * 3;
      scores.narrow(1, 1, classes / 2).fill_(-INFINITY);  // whole vectors of it where there are many classes
      scores[4][classes - 1] = NAN;
      scores[5].fill_(-INFINITY);
      const Tensor target = full({6, 1}, 0, TensorOptions(kLong));
      const ClassLoss loss{ReductionKind::kNone};
      const auto expected = losses(false, scores.to(type), target, Tensor(), loss);
      std::vector<Tensor> first;
      for (const int64_t offset : {0, 1, 2, 3, 4, 7}) {
        const Tensor room = empty_raw({scores.numel() + offset}, type, kCPU),
                     moved = alias(room, scores.sizes(), contiguous_strides(scores.sizes()), offset);
        room.fill_(0);
        moved.copy_(scores);
        const auto results = losses(true, moved, target, Tensor(), loss);
        if (first.empty()) first = results;
        for (std::size_t i = 0; i < results.size(); ++i) {
          INFO(std::string(name(type)), " ", classes, " classes, offset ", offset, ", result ", i);
          CHECK(testing::identical(results[i].nan_to_num(1e4), first[i].nan_to_num(1e4)));
          if (i != 1)  // the largest score of a row with NaN may be either
            CHECK(near(results[i], expected[i], unless_strict(i == 3 || i == 6 ? 0x1p-8 : 4e-5)));
        }
      }
    }
}

// The gradient of many scores of a half type has aligned rows, which no leaf sees.
TEST_CASE("cross entropy of a half type keeps no float32 copy of the scores") {
  if (!has_devices(1)) return;
  const int64_t rows = 33, classes = 32001;
  const Tensor x = to_cuda(sample({rows, classes}, kFloat).to(kBFloat16)).requires_grad_(),
               y = to_cuda(targets(classes, {rows}));
  const auto bytes = static_cast<int64_t>(x.nbytes());
  const autocast::AutocastGuard mixed(kCUDA, kBFloat16);
  const auto peak_of = [&](auto&& run) {
    tandem::synchronize(cuda0());
    cuda::reset_peak_memory_stats(0);
    const int64_t before = cuda::memory_allocated(0);
    run();
    return cuda::max_memory_allocated(0) - before;
  };
  Tensor loss, grad;
  CHECK(peak_of([&] { loss = cross_entropy_loss(x.mul(1), y); }) < bytes * 5 / 4);  // the product is kept
  CHECK((loss.dtype() == kFloat));
  CHECK(peak_of([&] { grad = autograd::grad({loss}, {x})[0]; }) < bytes * 9 / 4);  // that of the product, too
  const Tensor wide = x.detach().to(kFloat).requires_grad_(), same = cross_entropy_loss(wide, y);
  CHECK(near(loss.cpu(), same.cpu(), 1e-5));
  same.backward();
  CHECK(near_enough(grad.cpu(), wide.grad().to(kBFloat16).cpu()));
  grad = autograd::grad({cross_entropy_loss(x, y)}, {x})[0];
  CHECK(grad.stride(0) == 32008);
  cross_entropy_loss(x, y).backward();
  CHECK(x.grad().is_contiguous());
  CHECK(testing::identical(x.grad().cpu(), grad.cpu().contiguous()));
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
