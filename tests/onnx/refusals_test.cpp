// What operators refuse, with the numbers and names in the messages. Their values are compared by backend_test.py.
#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "operator_call.h"
#include "tandem/tandem.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::test;

namespace {

struct Refusal {
  Call call;
  std::string message;
};

void check_refusals(const std::vector<Refusal>& refusals) {
  for (const Refusal& each : refusals) {
    const std::string error = error_of([&] { run(each.call); });
    CHECK_MESSAGE(error.find(each.call.op + ": ") != std::string::npos, each.call.op, ": ", error);
    CHECK_MESSAGE(error.find(each.message) != std::string::npos, "\"", error, "\" lacks \"", each.message, "\"");
  }
}

}  // namespace

TEST_CASE("operators that read and write at positions refuse wrong indices and shapes") {
  const Tensor matrix = ones({3, 4}), row = ones({4}), at = integers({0, 1});
  check_refusals({
      {{"Gather", {matrix, floats({0})}}, "indices must be int64 or int32, got [1] float32"},
      {{"Gather", {matrix, at}, {{"axis", 2}}}, "axis 2 is out of range for 2 dimensions"},
      {{"Gather", {matrix, at}, {{"axis", -3}}}, "axis -3 is out of range for 2 dimensions"},
      {{"GatherElements", {matrix, at}, {{"axis", 2}}}, "axis 2 is out of range for 2 dimensions"},
      {{"GatherND", {matrix, integers({0, 1, 2})}},
       "the last dimension of the indices must have a size from 1 to 2, got [3] int64"},
      {{"GatherND", {matrix, zeros({2, 0}, kLong)}}, "must have a size from 1 to 2, got [2, 0] int64"},
      {{"GatherND", {matrix, at}, {{"batch_dims", -1}}}, "batch_dims -1 is out of range"},
      {{"GatherND", {matrix, at}, {{"batch_dims", 1}}}, "batch_dims 1 is out of range"},
      {{"GatherND", {row, zeros({4, 1, 1, 1}, kLong)}, {{"batch_dims", 2}}}, "batch_dims 2 is out of range"},
      {{"GatherND", {matrix, integers({})}, {{"batch_dims", 0}}}, "must have a size from 1 to 2"},
      {{"GatherND", {matrix, zeros({2, 1}, kLong)}, {{"batch_dims", 1}}}, "sizes of batch dimension 0 differ"},
      {{"ScatterElements", {matrix, zeros({1, 4}, kLong), ones({2, 4})}},
       "indices and updates must have the same shape, got [1, 4] int64"},
      {{"ScatterElements", {matrix, zeros({1, 4}, kLong), ones({1, 4})}, {{"reduction", "mean"}}},
       "reduction must be none, add, mul, max or min, got 'mean'"},
      {{"ScatterND", {matrix, zeros({2, 1}, kLong), ones({2, 3})}}, "updates must be [2, 4] float32, got [2, 3]"},
      {{"ScatterND", {matrix, zeros({2, 1}, kLong), ones({2, 4}, kInt)}}, "updates must be [2, 4] float32, got"},
      {{"ScatterND", {matrix, zeros({2, 2}, kLong), ones({2, 1})}}, "updates must be [2] float32, got"},
      {{"TensorScatter", {ones({2, 5, 3}), ones({2, 1, 3})}, {{"mode", "round"}}},
       "mode must be linear or circular, got 'round'"},
      {{"TensorScatter", {ones({2, 5, 3}), ones({2, 1, 3})}, {{"axis", 0}}}, "axis 0 is the batch"},
      {{"TensorScatter", {ones({2, 5, 3}), ones({2, 6, 3})}}, "the update does not fit"},
      {{"TensorScatter", {ones({2, 5, 3}), ones({2, 5})}}, "the update does not fit"},
      {{"TensorScatter", {ones({2, 5, 3}), ones({2, 1, 2})}}, "the update must be [2, 1, 3] float32, got [2, 1, 2]"},
      {{"TensorScatter", {ones({2, 5, 3}), ones({2, 1, 3}, kInt)}}, "the update must be [2, 1, 3] float32, got"},
      {{"TensorScatter", {ones({2, 5, 3}), ones({2, 1, 3}), integers({0})}}, "write_indices must be [2], got [1]"},
      {{"TensorScatter", {ones({2, 5, 3}), ones({2, 1, 3}), zeros({2, 1}, kLong)}}, "write_indices must be [2], got"},
      {{"Compress", {matrix, ones({1, 3}, kBool)}}, "the condition must have one dimension, got [1, 3] bool"},
      {{"OneHot", {at, floats({-1}), floats({0, 1})}}, "the depth must not be negative, got -1"},
      {{"OneHot", {at, floats({3}), floats({0, 1, 2})}}, "the values must be [2], got [3] float32"},
      {{"OneHot", {at, floats({3}), ones({2, 1})}}, "the values must be [2], got [2, 1] float32"},
      {{"OneHot", {at, floats({3, 4}), floats({0, 1})}}, "input 1 must be one number, got [2] float32"},
      {{"ReverseSequence", {row, at}}, "expected 2 dimensions or more, of which time and batch are the first two"},
      {{"ReverseSequence", {ones({2, 2, 2}), at}, {{"time_axis", 1}, {"batch_axis", 2}}}, "time_axis 1, batch_axis 2"},
      {{"ReverseSequence", {ones({2, 2, 2}), at}, {{"time_axis", 0}, {"batch_axis", 2}}}, "time_axis 0, batch_axis 2"},
      {{"ReverseSequence", {matrix, at}}, "sequence_lens must be [4], got [2] int64"},
      {{"Hardmax", {matrix}, {{"axis", 3}}, 11}, "axis 3 is out of range for 2 dimensions"},
      {{"Hardmax", {matrix}, {{"axis", -3}}, 11}, "axis -3 is out of range for 2 dimensions"},
      {{"Hardmax", {matrix}, {{"axis", 2}}}, "axis 2 is out of range for 2 dimensions"},
      {{"EyeLike", {row}}, "expected a matrix, got [4] float32"},
      {{"EyeLike", {ones({1, 2, 3})}}, "expected a matrix, got [1, 2, 3] float32"},
      {{"EyeLike", {matrix}, {{"dtype", 17}}}, "there is no dtype float8e4m3fn"},
      {{"Trilu", {row}}, "expected a matrix or a batch of them, got [4] float32"},
      {{"TopK", {matrix, integers({1, 2})}}, "input 1 must be one integer, got 2"},
      {{"ArgMax", {matrix}, {{"axis", 2}}}, "axis 2 is out of range for 2 dimensions"},
      {{"ReduceSum", {matrix, integers({-3})}}, "axis -3 is out of range for 2 dimensions"},
      {{"ReduceSum", {matrix, floats({0})}}, "input 1 must be a list of integers, got [1] float32"},
      {{"ReduceSum", {matrix, zeros({1, 1}, kLong)}}, "input 1 must be a list of integers, got [1, 1] int64"},
      {{"ReduceMax", {matrix}, {{"axes", Ints{2}}}, 13}, "axis 2 is out of range for 2 dimensions"},
  });
}

