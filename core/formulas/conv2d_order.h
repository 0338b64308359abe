// The shape of a 2-d convolution, and what the order of its sums depends on (sum_order.h): for the CPU, and for CUDA in
// strict mode, which has to choose what the CPU chooses.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "tandem/core/backend/sliding_windows.h"
#include "tandem/core/formulas/sum_order.h"
#include "tandem/core/tensor.h"

namespace tandem {

struct Conv2dShape {
  int64_t batch = 0, in_channels = 0, in_h = 0, in_w = 0;
  int64_t out_channels = 0, kernel_h = 1, kernel_w = 1;
  Conv2dParameters p;
  /// x and dy hold two bfloat16 in place of each float (tile_kernel): of two channels that are summed over or, in the
  /// gradient of the weights, of two images or positions. The sizes count pairs.
  bool pairs = false;
  /// Whether x and y (and their gradients) are [batch, h, w, channels]; only kDepthwise and kDirect can compute it.
  bool channels_last = false;
  /// Whether x is planes all the same; only kDirect can compute it.
  bool planes_in = false;
  constexpr bool last_in() const { return channels_last && !planes_in; }

  constexpr int64_t out_h() const { return p.out_size(0, in_h, kernel_h); }
  constexpr int64_t out_w() const { return p.out_size(1, in_w, kernel_w); }
  constexpr int64_t padded_h() const { return in_h + 2 * p.padding[0]; }
  constexpr int64_t padded_w() const { return in_w + 2 * p.padding[1]; }
  constexpr int64_t group_in() const { return in_channels / p.groups; }
  constexpr int64_t group_out() const { return out_channels / p.groups; }
  constexpr int64_t in_plane() const { return in_h * in_w; }
  constexpr int64_t out_plane() const { return out_h() * out_w(); }
  constexpr int64_t kernel_size() const { return kernel_h * kernel_w; }
  /// Multiplications per output element.
  constexpr int64_t depth() const { return group_in() * kernel_size(); }
  /// The rows of the padded input that `rows` adjacent rows of the output see.
  constexpr int64_t rows_seen(int64_t rows) const {
    return (rows - 1) * p.stride[0] + (kernel_h - 1) * p.dilation[0] + 1;
  }

  /// Whether each output sees one position of the input, its own.
  constexpr bool is_pointwise() const {
    return kernel_size() == 1 && p.stride[0] == 1 && p.stride[1] == 1 && p.padding[0] == 0 && p.padding[1] == 0;
  }
  /// Whether the gradient of the input is itself a convolution, turned(), of dy with the rotated weights.
  constexpr bool turns() const {
    return p.stride[0] == 1 && p.stride[1] == 1 && p.padding[0] <= p.dilation[0] * (kernel_h - 1) &&
           p.padding[1] <= p.dilation[1] * (kernel_w - 1);
  }
  /// Whether that is also efficient: dy is not much smaller than x.
  constexpr bool turns_well() const { return turns() && in_plane() * 4 <= out_plane() * 5; }
  constexpr Conv2dShape turned() const {
    Conv2dShape shape = *this;
    shape.in_channels = out_channels, shape.out_channels = in_channels;
    shape.in_h = out_h(), shape.in_w = out_w();
    shape.p.padding = {p.dilation[0] * (kernel_h - 1) - p.padding[0], p.dilation[1] * (kernel_w - 1) - p.padding[1]};
    return shape;
  }
  /// Whether outputs are sums of so few products that the method for depthwise convolutions computes them.
  constexpr bool is_depthwise() const { return group_in() == 1 && group_out() < 4; }
};

inline Conv2dShape conv2d_shape(const Tensor& input, const Tensor& weight, const Conv2dParameters& p) {
  return {.batch = input.size(0),
          .in_channels = input.size(1),
          .in_h = input.size(2),
          .in_w = input.size(3),
          .out_channels = weight.size(0),
          .kernel_h = weight.size(2),
          .kernel_w = weight.size(3),
          .p = p};
}

/// The taps that meet the input at some output, where others meet nothing but padding: on a plane of 1 x 1, one of nine. Those
/// are left out, which changes no bit of the output and of the gradient of the input (sum_order.h).
struct UsedTaps {
  int64_t first[2] = {}, count[2] = {};
  Conv2dParameters p;  ///< of the convolution with these taps alone

