// Describes convolutions, pooling, normalisation, and operations on images.
#include "tandem/nn/functional/image.h"
#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/operation_table.h"

namespace tandem::testing {
namespace {

using Pair = std::tuple<T, T>;

const std::vector<std::vector<InputSpec>> kLine = {{real({1, 2, 4})}}, kImage = {{real({1, 2, 3, 4})}},
                                          kVolume = {{real({1, 2, 2, 3, 2})}};

std::vector<Operation> convolutions() {
  return {
      {OPERATION(conv2d, T(CT, CT, CT, Ints, Ints, Ints, I), T(CT, CT, CT, Ints, std::string_view, Ints, I)),
       .torch = "F.conv2d",
       .examples =
           {{"conv2d", "x0, x1, x2, [1], [0], [1], 1", {{real({2, 2, 5, 4}), real({3, 2, 3, 2}), real({3})}}},
            {"conv2d stride padding",
             "x0, x1, x2, [2, 1], [1, 2], [1], 1",
             {{real({2, 2, 5, 4}), real({3, 2, 3, 3}), real({3})}}},
            {"conv2d dilation", "x0, x1, None, [1], [0], [2], 1", {{real({1, 2, 6, 6}), real({3, 2, 2, 3})}}},
            {"conv2d groups", "x0, x1, x2, [1], [1], [1], 2", {{real({2, 4, 4, 4}), real({6, 2, 3, 3}), real({6})}}},
            {"conv2d depthwise", "x0, x1, None, [1], [0], [1], 3", {{real({2, 3, 4, 4}), real({3, 1, 2, 2})}}}}},
      {OPERATION(conv1d, T(CT, CT, CT, Ints, Ints, Ints, I)), .torch = "F.conv1d"},
      {OPERATION(conv_transpose2d, T(CT, CT, CT, Ints, Ints, Ints, I, Ints)), .torch = "F.conv_transpose2d",
       .examples = {{"conv_transpose2d output padding",
                     "x0, x1, x2, [2, 1], [1, 0], [3, 1], 1, [4, 2]",
                     {{real({1, 2, 2, 3}), real({2, 2, 2, 2}), real({2})}}}}},
  };
}

std::vector<Operation> pools() {
  return {
      {OPERATION(avg_pool1d, T(CT, Ints, Ints, Ints, bool, bool)),
       .torch = "lambda x, k, s, *rest: F.avg_pool1d(x, k, s or None, *rest)",
       .examples = {{"avg_pool1d", "x0, [3], [2], [1], False, True", {{real({1, 2, 7})}}}}},
      {OPERATION(avg_pool2d, T(CT, Ints, Ints, Ints, bool, bool, optional<I>)),
       .torch = "lambda x, k, s, *rest: F.avg_pool2d(x, k, s or None, *rest)",
       .examples = {{"avg_pool2d", "x0, [2], [], [0], False, True, None", {{real({2, 3, 5, 4})}}},
                    {"avg_pool2d padding", "x0, [3], [2], [1], False, True, None", {{real({1, 2, 5, 6})}}},
                    {"avg_pool2d exclusive", "x0, [3], [2], [1], True, False, None", {{real({1, 2, 6, 6})}}}}},
      {OPERATION(max_pool1d, T(CT, Ints, Ints, Ints, Ints, bool)),
       .torch = "lambda x, k, s, *rest: F.max_pool1d(x, k, s or None, *rest)"},
      {OPERATION(max_pool2d, T(CT, Ints, Ints, Ints, Ints, bool)),
       .torch = "lambda x, k, s, *rest: F.max_pool2d(x, k, s or None, *rest)",
       .examples = {{"max_pool2d", "x0, [2], [], [0], [1], False", {{distinct({2, 2, 5, 4})}}},
                    {"max_pool2d padding", "x0, [3], [2], [1], [1], False", {{distinct({1, 2, 5, 6})}}},
                    {"max_pool2d dilation", "x0, [2], [1], [0], [2], False", {{distinct({1, 2, 5, 5})}}}}},
      {OPERATION(max_pool2d_with_indices, Pair(CT, Ints, Ints, Ints, Ints, bool)),
       .torch = "lambda x, k, s, *rest: F.max_pool2d_with_indices(x, k, s or None, *rest)"},
      {OPERATION(adaptive_avg_pool1d, T(CT, Ints)), .torch = "lambda x, n: F.adaptive_avg_pool1d(x, n[0])"},
      {OPERATION(adaptive_avg_pool2d, T(CT, Ints)),
       .torch = "lambda x, n: F.adaptive_avg_pool2d(x, n * 2 if len(n) == 1 else n)",
       .examples = {{"adaptive_avg_pool2d", "x0, [3, 2]", {{real({2, 2, 5, 7})}}}}},
      {OPERATION(adaptive_max_pool1d, Pair(CT, Ints)),
       .torch = "lambda x, n: F.adaptive_max_pool1d(x, n[0], return_indices=True)"},
      {OPERATION(adaptive_max_pool2d, Pair(CT, Ints)),
       .torch = "lambda x, n: F.adaptive_max_pool2d(x, n, return_indices=True)",
       .examples = {{.name = "adaptive_max_pool2d",
                     .arguments = "x0, [3, 2]",
                     .inputs = {{distinct({1, 2, 5, 3})}},
                     .output = 0}}},
  };
}

std::vector<Operation> norms() {
  return {
      {OPERATION(batch_norm, T(CT, CT, CT, CT, CT, bool, double, double)),
       .torch = "lambda x, w, b, m, v, *rest: F.batch_norm(x, m, v, w, b, *rest)",
       .examples = {{"batch_norm training",
                     "x0, x1, x2, None, None, True, 0.1, 1e-5",
                     {{real({4, 3, 2, 2}), real({3}), real({3})}, {real({6, 3}), real({3}), real({3})}}},
                    {"batch_norm eval",
                     "x0, x1, x2, x3, x4, False, 0.1, 1e-5",
                     {{real({4, 3, 2, 2}), real({3}), real({3}), constant({3}), constant({3}, 0.5, 2)}}}}},
      {OPERATION(instance_norm, T(CT, CT, CT, CT, CT, bool, double, double)),
       .torch = "lambda x, w, b, m, v, *rest: F.instance_norm(x, m, v, w, b, *rest)",
       .examples = {{"instance_norm",
                     "x0, x1, x2, None, None, True, 0.1, 1e-5",
                     {{real({2, 3, 4}), real({3}), real({3})}}}}},
      {OPERATION(layer_norm, T(CT, Ints, CT, CT, double)), .torch = "F.layer_norm"},
      {OPERATION(rms_norm, T(CT, Ints, CT, optional<double>)), .torch = "F.rms_norm",
       .examples = {{"rms_norm", "x0, [4], x1, 1e-5", {{real({2, 3, 4}), real({4})}}},
                    {"rms_norm plain", "x0, [3, 4], None, None", {{real({2, 3, 4})}}}}},
      {OPERATION(group_norm, T(CT, I, CT, CT, double)), .torch = "F.group_norm"},
      {OPERATION(local_response_norm, T(CT, I, double, double, double)), .torch = "F.local_response_norm",
       .examples = {{"local_response_norm", "x0, 3, 0.1, 0.75, 1.0", {{real({2, 4, 3})}}}}},
  };
}

nn::InterpolationMode mode_named(std::string_view name) {
  using enum nn::InterpolationMode;
  return name == "nearest"         ? kNearest
         : name == "nearest-exact" ? kNearestExact
         : name == "area"          ? kArea
         : name == "linear"        ? kLinear
         : name == "bilinear"      ? kBilinear
         : name == "bicubic"       ? kBicubic
                                   : kTrilinear;
}

// The size, or else a factor per dimension; the mode; align_corners, recompute_scale_factor, antialias.
void add_interpolate(Table& table, const std::string& name) {
  using Factor = optional<double>;
  give<T(CT, Ints, Factor, Factor, Factor, std::string_view, optional<bool>, bool, bool)>(
      table, name,
      [](CT x, Ints size, Factor f0, Factor f1, Factor f2, std::string_view mode, optional<bool> corners,
         bool recompute, bool antialias) {
        nn::functional::InterpolateFuncOptions options;
        options.mode(mode_named(mode)).align_corners(corners).recompute_scale_factor(recompute);
        std::vector<double> factors;
        for (const Factor& f : {f0, f1, f2})
          if (f) factors.push_back(*f);
        if (factors.empty())
          options.size(size.vec());
        else
          options.scale_factor(factors);
        return nn::functional::interpolate(x, options.antialias(antialias));
      });
}

std::vector<Operation> images() {
  return {
      {OPERATION(pad, T(CT, Ints, std::string_view, optional<double>)), .torch = "F.pad",
       .examples = {{"pad reflect", "x0, [2, 1, 0, 2], 'reflect', None", kImage},
                    {"pad replicate", "x0, [2, 1, 0, 2], 'replicate', None", kImage},
                    {"pad circular", "x0, [2, 1, 0, 2], 'circular', None", kImage}}},
      {OPERATION(reflection_pad1d, T(CT, Ints)), .torch = "lambda x, n: F.pad(x, n, 'reflect')",
       .examples = {{"reflection_pad1d", "x0, [2, 1]", kLine}}},
      {OPERATION(reflection_pad2d, T(CT, Ints)), .torch = "lambda x, n: F.pad(x, n, 'reflect')",
       .examples = {{"reflection_pad2d", "x0, [2, 1, 0, 2]", kImage}}},
      {OPERATION(replication_pad1d, T(CT, Ints)), .torch = "lambda x, n: F.pad(x, n, 'replicate')",
       .examples = {{"replication_pad1d", "x0, [2, 1]", kLine}}},
      {OPERATION(replication_pad2d, T(CT, Ints)), .torch = "lambda x, n: F.pad(x, n, 'replicate')",
       .examples = {{"replication_pad2d", "x0, [2, 1, 0, 2]", kImage}}},
      {OPERATION(constant_pad_nd, T(CT, Ints, CS)),
       .examples = {{"pad constant", "x0, [1, -1, 2, 0], 2", {{real({2, 3, 4})}}}}},
      {.name = "interpolate",
       .overloads = add_interpolate,
       .torch = "lambda x, n, f0, f1, f2, mode, corners, recompute, antialias: F.interpolate(x, n or None, "
                "[f for f in "
                "(f0, f1, f2) if f is not None] or None, mode, corners, recompute if f0 is not None else "
                "None, antialias)",
       .examples = {{"interpolate nearest kept", "x0, [], 1.3, 2.2, None, 'nearest', None, False, False", kImage},
                    {"interpolate linear kept", "x0, [], 1.04, None, None, 'linear', False, False, False", kLine},
                    {"interpolate antialias",
                     "x0, [2, 5], None, None, None, 'bilinear', False, False, True",
                     {{real({1, 2, 5, 4})}}},
                    {"interpolate bicubic antialias",
                     "x0, [], 0.45, 1.3, None, 'bicubic', False, False, True",
                     {{real({1, 1, 9, 4})}}},
                    {"interpolate area", "x0, [3, 2, 2], None, None, None, 'area', None, False, False", kVolume}}},
      {OPERATION(upsample_nearest2d, T(CT, Ints)), .torch = "F.interpolate",
       .examples = {{"nearest", "x0, [5, 3]", kImage}}},
      {OPERATION(upsample_nearest1d, T(CT, Ints)), .torch = "F.interpolate",
       .examples = {{"nearest1d", "x0, [7]", kLine}}},
      {OPERATION(upsample_nearest3d, T(CT, Ints)), .torch = "F.interpolate",
       .examples = {{"nearest3d", "x0, [3, 2, 5]", kVolume}}},
      {OPERATION(upsample_linear1d, T(CT, Ints, bool)),
       .torch = "lambda x, n, c: F.interpolate(x, n, mode='linear', align_corners=c)",
       .examples = {{"linear1d", "x0, [7], True", kLine}}},
      {OPERATION(upsample_trilinear3d, T(CT, Ints, bool)),
       .torch = "lambda x, n, c: F.interpolate(x, n, mode='trilinear', align_corners=c)",
       .examples = {{"trilinear3d", "x0, [3, 2, 5], False", kVolume}}},
      {OPERATION(upsample_bilinear2d, T(CT, Ints, bool)),
       .torch = "lambda x, n, c: F.interpolate(x, n, mode='bilinear', align_corners=c)",
       .examples = {{"bilinear2d", "x0, [5, 3], False", kImage}, {"bilinear2d corners", "x0, [5, 3], True", kImage}}},
      {OPERATION(upsample_bicubic2d, T(CT, Ints, bool)),
       .torch = "lambda x, n, c: F.interpolate(x, n, mode='bicubic', align_corners=c)",
       .examples = {{"bicubic2d", "x0, [5, 3], False", kImage}}},
      {OPERATION(pixel_shuffle, T(CT, I)), .torch = "F.pixel_shuffle",
       .examples = {{"pixel_shuffle", "x0, 2", {{real({1, 8, 2, 3})}}}}},
      {OPERATION(pixel_unshuffle, T(CT, I)), .torch = "F.pixel_unshuffle",
       .examples = {{"pixel_unshuffle", "x0, 2", {{real({1, 2, 4, 6})}}}}},
      {OPERATION(channel_shuffle, T(CT, I))},
      {OPERATION(im2col, T(CT, Ints, Ints, Ints, Ints)), .torch = "F.unfold",
       .examples = {{"im2col", "x0, [2, 3], [1, 1], [1, 0], [2, 2]", {{real({1, 2, 4, 5})}}}}},
      {OPERATION(col2im, T(CT, Ints, Ints, Ints, Ints, Ints)), .torch = "F.fold",
       .examples = {{"col2im", "x0, [4, 5], [2, 3], [1, 1], [1, 0], [2, 2]", {{real({1, 12, 6})}}}}},
  };
}

}  // namespace

std::vector<Operation> nn_operations() { return joined({convolutions, pools, norms, images}); }

}  // namespace tandem::testing
