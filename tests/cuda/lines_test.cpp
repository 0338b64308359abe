// CUDA kernels along one dimension against the CPU's: softmax, layer normalisation, scans, sorting, weighted sampling.
#include <algorithm>

#include "tandem/core/backend/layer_norm.h"
#include "tandem/core/backend/random.h"
#include "tandem/core/backend/scan.h"
#include "tandem/core/backend/softmax.h"
#include "tandem/core/backend/sort.h"
#include "tandem/tests/cuda/compare_devices.h"

using namespace tandem;

namespace {

struct Line {
  std::vector<int64_t> sizes;
  int64_t dim;
};
// Short and long lines, few and many, rows and columns, on both sides of every threshold of the kernels.
const std::vector<Line> kLines = {{{}, 0},          {{1}, 0},          {{10}, 0},       {{1000}, 0},
                                  {{70000}, 0},     {{37, 10}, 1},     {{37, 10}, 0},   {{9, 128}, 1},
                                  {{9, 1024}, 1},   {{9, 1025}, 1},    {{3, 2052}, 1},  {{3, 2, 5}, 1},
                                  {{2, 300, 7}, 1}, {{2, 20, 300}, 1}, {{5000, 12}, 1}, {{12, 5000}, 0},
                                  {{130, 4200}, 0}, {{2, 13000}, 1},   {{0, 5}, 1},     {{5, 0}, 1}};

Tensor sample(IntArrayRef sizes, ScalarType type, uint64_t seed = 3) {
  Generator generator(seed);
  if (is_floating_point(type)) return randn(sizes, generator, TensorOptions(type));
  return randint(type == kBool ? 0 : -40, type == kBool ? 2 : 40, sizes, generator, TensorOptions(kLong)).to(type);
}
Tensor like(const Tensor& t, Device device) { return empty_raw(t.sizes(), t.dtype(), device); }

// Sets some elements to NaN and infinities.
Tensor with_specials(const Tensor& source) {
  Tensor x = source.clone().view({-1});
  float* p = x.ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i)
    if (i % 53 == 7) p[i] = i % 2 ? -0.0f : 0.0f;
  for (int64_t i = 11; i < x.numel(); i += 4093) p[i] = NAN;
  for (int64_t i = 17; i < x.numel(); i += 5000) p[i] = INFINITY;
  for (int64_t i = 5; i < x.numel(); i += 97) p[i] = -INFINITY;
  return x.view(source.sizes());
}

}  // namespace

TEST_CASE("softmax agrees with the CPU") {
  if (!has_devices(1)) return;
  for (const ScalarType type : {kFloat, kDouble})
    for (const Line& line : kLines)
      for (const bool specials : {false, true}) {
        if (specials && type == kDouble) continue;
        Tensor x = sample(line.sizes, type) * 5, g = sample(line.sizes, type, 4);
        if (specials) x = with_specials(x);
        const Tensor y = to_cuda(x), h = to_cuda(g), here = like(x, kCPU), there = like(x, cuda0());
        const auto& a = backend(x).softmax;
        const auto& b = backend(y).softmax;
        INFO(std::string(name(type)), " elements ", x.numel(), " dims ", x.dim(), " dim ", line.dim, " specials ",
             specials);
        const auto check = [&] { CHECK(near(there.cpu(), here, tolerance_of(type))); };
        a.softmax(here, x, line.dim), b.softmax(there, y, line.dim), check();
        if (specials) continue;
        const Tensor out = here.clone(), out_there = there;
        a.softmax_backward(here, g, out, line.dim), b.softmax_backward(there, h, out_there, line.dim), check();
        a.log_softmax(here, x, line.dim), b.log_softmax(there, y, line.dim), check();
        const Tensor log = here.clone(), log_there = to_cuda(log);
        a.log_softmax_backward(here, g, log, line.dim), b.log_softmax_backward(there, h, log_there, line.dim), check();
      }
}

TEST_CASE("a row of -inf, a row of +inf, a row with one finite number") {
  if (!has_devices(1)) return;
  const float inf = INFINITY;
  const Tensor x = tensor({-inf, -inf, -inf, inf, 0.f, 1.f, -inf, -inf, 2.f}).view({3, 3});
  const Tensor here = like(x, kCPU), there = like(x, cuda0());
  backend(x).softmax.softmax(here, x, 1);
  backend(there).softmax.softmax(there, to_cuda(x), 1);
  CHECK(near(there.cpu(), here, unless_strict(1e-6)));
  backend(x).softmax.log_softmax(here, x, 1);
  backend(there).softmax.log_softmax(there, to_cuda(x), 1);
  CHECK(near(there.cpu(), here, unless_strict(1e-6)));
}

