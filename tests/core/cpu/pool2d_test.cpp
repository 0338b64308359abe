// Pooling against a direct implementation of PyTorch's rules in double, on random shapes; channels-last images have the
// bits of planes.
#include "tandem/core/cpu/pool2d.h"

#include <algorithm>

#include "kernel_testing.h"

using namespace tandem;
using namespace tandem::testing_kernels;
using cpu::Pool2dShape;

namespace {

int64_t reference_size(int64_t in, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation, bool ceil_mode) {
  const double steps = static_cast<double>(in + 2 * pad - dilation * (kernel - 1) - 1) / static_cast<double>(stride);
  int64_t out = static_cast<int64_t>(ceil_mode ? std::ceil(steps) : std::floor(steps)) + 1;
  if (ceil_mode && (out - 1) * stride >= in + pad) --out;
  return out;
}

Pool2dShape random_shape(std::mt19937& random, bool average) {
  for (;;) {
    Pool2dShape s;
    s.planes = pick(random, 1, 22);
    s.in_h = pick(random, 1, 20), s.in_w = pick(random, 1, 40);
    s.p.kernel[0] = pick(random, 1, 4), s.p.kernel[1] = pick(random, 1, 4);
    s.p.stride[0] = pick(random, 1, 4), s.p.stride[1] = pick(random, 1, 4);
    s.p.padding[0] = pick(random, 0, s.p.kernel[0] / 2), s.p.padding[1] = pick(random, 0, s.p.kernel[1] / 2);
    if (pick(random, 0, 2) == 0)
      s.p.kernel[0] = s.p.kernel[1] = s.p.stride[0] = s.p.stride[1] = 2, s.p.padding[0] = s.p.padding[1] = 0;
    s.p.ceil_mode = pick(random, 0, 1);
    if (average) {
      s.p.count_include_pad = pick(random, 0, 1);
      s.p.divisor_override = pick(random, 0, 3) ? 0 : pick(random, 1, 5);
    } else {
      s.p.dilation[0] = pick(random, 1, 3), s.p.dilation[1] = pick(random, 1, 3);
    }
    if (s.in_h + 2 * s.p.padding[0] > s.p.dilation[0] * (s.p.kernel[0] - 1) &&
        s.in_w + 2 * s.p.padding[1] > s.p.dilation[1] * (s.p.kernel[1] - 1))
      return s;
  }
}

// [images][channels][plane] as [images][plane][channels].
template <class T>
std::vector<T> channels_last(const std::vector<T>& planes, int64_t channels, int64_t plane) {
  std::vector<T> last(planes.size());
  for (std::size_t i = 0; i < planes.size(); ++i) {
    const auto at = static_cast<int64_t>(i), c = at / plane % channels;
    last[static_cast<std::size_t>((at / plane / channels * plane + at % plane) * channels + c)] = planes[i];
  }
  return last;
}

// Checks that pool(shape, x, y) computes `y` from `x`, bit by bit, if both are channels-last.
template <class T, class Shape, class Pool>
void check_channels_last(Shape s, const std::vector<T>& x, const std::vector<T>& y, Pool pool) {
  for (int64_t channels = 1; channels <= s.planes; ++channels) {
    if (s.planes % channels != 0) continue;
    s.channels = channels;
    const auto last = channels_last(x, channels, s.in_h * s.in_w);
    const auto found = on_any_threads<T>(static_cast<int64_t>(y.size()), [&](T* to) { pool(s, last.data(), to); });
    const auto want = channels_last(y, channels, static_cast<int64_t>(y.size()) / s.planes);
    CHECK(std::memcmp(found.data(), want.data(), y.size() * sizeof(T)) == 0);
  }
}

// Calls f(plane, output index, weight or 0, input index) for each pair of an output and an input in its
// window.
template <class F>
void for_pairs(const Pool2dShape& s, F f) {
  for (int64_t plane = 0; plane < s.planes; ++plane)
    for (int64_t p = 0; p < s.out_h(); ++p)
      for (int64_t q = 0; q < s.out_w(); ++q) {
        const int64_t h0 = p * s.p.stride[0] - s.p.padding[0], w0 = q * s.p.stride[1] - s.p.padding[1];
        int64_t inside = 0, counted = 0;
        for (int round = 0; round < 2; ++round)
          for (int64_t i = 0; i < s.p.kernel[0]; ++i)
            for (int64_t j = 0; j < s.p.kernel[1]; ++j) {
              const int64_t h = h0 + i * s.p.dilation[0], w = w0 + j * s.p.dilation[1];
              const bool in = h >= 0 && h < s.in_h && w >= 0 && w < s.in_w;
              if (round == 0) {
                inside += in;
                counted += h < s.in_h + s.p.padding[0] && w < s.in_w + s.p.padding[1];
              } else if (in) {
                const int64_t divisor = s.p.divisor_override    ? s.p.divisor_override
                                        : s.p.count_include_pad ? counted
                                                                : inside;
                f(static_cast<std::size_t>((plane * s.out_h() + p) * s.out_w() + q), 1.0 / static_cast<double>(divisor),
                  static_cast<std::size_t>((plane * s.in_h + h) * s.in_w + w));
              }
            }
      }
}

}  // namespace