TEST_CASE("n-grams") {
  const auto grams = [](const Attributes& changes, const Tensor& x = integers({1, 2})) {
    std::map<std::string, Value> all{{"mode", "TF"},
                                     {"min_gram_length", 1},
                                     {"max_gram_length", 2},
                                     {"max_skip_count", 0},
                                     {"ngram_counts", Ints{0, 2}},
                                     {"ngram_indexes", Ints{0, 1, 2}},
                                     {"pool_int64s", Ints{1, 2, 1, 2}}};
    for (const auto& [name, value] : changes) all[name] = value;
    return Call{"TfIdfVectorizer", {x}, {all.begin(), all.end()}};
  };
  CHECK(equal(run(grams({}))[0].toTensor(), floats({1, 1, 1})));
  check_refusals({
      {grams({}, ones({2})), "expected integers [C] or [B, C], got [2] float32"},
      {grams({}, ones({1, 1, 2}, kLong)), "expected integers [C] or [B, C], got [1, 1, 2] int64"},
      {grams({{"min_gram_length", 0}}), "lengths must be 1 or more, and skips 0 or more"},
      {grams({{"min_gram_length", 3}}), "lengths must be 1 or more, and skips 0 or more"},
      {grams({{"max_skip_count", -1}}), "lengths must be 1 or more, and skips 0 or more"},
      {grams({{"mode", "IF"}}), "mode must be TF, IDF or TFIDF, got 'IF'"},
      {grams({{"mode", "IDF"}, {"weights", std::vector<double>{1, 2}}}), "expected 3 weights, got 2"},
      {grams({{"pool_strings", std::vector<std::string>{"a"}}}), "texts are not supported"},
      {grams({{"ngram_indexes", Ints{0, 1}}}), "expected 3 ngram_indexes, got 2"},
      {grams({{"ngram_indexes", Ints{0, -1, 1}}}), "ngram_indexes must be from 0 to 67108863, got -1"},
      {grams({{"ngram_indexes", Ints{0, 1 << 26, 1}}}), "ngram_indexes must be from 0 to 67108863, got 67108864"},
      {grams({{"ngram_counts", Ints{-1, 2}}}), "ngram_counts do not fit the pool"},
      {grams({{"ngram_counts", Ints{3, 2}}}), "ngram_counts do not fit the pool"},
      {grams({{"ngram_counts", Ints{0, 5}}}), "ngram_counts do not fit the pool"},
      {grams({{"ngram_counts", Ints{0, 1}}}), "ngram_counts do not fit the pool"},
  });
}

TEST_CASE("operators of shapes refuse sizes, axes and lists that do not fit") {
  const Tensor matrix = ones({3, 4});
  check_refusals({
      {{"Reshape", {matrix, integers({3, 4, 0})}}, "size 2 is to be that of the input, which has 2 dimensions"},
      {{"Flatten", {matrix}, {{"axis", 3}}}, "axis 3 is out of range for [3, 4] float32"},
      {{"Flatten", {matrix}, {{"axis", -3}}}, "axis -3 is out of range for [3, 4] float32"},
      {{"Squeeze", {matrix, integers({1})}}, "dimension 1 of [3, 4] float32"},
      {{"Squeeze", {matrix}, {{"axes", Ints{0}}}, 11}, "dimension 0 of [3, 4] float32"},
      {{"Unsqueeze", {matrix, integers({1, -3})}}, "an axis is given twice"},
      {{"Unsqueeze", {matrix, integers({3})}}, "axis 3 is out of range for 3 dimensions"},
      {{"Split", {matrix}, {{"num_outputs", 3}}, 25, 2}, "num_outputs is 3, but it has 2 outputs"},
      {{"Split", {matrix, integers({3})}, {}, 25, 2}, "there are 1 sizes for 2 outputs"},
      {{"Slice", {matrix, integers({0}), integers({2}), integers({0}), integers({0})}}, "a step is 0"},
      {{"Slice", {matrix, integers({0, 0}), integers({2}), integers({0})}}, "starts, ends, axes and steps differ"},
      {{"Slice", {matrix, integers({0}), integers({2}), integers({0, 1})}}, "starts, ends, axes and steps differ"},
      {{"Slice", {matrix, integers({0}), integers({2}), integers({0}), integers({1, 1})}}, "steps differ in length"},
      {{"Slice", {matrix, integers({0}), integers({2}), integers({2})}}, "axis 2 is out of range for 2 dimensions"},
      {{"Pad", {matrix, integers({1, 1, 1})}}, "there are 3 pads for 2 dimensions"},
      {{"Pad", {matrix, integers({1, 1}), kMissing, integers({0, 1})}}, "there are 2 pads for 2 dimensions"},
      {{"Pad", {matrix, integers({1, 1}), kMissing, integers({2})}}, "axis 2 is out of range for 2 dimensions"},
      {{"Pad", {matrix, integers({1, 1, 1, 1})}, {{"mode", "mirror"}}}, "there is no mode 'mirror'"},
      {{"Pad", {ones({0, 2}), integers({1, 0, 0, 0})}, {{"mode", "edge"}}},
       "an empty dimension cannot be padded in mode edge"},
      {{"Pad", {matrix, integers({(int64_t{1} << 31) + 1, 0, 0, 0})}, {{"mode", "edge"}}}, "a pad is too large"},
      {{"Range", {floats({0}), floats({1, 2}), floats({1})}}, "input 1 must be one number, got [2] float32"},
      {{"Range", {floats({0}), floats({1}), floats({0})}}, "its step is 0"},
      {{"Tile", {matrix, integers({2})}}, "there are 1 repeats for [3, 4] float32"},
      {{"Concat", {matrix, matrix}, {{"axis", 2}}}, "axis 2 is out of range for 2 dimensions"},
      {{"Sum", {}}, "it has no inputs"},
      {{"Clip", {matrix, floats({0, 1})}}, "a bound must be one number, got [2] float32"},
      {{"Cast", {matrix}}, "attribute 'to' is missing"},
      {{"Cast", {matrix}, {{"to", 1000}}}, "there is no dtype number 1000"},
      {{"Cast", {matrix}, {{"to", "float"}}}, "attribute 'to' is no integer"},
      {{"BitCast", {matrix}, {{"to", 7}}}, "bits of float32 are no int64"},
      {{"CumSum", {matrix, integers({2})}}, "axis 2 is out of range for 2 dimensions"},
      {{"Softmax", {matrix}, {{"axis", 3}}, 11}, "axis 3 is out of range for 2 dimensions"},
      {{"Add", {matrix, matrix}, {{"broadcast", 1}, {"axis", 1}}, 6},
       "the second operand has too many dimensions: [3, 4] float32"},
      {{"LeakyRelu", {matrix}, {{"alpha", "x"}}}, "attribute 'alpha' is no number"},
      {{"Transpose", {matrix}, {{"perm", 1}}}, "attribute 'perm' is no list of integers"},
      {{"Gelu", {matrix}, {{"approximate", 1}}}, "attribute 'approximate' is no text"},
  });
}

