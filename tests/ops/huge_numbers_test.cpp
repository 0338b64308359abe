// Sizes, paddings, counts and offsets far beyond any tensor: each is accepted, or rejected with an Error that
// names the operation.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "tandem/autograd/ops.h"
#include "tandem/nn/functional.h"
#include "tandem/nn/nn.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::testing;
namespace F = tandem::nn::functional;

namespace {

struct Case {
  const char* text;
  std::function<void(int64_t)> run;
};

// Extreme numbers, and some with products and sums that overflow.
constexpr int64_t numbers[] = {INT64_MIN, -(int64_t{1} << 40), -1, int64_t{1} << 45, int64_t{1} << 62, INT64_MAX};

// The Error's message, or "" if nothing is thrown. Any other exception fails the test.
std::string text_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception& error) {
    FAIL_CHECK("no Error: ", error.what());
  }
  return "";
}

int64_t opposite(int64_t h) { return h == INT64_MIN ? INT64_MAX : -h; }

#define CASE(...)                                                          \
  Case {                                                                   \
#__VA_ARGS__, [=]([[maybe_unused]] int64_t h) { (void)(__VA_ARGS__); } \
  }

void run_all(const std::vector<Case>& cases) {
  for (const Case& c : cases)
    for (const int64_t h : numbers) {
      INFO(c.text, " with ", h);
      const std::string text = text_of([&] { c.run(h); });
      CAPTURE(text);
      CHECK(text.find("std::") == std::string::npos);
      if (h > 0)  // a message about negative or zero numbers would indicate an overflow
        for (const char* small : {"negative", "at least", "empty"}) CHECK(text.find(small) == std::string::npos);
    }
}

const Tensor row = counting({6}), matrix = counting({2, 3}), planes = counting({1, 2, 4, 4}),
             lines = counting({1, 2, 4});
const Tensor kernel = counting({2, 2, 2, 2}), none = empty({0}, kFloat), labels = zeros({2}, kLong);

}  // namespace

TEST_CASE("huge numbers: new tensors") {
  run_all({
      CASE(zeros({h})),
      CASE(zeros({h, h})),
      CASE(ones({2, h})),
      CASE(empty({h, 0})),
      CASE(full({h}, 1)),
      CASE(rand({h})),
      CASE(randn({h, 3})),
      CASE(randint(5, {h})),
      CASE(randint(h, {2})),
      CASE(randint(h, INT64_MAX, {2})),
      CASE(randint(INT64_MIN, h, {2})),
      CASE(randperm(h)),
      CASE(eye(h)),
      CASE(eye(0, h)),
      CASE(eye(h, 0)),
      CASE(eye(2, h)),
      CASE(arange(h)),
      CASE(arange(0, h, 1)),
      CASE(arange(h, INT64_MAX, int64_t{1} << 62)),
      CASE(arange(h, INT64_MIN, -(int64_t{1} << 62))),
      CASE(arange(0, 10, h)),
      CASE(arange(0, -10, h)),
      CASE(arange(0.0, static_cast<double>(h))),
      CASE(arange(0.0, 1.0, 1 / static_cast<double>(h))),
      CASE(linspace(0, 1, h)),
      CASE(logspace(0, 1, h)),
      CASE(linspace(h, 0, 3)),
      CASE(tril_indices(h, 2)),
      CASE(triu_indices(2, h)),
      CASE(tril_indices(2, 2, h)),
      CASE(triu_indices(2, 2, h)),
      CASE(row.new_zeros({h, 2})),
      CASE(row.clone().resize_({h})),
      CASE(row.clone().resize_({h, h})),
      CASE(one_hot(labels, h)),
      CASE(one_hot(labels + h)),
      CASE(bincount(labels, {}, h)),
      CASE(bincount(labels + h)),
      CASE(row.histc(h)),
  });
}

