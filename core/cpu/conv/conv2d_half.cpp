// Pairs of bfloat16 take the place of floats: of the input channels i and ceil(channels / 2) + i, and for the gradient of
// the weights of the images i and ceil(batch / 2) + i, or of adjacent positions of a 1 x 1 kernel.
#include "tandem/core/cpu/conv/conv2d_half.h"

#include <algorithm>

#include "tandem/core/cpu/conv/conv2d_tiles.h"
#include "tandem/core/cpu/linalg/microkernel.h"
#include "tandem/core/cpu/pointwise/half_loops.h"
#include "tandem/core/cpu/scratch.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kPieceElements = 16384;  // paired by one task

// to[o][i][n] = the pairs of from[o][i][n] and from[o][ceil(count / 2) + i][n], for i < ceil(count / 2).
void pair_halves(int64_t outer, int64_t count, int64_t size, const uint16_t* from, float* to) {
  const int64_t pairs = ceil_div(count, 2), piece = std::min(size, kPieceElements), pieces = ceil_div(size, piece);
  parallel_for_each(outer * pairs * pieces, std::max<int64_t>(1, kPieceElements / piece), [&](int64_t t) {
    const int64_t o = t / pieces / pairs, i = t / pieces % pairs, first = t % pieces * piece;
    const uint16_t* source = from + (o * count + i) * size + first;
    pair_up(source, pairs + i < count ? source + pairs * size : nullptr, std::min(piece, size - first),
            to + (o * pairs + i) * size + first);
  });
}

// Whether the gradient of the weights is a sum over pairs of adjacent positions, as they lie in memory.
bool pairs_positions(const Conv2dShape& s, const uint16_t* x, const uint16_t* dy) {
  const auto aligned = [](const uint16_t* data) { return reinterpret_cast<uintptr_t>(data) % alignof(float) == 0; };
  return s.is_pointwise() && s.in_plane() % 2 == 0 && aligned(x) && aligned(dy);
}

void round_all(int64_t count, const float* sums, uint16_t* to) {
  parallel_for(count, kPieceElements,
               [&](int64_t begin, int64_t end) { narrow(kBFloat16, to + begin, sums + begin, end - begin); });
}

}  // namespace

bool pair_conv_fits(ScalarType type, const Conv2dShape& s) {
  return type == kBFloat16 && multiplies_pairs() && s.depth() >= 48 && s.group_out() >= 16 && s.group_in() >= 2;
}

void pair_conv_forward(const Conv2dShape& s, const uint16_t* x, const ConvWeight<uint16_t>& w, uint16_t* y,
                       const ConvEpilogue<const uint16_t*>& e) {
  Conv2dShape pairs = s;
  pairs.pairs = true;
  pairs.in_channels = s.p.groups * ceil_div(s.group_in(), 2);
  const int64_t elements = s.batch * pairs.in_channels * s.in_plane();
  const Workspace<float> memory(elements + s.out_channels);
  float *input = memory.data(), *bias = input + elements;
  if (e.bias != nullptr) widen(kBFloat16, bias, e.bias, s.out_channels);
  pair_halves(s.batch * s.p.groups, s.group_in(), s.in_plane(), x, input);
  conv2d_forward<float>(
      choose_forward<float>(pairs), pairs, input,
      {.data = nullptr, .kept = w.kept, .tensor = w.tensor, .halves = w.data, .half_depth = s.depth()}, nullptr,
      {e.bias ? bias : nullptr, nullptr, e.activation, {y, e.residual}});
}

void pair_conv_backward_input(const Conv2dShape& s, const uint16_t* dy, const uint16_t* w, uint16_t* dx) {
  Conv2dShape pairs = s;
  pairs.pairs = true;
  pairs.out_channels = s.p.groups * ceil_div(s.group_out(), 2);
  const int64_t elements = s.batch * s.in_channels * s.in_plane(), weights = pairs.out_channels * s.depth(),
                gradients = s.batch * pairs.out_channels * s.out_plane();
  const Workspace<float> memory(gradients + weights + (s.turns() ? 0 : elements));
  float *gradient = memory.data(), *weight = gradient + gradients;
  pair_halves(s.p.groups, s.group_out(), s.depth(), w, weight);
  pair_halves(s.batch * s.p.groups, s.group_out(), s.out_plane(), dy, gradient);
  if (s.turns()) {
    const Conv2dShape turned = pairs.turned();
    return conv2d_forward<float>(choose_forward<float>(turned), turned, gradient, {.data = weight, .turned = true},
                                 nullptr, {.rounded = {dx}});
  }
  float* sums = weight + weights;
  conv2d_backward_input<float>(ConvMethod::kColumns, pairs, gradient, weight, sums);
  round_all(elements, sums, dx);
}

void pair_conv_backward_weight(const Conv2dShape& s, const uint16_t* x, const uint16_t* dy, uint16_t* dw) {
  Conv2dShape pairs = s;
  pairs.pairs = true;
  const auto sum = [&](const float* inputs, const float* gradients) {
    const Workspace<float> sums(s.out_channels * s.depth());
    conv2d_backward_weight<float>(choose_backward_weight<float>(pairs), pairs, inputs, gradients, sums.data());
    round_all(s.out_channels * s.depth(), sums.data(), dw);
  };
  if (pairs_positions(s, x, dy)) {
    pairs.in_h = 1, pairs.in_w = s.in_plane() / 2;
    return sum(reinterpret_cast<const float*>(x), reinterpret_cast<const float*>(dy));
  }
  pairs.batch = ceil_div(s.batch, 2);
  const int64_t image = s.in_channels * s.in_plane(), gradient = s.out_channels * s.out_plane();
  const Workspace<float> memory(pairs.batch * (image + gradient));
  float *inputs = memory.data(), *gradients = inputs + pairs.batch * image;
  pair_halves(1, s.batch, image, x, inputs);
  pair_halves(1, s.batch, gradient, dy, gradients);
  sum(inputs, gradients);
}

}  // namespace tandem::cpu