TEST_CASE("convolutions and pooling refuse windows and weights that do not fit") {
  const Tensor image = ones({1, 2, 5, 5}), weight = ones({4, 2, 3, 3}), matrix = ones({3, 4});
  const Ints two{2, 2};
  const auto pool = [&](Attributes more, const Tensor& x = ones({1, 2, 5, 5})) {
    more.emplace_back("kernel_shape", two);
    return Call{"MaxPool", {x}, more};
  };
  const auto transposed = [&](const Attributes& attributes) {
    return Call{"ConvTranspose", {image, ones({2, 3, 3, 3})}, attributes};
  };
  const Tensor signal = ones({1, 2, 5}), taps = ones({2, 1, 3});
  check_refusals({
      {pool({}, matrix), "expected [N, C] and 1 to 3 more dimensions, got [3, 4] float32"},
      {pool({}, ones({1, 1, 1, 1, 1, 1})), "expected [N, C] and 1 to 3 more dimensions"},
      {pool({}, ones({1, 2, 5, 5}, kInt)), "expected floating point, int8 or uint8, got [1, 2, 5, 5] int32"},
      {pool({}, ones({1, 2, 1, 5})), "no window of [2, 2] fits"},
      {pool({}, ones({1, 2, 5})), "kernel_shape must hold 1 numbers, got [2, 2]"},
      {pool({{"pads", Ints{0, 2, 0, 0}}}), "padding must be less than the kernel [2, 2], got [0, 2] and [0, 0]"},
      {pool({{"pads", Ints{0, 0, 2, 0}}}), "padding must be less than the kernel [2, 2], got [0, 0] and [2, 0]"},
      {pool({{"pads", two}}), "pads must hold 4 numbers, got [2, 2]"},
      {pool({{"strides", Ints{1}}}), "strides must hold 2 numbers, got [1]"},
      {pool({{"strides", Ints{0, 1}}}), "strides must be from 1 to 2147483647, got [0, 1]"},
      {pool({{"strides", Ints{1, int64_t{1} << 31}}}), "strides must be from 1 to 2147483647, got [1, 2147483648]"},
      {pool({{"dilations", Ints{1, 0}}}), "dilations must be from 1 to 2147483647, got [1, 0]"},
      {pool({{"auto_pad", "SAME"}}), "unknown auto_pad 'SAME'"},
      {{"AveragePool", {image}, {{"kernel_shape", Ints{6, 1}}}}, "no window of [6, 1] fits"},
      {{"AveragePool", {image}}, "kernel_shape must be from 1 to 2147483647, got [0, 0]"},
      {{"LpPool", {image}, {{"kernel_shape", two}, {"p", 0}}}, "p must be positive, got 0"},
      {{"GlobalLpPool", {image}, {{"p", -1}}}, "p must be positive, got -1"},
      {{"GlobalLpPool", {image}, {{"p", 0.0}}, 1}, "p must be positive, got 0"},
      {{"GlobalMaxPool", {matrix}}, "expected [N, C] and more dimensions, got [3, 4] float32"},
      {{"GlobalAveragePool", {matrix}}, "expected [N, C] and more dimensions, got [3, 4] float32"},
      {{"MaxUnpool", {image, ones({1, 2, 5, 4}, kLong)}, {{"kernel_shape", two}}},
       "there must be one index for each element"},
      {{"MaxUnpool", {image, image}, {{"kernel_shape", two}}}, "there must be one index for each element"},
      {{"MaxUnpool", {ones({1, 1, 0, 1}), ones({1, 1, 0, 1}, kLong)}, {{"kernel_shape", two}}},
       "the sizes are out of range: [1, 1, 0, 1] float32"},
      {{"MaxUnpool",
        {ones({1, 1, 1, 1}), ones({1, 1, 1, 1}, kLong)},
        {{"kernel_shape", two}, {"pads", Ints{0, 1, 0, 1}}}},
       "the output would be empty: [1, 1, 2, 0]"},
      {{"MaxUnpool", {ones({1, 1, 2, 2}), zeros({1, 1, 2, 2}, kLong), integers({4, 4})}, {{"kernel_shape", two}}},
       "output_shape must hold 4 numbers, got [4, 4]"},
      {{"MaxUnpool", {ones({1, 1, 2, 2}), zeros({1, 1, 2, 2}, kLong), integers({1, 1, 3, 2})}, {{"kernel_shape", two}}},
       "output_shape [1, 1, 3, 2] must be at least [1, 1, 3, 3]"},
      {{"Conv", {image, ones({4, 2, 3})}}, "the weight must have the dimensions of the input"},
      {{"Conv", {matrix, ones({4, 4})}}, "the weight must have the dimensions of the input"},
      {{"Conv", {image, weight}, {{"kernel_shape", two}}}, "kernel_shape [2, 2] is not that of the weight: [3, 3]"},
      {transposed({{"kernel_shape", two}}), "kernel_shape is not that of the weight: [3, 3]"},
      {transposed({{"output_padding", Ints{0, -1}}}), "output_padding must be from 0 to 2147483647, got [0, -1]"},
      {transposed({{"output_shape", Ints{7}}}), "output_shape must hold 2 numbers, got [7]"},
      {transposed({{"output_shape", Ints{7, 0}}}), "output_shape is out of range: [7, 0]"},
      {{"ConvTranspose", {image, ones({2, 3, 3})}}, "expected [N, C] and 1 to 3 more dimensions, and a weight of as"},
      {{"ConvTranspose", {matrix, matrix}}, "expected [N, C] and 1 to 3 more dimensions, and a weight of as many"},
      {{"ConvTranspose", {image, ones({2, 3, 3, 3}), ones({4})}, {{"pads", Ints{-1, 0, 0, 0}}}},
       "the bias must be [3], got [4] float32"},
      {{"CausalConvWithState", {signal, ones({2, 2, 3})}}, "expected an input [N, C, length] and a weight [C, 1, kern"},
      {{"CausalConvWithState", {signal, ones({3, 1, 3})}}, "expected an input [N, C, length] and a weight [C, 1, kern"},
      {{"CausalConvWithState", {signal, ones({2, 1, 0})}}, "expected an input [N, C, length] and a weight [C, 1, kern"},
      {{"CausalConvWithState", {image, taps}}, "expected an input [N, C, length] and a weight [C, 1, kernel]"},
      {{"CausalConvWithState", {signal, taps, kMissing, ones({1, 2, 3})}},
       "past_state must have 2 positions, got [1, 2, 3] float32"},
      {{"CausalConvWithState", {signal, taps, kMissing, ones({1, 2})}}, "past_state must have 2 positions, got [1, 2]"},
      {{"CausalConvWithState", {signal, taps}, {{"activation", "relu"}}}, "unknown activation 'relu'"},
      {{"DeformConv", {image, weight, ones({1, 18, 3})}}, "expected an input of 4 or 5 dimensions"},
      {{"DeformConv", {image, weight, ones({1, 18, 3, 2})}}, "the offsets do not have the sizes of the output"},
      {{"DeformConv", {image, weight, ones({1, 17, 3, 3})}}, "the offsets must be [1, 18, ...], got [1, 17, 3, 3]"},
      {{"DeformConv", {image, weight, ones({2, 18, 3, 3})}}, "the offsets must be [1, 18, ...], got [2, 18, 3, 3]"},
      {{"DeformConv", {image, weight, ones({1, 18, 3, 3})}, {{"group", 2}}}, "group 2 and offset_group 1 do not fit"},
      {{"DeformConv", {image, weight, ones({1, 18, 3, 3})}, {{"group", 0}}}, "group 0 and offset_group 1 do not fit"},
      {{"DeformConv", {image, weight, ones({1, 18, 3, 3})}, {{"offset_group", 3}}}, "group 1 and offset_group 3 do"},
      {{"Col2Im", {matrix, integers({4, 4}), integers({2, 2})}}, "expected an input [N, C, places], and as many sizes"},
      {{"Col2Im", {signal, integers({4, 4}), integers({2})}}, "expected an input [N, C, places], and as many sizes"},
      {{"Col2Im", {ones({1, 4, 9}), integers({4, 0}), integers({2, 2})}}, "sizes must be positive, and pads not"},
      {{"Col2Im", {ones({1, 4, 9}), integers({4, 4}), integers({2, 2})}, {{"pads", Ints{0, -1, 0, 0}}}},
       "sizes must be positive, and pads not negative: [4, 4] [2, 2]"},
      {{"Col2Im", {ones({1, 4, 8}), integers({4, 4}), integers({2, 2})}},
       "the input must be [N, C 4, 9], got [1, 4, 8]"},
      {{"Col2Im", {ones({1, 3, 9}), integers({4, 4}), integers({2, 2})}},
       "the input must be [N, C 4, 9], got [1, 3, 9]"},
  });
}

