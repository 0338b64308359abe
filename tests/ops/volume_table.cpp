// Describes convolution and pooling of volumes, fractional pooling, unpooling, and sampling at grids.
#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/operation_table.h"

namespace tandem::testing {
namespace {

using Pair = std::tuple<T, T>;

std::vector<Operation> convolutions() {
  return {
      {OPERATION(conv3d, T(CT, CT, CT, Ints, Ints, Ints, I), T(CT, CT, CT, Ints, std::string_view, Ints, I)),
       .torch = "F.conv3d",
       .examples =
           {{"conv3d", "x0, x1, x2, [1], [0], [1], 1", {{real({2, 2, 3, 4, 3}), real({3, 2, 2, 3, 2}), real({3})}}},
            {"conv3d stride padding",
             "x0, x1, x2, [2, 1, 2], [1, 0, 2], [1], 1",
             {{real({1, 2, 3, 4, 3}), real({2, 2, 2, 2, 3}), real({2})}}},
            {"conv3d dilation",
             "x0, x1, None, [1], [1], [2, 1, 2], 1",
             {{real({1, 1, 4, 3, 3}), real({2, 1, 2, 2, 2})}}},
            {"conv3d groups",
             "x0, x1, x2, [1], [1, 0, 0], [1], 2",
             {{real({1, 4, 2, 2, 3}), real({4, 2, 2, 2, 2}), real({4})}}},
            {"conv3d same", "x0, x1, None, [1], 'same', [1], 1", {{real({2, 2, 3, 2}), real({2, 2, 2, 3, 2})}}}}},
      {OPERATION(conv_transpose1d, T(CT, CT, CT, Ints, Ints, Ints, I, Ints)), .torch = "F.conv_transpose1d",
       .examples = {{"conv_transpose1d",
                     "x0, x1, x2, [2], [1], [1], 1, [1]",
                     {{real({2, 2, 4}), real({2, 3, 3}), real({3})}}},
                    {"conv_transpose1d output padding",
                     "x0, x1, None, [2], [1], [3], 1, [4]",
                     {{real({1, 2, 3}), real({2, 1, 2})}}}}},
      {OPERATION(conv_transpose3d, T(CT, CT, CT, Ints, Ints, Ints, I, Ints)), .torch = "F.conv_transpose3d",
       .examples = {{"conv_transpose3d",
                     "x0, x1, x2, [2, 1, 2], [1, 0, 1], [1, 0, 0], 1, [1]",
                     {{real({1, 2, 2, 3, 2}), real({2, 2, 2, 2, 3}), real({2})}}},
                    {"conv_transpose3d groups",
                     "x0, x1, None, [1], [0], [0], 2, [2, 1, 1]",
                     {{real({1, 2, 2, 2, 2}), real({2, 1, 2, 2, 2})}}},
                    {"conv_transpose3d output padding",
                     "x0, x1, x2, [1, 2, 1], [1], [1, 2, 1], 1, [2, 3, 2]",
                     {{real({1, 2, 2, 2, 2}), real({2, 1, 2, 1, 2}), real({1})}}}}},
      {OPERATION(convolution, T(CT, CT, CT, Ints, Ints, Ints, bool, Ints, I)),
       .examples = {{"convolution",
                     "x0, x1, x2, [1], [1], [1], False, [0], 1",
                     {{real({1, 2, 4}), real({2, 2, 3}), real({2})}}},
                    {"convolution transposed",
                     "x0, x1, x2, [2, 2], [0, 1], [1, 1], True, [1, 0], 1",
                     {{real({1, 2, 2, 3}), real({2, 2, 2, 2}), real({2})}}}}},
  };
}

std::vector<Operation> pools() {
  return {
      {OPERATION(avg_pool3d, T(CT, Ints, Ints, Ints, bool, bool, optional<I>)),
       .torch = "lambda x, k, s, *rest: F.avg_pool3d(x, k, s or None, *rest)",
       .examples = {{"avg_pool3d", "x0, [2], [], [0], False, True, None", {{real({1, 2, 3, 4, 5})}}},
                    {"avg_pool3d exclusive",
                     "x0, [3, 2, 2], [2], [1, 0, 1], True, False, None",
                     {{real({1, 1, 4, 3, 4})}}},
                    {"avg_pool3d divisor", "x0, [2], [1], [1], False, True, 3", {{real({1, 2, 2, 3})}}}}},
      {OPERATION(max_pool3d, T(CT, Ints, Ints, Ints, Ints, bool)),
       .torch = "lambda x, k, s, *rest: F.max_pool3d(x, k, s or None, *rest)",
       .examples = {{"max_pool3d", "x0, [2], [1], [0], [1], False", {{distinct({1, 2, 3, 3, 4})}}},
                    {"max_pool3d options",
                     "x0, [2, 3, 2], [2], [1, 1, 0], [2, 1, 1], True",
                     {{distinct({1, 1, 4, 4, 3})}}}}},
      {OPERATION(max_pool3d_with_indices, Pair(CT, Ints, Ints, Ints, Ints, bool)),
       .torch = "lambda x, k, s, *rest: F.max_pool3d_with_indices(x, k, s or None, *rest)"},
      {OPERATION(max_pool1d_with_indices, Pair(CT, Ints, Ints, Ints, Ints, bool)),
       .torch = "lambda x, k, s, *rest: F.max_pool1d_with_indices(x, k, s or None, *rest)",
       .examples = {{"max_pool1d_with_indices", "x0, [3], [2], [1], [1], True", {{distinct({2, 3, 8})}}, true, 0}}},
      {OPERATION(adaptive_avg_pool3d, T(CT, Ints)),
       .torch = "lambda x, n: F.adaptive_avg_pool3d(x, n * 3 if len(n) == 1 else n)",
       .examples = {{"adaptive_avg_pool3d", "x0, [2, 3, 1]", {{real({1, 2, 3, 4, 2})}}}}},
      {OPERATION(adaptive_max_pool3d, Pair(CT, Ints)),
       .torch = "lambda x, n: F.adaptive_max_pool3d(x, n, return_indices=True)",
       .examples = {{.name = "adaptive_max_pool3d",
                     .arguments = "x0, [2, 3, 1]",
                     .inputs = {{distinct({1, 2, 3, 4, 2})}},
                     .output = 0}}},
      {OPERATION(fractional_max_pool2d, Pair(CT, Ints, Ints, CT)), .torch = "torch.ops.aten.fractional_max_pool2d",
       .examples = {{.name = "fractional_max_pool2d",
                     .arguments = "x0, [2, 3], [3, 2], x1",
                     .inputs = {{distinct({1, 2, 5, 7}), constant({1, 2, 2}, 0, 1)}},
                     .output = 0}}},
      {OPERATION(fractional_max_pool3d, Pair(CT, Ints, Ints, CT)), .torch = "torch.ops.aten.fractional_max_pool3d",
       .examples = {{.name = "fractional_max_pool3d",
                     .arguments = "x0, [2, 1, 2], [2, 3, 1], x1",
                     .inputs = {{distinct({1, 2, 4, 5, 3}), constant({1, 2, 3}, 0, 1)}},
                     .output = 0}}},
      {OPERATION(max_unpool2d, T(CT, CT, Ints)), .torch = "torch.ops.aten.max_unpool2d"},
      {OPERATION(max_unpool3d, T(CT, CT, Ints, Ints, Ints)), .torch = "torch.ops.aten.max_unpool3d"},
  };
}

std::vector<Operation> images() {
  const std::vector<std::vector<InputSpec>> volume = {{real({1, 2, 2, 3, 2})}};
  return {
      {OPERATION(reflection_pad3d, T(CT, Ints)), .torch = "lambda x, n: F.pad(x, n, 'reflect')",
       .examples = {{"reflection_pad3d", "x0, [1, 0, 2, 1, 0, 1]", volume}}},
      {OPERATION(replication_pad3d, T(CT, Ints)), .torch = "lambda x, n: F.pad(x, n, 'replicate')",
       .examples = {{"replication_pad3d", "x0, [2, 1, 0, 2, 1, 1]", volume}}},
      {OPERATION(grid_sampler, T(CT, CT, I, I, bool))},
      {OPERATION(grid_sampler_2d, T(CT, CT, I, I, bool)),
       .examples =
           {{"grid_sampler_2d", "x0, x1, 0, 0, False", {{real({2, 2, 3, 4}), real({2, 2, 3, 2}, -1.3, 1.3)}}},
            {"grid_sampler_2d border", "x0, x1, 0, 1, True", {{real({1, 2, 3, 4}), real({1, 2, 3, 2}, -1.3, 1.3)}}},
            {"grid_sampler_2d reflection", "x0, x1, 0, 2, False", {{real({1, 2, 3, 4}), real({1, 2, 3, 2}, -3, 3)}}},
            {"grid_sampler_2d nearest",
             "x0, x1, 1, 0, False",
             {{real({1, 2, 3, 4}), constant({1, 2, 3, 2}, -1.3, 1.3)}}},
            {"grid_sampler_2d bicubic", "x0, x1, 2, 0, False", {{real({1, 1, 4, 4}), real({1, 2, 2, 2}, -1.3, 1.3)}}},
            {"grid_sampler_2d bicubic reflection",
             "x0, x1, 2, 2, True",
             {{real({1, 1, 4, 4}), real({1, 2, 2, 2}, -1.3, 1.3)}}}}},
      {OPERATION(grid_sampler_3d, T(CT, CT, I, I, bool)),
       .examples = {{"grid_sampler_3d",
                     "x0, x1, 0, 0, False",
                     {{real({1, 2, 2, 3, 3}), real({1, 2, 1, 2, 3}, -1.2, 1.2)}}},
                    {"grid_sampler_3d border",
                     "x0, x1, 0, 1, True",
                     {{real({1, 2, 2, 3, 3}), real({1, 2, 1, 2, 3}, -1.2, 1.2)}}},
                    {"grid_sampler_3d bicubic",
                     "x0, x1, 2, 2, False",
                     {{real({1, 1, 2, 3, 3}), real({1, 1, 1, 2, 3}, -0.9, 0.9)}}}}},
      {OPERATION(affine_grid_generator, T(CT, Ints, bool)),
       .examples = {{"affine_grid_generator", "x0, [2, 1, 3, 4], False", {{real({2, 2, 3})}}},
                    {"affine_grid_generator 3d", "x0, [1, 1, 2, 3, 2], True", {{real({1, 3, 4})}}}}},
  };
}

}  // namespace

std::vector<Operation> volume_operations() { return joined({convolutions, pools, images}); }

}  // namespace tandem::testing
