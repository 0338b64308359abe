// Convolution and its gradients, by every method that can compute them, in both layouts, against the defining sums in
// double, on random shapes; methods and layouts have the same bits, but in the gradient of the weights.
#include "tandem/core/cpu/conv/conv2d.h"

#include "../kernel_testing.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/core/cpu/conv/conv2d_half.h"
#include "tandem/core/cpu/linalg/microkernel.h"
#include "tandem/core/half.h"
#include "tandem/core/memory/kept_weight.h"
#include "tandem/tests/sanitized.h"

using namespace tandem;
using namespace tandem::testing_kernels;
using cpu::Conv2dShape;
using cpu::ConvMethod;

namespace {

// Calls f(index in x, index in w, index in y) for every product of the convolution.
template <class F>
void for_products(const Conv2dShape& s, F f) {
  const int64_t gi = s.group_in(), go = s.group_out(), oh = s.out_h(), ow = s.out_w();
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t o = 0; o < s.out_channels; ++o)
      for (int64_t c = 0; c < gi; ++c)
        for (int64_t r = 0; r < s.kernel_h; ++r)
          for (int64_t q = 0; q < s.kernel_w; ++q)
            for (int64_t i = 0; i < oh; ++i) {
              const int64_t h = i * s.p.stride[0] - s.p.padding[0] + r * s.p.dilation[0];
              if (h < 0 || h >= s.in_h) continue;
              const int64_t x = ((n * s.in_channels + o / go * gi + c) * s.in_h + h) * s.in_w;
              const int64_t y = ((n * s.out_channels + o) * oh + i) * ow;
              for (int64_t j = 0; j < ow; ++j) {
                const int64_t w = j * s.p.stride[1] - s.p.padding[1] + q * s.p.dilation[1];
                if (w < 0 || w >= s.in_w) continue;
                f(static_cast<std::size_t>(x + w),
                  static_cast<std::size_t>(((o * gi + c) * s.kernel_h + r) * s.kernel_w + q),
                  static_cast<std::size_t>(y + j));
              }
            }
}

template <class T>
int64_t size(const std::vector<T>& v) {
  return static_cast<int64_t>(v.size());
}