TEST_CASE("operators of images refuse unknown modes, and sizes and regions out of range") {
  const Tensor image = ones({1, 2, 4, 4});
  const auto resize = [&](const Attributes& attributes, const Tensor& scales, const Tensor& sizes = {},
                          const Tensor& roi = {}) {
    return Call{"Resize", {image, roi, scales, sizes}, attributes};
  };
  const Tensor doubled = floats({1, 1, 2, 2}), boxes = ones({1, 3, 4}), scores = ones({1, 2, 3});
  const auto align = [&](const Attributes& attributes, const Tensor& regions = ones({1, 4}), int64_t at = 0) {
    return Call{"RoiAlign", {image, regions, integers({at})}, attributes};
  };
  check_refusals({
      {resize({{"mode", "area"}}, doubled), "unknown mode 'area'"},
      {resize({{"coordinate_transformation_mode", "corners"}}, doubled),
       "unknown coordinate_transformation_mode 'corners'"},
      {resize({{"nearest_mode", "down"}}, doubled), "unknown nearest_mode 'down'"},
      {resize({{"antialias", 1}}, doubled), "antialias does not go with mode 'nearest'"},
      {resize({}, floats({2, 2})), "expected 4 scales, got 2"},
      {resize({}, floats({1, 1, 0, 2})), "scales must be positive, got 0"},
      {resize({}, floats({1, 1, INFINITY, 2})), "scales must be positive, got inf"},
      {resize({}, floats({1, 1, 1e13, 2})), "is too large"},
      {resize({}, floats({1, 1, 1e8, 2})), "a size would be 400000000"},
      {resize({}, integers({1, 1, 2, 2})), "input 2 must be a list of numbers, got [4] int64"},
      {resize({}, ones({1, 4})), "input 2 must be a list of numbers, got [1, 4] float32"},
      {resize({}, kMissing, integers({8, 8})), "expected 4 sizes, got [8, 8]"},
      {resize({}, kMissing, integers({1, 2, -1, 8})), "cannot resize a dimension of 4 to -1"},
      {resize({{"keep_aspect_ratio_policy", "shrink"}}, kMissing, integers({1, 2, 8, 8})),
       "unknown keep_aspect_ratio_policy 'shrink'"},
      {resize({{"axes", Ints{2, -2}}}, floats({2, 2})), "axis 2 is named twice"},
      {resize({{"axes", Ints{4}}}, floats({2})), "axis 4 is out of range for 4 dimensions"},
      {resize({{"coordinate_transformation_mode", "tf_crop_and_resize"}}, doubled, kMissing, floats({0, 1})),
       "roi must hold 8 numbers, got 2"},
      {{"Resize", {ones({1, 0}), kMissing, kMissing, integers({1, 0})}}, "cannot resize a dimension of 0 to 0"},
      {{"Upsample", {ones({1, 4, 4})}, {{"height_scale", 2.0}, {"width_scale", 2.0}}, 1},
       "expected [N, C, H, W], got [1, 4, 4] float32"},
      {{"GridSample", {image, ones({1, 2, 2, 2})}, {{"padding_mode", "wrap"}}}, "unknown padding_mode 'wrap'"},
      {{"GridSample", {image, ones({1, 2, 2, 2})}, {{"mode", "area"}}}, "unknown mode 'area'"},
      {{"AffineGrid", {ones({1, 2, 3}), integers({1, 1, 2})}}, "size must hold 4 or 5 numbers, got [1, 1, 2]"},
      {{"AffineGrid", {ones({1, 2, 3}), integers({1, 1, 0, 2})}}, "sizes must be positive, got [1, 1, 0, 2]"},
      {{"CenterCropPad", {image, integers({2, 2})}}, "expected 4 sizes, got [2, 2]"},
      {{"CenterCropPad", {image, integers({2, -1})}, {{"axes", Ints{2, 3}}}}, "a size is out of range: [2, -1]"},
      {align({{"mode", "sum"}}), "unknown mode 'sum'"},
      {align({{"coordinate_transformation_mode", "pixel"}}), "unknown coordinate_transformation_mode 'pixel'"},
      {align({{"output_height", 0}}), "output_height, output_width or sampling_ratio is out of range: 0, 1, 0"},
      {align({{"output_height", int64_t{1} << 31}}), "is out of range: 2147483648, 1, 0"},
      {align({{"output_width", int64_t{1} << 31}}), "is out of range: 1, 2147483648, 0"},
      {align({{"output_width", 0}}), "is out of range: 1, 0, 0"},
      {align({{"sampling_ratio", -1}}), "is out of range: 1, 1, -1"},
      {align({{"sampling_ratio", 1025}}), "is out of range: 1, 1, 1025"},
      {align({}, ones({2, 4})), "expected images [N, C, H, W] and regions [1, 4]"},
      {align({}, ones({1, 5})), "expected images [N, C, H, W] and regions [1, 4]"},
      {align({}, ones({1, 4}), 1), "there is no image 1 in [1, 2, 4, 4] float32"},
      {align({}, ones({1, 4}), -1), "there is no image -1 in [1, 2, 4, 4] float32"},
      {align({}, full({1, 4}, 2e9)), "a region is out of range"},
      {{"MaxRoiPool", {image, ones({1, 5})}, {{"pooled_shape", Ints{2}}}},
       "pooled_shape must hold two positive numbers, got [2]"},
      {{"MaxRoiPool", {image, ones({1, 5})}, {{"pooled_shape", Ints{2, 0}}}}, "two positive numbers, got [2, 0]"},
      {{"MaxRoiPool", {image, ones({1, 4})}, {{"pooled_shape", Ints{2, 2}}}},
       "expected images [N, C, H, W] and regions [count, 5]"},
      {{"MaxRoiPool", {image, ones({1, 5})}, {{"pooled_shape", Ints{2, 2}}}}, "there is no image 1 in [1, 2, 4, 4]"},
      {{"MaxRoiPool", {image, floats({0, 1e6, 0, 0, 0}).view({1, 5})}, {{"pooled_shape", Ints{2, 2}}}},
       "a region is out of range"},
      {{"NonMaxSuppression", {boxes, ones({1, 2, 4})}}, "expected boxes [N, boxes, 4] and scores [N, classes, boxes]"},
      {{"NonMaxSuppression", {ones({1, 3, 5}), scores}}, "expected boxes [N, boxes, 4] and scores [N, classes, boxes]"},
      {{"NonMaxSuppression", {ones({2, 3, 4}), scores}}, "expected boxes [N, boxes, 4] and scores [N, classes, boxes]"},
      {{"DepthToSpace", {image}, {{"blocksize", 0}}}, "blocksize must be positive, got 0"},
      {{"DepthToSpace", {image}, {{"blocksize", 2}}}, "the channels are no multiple of 4: [1, 2, 4, 4] float32"},
      {{"DepthToSpace", {image}, {{"blocksize", 2}, {"mode", "CDR"}}}, "unknown mode 'CDR'"},
      {{"DepthToSpace", {ones({4, 4})}, {{"blocksize", 2}}}, "expected [N, C, H, W], got [4, 4] float32"},
      {{"SpaceToDepth", {image}, {{"blocksize", 3}}}, "height and width are no multiples of 3: [1, 2, 4, 4] float32"},
      {{"SpaceToDepth", {ones({1, 1, 4, 3})}, {{"blocksize", 2}}}, "height and width are no multiples of 2"},
      {{"SpaceToDepth", {ones({1, 1, 3, 4})}, {{"blocksize", 2}}}, "height and width are no multiples of 2"},
  });
}