TEST_CASE("huge numbers: views") {
  run_all({
      CASE(row.view({h})),
      CASE(row.view({-1, h})),
      CASE(row.view({h, h})),
      CASE(none.view({0, h})),
      CASE(none.view({h, -1})),
      CASE(row.reshape({2, h})),
      CASE(row.unflatten(0, {h, -1})),
      CASE(row.unflatten(h, {6})),
      CASE(row.flatten(h, -1)),
      CASE(row.select(0, h)),
      CASE(row.select(h, 0)),
      CASE(row.slice(0, h)),
      CASE(row.slice(0, 0, h)),
      CASE(row.slice(0, nullopt, nullopt, h)),
      CASE(row.slice(0, h, INT64_MAX, INT64_MAX)),
      CASE(row.narrow(0, h, 2)),
      CASE(row.narrow(0, 2, h)),
      CASE(row.narrow(0, h, h)),
      CASE(matrix.transpose(h, 0)),
      CASE(matrix.permute({h, 0})),
      CASE(matrix.movedim(0, h)),
      CASE(row.squeeze(h)),
      CASE(row.unsqueeze(h)),
      CASE(row.slice(0, 0, 1).expand({h})),
      CASE(row.slice(0, 0, 1).expand({h, h, 1})),
      CASE(row.expand({h, -1})),
      CASE(matrix.diagonal(h)),
      CASE(matrix.diagonal(0, h, 0)),
      CASE(row.diag(h)),
      CASE(row.diag_embed(h)),
      CASE(matrix.diag(h)),
      CASE(row.diagflat(h)),
      CASE(row.unfold(0, h, 1)),
      CASE(row.unfold(0, 2, h)),
      CASE(row.unfold(0, h, h)),
      CASE(row.as_strided({h}, {1})),
      CASE(row.as_strided({2}, {h})),
      CASE(row.as_strided({2, 2}, {h, h})),
      CASE(row.as_strided({2}, {1}, h)),
      CASE(row.as_strided({h, h}, {h, h}, h)),
      CASE(row.as_strided({h}, {0})),
      CASE(row.as_strided({}, {}, h)),
      CASE(matrix.tril(h)),
      CASE(matrix.triu(h)),
      CASE(row.roll({h})),
      CASE(row.roll({h}, {0})),
      CASE(matrix.rot90(h)),
      CASE(matrix.flip({h})),
      CASE(row[h]),
      CASE(row.index({indexing::Slice(h, nullopt)})),
      CASE(row.index({indexing::Slice(nullopt, nullopt, h)})),
      CASE(row.index({h})),
      CASE(row.index({labels + h})),
      CASE(matrix.size(h)),
      CASE(matrix.stride(h)),
  });
}

TEST_CASE("huge numbers: splitting and repeating") {
  run_all({
      CASE(row.split(h)),
      CASE(row.split({h, h})),
      CASE(row.split({h, opposite(h)})),
      CASE(row.chunk(h)),
      CASE(none.chunk(h)),
      CASE(row.tensor_split(h)),
      CASE(row.tensor_split({h, h})),
      CASE(none.unsqueeze(0).expand({2, 0}).unbind(h)),
      CASE(row.slice(0, 0, 1).expand({h}).unbind()),
      CASE(row.slice(0, 0, 1).expand({h}).split(1)),
      CASE(row.repeat({h})),
      CASE(row.repeat({h, h})),
      CASE(none.repeat({h})),
      CASE(row.tile({h})),
      CASE(row.tile({h, 0, 2})),
      CASE(row.repeat_interleave(h)),
      CASE(row.repeat_interleave(h, 0)),
      CASE(labels.repeat_interleave(labels + h)),
      CASE(matrix.repeat_interleave(h, 1)),
      CASE(cat({row.slice(0, 0, 1).expand({h}), row})),
      CASE(cat({row.slice(0, 0, 1).expand({h}), row.slice(0, 0, 1).expand({h})})),
      CASE(cat({row, row}, h)),
      CASE(stack({row.slice(0, 0, 1).expand({h}), row.slice(0, 0, 1).expand({h})})),
      CASE(stack({row, row}, h)),
      CASE(combinations(row, h)),
      CASE(row.diff(h)),
      CASE(row.topk(h)),
      CASE(row.kthvalue(h)),
      CASE(rand({6}).multinomial(h, true)),
      CASE(matrix.index_select(1, labels + h)),
      CASE(matrix.gather(1, labels.view({2, 1}) + h)),
      CASE(row.take(labels + h)),
      CASE(embedding(matrix, labels + h)),
      CASE(embedding(matrix, labels, h)),
      CASE(row.sum(h)),
      CASE(row.sum({h})),
      CASE(row.cumsum(h)),
      CASE(row.sort(h)),
      CASE(row.softmax(h)),
      CASE(row.quantile(static_cast<double>(h))),
      CASE(matrix.sum_to_size({h, 3})),
      CASE(meshgrid({row, row.slice(0, 0, 1).expand({h})})),
      CASE(cartesian_prod({row, row.slice(0, 0, 1).expand({h})})),
      CASE(block_diag({row.slice(0, 0, 1).expand({h}), matrix})),
      CASE(row.round(h)),
      CASE(matrix.var({0}, h)),
      CASE(cov(matrix, h)),
      CASE(matrix_power(matrix.slice(1, 0, 2), h > 100 ? h : opposite(h))),
  });
}