// What `compute` writes on two threads.
template <class T, class F>
std::vector<T> once(int64_t count, F compute) {
  set_num_threads(2);
  std::vector<T> out(static_cast<std::size_t>(count), std::is_floating_point_v<T> ? static_cast<T>(NAN) : T(77));
  compute(out.data());
  return out;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// A residual, an activation and kept weights give the same bits as whole passes over the output with a bias, `y`.
template <class T>
void check_epilogue(ConvMethod method, const Conv2dShape& s, const std::vector<T>& x, const std::vector<T>& w,
                    const std::vector<T>& bias, std::vector<T> y, std::mt19937& random) {
  const auto residual = random_values<T>(size(y), random);
  const Tensor weight = empty({size(w)}, TensorOptions(scalar_type_of<T>));
  std::copy(w.begin(), w.end(), weight.data_ptr<T>());
  KeptWeight kept;
  const auto run = [&](const T* added, FusedActivation activation, KeptWeight* keep) {
    return once<T>(size(y), [&](T* out) {
      cpu::conv2d_forward<T>(method, s, x.data(), {weight.data_ptr<T>(), keep, &weight}, out,
                             {bias.data(), added, activation});
    });
  };
  std::vector<T> sum = y;
  for (std::size_t i = 0; i < y.size(); ++i) sum[i] = y[i] + residual[i];
  CHECK(same_bits(run(residual.data(), FusedActivation::kIdentity, nullptr), sum));
  const auto hardswish = [](std::vector<T> values) {
    for (T& value : values) value *= std::min(std::max(value + 3, T(0)), T(6)) / T(6);
    return values;
  };
  CHECK(same_bits(run(nullptr, FusedActivation::kHardswish, nullptr), hardswish(y)));
  CHECK(same_bits(run(residual.data(), FusedActivation::kHardswish, &kept), hardswish(sum)));
  for (const auto activation : {FusedActivation::kIdentity, FusedActivation::kRelu, FusedActivation::kRelu6}) {
    const T most = activation == FusedActivation::kRelu6 ? T(6) : std::numeric_limits<T>::infinity();
    for (std::vector<T>* values : {&y, &sum})
      for (T& value : *values)
        if (activation != FusedActivation::kIdentity) value = value < 0 ? T(0) : value > most ? most : value;
    CHECK(same_bits(run(nullptr, activation, &kept), y));
    CHECK(same_bits(run(residual.data(), activation, &kept), sum));
  }
}

// [batch][channels][plane] as [batch][plane][channels].
template <class T>
std::vector<T> channels_last(const std::vector<T>& rows, int64_t channels, int64_t plane) {
  std::vector<T> last;
  for (int64_t n = 0; n < size(rows) / (channels * plane); ++n)
    for (int64_t i = 0; i < plane; ++i)
      for (int64_t c = 0; c < channels; ++c)
        last.push_back(rows[static_cast<std::size_t>((n * channels + c) * plane + i)]);
  return last;
}

// Channels-last tensors have the bits of row-major ones: `chains`, or those of the same method for depthwise shapes.
template <class T>
void check_channels_last(Conv2dShape s, const std::vector<T>& x, const std::vector<T>& w, const std::vector<T>& bias,
                         const std::vector<T>& dy, const std::vector<T>& chains, const std::vector<T>& input_chains,
                         std::mt19937& random) {
  const Conv2dShape rows = s;
  s.channels_last = true;
  const auto x_last = channels_last(x, s.in_channels, s.in_plane()),
             dy_last = channels_last(dy, s.out_channels, s.out_plane());
  CHECK(cpu::can_forward<T>(cpu::choose_forward<T>(s), s));
  for (const ConvMethod method : cpu::kConvMethods) {
    INFO("channels-last, ", cpu::name_of(method));
    const bool depthwise = method == ConvMethod::kDepthwise;
    if (cpu::can_forward<T>(method, s)) {
      const auto want =
          depthwise
              ? once<T>(size(dy),
                        [&](T* out) { cpu::conv2d_forward<T>(method, rows, x.data(), {w.data()}, out, {bias.data()}); })
              : chains;
      const auto y = on_any_threads<T>(
          size(dy), [&](T* out) { cpu::conv2d_forward<T>(method, s, x_last.data(), {w.data()}, out, {bias.data()}); });
      CHECK(same_bits(y, channels_last(want, s.out_channels, s.out_plane())));
      check_epilogue(method, s, x_last, w, bias, y, random);
    }
    if (cpu::can_backward_input<T>(method, s)) {
      const auto want =
          depthwise
              ? once<T>(size(x), [&](T* dx) { cpu::conv2d_backward_input<T>(method, rows, dy.data(), w.data(), dx); })
              : input_chains;
      CHECK(same_bits(
          on_any_threads<T>(size(x),
                            [&](T* dx) { cpu::conv2d_backward_input<T>(method, s, dy_last.data(), w.data(), dx); }),
          channels_last(want, s.in_channels, s.in_plane())));
    }
  }
}

template <class T>
void check_shape(const Conv2dShape& s, std::mt19937& random) {
  const auto x = random_values<T>(s.batch * s.in_channels * s.in_plane(), random);
  const auto w = random_values<T>(s.out_channels * s.depth(), random);
  const auto bias = random_values<T>(s.out_channels, random);
  const auto dy = random_values<T>(s.batch * s.out_channels * s.out_plane(), random);
  std::vector<double> y_want(dy.size(), 0.0), dx_want(x.size(), 0.0), dw_want(w.size(), 0.0), db_want(bias.size(), 0.0);
  for_products(s, [&](std::size_t ix, std::size_t iw, std::size_t iy) {
    y_want[iy] += static_cast<double>(x[ix]) * static_cast<double>(w[iw]);
    dx_want[ix] += static_cast<double>(dy[iy]) * static_cast<double>(w[iw]);
    dw_want[iw] += static_cast<double>(x[ix]) * static_cast<double>(dy[iy]);
  });
  std::vector<double> with_bias = y_want;
  for (std::size_t i = 0; i < dy.size(); ++i) {
    const std::size_t o = i / static_cast<std::size_t>(s.out_plane()) % static_cast<std::size_t>(s.out_channels);
    with_bias[i] += static_cast<double>(bias[o]);
    db_want[o] += static_cast<double>(dy[i]);
  }
  INFO("batch ", s.batch, " in ", s.in_channels, "x", s.in_h, "x", s.in_w, " out ", s.out_channels, " kernel ",
       s.kernel_h, "x", s.kernel_w, " stride ", s.p.stride[0], ",", s.p.stride[1], " pad ", s.p.padding[0], ",",
       s.p.padding[1], " dilation ", s.p.dilation[0], ",", s.p.dilation[1], " groups ", s.p.groups);
  const double limit = tolerance<T> * 5;
  const auto near = [&](int64_t count, const std::vector<double>& want, auto compute) {
    const std::vector<T> found = on_any_threads<T>(count, compute);
    CHECK(worst_error(found, want) < limit);
    return found;
  };
  CHECK(cpu::can_forward<T>(cpu::choose_forward<T>(s), s));
  CHECK(cpu::can_backward_input<T>(cpu::choose_backward_input<T>(s), s));
  CHECK(cpu::can_backward_weight<T>(cpu::choose_backward_weight<T>(s), s));
  std::vector<T> chains, input_chains;  // what all methods compute, but for depthwise
  const auto same_chains = [](ConvMethod method, const std::vector<T>& found, std::vector<T>& first) {
    if (method == ConvMethod::kDepthwise) return;
    if (first.empty()) first = found;
    CHECK(same_bits(found, first));
  };
  for (const ConvMethod method : cpu::kConvMethods) {
    INFO(cpu::name_of(method));
    if (cpu::can_forward<T>(method, s)) {
      CHECK(
          worst_error(once<T>(size(dy), [&](T* y) { cpu::conv2d_forward<T>(method, s, x.data(), {w.data()}, y, {}); }),
                      y_want) < limit);
      const std::vector<T> y = near(size(dy), with_bias, [&](T* out) {
        cpu::conv2d_forward<T>(method, s, x.data(), {w.data()}, out, {bias.data()});
      });
      check_epilogue(method, s, x, w, bias, y, random);
      same_chains(method, y, chains);
    }
    if (cpu::can_backward_input<T>(method, s))
      same_chains(
          method,
          near(size(x), dx_want, [&](T* dx) { cpu::conv2d_backward_input<T>(method, s, dy.data(), w.data(), dx); }),
          input_chains);
    if (cpu::can_backward_weight<T>(method, s)) {
      const std::vector<T> dw =
          near(size(w), dw_want, [&](T* out) { cpu::conv2d_backward_weight<T>(method, s, x.data(), dy.data(), out); });
      std::vector<T> beside(w.size());
      CHECK(worst_error(once<T>(size(bias),
                                [&](T* db) {
                                  cpu::conv2d_backward_weight<T>(method, s, x.data(), dy.data(), beside.data(), db);
                                }),
                        db_want) < limit);
      CHECK(same_bits(dw, beside));
    }
  }
  check_channels_last(s, x, w, bias, dy, chains, input_chains, random);
  near(size(bias), db_want, [&](T* db) { cpu::conv2d_backward_bias<T>(s, dy.data(), db); });
}

Conv2dShape random_shape(std::mt19937& random) {
  Conv2dShape s;
  s.p.groups = pick(random, 0, 2) ? 1 : pick(random, 2, 4);
  s.batch = pick(random, 0, 2) ? pick(random, 1, 5) : pick(random, 14, 37);
  s.in_channels = s.p.groups * pick(random, 1, 6);
  s.out_channels = s.p.groups * pick(random, 1, pick(random, 0, 3) ? 7 : 33);
  s.kernel_h = pick(random, 1, 5), s.kernel_w = pick(random, 1, 5);
  s.p.stride[0] = pick(random, 1, 3), s.p.stride[1] = pick(random, 1, 3);
  s.p.padding[0] = pick(random, 0, 3), s.p.padding[1] = pick(random, 0, 3);
  s.p.dilation[0] = pick(random, 0, 1) ? 1 : pick(random, 1, 3),
  s.p.dilation[1] = pick(random, 0, 1) ? 1 : pick(random, 1, 3);
  const auto least = [](int64_t k, int64_t d, int64_t p) { return std::max<int64_t>(1, d * (k - 1) + 1 - 2 * p); };
  s.in_h = least(s.kernel_h, s.p.dilation[0], s.p.padding[0]) + pick(random, 0, 9);
  s.in_w = least(s.kernel_w, s.p.dilation[1], s.p.padding[1]) + pick(random, 0, 9);
  return s;
}

// Numbers of bfloat16, and their bits.
struct Halves {
  std::vector<float> values;
  std::vector<uint16_t> bits;

  Halves(int64_t count, std::mt19937& random) : values(random_values<float>(count, random)) {
    for (float& value : values) value = BFloat16(bits.emplace_back(BFloat16(value).bits), BFloat16::from_bits());
  }
};
std::vector<float> floats(const std::vector<uint16_t>& bits) {
  std::vector<float> values;
  for (const uint16_t b : bits) values.push_back(BFloat16(b, BFloat16::from_bits()));
  return values;
}

// [outer][count][size] as pairs of the entries i and ceil(count / 2) + i of the middle dimension.
std::vector<float> paired(int64_t outer, int64_t count, int64_t size, const std::vector<uint16_t>& bits) {
  std::vector<float> pairs;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < (count + 1) / 2; ++i)
      for (int64_t n = 0; n < size; ++n) {
        const auto at = [&](int64_t entry) -> uint32_t {
          return entry < count ? bits[static_cast<std::size_t>((o * count + entry) * size + n)] : 0;
        };
        const uint32_t both = at(i) | at((count + 1) / 2 + i) << 16;
        std::memcpy(&pairs.emplace_back(), &both, sizeof both);
      }
  return pairs;
}