TEST_CASE("normalisation, losses and products refuse shapes and options that do not fit") {
  const Tensor matrix = ones({3, 4}), row = ones({4}), image = ones({1, 4, 2, 2}), classes = zeros({3}, kLong);
  check_refusals({
      {{"BatchNormalization", {row, row, row, row, row}}, "expected [N, C, ...], got [4] float32"},
      {{"InstanceNormalization", {matrix, row, row}}, "expected [N, C, ...], got [3, 4] float32"},
      {{"LayerNormalization", {ones({}), ones({})}}, "expected at least one dimension"},
      {{"LayerNormalization", {matrix, row}, {{"axis", 2}}}, "axis 2 is out of range for 2 dimensions"},
      {{"LayerNormalization", {matrix, ones({2, 3, 4})}}, "scale and bias do not fit the input"},
      {{"RMSNormalization", {matrix, ones({2, 3, 4})}}, "scale does not fit the input"},
      {{"GroupNormalization", {image, row, row}, {{"num_groups", 3}}}, "num_groups 3 does not fit [1, 4, 2, 2]"},
      {{"GroupNormalization", {image, row, row}, {{"num_groups", 0}}}, "num_groups 0 does not fit [1, 4, 2, 2]"},
      {{"GroupNormalization", {row, row, row}, {{"num_groups", 2}}}, "num_groups 2 does not fit [4] float32"},
      {{"GroupNormalization", {image, row, row}, {{"num_groups", 2}}, 18},
       "scale and bias must have one number for each of 2 groups"},
      {{"GroupNormalization", {image, ones({2}), row}, {{"num_groups", 2}}, 18}, "for each of 2 groups"},
      {{"LRN", {matrix}, {{"size", 3}}}, "expected [N, C, ...] and a positive size, got [3, 4] float32"},
      {{"LRN", {image}, {{"size", 0}}}, "expected [N, C, ...] and a positive size, got [1, 4, 2, 2]"},
      {{"LRN", {image}}, "attribute 'size' is missing"},
      {{"LpNormalization", {matrix}, {{"p", 3}}}, "p must be 1 or 2, got 3"},
      {{"LpNormalization", {matrix}, {{"p", 0}}}, "p must be 1 or 2, got 0"},
      {{"NegativeLogLikelihoodLoss", {row, classes}}, "expected scores [N, C, ...], got [4] float32"},
      {{"NegativeLogLikelihoodLoss", {matrix, ones({3})}}, "the classes must be int64 or int32, got [3] float32"},
      {{"NegativeLogLikelihoodLoss", {matrix, classes}, {{"reduction", "max"}}},
       "reduction must be none, sum or mean, got 'max'"},
      {{"SoftmaxCrossEntropyLoss", {matrix, ones({3})}, {}, 25, 2}, "the classes must be int64 or int32"},
      {{"Multinomial", {row}}, "expected [batch, classes], got [4] float32"},
      {{"Gemm", {matrix, row}}, "its operands must be matrices, got [3, 4] float32"},
      {{"Gemm", {row, matrix}}, "its operands must be matrices, got [4] float32"},
      {{"Dropout", {matrix, floats({1})}}, "ratio must be in [0, 1), got 1"},
      {{"Dropout", {matrix, floats({-0.5})}}, "ratio must be in [0, 1), got -0.5"},
      {{"Dropout", {matrix}, {{"ratio", 2.0}}, 11}, "ratio must be in [0, 1), got 2"},
  });
}