TEST_CASE("huge numbers: convolutions, windows, pooling") {
  run_all({
      CASE(conv2d(planes, kernel, {}, h)),
      CASE(conv2d(planes, kernel, {}, {1, h})),
      CASE(conv2d(planes, kernel, {}, 1, h)),
      CASE(conv2d(planes, kernel, {}, 1, {0, h})),
      CASE(conv2d(planes, kernel, {}, 1, 0, h)),
      CASE(conv2d(planes, kernel, {}, 1, h, h)),
      CASE(conv2d(planes, kernel, {}, 1, 0, 1, h)),
      CASE(conv2d(planes, kernel, {}, 1, "same", h)),
      CASE(conv2d(planes, kernel.slice(2, 0, 1).expand({2, 2, h, 2}))),
      CASE(conv2d(planes.slice(2, 0, 1).expand({1, 2, h, 4}), kernel)),
      CASE(conv1d(lines, kernel.select(3, 0), {}, h)),
      CASE(conv1d(lines, kernel.select(3, 0), {}, 1, h)),
      CASE(conv1d(lines, kernel.select(3, 0), {}, 1, 0, h)),
      CASE(conv_transpose2d(planes, kernel, {}, h)),
      CASE(conv_transpose2d(planes, kernel, {}, 1, h)),
      CASE(conv_transpose2d(planes, kernel, {}, 1, 0, h)),
      CASE(conv_transpose2d(planes, kernel, {}, h, 0, h)),
      CASE(conv_transpose2d(planes, kernel, {}, 1, 0, 0, h)),
      CASE(conv_transpose2d(planes, kernel, {}, 1, 0, 0, 1, h)),
      CASE(conv_transpose2d(planes.slice(2, 0, 1).expand({1, 2, h, 4}), kernel, {}, 9)),
      CASE(max_pool2d(planes, h)),
      CASE(max_pool2d(planes, 2, h)),
      CASE(max_pool2d(planes, 2, 1, h)),
      CASE(max_pool2d(planes, 2, 1, 0, h)),
      CASE(max_pool2d(planes, h, 1, h / 2)),
      CASE(max_pool2d(planes, 2, h, 1, 1, true)),
      CASE(max_pool2d_with_indices(planes, {1, h})),
      CASE(max_pool2d(planes.slice(2, 0, 1).expand({1, 2, h, 4}), 2)),
      CASE(max_pool1d(lines, h)),
      CASE(max_pool1d(lines, 2, h)),
      CASE(max_pool1d(lines, 2, 1, 1, h)),
      CASE(avg_pool2d(planes, h)),
      CASE(avg_pool2d(planes, 2, h)),
      CASE(avg_pool2d(planes, 2, 1, h)),
      CASE(avg_pool2d(planes, 2, 2, 0, false, true, h)),
      CASE(avg_pool1d(lines, h)),
      CASE(avg_pool1d(lines, 2, 1, h)),
      CASE(adaptive_avg_pool2d(planes, h)),
      CASE(adaptive_avg_pool2d(planes, {1, h})),
      CASE(adaptive_max_pool2d(planes, h)),
      CASE(adaptive_max_pool2d(planes, {h, 1})),
      CASE(adaptive_avg_pool1d(lines, h)),
      CASE(adaptive_max_pool1d(lines, h)),
      CASE(im2col(planes, h, 1, 0, 1)),
      CASE(im2col(planes, 2, h, 0, 1)),
      CASE(im2col(planes, 2, 1, h, 1)),
      CASE(im2col(planes, 2, 1, 0, h)),
      CASE(col2im(counting({1, 8, 9}), h, 2, 1, 0, 1)),
      CASE(col2im(counting({1, 8, 9}), 4, h, 1, 0, 1)),
      CASE(col2im(counting({1, 8, 9}), 4, 2, h, 0, 1)),
      CASE(col2im(counting({1, 8, 9}), 4, 2, 1, h, 1)),
      CASE(col2im(counting({1, 8, 9}), 4, 2, 1, 0, h)),
  });
}

