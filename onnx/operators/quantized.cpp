// Quantisation to integers, and products of integers. These are computed in float64, in which they are exact.
#include <algorithm>

#include "tandem/onnx/operators.h"
#include "tandem/onnx/operators/convolution.h"

namespace tandem::onnx {
namespace {

struct Range {
  double low, high;
};
Range range_of(ScalarType type) {
  if (type == kByte) return {0, 255};
  if (type == kChar) return {-128, 127};
  check(type == kShort, "expected int8, uint8 or int16, got ", type);
  return {-32768, 32767};
}

// The nearest integers of x, plus the zero point, as integers of this type.
Tensor quantized(const Tensor& x, const Tensor& zero, ScalarType type) {
  const Range range = range_of(type);
  Tensor out = round(x);
  if (zero.defined()) out = out + zero.to(out.scalar_type());
  return clamp(out, range.low, range.high).to(type);
}

// ---- one scale for all elements, one along an axis, or one for each block along it

// A scale or a zero point in a shape that broadcasts to x.
Tensor spread(Call& c, std::size_t input) {
  const Tensor& x = c[0];
  const Tensor& scale = c[input];
  const int64_t block = c.integer("block_size", 0), given = c.integer("axis", 1);
  if (scale.numel() == 1 && scale.dim() <= 1) return scale.reshape({});
  const int64_t axis = x.dim() == 1 ? 0 : wrap_axis(given, x.dim());
  const int64_t size = x.size(axis);
  if (block == 0) {
    check(scale.dim() == 1 && scale.size(0) == size, "expected [", size, "] for axis ", axis, " of ", x, ", got ",
          scale);
    return scale.reshape(line(x.sizes().size(), static_cast<std::size_t>(axis), size));
  }
  const int64_t length = std::min(block, size);
  Dims blocks(x.sizes());
  if (length > 0) blocks[static_cast<std::size_t>(axis)] = (size - 1) / length + 1;
  check(block > 0 && scale.sizes() == IntArrayRef(blocks), "expected ", blocks, " for blocks of ", block,
        " along axis ", axis, " of ", x, ", got ", scale);
  return length > 0 ? repeat_interleave(scale, length, axis).narrow(axis, 0, size) : scale;
}

Tensor quantize(Call& c) {
  check(isFloatingType(c[0].scalar_type()) || c[0].scalar_type() == kInt, "expected floating point or int32, got ",
        c[0]);
  const ScalarType type = c.has(2) ? c[2].scalar_type() : c.dtype("output_dtype", kByte);
  ScalarType precision = c.dtype("precision", c[1].scalar_type());
  if (!isFloatingType(precision)) precision = kFloat;
  const Tensor zero = c.has(2) ? spread(c, 2) : Tensor();
  const Tensor quotient = c[0].to(precision) / spread(c, 1).to(precision);
  // 65504 + 255 would not be a half.
  return quantized(isReducedFloatingType(precision) ? quotient.to(kFloat) : quotient, zero, type);
}

Tensor dequantize(Call& c) {
  const ScalarType type = c.dtype("output_dtype", c[1].scalar_type());
  check(isFloatingType(type) && isIntegralType(c[0].scalar_type(), false), "expected integers and a floating point ",
        "scale, got ", c[0], " and ", c[1]);
  Tensor x = c[0];
  if (c.has(2)) {
    check(c[2].scalar_type() == x.scalar_type(), "the zero point must be ", x.dtype(), ", got ", c[2]);
    x = x.to(kInt) - spread(c, 2).to(kInt);
  }
  return (x.to(kFloat) * spread(c, 1).to(kFloat)).to(type);
}

Results quantize_dynamically(Call& c) {
  const Tensor& x = c[0];
  check(x.scalar_type() == kFloat, "expected float32, got ", x);
  const auto [least, most] = aminmax(x.detach());
  const Tensor low = clamp_max(least, 0), width = (clamp_min(most, 0) - low) / 255;
  const Tensor scale = where(width == 0, 1.0f, width).to(kFloat);  // all elements are 0
  const Tensor zero = round(clamp(-low / scale, 0, 255)).to(kByte);
  return std::tuple(quantized(x / scale, zero, kByte), scale, zero);
}

// ---- products

// The integers without their zero point, in float64.
Tensor centred(const Tensor& x, const Tensor& zero) {
  check(x.scalar_type() == kByte || x.scalar_type() == kChar, "expected int8 or uint8, got ", x);
  if (!zero.defined()) return x.to(kDouble);
  check(isIntegralType(zero.scalar_type(), false), "the zero point must be an integer, got ", zero);
  return x.to(kDouble) - zero.to(kDouble);
}
// Sums wrap as in int32.
Tensor as_int32(const Tensor& sums) { return sums.to(kLong).to(kInt); }

// The parameter of the rows of a matrix, or of the channels of a weight: a number, or one for each.
Tensor for_rows(const Tensor& t) {
  if (!t.defined() || (t.numel() == 1 && t.dim() <= 1)) return t.defined() ? t.reshape({}) : t;
  return t.dim() == 1 ? t.unsqueeze(-1) : t;
}
Tensor for_columns(const Tensor& t) { return t.defined() && t.numel() == 1 && t.dim() <= 1 ? t.reshape({}) : t; }
Tensor for_channels(const Tensor& t, const Tensor& weight, int64_t dim) {
  if (!t.defined() || t.numel() == 1) return t.defined() ? t.reshape({}) : t;
  check(weight.dim() >= 1 && t.dim() == 1 && t.size(0) == weight.size(0), "expected a number or [",
        weight.dim() == 0 ? 0 : weight.size(0), "], got ", t);
  return t.reshape(line(weight.sizes().size(), static_cast<std::size_t>(dim), t.size(0)));
}
Tensor number(const Tensor& t) {
  check(!t.defined() || t.numel() == 1, "expected one number, got ", t);
  return t.defined() ? t.reshape({}) : t;
}

Tensor matmul_integer(Call& c) {
  return as_int32(matmul(centred(c[0], for_rows(c.optional(2))), centred(c[1], for_columns(c.optional(3)))));
}

// `scale`: of the sums, relative to the result's.
Tensor requantized(const Tensor& sums, const Tensor& scale, const Tensor& zero) {
  return quantized(sums.to(kFloat) * scale, zero, zero.scalar_type());
}

Tensor qlinear_matmul(Call& c) {
  const Tensor a = centred(c[0], for_rows(c[2])), b = centred(c[3], for_columns(c[5]));
  const Tensor scale = for_rows(c[1]).to(kFloat) * for_columns(c[4]).to(kFloat) / number(c[6]).to(kFloat);
  return requantized(matmul(a, b), scale, number(c[7]));
}

Tensor conv_integer(Call& c) {
  const Tensor x = centred(c[0], number(c.optional(2)));
  return as_int32(convolve(c, x, centred(c[1], for_channels(c.optional(3), c[1], 0)), {}));
}

Tensor qlinear_conv(Call& c) {
  const Tensor x = centred(c[0], number(c[2])), weight = centred(c[3], for_channels(c[5], c[3], 0));
  const Tensor scale = number(c[1]).to(kFloat) * for_channels(c[4], c[3], 1).to(kFloat) / number(c[6]).to(kFloat);
  return requantized(convolve(c, x, weight, c.has(8) ? c[8].to(kDouble) : Tensor()), scale, number(c[7]));
}

}  // namespace

Operators quantized_operators() {
  return {
      {"ConvInteger", conv_integer},
      {"DequantizeLinear", dequantize},
      {"DynamicQuantizeLinear", quantize_dynamically},
      {"MatMulInteger", matmul_integer},
      {"QLinearConv", qlinear_conv},
      {"QLinearMatMul", qlinear_matmul},
      {"QuantizeLinear", quantize},
  };
}

}  // namespace tandem::onnx