TEST_CASE("quantised operators refuse other dtypes, and scales that do not fit") {
  const Tensor matrix = ones({3, 4}), bytes = ones({3, 4}, kByte), one = ones({}), zero = zeros({}, kByte);
  const Tensor weight = ones({4, 2}, kChar), image = ones({1, 2, 3, 3}, kByte), filter = ones({2, 2, 1, 1}, kChar);
  check_refusals({
      {{"QuantizeLinear", {ones({3}, kLong), one}}, "expected floating point or int32, got [3] int64"},
      {{"QuantizeLinear", {matrix, ones({3})}}, "expected [4] for axis 1 of [3, 4] float32"},
      {{"QuantizeLinear", {matrix, ones({1, 4})}}, "expected [4] for axis 1 of [3, 4] float32"},
      {{"QuantizeLinear", {matrix, ones({4})}, {{"axis", 0}}}, "expected [3] for axis 0 of [3, 4] float32"},
      {{"QuantizeLinear", {matrix, ones({4})}, {{"axis", 2}}}, "axis 2 is out of range for 2 dimensions"},
      {{"QuantizeLinear", {matrix, ones({3, 1})}, {{"block_size", 2}}},
       "expected [3, 2] for blocks of 2 along axis 1 of [3, 4] float32"},
      {{"QuantizeLinear", {matrix, ones({3, 2})}, {{"block_size", -1}}}, "for blocks of -1 along axis 1"},
      {{"QuantizeLinear", {matrix, one, zeros({}, kInt)}}, "expected int8, uint8 or int16, got int32"},
      {{"QuantizeLinear", {matrix, one}, {{"output_dtype", 17}}}, "there is no dtype float8e4m3fn"},
      {{"DequantizeLinear", {matrix, one}}, "expected integers and a floating point scale, got [3, 4] float32"},
      {{"DequantizeLinear", {bytes, zero}}, "expected integers and a floating point scale, got [3, 4] uint8"},
      {{"DequantizeLinear", {bytes, one, zeros({}, kChar)}}, "the zero point must be uint8, got [] int8"},
      {{"DynamicQuantizeLinear", {ones({3}, kDouble)}, {}, 25, 3}, "expected float32, got [3] float64"},
      {{"MatMulInteger", {matrix, weight}}, "expected int8 or uint8, got [3, 4] float32"},
      {{"MatMulInteger", {bytes, ones({4, 2}, kInt)}}, "expected int8 or uint8, got [4, 2] int32"},
      {{"MatMulInteger", {bytes, weight, one}}, "the zero point must be an integer, got [] float32"},
      {{"QLinearMatMul", {bytes, one, zero, weight, one, zeros({}, kChar), ones({2}), zero}},
       "expected one number, got [2] float32"},
      {{"QLinearMatMul", {bytes, one, zero, weight, one, zeros({}, kChar), one, zeros({2}, kByte)}},
       "expected one number, got [2] uint8"},
      {{"ConvInteger", {image, filter, zeros({2}, kByte)}}, "expected one number, got [2] uint8"},
      {{"ConvInteger", {image, filter, zero, zeros({3}, kChar)}}, "expected a number or [2], got [3] int8"},
      {{"QLinearConv", {image, one, zero, filter, ones({3}), zeros({}, kChar), one, zero}},
       "expected a number or [2], got [3] float32"},
      {{"QLinearConv", {image, ones({2}), zero, filter, one, zeros({}, kChar), one, zero}},
       "expected one number, got [2] float32"},
  });
}

TEST_CASE("operators of signals refuse other dimensions, and numbers out of range") {
  const Tensor signal = ones({1, 8, 1}), window = ones({4});
  const auto stft = [&](const Tensor& x, int64_t step, const Tensor& by, const Tensor& length = {}) {
    return Call{"STFT", {x, integers({step}), by, length}};
  };
  const auto mel = [](int64_t bands, int64_t points, int64_t rate) {
    return Call{"MelWeightMatrix",
                {integers({bands}), integers({points}), integers({rate}), floats({0}), floats({100})}};
  };
  check_refusals({
      {{"DFT", {ones({1, 8, 3})}}, "the last dimension must be 1 or 2 (real, imaginary), got [1, 8, 3] float32"},
      {{"DFT", {ones({})}}, "the last dimension must be 1 or 2 (real, imaginary), got [] float32"},
      {{"DFT", {ones({1, 8, 1}, kLong)}}, "expected floating point, got [1, 8, 1] int64"},
      {{"DFT", {signal, kMissing, integers({2})}}, "axis 2 has the real and imaginary parts"},
      {{"DFT", {signal, kMissing, integers({-1})}}, "axis -1 has the real and imaginary parts"},
      {{"DFT", {signal, kMissing, integers({3})}}, "axis 3 is out of range for 3 dimensions"},
      {{"DFT", {signal}, {{"axis", 2}}, 17}, "axis 2 has the real and imaginary parts"},
      {stft(ones({1, 1, 8, 1}), 2, window), "expected a signal [batch, length, 1 or 2], got [1, 1, 8, 1] float32"},
      {stft(ones({1, 8, 3}), 2, window), "the last dimension must be 1 or 2"},
      {stft(signal, 2, ones({2, 2})), "the window must be a vector, got [2, 2] float32"},
      {stft(signal, 0, window), "frame_step 0 and frame_length 4 are out of range for a signal of 8"},
      {stft(signal, 2, ones({9})), "frame_step 2 and frame_length 9 are out of range for a signal of 8"},
      {stft(signal, 2, kMissing, integers({0})), "frame_step 2 and frame_length 0 are out of range for a signal of 8"},
      {stft(signal, 2, window, integers({5})), "the window must be [5], got [4] float32"},
      {mel(-1, 8, 100), "num_mel_bins, dft_length and sample_rate must be positive, got -1, 8 and 100"},
      {mel(3, -1, 100), "must be positive, got 3, -1 and 100"},
      {mel(3, 8, 0), "must be positive, got 3, 8 and 0"},
  });
}