TEST_CASE("huge numbers: padding, resampling, shuffling") {
  run_all({
      CASE(constant_pad_nd(row, {h, 0})),
      CASE(constant_pad_nd(row, {0, h})),
      CASE(constant_pad_nd(row, {h, h})),
      CASE(constant_pad_nd(row, {h, opposite(h)})),
      CASE(constant_pad_nd(row, {INT64_MIN, h})),
      CASE(constant_pad_nd(matrix, {h, 0, h, 0})),
      CASE(pad(lines, {h, 1}, "reflect")),
      CASE(pad(lines, {h, 1}, "replicate")),
      CASE(pad(lines, {h, INT64_MAX}, "replicate")),
      CASE(pad(lines, {1, h}, "circular")),
      CASE(pad(lines, {h, opposite(h)}, "replicate")),
      CASE(reflection_pad2d(planes, {h, 0, 0, 0})),
      CASE(replication_pad2d(planes, {0, 0, h, h})),
      CASE(upsample_nearest1d(lines, {h})),
      CASE(upsample_nearest2d(planes, {h, h})),
      CASE(upsample_linear1d(lines, {h}, false)),
      CASE(upsample_bilinear2d(planes, {h, 2}, true)),
      CASE(upsample_bicubic2d(planes, {2, h}, false)),
      CASE(F::interpolate(planes, F::InterpolateFuncOptions().size(std::vector<int64_t>{h, h}))),
      CASE(F::interpolate(planes, F::InterpolateFuncOptions().size(std::vector<int64_t>{h, 2}).mode(kArea))),
      CASE(F::interpolate(
          planes, F::InterpolateFuncOptions().size(std::vector<int64_t>{h, 2}).mode(kBilinear).antialias(true))),
      CASE(F::interpolate(planes,
                          F::InterpolateFuncOptions().scale_factor(std::vector<double>{static_cast<double>(h)}))),
      CASE(F::interpolate(
          planes, F::InterpolateFuncOptions().scale_factor(std::vector<double>{1e300, 1.0 / static_cast<double>(h)}))),
      CASE(F::interpolate(planes, F::InterpolateFuncOptions().scale_factor(
                                      std::vector<double>{static_cast<double>(h) * std::nan("")}))),
      CASE(pixel_shuffle(planes, h)),
      CASE(pixel_unshuffle(planes, h)),
      CASE(pixel_shuffle(empty({1, 0, 4, 4}), h)),
      CASE(pixel_unshuffle(empty({1, 2, 0, 0}), h)),
      CASE(channel_shuffle(planes, h)),
      CASE(pixel_shuffle(planes, int64_t{1} << 32)),
      CASE(group_norm(planes, h)),
      CASE(layer_norm(matrix, {h})),
  });
}