// Convolutions of bfloat16 by pairs: the chosen methods, and every method that can compute them.
void check_pairs(const Conv2dShape& s, std::mt19937& random) {
  INFO("batch ", s.batch, " in ", s.in_channels, "x", s.in_h, "x", s.in_w, " out ", s.out_channels, " kernel ",
       s.kernel_h, "x", s.kernel_w, " stride ", s.p.stride[0], ",", s.p.stride[1], " pad ", s.p.padding[0], ",",
       s.p.padding[1], " dilation ", s.p.dilation[0], ",", s.p.dilation[1], " groups ", s.p.groups);
  const Halves x(s.batch * s.in_channels * s.in_plane(), random), w(s.out_channels * s.depth(), random);
  const Halves dy(s.batch * s.out_channels * s.out_plane(), random), bias(s.out_channels, random);
  const Halves residual(size(dy.bits), random);
  std::vector<double> y_want(dy.bits.size()), dx_want(x.bits.size()), dw_want(w.bits.size());
  for_products(s, [&](std::size_t ix, std::size_t iw, std::size_t iy) {
    y_want[iy] += static_cast<double>(x.values[ix]) * static_cast<double>(w.values[iw]);
    dx_want[ix] += static_cast<double>(dy.values[iy]) * static_cast<double>(w.values[iw]);
    dw_want[iw] += static_cast<double>(x.values[ix]) * static_cast<double>(dy.values[iy]);
  });
  for (std::size_t i = 0; i < y_want.size(); ++i)
    y_want[i] += static_cast<double>(
        bias.values[i / static_cast<std::size_t>(s.out_plane()) % static_cast<std::size_t>(s.out_channels)]);
  const double rounded = 1.01 / 256,
               limit = tolerance<float> * 5;  // half a unit in the last place, and the sum's error
  const auto forward = [&](const uint16_t* added, FusedActivation activation) {
    return on_any_threads<uint16_t>(size(dy.bits), [&](uint16_t* y) {
      cpu::pair_conv_forward(s, x.bits.data(), {w.bits.data()}, y, {bias.bits.data(), added, activation});
    });
  };
  const std::vector<uint16_t> y = forward(nullptr, FusedActivation::kIdentity);
  CHECK(worst_error(floats(y), y_want) < rounded);
  std::vector<uint16_t> finished;
  for (std::size_t i = 0; i < y.size(); ++i)
    finished.push_back(BFloat16(std::clamp(floats(y)[i] + residual.values[i], 0.0f, 6.0f)).bits);
  CHECK(same_bits(forward(residual.bits.data(), FusedActivation::kRelu6), finished));
  CHECK(worst_error(floats(on_any_threads<uint16_t>(
                        size(x.bits),
                        [&](uint16_t* dx) { cpu::pair_conv_backward_input(s, dy.bits.data(), w.bits.data(), dx); })),
                    dx_want) < rounded);
  CHECK(worst_error(floats(on_any_threads<uint16_t>(
                        size(w.bits),
                        [&](uint16_t* dw) { cpu::pair_conv_backward_weight(s, x.bits.data(), dy.bits.data(), dw); })),
                    dw_want) < rounded);
  Conv2dShape channels = s, images = s;
  channels.pairs = images.pairs = true;
  channels.in_channels = s.p.groups * ((s.group_in() + 1) / 2);
  images.batch = (s.batch + 1) / 2;
  const auto input = paired(s.batch * s.p.groups, s.group_in(), s.in_plane(), x.bits);
  const auto inputs = paired(1, s.batch, s.in_channels * s.in_plane(), x.bits);
  const auto gradients = paired(1, s.batch, s.out_channels * s.out_plane(), dy.bits);
  CHECK(cpu::can_forward<float>(cpu::choose_forward<float>(channels), channels));
  CHECK(cpu::can_backward_weight<float>(cpu::choose_backward_weight<float>(images), images));
  for (const ConvMethod method : cpu::kConvMethods) {
    INFO(cpu::name_of(method));
    if (cpu::can_forward<float>(method, channels))
      CHECK(worst_error(floats(once<uint16_t>(size(dy.bits),
                                              [&](uint16_t* out) {
                                                cpu::conv2d_forward<float>(
                                                    method, channels, input.data(),
                                                    {.data = nullptr, .halves = w.bits.data(), .half_depth = s.depth()},
                                                    nullptr, {.bias = bias.values.data(), .rounded = {out}});
                                              })),
                        y_want) < rounded);
    if (cpu::can_backward_weight<float>(method, images))
      CHECK(worst_error(once<float>(size(w.bits),
                                    [&](float* dw) {
                                      cpu::conv2d_backward_weight<float>(method, images, inputs.data(),
                                                                         gradients.data(), dw);
                                    }),
                        dw_want) < limit);
  }
}

}  // namespace