TEST_CASE("attention refuses heads, masks and caches that do not fit") {
  const Tensor q = ones({2, 4, 3, 8}), k = ones({2, 2, 5, 8}), rows = ones({2, 3, 8});
  const auto attend = [](const Tensor& query, const Tensor& key, const Tensor& value, const Attributes& attributes = {},
                         const std::vector<Tensor>& more = {}) {
    Call call{"Attention", {query, key, value}, attributes};
    for (const Tensor& each : more) call.inputs.emplace_back(each);
    return call;
  };
  const Tensor past = ones({2, 2, 1, 8});
  const auto rotary = [](const Tensor& x, const Tensor& cache, const Tensor& at, const Attributes& attributes = {}) {
    return Call{"RotaryEmbedding", {x, cache, cache, at}, attributes};
  };
  const auto linear = [](const Attributes& attributes, const Tensor& state = {}, const Tensor& decay = {},
                         const Tensor& beta = {}, const Tensor& key = ones({2, 3, 8})) {
    Call call{"LinearAttention", {ones({2, 3, 8}), key, ones({2, 3, 8}), state, decay, beta}, attributes, 28};
    call.attributes.emplace_back("q_num_heads", 2);
    call.attributes.emplace_back("kv_num_heads", 2);
    return call;
  };
  const std::string fit = "query, key and value do not fit";
  check_refusals({
      {attend(rows, rows, rows, {{"q_num_heads", 3}, {"kv_num_heads", 2}}), "cannot split [2, 3, 8] float32"},
      {attend(rows, rows, rows, {{"q_num_heads", 0}, {"kv_num_heads", 2}}), "into 0 heads"},
      {attend(rows, rows, rows, {{"kv_num_heads", 2}}), "attribute 'q_num_heads' is missing"},
      {attend(q, ones({1, 2, 5, 8}), k), fit},
      {attend(q, k, ones({1, 2, 5, 8})), fit},
      {attend(q, ones({2, 3, 5, 8}), ones({2, 3, 5, 8})), fit},
      {attend(q, k, ones({2, 4, 5, 8})), fit},
      {attend(q, ones({2, 2, 5, 7}), k), fit},
      {attend(q, k, ones({2, 2, 4, 8})), fit},
      {attend(q, k, k, {}, {kMissing, past}), "past_key and past_value go together"},
      {attend(q, k, k, {}, {kMissing, kMissing, past}), "past_key and past_value go together"},
      {attend(q, k, k, {}, {kMissing, past, past, integers({1, 1})}), "past_key does not go with nonpad_kv_seqlen"},
      {attend(q, k, k, {}, {kMissing, ones({2, 1, 8}), past}), "past_key and past_value must have 4 dimensions"},
      {attend(q, k, k, {}, {kMissing, past, ones({2, 1, 8})}), "past_key and past_value must have 4 dimensions"},
      {attend(q, k, k, {}, {kMissing, kMissing, kMissing, integers({1})}),
       "nonpad_kv_seqlen must be [2], got [1] int64"},
      {attend(q, k, k, {}, {ones({3, 6})}), "attn_mask does not fit 5 keys: [3, 6] float32"},
      {attend(q, k, k, {}, {ones({1, 1, 1, 3, 5})}), "attn_mask does not fit 5 keys: [1, 1, 1, 3, 5] float32"},
      {attend(q, k, k, {}, {ones({})}), "attn_mask does not fit 5 keys: [] float32"},
      {attend(q, k, k, {{"softmax_precision", 7}}), "softmax_precision is no floating point type: 7"},
      {attend(q, k, k, {{"left_window_size", -2}}), "window sizes must be at least -1, got -2 and -1"},
      {attend(q, k, k, {{"right_window_size", -2}}), "window sizes must be at least -1, got -1 and -2"},
      {attend(q, k, k, {{"softcap", 1.0}, {"qk_matmul_output_mode", 4}}), "must be from 0 to 3, got 4"},
      {attend(q, k, k, {{"softcap", 1.0}, {"qk_matmul_output_mode", -1}}), "must be from 0 to 3, got -1"},
      {rotary(rows, ones({2, 3, 4}), kMissing, {{"num_heads", 3}}), "cannot split [2, 3, 8] float32"},
      {rotary(ones({3, 8}), ones({2, 3, 4}), kMissing), "expected 3 or 4 dimensions, got [3, 8] float32"},
      {rotary(q, ones({2, 3, 4}), kMissing, {{"rotary_embedding_dim", 3}}), "cannot rotate 3 of the elements"},
      {rotary(q, ones({2, 3, 5}), kMissing, {{"rotary_embedding_dim", 10}}), "cannot rotate 10 of the elements"},
      {rotary(q, ones({2, 3, 4}), kMissing, {{"rotary_embedding_dim", -2}}), "cannot rotate -2 of the elements"},
      {rotary(q, ones({2, 3, 3}), kMissing), "a cache must have 4 columns, got [2, 3, 3] float32"},
      {rotary(q, ones({3, 4}), kMissing), "a cache must have 4 columns, got [3, 4] float32"},
      {rotary(q, ones({2, 3, 4}), zeros({2, 3}, kLong)), "a cache and position_ids of two dimensions"},
      {rotary(q, ones({3, 4}), zeros({3}, kLong)), "a cache and position_ids of two dimensions"},
      {rotary(ones({1, 4, 3, 8}), ones({2, 3, 4}), kMissing), "the caches do not fit the input [1, 4, 3, 8]"},
      {{"SwiGLU", {ones({2, 3}), ones({3})}, {}, 28}, "the inputs have different shapes: [2, 3] float32"},
      {linear({{"update_rule", "hebb"}}), "unknown update_rule 'hebb'"},
      {linear({{"update_rule", "linear"}}, kMissing, ones({2, 3, 2})),
       "decay or beta do not go with update_rule 'linear'"},
      {linear({{"update_rule", "linear"}}, kMissing, kMissing, ones({2, 3, 2})), "do not go with update_rule 'linear'"},
      {linear({{"update_rule", "gated"}}), "decay or beta do not go with update_rule 'gated'"},
      {linear({}, kMissing, ones({2, 3, 2})), "decay or beta do not go with update_rule 'gated_delta'"},
      {linear({{"update_rule", "linear"}}, ones({2, 2, 4, 3})), "past_state must be [2, 2, 4, 4], got [2, 2, 4, 3]"},
      {linear({{"update_rule", "gated"}}, kMissing, ones({2, 3, 3})), "decay must be [2, 3, 2 or 8], got [2, 3, 3]"},
      {linear({{"update_rule", "gated"}}, kMissing, ones({2, 3})), "decay must be [2, 3, 2 or 8], got [2, 3] float32"},
      {linear({{"update_rule", "delta"}}, kMissing, kMissing, ones({2, 3, 3})),
       "beta must be [2, 3, 2 or 1], got [2, 3, 3]"},
  });
}