  /// The part of a weight, or of its gradient, that has these taps.
  Tensor of(const Tensor& weight) const {
    return alias(weight, {weight.size(0), weight.size(1), count[0], count[1]}, weight.strides(),
                 weight.storage_offset() + first[0] * weight.stride(2) + first[1] * weight.stride(3));
  }
};
/// Nothing if all taps meet the input, or if those that do are not a convolution of their own.
inline optional<UsedTaps> used_taps(const Tensor& input, const Tensor& output, const Tensor& weight,
                                    const Conv2dParameters& p) {
  UsedTaps taps{.p = p};
  bool all = true;
  for (std::size_t d = 0; d < 2; ++d) {
    const auto dim = static_cast<int64_t>(d) + 2;
    const int64_t size = input.size(dim), outputs = output.size(dim), kernel = weight.size(dim);
    const auto meets = [&](int64_t tap) {
      int64_t at = tap * p.dilation[d] - p.padding[d];
      for (int64_t o = 0; o < outputs && at < size; ++o, at += p.stride[d])
        if (at >= 0) return true;
      return false;
    };
    int64_t first = 0, last = kernel - 1;
    while (first < kernel && !meets(first)) ++first;
    while (last > first && !meets(last)) --last;
    taps.first[d] = first;
    taps.count[d] = last - first + 1;
    taps.p.padding[d] -= first * p.dilation[d];
    // The order of the gradient of the input depends on whether it is a convolution (turns()).
    const bool turned = p.padding[d] <= p.dilation[d] * (kernel - 1),
               turns = taps.p.padding[d] <= p.dilation[d] * (taps.count[d] - 1);
    if (first == kernel || taps.p.padding[d] < 0 || turned != turns ||
        taps.p.out_size(d, size, taps.count[d]) != outputs)
      return nullopt;
    all = all && taps.count[d] == kernel;
  }
  return all ? nullopt : optional(taps);
}

/// How a convolution or one of its gradients is computed on the CPU. Each method has one source, which says what it is for.
enum class ConvMethod { kDepthwise, kShallow, kLanes, kDirect, kChannels, kColumns, kRows };

namespace conv2d_order {

constexpr int64_t parts_of(int64_t whole, int64_t part) { return (whole + part - 1) / part; }

inline constexpr int64_t kMaxImageBytes = 16 << 20;  // that one task packs
// The rules do not ask how wide the processor's vectors are: another method, other bits. Vectors have 64 bytes here.
template <class T>
inline constexpr int64_t kVector = 64 / static_cast<int64_t>(sizeof(T));
template <class T>
inline constexpr int64_t kFilled = 2 * kVector<T>;

// Of the input and output channels of one group.
template <class T>
constexpr int64_t image_bytes(const Conv2dShape& s) {
  return (s.group_in() * s.in_plane() + s.group_out() * s.out_plane()) * static_cast<int64_t>(sizeof(T));
}
constexpr bool has_few_positions(const Conv2dShape& s, int64_t limit) { return s.batch * s.out_plane() <= limit; }

/// The method that computes the gradient of the weights: the first rule that applies. A figure says how much longer all
/// convolutions of a network take without the rule, with the best of the other methods: docs/results/convolution.md.
template <class T>
constexpr ConvMethod choose_backward_weight(const Conv2dShape& s) {
  const int64_t plane = s.out_plane(), channels = s.group_out(), filled = parts_of(s.depth(), kVector<T>) * kVector<T>;
  // Few weights per output channel, whose sums stay in registers. MobileNetV2: 15 %.
  if (!s.pairs && (s.group_in() == 1 || (s.depth() < 32 && plane >= 4 * kVector<T>))) return ConvMethod::kShallow;
  // Small planes, whose rows do not fill vectors. ResNet-18: 7 %.
  if (s.depth() >= kFilled<T> && ((has_few_positions(s, 512) && channels >= 16) || (plane <= 196 && channels >= 96)))
    return ConvMethod::kChannels;
  // Large planes, which with 1 x 1 kernels are the columns. ResNet-50: 4 %.
  if (plane > 196 && channels >= 64 && s.kernel_size() == 1) return ConvMethod::kColumns;
  // Builds no columns, but packs whole images; at least three quarters of its vectors must be filled. LeNet: 18 %.
  if ((channels >= 6 || s.depth() >= 256) && filled * 3 <= s.depth() * 4 && image_bytes<T>(s) <= kMaxImageBytes)
    return ConvMethod::kRows;
  // Any shape.
  return ConvMethod::kColumns;
}

/// How the gradient of a weight is summed over the batch and the positions of the output. The images are cut into parts,
/// which are summed apart. A part is cut into blocks of images, whose positions are one sequence, this into bands, and
/// those into pieces. A piece is a chain of products that begins with 0. Pieces are added in order, and so are parts.
struct WeightSum {
  int64_t chunk_images;  ///< parts are cut anew after so many images
  int64_t part_images, block_images;
  int64_t band, piece;  ///< positions; a piece of 0: piece_depth() of the band
  int64_t lanes = 1;    ///< position i of a band belongs to sum i % lanes; at the end of a part they are added in order
  bool from_zero = false;  ///< sums of pieces, lanes and parts begin with 0, not with the first of them
  bool ones = false;       ///< the gradient of the bias is a sum like this, of an input of ones