TEST_CASE("conv2d of pairs of bfloat16 equals its definition on random shapes") {
  if (!cpu::multiplies_pairs()) {
    MESSAGE("skipped: this processor does not multiply pairs");
    return;
  }
  std::mt19937 random(12);
  for (int round = 0; round < test::rounds(60); ++round) check_pairs(random_shape(random), random);
  for (int round = 0; round < test::rounds(12); ++round) {
    Conv2dShape s = random_shape(random);
    s.batch = pick(random, 1, 4), s.p.groups = 1;
    s.in_channels = pick(random, 30, 70), s.out_channels = pick(random, 30, 70);
    if (round % 3 == 0)
      s.kernel_h = s.kernel_w = 1, s.p = {}, s.in_h = pick(random, 6, 20), s.in_w = pick(random, 6, 20);
    check_pairs(s, random);
  }
}

TEST_CASE_TEMPLATE("conv2d equals its definition on random shapes", T, float, double) {
  std::mt19937 random(11);
  for (int round = 0; round < test::rounds(150); ++round) check_shape<T>(random_shape(random), random);
}

// Many channels and few positions: the products that take all images together.
TEST_CASE_TEMPLATE("conv2d equals its definition with many channels", T, float, double) {
  std::mt19937 random(13);
  for (int round = 0; round < test::rounds(20); ++round) {
    Conv2dShape s = random_shape(random);
    s.p.groups = pick(random, 1, 2);
    s.batch = pick(random, 1, 5);
    s.in_channels = s.p.groups * pick(random, 16, 40);
    s.out_channels = s.p.groups * pick(random, 16, 90);
    s.kernel_h = s.kernel_w = pick(random, 1, 3);
    s.in_h = s.p.dilation[0] * (s.kernel_h - 1) + pick(random, 1, 7);
    s.in_w = s.p.dilation[1] * (s.kernel_w - 1) + pick(random, 1, 7);
    check_shape<T>(s, random);
  }
  // More positions than are multiplied at once, and few columns: the batch is summed in parts.
  check_shape<T>({.batch = 5,
                  .in_channels = 15,
                  .in_h = 19,
                  .in_w = 18,
                  .out_channels = 67,
                  .kernel_h = 3,
                  .kernel_w = 3,
                  .p = {.padding = {1, 1}}},
                 random);
}

