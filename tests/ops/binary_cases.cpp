// Elementwise functions of two and three tensors.
#include "tandem/tests/ops/cases.h"

namespace tandem::testing {

std::vector<OpTest> binary_cases() {
  std::vector<OpTest> list;
  const auto give = [&](OpTest test) { list.push_back(std::move(test)); };
  give(op("add", "x0 + x1", [](const Tensors& x) { return x[0] + x[1]; },
          {{real({3, 4}), real({3, 4})},
           {real({3, 1}), real({4})},
           {real({2, 1, 3}), real({})},
           {real({0, 3}), real({3})}}));
  give(op("add alpha", "torch.add(x0, x1, alpha=2.5)", [](const Tensors& x) { return add(x[0], x[1], 2.5); },
          {{real({3, 4}), real({3, 4})},
           {real({3, 1}), real({4})},
           {real({2, 1, 3}), real({})},
           {real({0, 3}), real({3})}}));
  give(op("sub", "x0 - x1", [](const Tensors& x) { return x[0] - x[1]; },
          {{real({3, 4}), real({3, 4})},
           {real({3, 1}), real({4})},
           {real({2, 1, 3}), real({})},
           {real({0, 3}), real({3})}}));
  give(op("sub alpha", "torch.sub(x0, x1, alpha=3)", [](const Tensors& x) { return sub(x[0], x[1], 3); },
          {{real({3, 4}), real({3, 4})},
           {real({3, 1}), real({4})},
           {real({2, 1, 3}), real({})},
           {real({0, 3}), real({3})}}));
  give(op("mul", "x0 * x1", [](const Tensors& x) { return x[0] * x[1]; },
          {{real({3, 4}), real({3, 4})},
           {real({3, 1}), real({4})},
           {real({2, 1, 3}), real({})},
           {real({0, 3}), real({3})}}));
  give(op("div", "x0 / x1", [](const Tensors& x) { return x[0] / x[1]; },
          {{real({3, 4}, 0.5, 2), real({3, 4}, 0.5, 2)},
           {real({3, 1}, 0.5, 2), real({4}, 0.5, 2)},
           {real({2}, 0.5, 2), real({}, 0.5, 2)}}));
  give(op("pow", "x0 ** x1", [](const Tensors& x) { return pow(x[0], x[1]); },
          {{real({3, 4}, 0.5, 2), real({3, 4}, 0.5, 2)},
           {real({3, 1}, 0.5, 2), real({4}, 0.5, 2)},
           {real({2}, 0.5, 2), real({}, 0.5, 2)}}));
  give(op("atan2", "torch.atan2(x0, x1)", [](const Tensors& x) { return atan2(x[0], x[1]); },
          {{real({3, 4}, 0.5, 2), real({3, 4}, 0.5, 2)},
           {real({3, 1}, 0.5, 2), real({4}, 0.5, 2)},
           {real({2}, 0.5, 2), real({}, 0.5, 2)}}));
  give(op("hypot", "torch.hypot(x0, x1)", [](const Tensors& x) { return hypot(x[0], x[1]); },
          {{real({3, 4}, 0.5, 2), real({3, 4}, 0.5, 2)},
           {real({3, 1}, 0.5, 2), real({4}, 0.5, 2)},
           {real({2}, 0.5, 2), real({}, 0.5, 2)}}));
  give(op("maximum", "torch.maximum(x0, x1)", [](const Tensors& x) { return maximum(x[0], x[1]); },
          {{distinct({3, 4}), real({4}, -0.1, 0.1)}}));
  give(op("minimum", "torch.minimum(x0, x1)", [](const Tensors& x) { return minimum(x[0], x[1]); },
          {{distinct({3, 4}), real({4}, -0.1, 0.1)}}));
  give(op("fmod", "torch.fmod(x0, x1.detach())", [](const Tensors& x) { return fmod(x[0], x[1].detach()); },
          {{real({3, 4}, 1.6, 1.9), constant({4}, 0.6, 0.75)}}));
  give(op("remainder", "torch.remainder(x0, x1.detach())",
          [](const Tensors& x) { return remainder(x[0], x[1].detach()); },
          {{real({3, 4}, -1.9, -1.6), constant({4}, 0.6, 0.75)}}));
  give(without_gradient(op("floor_divide", "torch.floor_divide(x0, x1)",
                           [](const Tensors& x) { return floor_divide(x[0], x[1]); },
                           {{real({3, 4}), constant({4}, 0.6, 1.7)}})));
  give(without_gradient(op("div trunc", "torch.div(x0, x1, rounding_mode='trunc')",
                           [](const Tensors& x) { return div(x[0], x[1], "trunc"); },
                           {{real({3, 4}), constant({4}, 0.6, 1.7)}})));
  give(op("lerp", "torch.lerp(x0, x1, 0.3)", [](const Tensors& x) { return x[0].lerp(x[1], 0.3); },
          {{real({3, 4}), real({3, 4})}}));
  give(op("lerp tensor", "torch.lerp(x0, x1, x2)", [](const Tensors& x) { return x[0].lerp(x[1], x[2]); },
          {{real({3, 4}), real({3, 4}), real({4}, 0, 1)}}));
  give(op("addcmul", "torch.addcmul(x0, x1, x2, value=0.5)",
          [](const Tensors& x) { return x[0].addcmul(x[1], x[2], 0.5); },
          {{real({3, 4}), real({3, 4}), real({4})}}));
  give(op("addcdiv", "torch.addcdiv(x0, x1, x2, value=0.5)",
          [](const Tensors& x) { return x[0].addcdiv(x[1], x[2], 0.5); },
          {{real({3, 4}), real({3, 4}), real({4}, 0.5, 2)}}));
  give(op("where", "torch.where(x0, x1, x2)", [](const Tensors& x) { return where(x[0], x[1], x[2]); },
          {{booleans({3, 4}), real({3, 4}), real({4})}, {booleans({3, 1}), real({4}), real({})}}));
  give(op("masked_fill", "x0.masked_fill(x1, 2.5)",
          [](const Tensors& x) { return x[0].masked_fill(x[1], 2.5); },
          {{real({3, 4}), booleans({3, 4})}, {real({3, 4}), booleans({4})}}));
  give(op("clamp tensors", "torch.clamp(x0, x1, x2)", [](const Tensors& x) { return x[0].clamp(x[1], x[2]); },
          {{distinct({3, 4}), constant({4}, -0.7, -0.6), constant({4}, 0.6, 0.7)}}));
  give(without_gradient(
      op("eq", "torch.eq(x0, x1)", [](const Tensors& x) { return eq(x[0], x[1]); },
         {{integers({3, 4}, 0, 3), integers({4}, 0, 3)}, {integers({5}, 0, 3, kByte), real({5}, 0, 3)}})));
  give(without_gradient(op("eq number", "torch.eq(x0, 1)", [](const Tensors& x) { return eq(x[0], 1); },
                           {{integers({3, 4}, 0, 3)}, {booleans({4})}})));
  give(without_gradient(
      op("ne", "torch.ne(x0, x1)", [](const Tensors& x) { return ne(x[0], x[1]); },
         {{integers({3, 4}, 0, 3), integers({4}, 0, 3)}, {integers({5}, 0, 3, kByte), real({5}, 0, 3)}})));
  give(without_gradient(op("ne number", "torch.ne(x0, 1)", [](const Tensors& x) { return ne(x[0], 1); },
                           {{integers({3, 4}, 0, 3)}, {booleans({4})}})));
  give(without_gradient(
      op("lt", "torch.lt(x0, x1)", [](const Tensors& x) { return lt(x[0], x[1]); },
         {{integers({3, 4}, 0, 3), integers({4}, 0, 3)}, {integers({5}, 0, 3, kByte), real({5}, 0, 3)}})));
  give(without_gradient(op("lt number", "torch.lt(x0, 1)", [](const Tensors& x) { return lt(x[0], 1); },
                           {{integers({3, 4}, 0, 3)}, {booleans({4})}})));
  give(without_gradient(
      op("le", "torch.le(x0, x1)", [](const Tensors& x) { return le(x[0], x[1]); },
         {{integers({3, 4}, 0, 3), integers({4}, 0, 3)}, {integers({5}, 0, 3, kByte), real({5}, 0, 3)}})));
  give(without_gradient(op("le number", "torch.le(x0, 1)", [](const Tensors& x) { return le(x[0], 1); },
                           {{integers({3, 4}, 0, 3)}, {booleans({4})}})));
  give(without_gradient(
      op("gt", "torch.gt(x0, x1)", [](const Tensors& x) { return gt(x[0], x[1]); },
         {{integers({3, 4}, 0, 3), integers({4}, 0, 3)}, {integers({5}, 0, 3, kByte), real({5}, 0, 3)}})));
  give(without_gradient(op("gt number", "torch.gt(x0, 1)", [](const Tensors& x) { return gt(x[0], 1); },
                           {{integers({3, 4}, 0, 3)}, {booleans({4})}})));
  give(without_gradient(
      op("ge", "torch.ge(x0, x1)", [](const Tensors& x) { return ge(x[0], x[1]); },
         {{integers({3, 4}, 0, 3), integers({4}, 0, 3)}, {integers({5}, 0, 3, kByte), real({5}, 0, 3)}})));
  give(without_gradient(op("ge number", "torch.ge(x0, 1)", [](const Tensors& x) { return ge(x[0], 1); },
                           {{integers({3, 4}, 0, 3)}, {booleans({4})}})));
  give(without_gradient(op("logical_and", "torch.logical_and(x0, x1)",
                           [](const Tensors& x) { return logical_and(x[0], x[1]); },
                           {{booleans({3, 4}), booleans({4})}, {integers({5}, 0, 2), booleans({5})}})));
  give(without_gradient(op("logical_or", "torch.logical_or(x0, x1)",
                           [](const Tensors& x) { return logical_or(x[0], x[1]); },
                           {{booleans({3, 4}), booleans({4})}, {integers({5}, 0, 2), booleans({5})}})));
  give(without_gradient(op("logical_xor", "torch.logical_xor(x0, x1)",
                           [](const Tensors& x) { return logical_xor(x[0], x[1]); },
                           {{booleans({3, 4}), booleans({4})}, {integers({5}, 0, 2), booleans({5})}})));
  give(without_gradient(
      op("bitwise_and", "torch.bitwise_and(x0, x1)", [](const Tensors& x) { return bitwise_and(x[0], x[1]); },
         {{integers({3, 4}, -20, 20), integers({4}, -20, 20)}, {booleans({5}), booleans({5})}})));
  give(without_gradient(
      op("bitwise_or", "torch.bitwise_or(x0, x1)", [](const Tensors& x) { return bitwise_or(x[0], x[1]); },
         {{integers({3, 4}, -20, 20), integers({4}, -20, 20)}, {booleans({5}), booleans({5})}})));
  give(without_gradient(
      op("bitwise_xor", "torch.bitwise_xor(x0, x1)", [](const Tensors& x) { return bitwise_xor(x[0], x[1]); },
         {{integers({3, 4}, -20, 20), integers({4}, -20, 20)}, {booleans({5}), booleans({5})}})));
  give(without_gradient(op("int64 + int64", "x0 + x1", [](const Tensors& x) { return x[0] + x[1]; },
                           {{integers({3, 4}, 1, 9, kLong), integers({4}, 1, 9, kLong)},
                            {integers({3}, 1, 9, kLong), integers({}, 1, 9, kLong)}})));
  give(without_gradient(op("int64 + int16", "x0 + x1", [](const Tensors& x) { return x[0] + x[1]; },
                           {{integers({3, 4}, 1, 9, kLong), integers({4}, 1, 9, kShort)},
                            {integers({3}, 1, 9, kLong), integers({}, 1, 9, kShort)}})));
  give(without_gradient(op("int64 + uint8", "x0 + x1", [](const Tensors& x) { return x[0] + x[1]; },
                           {{integers({3, 4}, 1, 9, kLong), integers({4}, 1, 9, kByte)},
                            {integers({3}, 1, 9, kLong), integers({}, 1, 9, kByte)}})));
  give(without_gradient(op("int64 / int64", "x0 / x1", [](const Tensors& x) { return x[0] / x[1]; },
                           {{integers({3, 4}, 1, 9, kLong), integers({4}, 1, 9)}})));
  give(without_gradient(
      op("int64 * real", "x0 * x1", [](const Tensors& x) { return x[0] * x[1]; },
         {{integers({3, 4}, 1, 9, kLong), constant({4})}, {integers({3, 4}, 1, 9, kLong), constant({})}})));
  give(without_gradient(op("int64 * 2.5", "x0 * 2.5", [](const Tensors& x) { return x[0] * 2.5; },
                           {{integers({3, 4}, 1, 9, kLong)}})));
  give(without_gradient(op("int64 // 3", "torch.floor_divide(x0, 3)",
                           [](const Tensors& x) { return floor_divide(x[0], 3); },
                           {{integers({3, 4}, 0, 50, kLong)}})));
  give(without_gradient(op("int64 % 7", "x0 % 7", [](const Tensors& x) { return x[0] % 7; },
                           {{integers({3, 4}, -50, 50, kLong)}})));
  give(without_gradient(op("int32 + int64", "x0 + x1", [](const Tensors& x) { return x[0] + x[1]; },
                           {{integers({3, 4}, 1, 9, kInt), integers({4}, 1, 9, kLong)},
                            {integers({3}, 1, 9, kInt), integers({}, 1, 9, kLong)}})));
  give(without_gradient(op("int32 + int16", "x0 + x1", [](const Tensors& x) { return x[0] + x[1]; },
                           {{integers({3, 4}, 1, 9, kInt), integers({4}, 1, 9, kShort)},
                            {integers({3}, 1, 9, kInt), integers({}, 1, 9, kShort)}})));
  give(without_gradient(op("int32 + uint8", "x0 + x1", [](const Tensors& x) { return x[0] + x[1]; },
                           {{integers({3, 4}, 1, 9, kInt), integers({4}, 1, 9, kByte)},
                            {integers({3}, 1, 9, kInt), integers({}, 1, 9, kByte)}})));
  give(without_gradient(op("int32 / int64", "x0 / x1", [](const Tensors& x) { return x[0] / x[1]; },
                           {{integers({3, 4}, 1, 9, kInt), integers({4}, 1, 9)}})));
  give(without_gradient(
      op("int32 * real", "x0 * x1", [](const Tensors& x) { return x[0] * x[1]; },
         {{integers({3, 4}, 1, 9, kInt), constant({4})}, {integers({3, 4}, 1, 9, kInt), constant({})}})));
  give(without_gradient(op("int32 * 2.5", "x0 * 2.5", [](const Tensors& x) { return x[0] * 2.5; },
                           {{integers({3, 4}, 1, 9, kInt)}})));
  give(without_gradient(op("int32 // 3", "torch.floor_divide(x0, 3)",
                           [](const Tensors& x) { return floor_divide(x[0], 3); },
                           {{integers({3, 4}, 0, 50, kInt)}})));
  give(without_gradient(op("int32 % 7", "x0 % 7", [](const Tensors& x) { return x[0] % 7; },
                           {{integers({3, 4}, -50, 50, kInt)}})));
  give(without_gradient(op("int16 + int64", "x0 + x1", [](const Tensors& x) { return x[0] + x[1]; },
                           {{integers({3, 4}, 1, 9, kShort), integers({4}, 1, 9, kLong)},
                            {integers({3}, 1, 9, kShort), integers({}, 1, 9, kLong)}})));
  give(without_gradient(op("int16 + int16", "x0 + x1", [](const Tensors& x) { return x[0] + x[1]; },
                           {{integers({3, 4}, 1, 9, kShort), integers({4}, 1, 9, kShort)},
                            {integers({3}, 1, 9, kShort), integers({}, 1, 9, kShort)}})));
  give(without_gradient(op("int16 + uint8", "x0 + x1", [](const Tensors& x) { return x[0] + x[1]; },
                           {{integers({3, 4}, 1, 9, kShort), integers({4}, 1, 9, kByte)},
                            {integers({3}, 1, 9, kShort), integers({}, 1, 9, kByte)}})));
  give(without_gradient(op("int16 / int64", "x0 / x1", [](const Tensors& x) { return x[0] / x[1]; },
                           {{integers({3, 4}, 1, 9, kShort), integers({4}, 1, 9)}})));
  give(without_gradient(
      op("int16 * real", "x0 * x1", [](const Tensors& x) { return x[0] * x[1]; },
         {{integers({3, 4}, 1, 9, kShort), constant({4})}, {integers({3, 4}, 1, 9, kShort), constant({})}})));
  give(without_gradient(op("int16 * 2.5", "x0 * 2.5", [](const Tensors& x) { return x[0] * 2.5; },
                           {{integers({3, 4}, 1, 9, kShort)}})));
  give(without_gradient(op("int16 // 3", "torch.floor_divide(x0, 3)",
                           [](const Tensors& x) { return floor_divide(x[0], 3); },
                           {{integers({3, 4}, 0, 50, kShort)}})));
  give(without_gradient(op("int16 % 7", "x0 % 7", [](const Tensors& x) { return x[0] % 7; },
                           {{integers({3, 4}, -50, 50, kShort)}})));
  give(without_gradient(op("int8 + int64", "x0 + x1", [](const Tensors& x) { return x[0] + x[1]; },
                           {{integers({3, 4}, 1, 9, kChar), integers({4}, 1, 9, kLong)},
                            {integers({3}, 1, 9, kChar), integers({}, 1, 9, kLong)}})));
  give(without_gradient(op("int8 + int16", "x0 + x1", [](const Tensors& x) { return x[0] + x[1]; },
                           {{integers({3, 4}, 1, 9, kChar), integers({4}, 1, 9, kShort)},
                            {integers({3}, 1, 9, kChar), integers({}, 1, 9, kShort)}})));
  give(without_gradient(op("int8 + uint8", "x0 + x1", [](const Tensors& x) { return x[0] + x[1]; },
                           {{integers({3, 4}, 1, 9, kChar), integers({4}, 1, 9, kByte)},
                            {integers({3}, 1, 9, kChar), integers({}, 1, 9, kByte)}})));
  give(without_gradient(op("int8 / int64", "x0 / x1", [](const Tensors& x) { return x[0] / x[1]; },
                           {{integers({3, 4}, 1, 9, kChar), integers({4}, 1, 9)}})));
  give(without_gradient(
      op("int8 * real", "x0 * x1", [](const Tensors& x) { return x[0] * x[1]; },
         {{integers({3, 4}, 1, 9, kChar), constant({4})}, {integers({3, 4}, 1, 9, kChar), constant({})}})));
  give(without_gradient(op("int8 * 2.5", "x0 * 2.5", [](const Tensors& x) { return x[0] * 2.5; },
                           {{integers({3, 4}, 1, 9, kChar)}})));
  give(without_gradient(op("int8 // 3", "torch.floor_divide(x0, 3)",
                           [](const Tensors& x) { return floor_divide(x[0], 3); },
                           {{integers({3, 4}, 0, 50, kChar)}})));
  give(without_gradient(op("int8 % 7", "x0 % 7", [](const Tensors& x) { return x[0] % 7; },
                           {{integers({3, 4}, -50, 50, kChar)}})));
  give(without_gradient(op("uint8 + int64", "x0 + x1", [](const Tensors& x) { return x[0] + x[1]; },
                           {{integers({3, 4}, 1, 9, kByte), integers({4}, 1, 9, kLong)},
                            {integers({3}, 1, 9, kByte), integers({}, 1, 9, kLong)}})));
  give(without_gradient(op("uint8 + int16", "x0 + x1", [](const Tensors& x) { return x[0] + x[1]; },
                           {{integers({3, 4}, 1, 9, kByte), integers({4}, 1, 9, kShort)},
                            {integers({3}, 1, 9, kByte), integers({}, 1, 9, kShort)}})));
  give(without_gradient(op("uint8 + uint8", "x0 + x1", [](const Tensors& x) { return x[0] + x[1]; },
                           {{integers({3, 4}, 1, 9, kByte), integers({4}, 1, 9, kByte)},
                            {integers({3}, 1, 9, kByte), integers({}, 1, 9, kByte)}})));
  give(without_gradient(op("uint8 / int64", "x0 / x1", [](const Tensors& x) { return x[0] / x[1]; },
                           {{integers({3, 4}, 1, 9, kByte), integers({4}, 1, 9)}})));
  give(without_gradient(
      op("uint8 * real", "x0 * x1", [](const Tensors& x) { return x[0] * x[1]; },
         {{integers({3, 4}, 1, 9, kByte), constant({4})}, {integers({3, 4}, 1, 9, kByte), constant({})}})));
  give(without_gradient(op("uint8 * 2.5", "x0 * 2.5", [](const Tensors& x) { return x[0] * 2.5; },
                           {{integers({3, 4}, 1, 9, kByte)}})));
  give(without_gradient(op("uint8 // 3", "torch.floor_divide(x0, 3)",
                           [](const Tensors& x) { return floor_divide(x[0], 3); },
                           {{integers({3, 4}, 0, 50, kByte)}})));
  give(without_gradient(op("uint8 % 7", "x0 % 7", [](const Tensors& x) { return x[0] % 7; },
                           {{integers({3, 4}, 0, 50, kByte)}})));
  return list;
}

}  // namespace tandem::testing