TEST_CASE("layer normalisation and its gradients agree with the CPU, whichever are wanted") {
  if (!has_devices(1)) return;
  const int64_t sizes[][2] = {{1, 1}, {3, 7}, {33, 40}, {2, 2500}, {600, 40}};
  for (const ScalarType type : {kFloat, kDouble})
    for (const auto& size : sizes) {
      const int64_t rows = size[0], n = size[1];
      const Tensor x = sample({rows, n}, type), g = sample({rows, n}, type, 4), w = sample({n}, type, 5),
                   b = sample({n}, type, 6), statistics = empty_raw({rows, 3}, type, kCPU), y = like(x, kCPU);
      backend(x).layer_norm.forward(y, statistics, x, w, b, 1e-3);
      // One column's terms, which may cancel, are added.
      const double tolerance = tolerance_of(type), of_sums = tolerance * 50;
      for (const Tensor& weight : {w, Tensor()})
        for (const Tensor& bias : {b, Tensor()}) {
          INFO(std::string(name(type)), " ", rows, " x ", n, " weight ", weight.defined(), " bias ", bias.defined());
          const Tensor here = like(x, kCPU), there = like(x, cuda0()), kept = empty_raw({rows, 3}, type, cuda0());
          backend(x).layer_norm.forward(here, empty_raw({rows, 3}, type, kCPU), x, weight, bias, 1e-3);
          backend(kept).layer_norm.forward(there, kept, to_cuda(x), to_cuda(weight), to_cuda(bias), 1e-3);
          CHECK(near(there.cpu(), here, tolerance));
        }
      for (const int wanted : {1, 2, 4, 7})  // bit i: output i
        for (const Tensor& weight : {w, Tensor()}) {
          if (!weight.defined() && wanted != 1) continue;
          INFO(std::string(name(type)), " ", rows, " x ", n, " wanted ", wanted, " weight ", weight.defined());
          const auto run = [&](Device device) {
            std::vector<Tensor> out;
            for (int i = 0; i < 3; ++i)
              out.push_back(wanted >> i & 1 ? full(i == 0 ? x.sizes() : w.sizes(), 7, x.options()).to(device)
                                            : Tensor());
            const auto there = [&](const Tensor& t) { return t.defined() && device.is_cuda() ? to_cuda(t) : t; };
            backend(device).layer_norm.backward(out[0], out[1], out[2], there(g), there(x), there(statistics),
                                                there(weight));
            for (Tensor& t : out)
              if (t.defined()) t = t.cpu();
            return out;
          };
          const auto here = run(kCPU), there = run(cuda0());
          for (std::size_t i = 0; i < 3; ++i)
            if (here[i].defined()) CHECK(near(there[i], here[i], i == 0 ? tolerance : of_sums));
        }
    }
}

TEST_CASE("scans agree with the CPU") {
  if (!has_devices(1)) return;
  for (const ScalarType type : {kFloat, kDouble, kLong})
    for (const Line& line : kLines)
      for (const bool reverse : {false, true}) {
        const Tensor x = sample(line.sizes, type), y = to_cuda(x);
        const Tensor here = like(x, kCPU), there = like(x, cuda0());
        INFO(std::string(name(type)), " elements ", x.numel(), " dims ", x.dim(), " dim ", line.dim, " reverse ",
             reverse);
        // Sums near 0 keep the error of the larger partial sums.
        const double tolerance = unless_strict(type == kDouble ? 1e-10 : tolerance_of(type));
        backend(x).scan.cumsum(here, x, line.dim, reverse);
        backend(y).scan.cumsum(there, y, line.dim, reverse);
        CHECK(near(there.cpu(), here, tolerance));
        backend(x).scan.cumprod(here, x, line.dim, reverse);
        backend(y).scan.cumprod(there, y, line.dim, reverse);
        CHECK(near(there.cpu(), here, tolerance));
        if (type == kLong) continue;
        const Tensor a = sample(line.sizes, type, 9) * 0.5, b = to_cuda(a);
        backend(x).scan.linear_recurrence(here, a, x, line.dim, reverse);
        backend(y).scan.linear_recurrence(there, b, y, line.dim, reverse);
        CHECK(near(there.cpu(), here, tolerance));
      }
}