// Many output channels and wide planes: 1 x 1 kernels read the input's planes, others strips of it.
TEST_CASE_TEMPLATE("conv2d equals its definition with wide planes", T, float, double) {
  std::mt19937 random(14);
  for (int round = 0; round < test::rounds(20); ++round) {
    Conv2dShape s = random_shape(random);
    s.p.groups = pick(random, 1, 2);
    s.batch = pick(random, 1, 3);
    s.in_channels = s.p.groups * pick(random, 16, 30);
    s.out_channels = s.p.groups * pick(random, 16, 70);
    s.in_w = s.p.dilation[1] * (s.kernel_w - 1) + pick(random, 6, 40);
    if (round % 4 == 0)
      s.kernel_h = s.kernel_w = 1, s.p.stride = {1, 1}, s.p.padding = {0, 0}, s.in_h = pick(random, 6, 20);
    check_shape<T>(s, random);
  }
  // Kernels of 3, 5 and 7 columns, whose taps are summed one by one, in tiles of several rows.
  for (int round = 0; round < test::rounds(12); ++round) {
    Conv2dShape s = random_shape(random);
    s.p.groups = pick(random, 1, 2), s.p.dilation[1] = 1;
    s.batch = pick(random, 1, 3);
    s.in_channels = s.p.groups * pick(random, 1, 19);
    s.out_channels = s.p.groups * pick(random, 27, 40);
    s.kernel_h = pick(random, 1, 7), s.kernel_w = 3 + round % 3 * 2;
    s.in_h = s.p.dilation[0] * (s.kernel_h - 1) + pick(random, 20, 30);
    s.in_w = s.kernel_w + pick(random, 20, 40);
    check_shape<T>(s, random);
  }
  // The strip of the whole image does not fit in its memory.
  for (const int64_t stride : {1, 2})
    check_shape<T>({.batch = 1,
                    .in_channels = 40,
                    .in_h = 48,
                    .in_w = 45,
                    .out_channels = 33,
                    .kernel_h = 3,
                    .kernel_w = 3,
                    .p = {.stride = {stride, stride}, .padding = {1, 1}, .dilation = {2, 1}}},
                   random);
}