TEST_CASE("recurrent layers refuse weights, states and lengths that do not fit") {
  const Tensor x = ones({3, 2, 4});  // three steps of two sequences
  const auto layer = [&](const std::vector<std::pair<std::size_t, Tensor>>& changes,
                         const Attributes& attributes = {}) {
    Call call{
        "LSTM", {x, ones({1, 20, 4}), ones({1, 20, 5}), kMissing, kMissing, kMissing, kMissing, kMissing}, attributes};
    for (const auto& [at, tensor] : changes) call.inputs[at] = tensor;
    return call;
  };
  check_refusals({
      {layer({}, {{"direction", "backward"}}), "unknown direction 'backward'"},
      {layer({{0, ones({3, 4})}}), "the input must have three dimensions, got [3, 4] float32"},
      {layer({{0, ones({3, 2, 4}, kLong)}}), "the input must have three dimensions, got [3, 2, 4] int64"},
      {layer({{2, ones({20, 5})}}), "the recurrent weight must be [directions, gates, size], got [20, 5] float32"},
      {layer({{2, ones({1, 20, 0})}}), "the recurrent weight must be [directions, gates, size], got [1, 20, 0]"},
      {layer({}, {{"hidden_size", 4}}), "hidden_size is not that of the weight: 5"},
      {layer({{1, ones({1, 20, 3})}}), "expected a weight [1, 20, 4], got [1, 20, 3] float32"},
      {layer({{1, ones({1, 20, 4}, kDouble)}}), "a weight has another dtype than the input: [1, 20, 4] float64"},
      {layer({{2, ones({1, 19, 5})}}), "expected a recurrent weight [1, 20, 5], got [1, 19, 5] float32"},
      {layer({}, {{"direction", "bidirectional"}}), "expected a weight [2, 20, 4], got [1, 20, 4] float32"},
      {layer({{3, ones({1, 20})}}), "expected a bias [1, 40], got [1, 20] float32"},
      {layer({{7, ones({1, 20})}}), "expected peepholes [1, 15], got [1, 20] float32"},
      {layer({{4, integers({3})}}), "expected 2 sequence_lens, got [3]"},
      {layer({{4, integers({3, 4})}}), "sequence_lens must be from 0 to 3, got [3, 4]"},
      {layer({{4, integers({-1, 3})}}), "sequence_lens must be from 0 to 3, got [-1, 3]"},
      {layer({{5, ones({1, 1, 5})}}), "expected an initial state [1, 2, 5], got [1, 1, 5] float32"},
      {layer({{6, ones({2, 1, 5})}}), "expected an initial state [1, 2, 5], got [2, 1, 5] float32"},
      {layer({{6, ones({1, 2, 5}, kDouble)}}), "an initial state has another dtype than the input: [1, 2, 5] float64"},
      {layer({}, {{"clip", -1.0}}), "clip must not be negative, got -1"},
      {layer({}, {{"activations", std::vector<std::string>{"Tanh"}}}), "expected 3 activations, got 1"},
      {layer({}, {{"activations", std::vector<std::string>{"Tanh", "Sine", "Tanh"}}}), "unknown activation 'Sine'"},
  });
}

TEST_CASE("sequences refuse positions out of range, and mixed dtypes") {
  const IValue list(std::vector<Tensor>{ones({2}), zeros({2})}), empty(std::vector<Tensor>{}),
      mixed(std::vector<Tensor>{ones({2}), zeros({2}, kLong)});
  check_refusals({
      {{"SequenceAt", {list, integers({2})}}, "position 2 is out of range for a sequence of 2"},
      {{"SequenceAt", {list, integers({-3})}}, "position -3 is out of range for a sequence of 2"},
      {{"SequenceAt", {ones({2}), integers({0})}}, "input 0 is not a sequence"},
      {{"SequenceErase", {list, integers({2})}}, "position 2 is out of range for a sequence of 2"},
      {{"SequenceErase", {empty}}, "the sequence is empty"},
      {{"SequenceInsert", {list, ones({2}), integers({3})}}, "position 3 is out of range for a sequence of 2"},
      {{"SequenceInsert", {list, ones({2}), integers({-3})}}, "position -3 is out of range for a sequence of 2"},
      {{"ConcatFromSequence", {empty}, {{"axis", 0}}}, "the sequence is empty"},
      {{"ConcatFromSequence", {mixed}, {{"axis", 0}}}, "the dtypes differ: [2] float32"},
      {{"ConcatFromSequence", {list}, {{"axis", 1}}}, "axis 1 is out of range for 1 dimensions"},
      {{"ConcatFromSequence", {list}, {{"axis", 2}, {"new_axis", 1}}}, "axis 2 is out of range for 2 dimensions"},
      {{"ConcatFromSequence", {list}}, "attribute 'axis' is missing"},
      {{"SplitToSequence", {ones({4})}, {{"axis", 1}}}, "axis 1 is out of range for 1 dimensions"},
      {{"Relu", {list}}, "input 0 is not a tensor"},
      {{"Relu", {}}, "input 0 is missing"},
  });
}