TEST_CASE("sorting produces the CPU's order, including ties and NaN") {
  if (!has_devices(1)) return;
  for (const ScalarType type : {kFloat, kDouble, kLong, kInt, kShort, kByte, kChar, kBool})
    for (const Line& line : kLines) {
      if (type != kFloat && line.sizes != std::vector<int64_t>{3, 2052} && line.sizes != std::vector<int64_t>{37, 10})
        continue;  // the types differ only in their keys
      Tensor x = type == kByte ? sample(line.sizes, kInt).abs().to(kByte) : sample(line.sizes, type);
      if (type == kFloat) x = with_specials(x);
      const Tensor y = to_cuda(x);
      const int64_t n = x.dim() == 0 ? 1 : x.size(line.dim);
      const auto check = [&](int64_t size, auto&& run) {
        Dims sizes(x.sizes());
        if (x.dim() > 0) sizes[static_cast<std::size_t>(line.dim)] = size;
        const Tensor v = empty_raw(sizes, type, kCPU), i = empty_raw(sizes, kLong, kCPU),
                     w = empty_raw(sizes, type, cuda0()), j = empty_raw(sizes, kLong, cuda0());
        run(backend(x).sort, v, i, x);
        run(backend(y).sort, w, j, y);
        INFO(std::string(name(type)), " elements ", x.numel(), " dims ", x.dim(), " dim ", line.dim, " size ", size);
        CHECK(near(j.cpu(), i, 0));
        CHECK(near(w.cpu(), v, 0));
      };
      for (const bool down : {false, true}) {
        if (down && x.numel() > 100000) continue;
        check(n, [&](const SortKernels& k, const Tensor& v, const Tensor& i, const Tensor& in) {
          k.sort(v, i, in, line.dim, down);
        });
        check(std::min<int64_t>(n, 3), [&](const SortKernels& k, const Tensor& v, const Tensor& i, const Tensor& in) {
          k.topk(v, i, in, line.dim, std::min<int64_t>(n, 3), down);
        });
        if (n == 0) continue;
        check(1, [&](const SortKernels& k, const Tensor& v, const Tensor& i, const Tensor& in) {
          k.kth(v, i, in, line.dim, n / 2, down);
        });
      }
    }
}

TEST_CASE("weighted samples equal the CPU's") {
  if (!has_devices(1)) return;
  const Generator generator(5);
  for (const int64_t rows : {1, 9})
    for (const int64_t columns : {1, 10, 100, 1500}) {
      Tensor weights = sample({rows, columns}, kDouble).abs();
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 3; c < columns; c += 5) weights[r][c] = 0;
      const Tensor there = to_cuda(weights);
      for (const bool replacement : {true, false}) {
        const int64_t samples = replacement ? 77 : (columns + 1) / 2;
        const auto draw = generator.next();
        const Tensor a = empty_raw({rows, samples}, kLong, kCPU), b = empty_raw({rows, samples}, kLong, cuda0());
        backend(a).random.multinomial(a, weights, replacement, draw);
        backend(b).random.multinomial(b, there, replacement, draw);
        INFO("rows ", rows, " columns ", columns, " replacement ", replacement);
        CHECK(near(b.cpu(), a, 0));
      }
    }
}

TEST_CASE("bad weights are reported by the next synchronisation") {
  if (!has_devices(1)) return;
  const auto refused = [](std::initializer_list<double> weights, bool replacement, const char* text) {
    const Tensor w = to_cuda(tensor(std::vector<double>(weights)).to(kDouble).view({1, -1}));
    const Tensor out = empty_raw({1, 2}, kLong, cuda0());
    const auto draw = [&] {
      backend(w).random.multinomial(out, w, replacement, Generator(1).next());  // with TANDEM_CUDA_SYNC this waits
      static_cast<void>(out.cpu());
    };
    CHECK_THROWS_WITH_AS(draw(), doctest::Contains(text), Error);
  };
  refused({1, -1, 2}, true, "row 0: weights must be finite and not negative");
  refused({1, NAN, 2}, true, "weights must be finite and not negative");
  refused({1, HUGE_VAL, 2}, false, "weights must be finite and not negative");
  refused({0, 0, 0}, true, "all weights are 0");
  refused({0, 3, 0}, false, "fewer positive weights");
}