TEST_CASE_TEMPLATE("average pooling and its gradient", T, float, double) {
  std::mt19937 random(21);
  for (int round = 0; round < 150; ++round) {
    const Pool2dShape s = random_shape(random, true);
    CHECK(s.out_h() == reference_size(s.in_h, s.p.kernel[0], s.p.stride[0], s.p.padding[0], 1, s.p.ceil_mode));
    const int64_t in = s.planes * s.in_h * s.in_w, out = s.planes * s.out_h() * s.out_w();
    const auto x = random_values<T>(in, random), dy = random_values<T>(out, random);
    std::vector<double> y_want(dy.size(), 0.0), dx_want(x.size(), 0.0);
    for_pairs(s, [&](std::size_t o, double weight, std::size_t i) {
      y_want[o] += static_cast<double>(x[i]) * weight;
      dx_want[i] += static_cast<double>(dy[o]) * weight;
    });
    const auto y = on_any_threads<T>(out, [&](T* to) { cpu::avg_pool2d_forward<T>(s, x.data(), to); });
    CHECK(worst_error(y, y_want) < 1e-5);
    check_channels_last(s, x, y, cpu::avg_pool2d_forward<T>);
    CHECK(worst_error(on_any_threads<T>(in, [&](T* dx) { cpu::avg_pool2d_backward<T>(s, dy.data(), dx); }), dx_want) <
          1e-5);
  }
}

TEST_CASE_TEMPLATE("maximum pooling, its indices and its gradient", T, float, double) {
  std::mt19937 random(22);
  for (int round = 0; round < 150; ++round) {
    const Pool2dShape s = random_shape(random, false);
    const int64_t in = s.planes * s.in_h * s.in_w, out = s.planes * s.out_h() * s.out_w();
    auto x = random_values<T>(in, random);
    for (T& v : x) v = std::round(v * 4);  // creates ties
    if (round % 3 == 0) x[static_cast<std::size_t>(pick(random, 0, in - 1))] = static_cast<T>(NAN);
    const auto dy = random_values<T>(out, random);
    std::vector<double> y_want(dy.size(), -INFINITY), dx_want(x.size(), 0.0);
    std::vector<int64_t> i_want(dy.size(), -1);
    for_pairs(s, [&](std::size_t o, double, std::size_t i) {
      const double v = static_cast<double>(x[i]);
      if (v > y_want[o] || std::isnan(v)) {
        y_want[o] = v;
        i_want[o] = static_cast<int64_t>(i) % (s.in_h * s.in_w);
      }
    });
    const auto y = on_any_threads<T>(out, [&](T* to) { cpu::max_pool2d_forward<T>(s, x.data(), to, nullptr); });
    const auto indices = on_any_threads<int64_t>(out, [&](int64_t* to) {
      std::vector<T> values(dy.size());
      cpu::max_pool2d_forward<T>(s, x.data(), values.data(), to);
      CHECK(worst_error(values, y_want) == 0);
    });
    CHECK(worst_error(y, y_want) == 0);
    check_channels_last(s, x, y, [](const Pool2dShape& shape, const T* from, T* to) {
      cpu::max_pool2d_forward<T>(shape, from, to, nullptr);
    });
    for (std::size_t o = 0; o < dy.size(); ++o) {
      if (i_want[o] < 0) {  // a window outside the input
        CHECK((indices[o] >= 0 && indices[o] < s.in_h * s.in_w));
        i_want[o] = indices[o];
      }
      const int64_t plane = static_cast<int64_t>(o) / (s.out_h() * s.out_w());
      dx_want[static_cast<std::size_t>(plane * s.in_h * s.in_w + i_want[o])] += static_cast<double>(dy[o]);
    }
    CHECK(indices == i_want);
    const auto dx = on_any_threads<T>(in, [&](T* to) { cpu::max_pool2d_backward<T>(s, dy.data(), i_want.data(), to); });
    CHECK(worst_error(dx, dx_want) < 1e-5);
  }
}