TEST_CASE("huge numbers: layers") {
  run_all({
      CASE(nn::Linear(h, 2)),
      CASE(nn::Linear(2, h)),
      CASE(nn::Linear(h, h)),
      CASE(nn::Embedding(h, h)),
      CASE(nn::Embedding(2, h)),
      CASE(nn::Conv2d(h, 2, 3)),
      CASE(nn::Conv2d(2, h, 3)),
      CASE(nn::Conv2d(2, 2, h)),
      CASE(nn::Conv2d(h, h, h)),
      CASE(nn::Conv2d(nn::Conv2dOptions(2, 2, 3).groups(h))),
      CASE(nn::Conv2d(nn::Conv2dOptions(2, 2, 3).groups(0))),
      CASE(nn::Conv2d(nn::Conv2dOptions(2, 2, 2).padding(h))->forward(planes)),
      CASE(nn::Conv1d(2, h, 3)),
      CASE(nn::ConvTranspose2d(h, h, 2)),
      CASE(nn::ConvTranspose2d(nn::ConvTranspose2dOptions(2, 2, 2).groups(h))),
      CASE(nn::ConvTranspose2d(nn::ConvTranspose2dOptions(2, 2, 2).groups(0))),
      CASE(nn::Conv2d(nn::Conv2dOptions(2, 2, 2).padding(h).padding_mode(kReflect))->forward(planes)),
      CASE(nn::Conv2d(nn::Conv2dOptions(2, 2, 2).padding(h).padding_mode(kCircular))->forward(planes)),
      CASE(nn::BatchNorm2d(h)),
      CASE(nn::GroupNorm(h, 4)),
      CASE(nn::GroupNorm(2, h)),
      CASE(nn::GroupNorm(0, 4)),
      CASE(nn::LayerNorm(nn::LayerNormOptions({h}))),
      CASE(nn::LayerNorm(nn::LayerNormOptions({h, h}))),
      CASE(nn::MaxPool2d(h)->forward(planes)),
      CASE(nn::AvgPool2d(h)->forward(planes)),
      CASE(nn::ReflectionPad2d(h)->forward(planes)),
      CASE(nn::ZeroPad2d(h)->forward(planes)),
      CASE(nn::PixelShuffle(h)->forward(planes)),
      CASE(nn::Flatten(nn::FlattenOptions().start_dim(h))->forward(planes)),
      CASE(nn::Softmax(h)->forward(planes)),
      CASE(nn::Unfold(nn::UnfoldOptions(h))->forward(planes)),
      CASE(nn::Fold(nn::FoldOptions(h, 2))->forward(counting({1, 8, 9}))),
  });
}

TEST_CASE("huge numbers: error messages") {
  CHECK(text_of([] { conv2d(planes, kernel, {}, 1, int64_t{1} << 40); }) ==
        "conv2d: padding may be at most 2147483647, got [1099511627776]");
  CHECK(text_of([] { nn::AvgPool2d(int64_t{1} << 40)->forward(planes); }).find("kernel_size may be at most") !=
        std::string::npos);
  const auto options = F::InterpolateFuncOptions().scale_factor(std::vector<double>{1e18});
  CHECK(text_of([&] { F::interpolate(planes, options); }).find("interpolate: factor 1e+18 is too large") == 0);
  CHECK(text_of([] { none.chunk(int64_t{1} << 62); }).find("chunk: 4611686018427387904 pieces are too many") == 0);
  CHECK(text_of([] { pixel_shuffle(planes, int64_t{1} << 32); }).find("the factor 4294967296 is too large") !=
        std::string::npos);
  CHECK(text_of([] {
          zeros({int64_t{1} << 40, int64_t{1} << 40});
        }) == "too many elements: [1099511627776, 1099511627776]");
  CHECK(text_of([] { zeros({int64_t{1} << 45}); }) == "too many elements: [35184372088832] of float32");
}