// Bands of rows in the gradient of the weights: the last one is shorter, and padding is above the first.
TEST_CASE_TEMPLATE("conv2d equals its definition on large images", T, float, double) {
  std::mt19937 random(14);
  for (const int64_t stride : {1, 2})
    check_shape<T>({.batch = 2,
                    .in_channels = 37,
                    .in_h = 83,
                    .in_w = 61,
                    .out_channels = 7,
                    .kernel_h = 3,
                    .kernel_w = 2,
                    .p = {.stride = {stride, stride}, .padding = {3, 1}, .dilation = {2, 1}}},
                   random);
  check_shape<T>(
      {.batch = 1, .in_channels = 30, .in_h = 70, .in_w = 90, .out_channels = 9, .kernel_h = 3, .kernel_w = 3}, random);
}

TEST_CASE_TEMPLATE("conv2d: LeNet's layers, depthwise, pointwise, strided, one image", T, float, double) {
  std::mt19937 random(12);
  check_shape<T>(
      {.batch = 18, .in_channels = 1, .in_h = 28, .in_w = 28, .out_channels = 20, .kernel_h = 3, .kernel_w = 3},
      random);
  check_shape<T>(
      {.batch = 35, .in_channels = 20, .in_h = 13, .in_w = 13, .out_channels = 50, .kernel_h = 5, .kernel_w = 5},
      random);
  check_shape<T>({.batch = 17,
                  .in_channels = 24,
                  .in_h = 9,
                  .in_w = 10,
                  .out_channels = 48,
                  .kernel_h = 3,
                  .kernel_w = 3,
                  .p = {.padding = {1, 1}, .groups = 24}},
                 random);
  check_shape<T>({.batch = 3, .in_channels = 40, .in_h = 7, .in_w = 7, .out_channels = 70}, random);
  check_shape<T>({.batch = 1,
                  .in_channels = 3,
                  .in_h = 41,
                  .in_w = 37,
                  .out_channels = 30,
                  .kernel_h = 7,
                  .kernel_w = 7,
                  .p = {.stride = {2, 2}, .padding = {3, 3}}},
                 random);
  check_shape<T>({.batch = 33,
                  .in_channels = 16,
                  .in_h = 8,
                  .in_w = 8,
                  .out_channels = 32,
                  .kernel_h = 3,
                  .kernel_w = 3,
                  .p = {.stride = {2, 2}, .padding = {1, 1}}},
                 random);
}