  constexpr int64_t chunk_parts() const { return parts_of(chunk_images, part_images); }
  constexpr int64_t parts(int64_t batch) const {
    return batch / chunk_images * chunk_parts() + parts_of(batch % chunk_images, part_images);
  }
};

/// The rows of the output whose columns the method kShallow has in its cache at once.
template <class T>
constexpr int64_t shallow_rows(const Conv2dShape& s) {
  constexpr int64_t kColumnBytes = 32 << 10;
  return std::clamp<int64_t>(kColumnBytes / (s.depth() * s.out_w() * static_cast<int64_t>(sizeof(T))), 1, s.out_h());
}
template <class T>
constexpr WeightSum shallow_sum(const Conv2dShape& s) {
  constexpr int64_t kParts = 32;
  const int64_t images = parts_of(s.batch, kParts), band = shallow_rows<T>(s) * s.out_w();
  return {s.batch, images, 1, band, band, kVector<T>, true, true};
}

template <class T>
constexpr WeightSum rows_sum(const Conv2dShape& s) {
  constexpr int64_t kMaxParts = 16, kMaxPartialElements = 8 << 20;
  constexpr int64_t kBlockBytes = 384 << 10;  // of packed images, or of a band, processed at once
  constexpr int64_t kStepPlaces = 256;        // multiplied at once
  const int64_t most = std::clamp<int64_t>(kMaxPartialElements / (s.out_channels * s.depth()), 1, kMaxParts),
                images = parts_of(s.batch, most), out_h = s.out_h(), out_w = s.out_w(),
                wide = (s.pairs ? 2 : 1) * kVector<T>;
  const auto bytes = [&](int64_t rows) {
    return (s.rows_seen(rows) * s.padded_w() * s.group_in() + rows * out_w * (s.group_out() + wide)) *
           static_cast<int64_t>(sizeof(T));
  };
  const int64_t block = std::clamp<int64_t>(kBlockBytes / bytes(out_h), 1, images),
                fit = (kBlockBytes - bytes(0)) / (bytes(1) - bytes(0)),
                // Output rows of a band: all, or a block is one image.
      band_rows = bytes(out_h) <= 2 * kBlockBytes ? out_h : parts_of(out_h, parts_of(out_h, std::max<int64_t>(4, fit)));
  // The inputs that are read in place are whole kernel rows, or columns if dilated. A column of ones goes with the
  // remainders of them: if it takes no further vector of 64 bytes, on every processor.
  const bool whole_rows = s.p.dilation[1] == 1;
  const int64_t runs = whole_rows ? s.kernel_h : s.kernel_size(),
                run_length = whole_rows ? s.kernel_w * s.group_in() : s.group_in();
  return {s.batch,
          images,
          block,
          block * band_rows * out_w,
          std::max<int64_t>(1, kStepPlaces / out_w) * out_w,
          1,
          false,
          runs * (run_length % wide) % wide != 0};
}

inline constexpr int64_t kDepthBlock = 576;  // rows of the right operand packed at once: 72 KiB with AVX-512
template <class T>
constexpr WeightSum channels_sum(const Conv2dShape& s) {
  constexpr int64_t kChunkBytes = 16 << 20;  // of packed dy
  constexpr int64_t kEnoughTasks = 8;
  const int64_t image = s.out_plane() * s.group_out() * static_cast<int64_t>(sizeof(T)),
                chunk = std::clamp<int64_t>(kChunkBytes / image, 1, s.batch);
  // With few vectors of weights, parts of a chunk are summed apart.
  const int64_t vectors = parts_of(s.depth(), 2 * kVector<T>),
                part = parts_of(chunk, std::clamp<int64_t>(kEnoughTasks / vectors, 1, chunk));
  return {chunk, part, part, std::numeric_limits<int64_t>::max(), kDepthBlock};
}

/// Bytes of columns that the method kColumns builds at once.
inline constexpr int64_t kColumnBytes = 4 << 20;
template <class T>
constexpr WeightSum columns_sum(const Conv2dShape& s) {
  constexpr int64_t kMaxParts = 16, kMaxPartialElements = 8 << 20;
  const int64_t most = std::clamp<int64_t>(kMaxPartialElements / (s.out_channels * s.depth()), 1, kMaxParts),
                fit = kColumnBytes / (s.depth() * static_cast<int64_t>(sizeof(T))), plane = s.out_plane();
  return {s.batch, parts_of(s.batch, most), 1, s.is_pointwise() ? plane : std::clamp<int64_t>(fit, 1, plane), 0, 1,
          true};
}

/// That of the method, which is one that can compute the gradient of the weights.
template <class T>
constexpr WeightSum weight_sum(ConvMethod method, const Conv2dShape& s) {
  return method == ConvMethod::kShallow    ? shallow_sum<T>(s)
         : method == ConvMethod::kRows     ? rows_sum<T>(s)
         : method == ConvMethod::kChannels ? channels_sum<T>(s)
                                           : columns_sum<T>(s);
}

/// The rows of the output whose columns are multiplied at once for the gradient of the input, unless the shape turns():
/// their taps are added before those of the next rows.
template <class T>
constexpr int64_t backward_input_rows(const Conv2dShape& s) {
  return std::clamp<int64_t>(kColumnBytes / (s.depth() * s.out_w() * static_cast<int64_t>(sizeof(T))), 1, s.out_h());
}

}  // namespace conv2d_order
}  // namespace tandem