TEST_CASE("maximum pooling of minus infinity returns an index inside the window") {
  const Pool2dShape s{.planes = 1, .in_h = 4, .in_w = 4, .p = {.kernel = {2, 2}, .stride = {2, 2}}};
  const std::vector<float> x(16, -INFINITY);
  std::vector<float> y(4);
  std::vector<int64_t> indices(4);
  cpu::max_pool2d_forward<float>(s, x.data(), y.data(), indices.data());
  CHECK(indices == std::vector<int64_t>{0, 2, 8, 10});
  CHECK(y == std::vector<float>(4, -INFINITY));
}

TEST_CASE_TEMPLATE("adaptive average pooling and its gradient", T, float, double) {
  std::mt19937 random(23);
  for (int round = 0; round < 60; ++round) {
    cpu::AdaptivePool2dShape s{.planes = pick(random, 1, 12),
                               .in_h = pick(random, 1, 9),
                               .in_w = pick(random, 1, 9),
                               .out_h = pick(random, 1, 7),
                               .out_w = pick(random, 1, 7)};
    if (round % 10 == 0)  // windows of more than 4096 elements, which are not summed at once
      s.planes = 2, s.in_h = pick(random, 70, 130), s.in_w = pick(random, 70, 90), s.out_h = s.out_w = 1;
    const int64_t in = s.planes * s.in_h * s.in_w, out = s.planes * s.out_h * s.out_w;
    const auto x = random_values<T>(in, random), dy = random_values<T>(out, random);
    std::vector<double> y_want(dy.size(), 0.0), dx_want(x.size(), 0.0);
    const auto first = [](int64_t i, int64_t from, int64_t to) {
      return static_cast<int64_t>(std::floor(static_cast<double>(i * from) / static_cast<double>(to)));
    };
    const auto end = [](int64_t i, int64_t from, int64_t to) {
      return static_cast<int64_t>(std::ceil(static_cast<double>((i + 1) * from) / static_cast<double>(to)));
    };
    for (int64_t o = 0; o < out; ++o) {
      const int64_t plane = o / (s.out_h * s.out_w), p = o / s.out_w % s.out_h, q = o % s.out_w;
      const int64_t h0 = first(p, s.in_h, s.out_h), h1 = end(p, s.in_h, s.out_h);
      const int64_t w0 = first(q, s.in_w, s.out_w), w1 = end(q, s.in_w, s.out_w);
      const double weight = 1.0 / static_cast<double>((h1 - h0) * (w1 - w0));
      for (int64_t h = h0; h < h1; ++h)
        for (int64_t w = w0; w < w1; ++w) {
          const auto i = static_cast<std::size_t>((plane * s.in_h + h) * s.in_w + w), to = static_cast<std::size_t>(o);
          y_want[to] += static_cast<double>(x[i]) * weight;
          dx_want[i] += static_cast<double>(dy[to]) * weight;
        }
    }
    const auto y = on_any_threads<T>(out, [&](T* to) { cpu::adaptive_avg_pool2d_forward<T>(s, x.data(), to); });
    CHECK(worst_error(y, y_want) < 1e-6);
    check_channels_last(s, x, y, cpu::adaptive_avg_pool2d_forward<T>);
    const auto dx = on_any_threads<T>(in, [&](T* to) { cpu::adaptive_avg_pool2d_backward<T>(s, dy.data(), to); });
    CHECK(worst_error(dx, dx_want) < 1e-6);
  }
}