TEST_CASE_TEMPLATE("conv2d: depthwise shapes", T, float, double) {
  std::mt19937 random(15);
  for (int round = 0; round < test::rounds(40); ++round) {
    Conv2dShape s = random_shape(random);
    s.p.groups = s.in_channels = pick(random, 1, 6);
    s.out_channels = s.p.groups * pick(random, 1, 3);
    if (round % 2) s.p.stride[0] = s.p.stride[1] = 1;
    s.in_w += pick(random, 0, 30);
    check_shape<T>(s, random);
  }
}

TEST_CASE("conv2d: an image larger than a block of columns") {
  std::mt19937 random(16);
  check_shape<float>({.batch = 1,
                      .in_channels = 70,
                      .in_h = 45,
                      .in_w = 41,
                      .out_channels = 9,
                      .kernel_h = 3,
                      .kernel_w = 3,
                      .p = {.padding = {1, 1}}},
                     random);
}

TEST_CASE("conv2d: an infinite input reaches only the weights that read it") {
  std::mt19937 random(17);
  for (int64_t groups : {1, 4}) {
    const Conv2dShape s{.batch = 2,
                        .in_channels = 4,
                        .in_h = 9,
                        .in_w = 9,
                        .out_channels = 4,
                        .kernel_h = 2,
                        .kernel_w = 2,
                        .p = {.groups = groups}};
    auto x = random_values<float>(s.batch * s.in_channels * s.in_plane(), random);
    const auto dy = random_values<float>(s.batch * s.out_channels * s.out_plane(), random);
    x[0] = INFINITY;  // corner: only tap (0, 0) of channel 0 reads it
    std::vector<float> dw(static_cast<std::size_t>(s.out_channels * s.depth()));
    for (const ConvMethod method : cpu::kConvMethods) {
      if (!cpu::can_backward_weight<float>(method, s)) continue;
      cpu::conv2d_backward_weight<float>(method, s, x.data(), dy.data(), dw.data());
      for (std::size_t i = 0; i < dw.size(); ++i) {
        const bool reads = groups == 1 ? i % 16 == 0 : i == 0;
        CHECK(std::isfinite(dw[i]) != reads);
      }
    }
  }
}

TEST_CASE("conv2d: positions that no output reads") {
  std::mt19937 random(13);
  check_shape<float>({.batch = 16,
                      .in_channels = 2,
                      .in_h = 8,
                      .in_w = 8,
                      .out_channels = 3,
                      .kernel_h = 1,
                      .kernel_w = 2,
                      .p = {.stride = {3, 4}}},
                     random);
}

TEST_CASE("conv2d: a NaN in one image stays in that image") {
  const Conv2dShape s{
      .batch = 20, .in_channels = 4, .in_h = 6, .in_w = 6, .out_channels = 5, .kernel_h = 3, .kernel_w = 3};
  std::mt19937 random(14);
  auto x = random_values<float>(s.batch * s.in_channels * s.in_plane(), random);
  const auto w = random_values<float>(s.out_channels * s.depth(), random);
  const int64_t poisoned = 17;
  x[static_cast<std::size_t>(poisoned * s.in_channels * s.in_plane() + 14)] = NAN;
  std::vector<float> y(static_cast<std::size_t>(s.batch * s.out_channels * s.out_plane()));
  for (const ConvMethod method : cpu::kConvMethods) {
    if (!cpu::can_forward<float>(method, s)) continue;
    cpu::conv2d_forward<float>(method, s, x.data(), {w.data()}, y.data(), {});
    int64_t bad = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (!std::isnan(y[i])) continue;
      ++bad;
      CHECK(static_cast<int64_t>(i) / (s.out_channels * s.out_plane()) == poisoned);
    }
    CHECK(bad == 5 * 9);
  }
}
