// Translations of the kernels of layers: products, convolutions, pooling, normalisation, attention, losses.
#include <limits>

#include "tandem/autograd/ops.h"
#include "tandem/core/backend/attention.h"
#include "tandem/core/backend/conv.h"
#include "tandem/core/backend/loss.h"
#include "tandem/core/backend/pool.h"
#include "tandem/core/reduction.h"
#include "tandem/onnx/export/arguments.h"

namespace tandem::onnx::exporter {
namespace {

Ints pair(const std::array<int64_t, 2>& values) { return {values[0], values[1]}; }
Ints pads(const std::array<int64_t, 2>& p) { return {p[0], p[1], p[0], p[1]}; }

// The sizes of a value with others in place of the last ones.
Ints with_last(const Value& value, const Ints& last) {
  Ints sizes(value.sizes.begin(), value.sizes.end() - static_cast<std::ptrdiff_t>(last.size()));
  sizes.insert(sizes.end(), last.begin(), last.end());
  return sizes;
}

// ---- products

// out = alpha a b + beta out
void matmul(Recorder& r, const KernelCall& call) {
  const Tensor& out = tensor(call, 0);
  const double beta = argument<Scalar>(call, 3).toDouble(), alpha = argument<Scalar>(call, 4).toDouble();
  const Id a = r.read(tensor(call, 1)), b = r.read(tensor(call, 2));
  const ScalarType dtype = out.scalar_type();
  if (isFloatingType(dtype) && out.dim() == 2 && (beta != 0 || alpha != 1)) {
    std::vector<Id> inputs{a, b};
    if (beta != 0) inputs.push_back(r.read(out));
    return r.write(out, r.add("Gemm", inputs, {{"alpha", alpha}, {"beta", beta}}, out));
  }
  Id value = r.add("MatMul", {a, b}, {}, out);
  if (alpha != 1) value = r.add("Mul", {value, r.number(argument<Scalar>(call, 4), dtype)});
  if (beta != 0) {
    Id before = r.read(out);
    if (beta != 1) before = r.add("Mul", {before, r.number(argument<Scalar>(call, 3), dtype)});
    value = r.add("Add", {value, before});
  }
  r.write(out, value);
}

// out = x weightᵀ + bias
void linear(Recorder& r, const KernelCall& call) {
  const Tensor &out = tensor(call, 0), &bias = tensor(call, 3);
  const Id x = r.read(tensor(call, 1)), weight = r.read(tensor(call, 2));
  if (!isFloatingType(out.scalar_type())) {
    Id value = r.add("MatMul", {x, r.transpose(weight, {1, 0})}, {}, out);
    if (bias.defined()) value = r.add("Add", {value, r.read(bias)});
    return r.write(out, value);
  }
  std::vector<Id> inputs{x, weight};
  if (bias.defined()) inputs.push_back(r.read(bias));
  r.write(out, r.add("Gemm", inputs, {{"transB", int64_t{1}}}, out));
}

void quantized_linear(Recorder& r, const KernelCall& call) {
  const Tensor &out = tensor(call, 0), &bias = tensor(call, 4);
  std::vector<Id> inputs;
  for (std::size_t i = 1; i < 4; ++i) inputs.push_back(r.read(tensor(call, i)));
  if (bias.defined()) inputs.push_back(r.read(bias));
  const int64_t columns = tensor(call, 2).size(1), groups = tensor(call, 3).size(1);
  const Attributes attributes{{"block", (columns + groups - 1) / groups}, {"columns", columns}};
  r.write(out,
          r.call(bias.defined() ? "quantized_linear" : "quantized_product", inputs, attributes, kFloat, sizes_of(out)));
}

// ---- convolutions

Attributes conv_attributes(const Conv2dParameters& p, const Tensor& weight) {
  return {{"kernel_shape", Ints{weight.size(2), weight.size(3)}},
          {"strides", pair(p.stride)},
          {"pads", pads(p.padding)},
          {"dilations", pair(p.dilation)},
          {"group", p.groups}};
}

void conv2d(Recorder& r, const KernelCall& call) {
  const Tensor &out = tensor(call, 0), &weight = tensor(call, 2);
  const auto& epilogue = argument<ConvEpilogue<Tensor>>(call, 3);
  std::vector<Id> inputs{r.read(tensor(call, 1)), r.read(weight)};
  if (epilogue.bias.defined()) inputs.push_back(r.read(epilogue.bias));
  Id value = r.add("Conv", inputs, conv_attributes(argument<Conv2dParameters>(call, 4), weight), out);
  if (epilogue.residual.defined()) value = r.add("Add", {value, r.read(epilogue.residual)});
  if (epilogue.activation == FusedActivation::kRelu) value = r.add("Relu", {value});
  if (epilogue.activation == FusedActivation::kHardswish) value = r.add("HardSwish", {value});
  if (epilogue.activation == FusedActivation::kRelu6)
    value = r.add("Clip", {value, r.number(0, out.scalar_type()), r.number(6, out.scalar_type())});
  r.write(out, value);
}

// The gradient of the input of a convolution is a transposed convolution.
void conv_transpose(Recorder& r, const KernelCall& call) {
  const Tensor &out = tensor(call, 0), &in = tensor(call, 1), &weight = tensor(call, 2);
  const auto& p = argument<Conv2dParameters>(call, 3);
  Ints further;
  for (int64_t d = 0; d < 2; ++d) {
    const auto k = static_cast<std::size_t>(d);
    further.push_back(out.size(2 + d) - ((in.size(2 + d) - 1) * p.stride[k] - 2 * p.padding[k] +
                                         p.dilation[k] * (weight.size(2 + d) - 1) + 1));
  }
  Attributes attributes = conv_attributes(p, weight);
  attributes["output_padding"] = further;
  r.write(out, r.add("ConvTranspose", {r.read(in), r.read(weight)}, attributes, out));
}

// ---- pooling

// [planes, height, width] as the images of a value, or with one channel each.
Id images(Recorder& r, const Tensor& t) {
  return r.read_as(t, {t.size(0), 1, t.size(1), t.size(2)}, [&](const Ints& sizes) {
    return sizes.size() == 4 && sizes[2] == t.size(1) && sizes[3] == t.size(2);
  });
}

Attributes window(const Pool2dParameters& p) {
  return {{"kernel_shape", pair(p.kernel)},
          {"strides", pair(p.stride)},
          {"pads", pads(p.padding)},
          {"ceil_mode", int64_t{p.ceil_mode}}};
}

void max_pool(Recorder& r, const KernelCall& call) {
  const Tensor &out = tensor(call, 0), &indices = tensor(call, 1), &input = tensor(call, 2);
  const auto& p = argument<Pool2dParameters>(call, 3);
  const Id x = images(r, input);
  const Ints sizes = with_last(r[x], {out.size(1), out.size(2)});
  Attributes attributes = window(p);
  attributes["dilations"] = pair(p.dilation);
  const std::vector<Id> made = r.add_many("MaxPool", {x}, attributes, {{out.scalar_type(), sizes}, {kLong, sizes}});
  r.write(out, made[0]);
  // ONNX counts positions in the whole tensor, the kernel in the plane.
  if (indices.defined()) r.write(indices, r.add("Mod", {made[1], r.number(input.size(1) * input.size(2), kLong)}));
}

void max_pool_gather(Recorder& r, const KernelCall& call) {
  const Tensor &out = tensor(call, 0), &input = tensor(call, 1), &indices = tensor(call, 2);
  const Id values = r.read(input, {input.size(0), input.size(1) * input.size(2)});
  const Id at = r.read(indices, {input.size(0), indices.numel() / input.size(0)});
  r.write(out, r.add("GatherElements", {values, at}, {{"axis", int64_t{1}}}, out.scalar_type(), r[at].sizes));
}

void avg_pool(Recorder& r, const KernelCall& call) {
  const Tensor& out = tensor(call, 0);
  const auto& p = argument<Pool2dParameters>(call, 2);
  const Id x = images(r, tensor(call, 1));
  const ScalarType dtype = out.scalar_type();
  const Ints sizes = with_last(r[x], {out.size(1), out.size(2)});
  Attributes attributes = window(p);
  if (p.divisor_override != 0) {
    const double factor = static_cast<double>(p.kernel[0] * p.kernel[1]) / static_cast<double>(p.divisor_override);
    attributes["divisor"] = p.divisor_override;
    return r.write(out, r.call("divided_avg_pool2d", {x, r.number(factor, dtype)}, attributes, dtype, sizes));
  }
  attributes["count_include_pad"] = int64_t{p.count_include_pad};
  r.write(out, r.add("AveragePool", {x}, attributes, dtype, sizes));
}

// Row i has 1 / length over the window i, so that means are products.
Tensor averages(int64_t out, int64_t in) {
  const Tensor rows = zeros({out, in});
  for (int64_t i = 0; i < out; ++i) {
    const int64_t begin = i * in / out, end = ((i + 1) * in + out - 1) / out;
    rows.narrow(0, i, 1).narrow(1, begin, end - begin).fill_(1.0 / static_cast<double>(end - begin));
  }
  return rows;
}

void adaptive_avg_pool(Recorder& r, const KernelCall& call) {
  const Tensor &out = tensor(call, 0), &input = tensor(call, 1);
  const Id x = images(r, input);
  const Ints sizes = with_last(r[x], {out.size(1), out.size(2)});
  const ScalarType dtype = out.scalar_type();
  if (out.size(1) == 1 && out.size(2) == 1) return r.write(out, r.add("GlobalAveragePool", {x}, {}, dtype, sizes));
  const Id rows = r.constant(averages(out.size(1), input.size(1)).to(dtype)),
           columns = r.constant(averages(out.size(2), input.size(2)).to(dtype).t().contiguous());
  r.write(out, r.call("adaptive_avg_pool2d", {x, rows, columns}, {}, dtype, sizes));
}

// ---- normalisation

void batch_norm(Recorder& r, const KernelCall& call) {
  const Tensor &out = tensor(call, 0), &input = tensor(call, 1), &weight = tensor(call, 4), &bias = tensor(call, 5);
  const int64_t channels = input.size(1);
  const Id x = r.read_as(input, sizes_of(input), [&](const Ints& sizes) {
    return sizes.size() >= 2 && sizes[0] == input.size(0) && sizes[1] == channels;
  });
  const auto or_filled = [&](const Tensor& t, double value) {  // instances are channels: their number may vary
    return t.defined() ? r.read(t) : r.filled(value, out.scalar_type(), {channels});
  };
  r.write(out, r.add("BatchNormalization",
                     {x, or_filled(weight, 1), or_filled(bias, 0), r.read(tensor(call, 2)), r.read(tensor(call, 3))},
                     {{"epsilon", real(call, 6)}}));
}

void batch_norm_statistics(Recorder& r, const KernelCall& call) {
  const Tensor &mean = tensor(call, 0), &variance = tensor(call, 1);
  const Id x = r.read(tensor(call, 2));
  const std::pair<ScalarType, Ints> each{mean.scalar_type(), sizes_of(mean)};
  const std::vector<Id> made = r.call_many("batch_norm_statistics", {x}, {}, {each, each});
  r.write(mean, made[0]);
  r.write(variance, made[1]);
}

// Running statistics are for later steps, not for the outputs.
void batch_norm_track(Recorder&, const KernelCall&) {}

void layer_norm(Recorder& r, const KernelCall& call) {
  const Tensor &out = tensor(call, 0), &input = tensor(call, 2), &weight = tensor(call, 3), &bias = tensor(call, 4);
  const int64_t row = input.size(1);
  const Id x =
      r.read_as(input, sizes_of(input), [&](const Ints& sizes) { return !sizes.empty() && sizes.back() == row; });
  std::vector<Id> inputs{x,
                         weight.defined() ? r.read(weight) : r.constant(ones({row}, TensorOptions(out.scalar_type())))};
  if (bias.defined()) inputs.push_back(r.read(bias));
  r.skip(tensor(call, 1));
  r.write(out, r.add("LayerNormalization", inputs, {{"axis", int64_t{-1}}, {"epsilon", real(call, 5)}}));
}

template <bool log>
void softmax(Recorder& r, const KernelCall& call) {
  r.write(tensor(call, 0),
          r.add(log ? "LogSoftmax" : "Softmax", {r.read(tensor(call, 1))}, {{"axis", integer(call, 2)}}));
}

// ---- attention

// [B, G, S, E] with every head repeated `times` times.
Id shared_heads(Recorder& r, Id t, int64_t times) {
  const Ints sizes = r[t].sizes;
  if (times == 1) return t;
  const Id single = r.reshape(t, {sizes[0], sizes[1], 1, sizes[2], sizes[3]});
  return r.reshape(r.expand(single, {sizes[0], sizes[1], times, sizes[2], sizes[3]}),
                   {sizes[0], sizes[1] * times, sizes[2], sizes[3]});
}

void attention(Recorder& r, const KernelCall& call) {
  const Tensor &out = tensor(call, 0), &mask = tensor(call, 5);
  const auto& rule = argument<AttentionRule>(call, 6);
  if (rule.dropout != 0) return r.lack("attention with dropout (put the module into eval mode)");
  if (rule.causal && rule.before != 0) return r.lack("attention behind a cache");
  const int64_t times = tensor(call, 2).size(1) / tensor(call, 3).size(1);
  std::vector<Id> inputs{r.read(tensor(call, 2)), shared_heads(r, r.read(tensor(call, 3)), times),
                         shared_heads(r, r.read(tensor(call, 4)), times)};
  if (mask.defined()) {
    const Id given = r.read(mask);
    const ScalarType type = out.scalar_type();
    inputs.push_back(mask.scalar_type() == kBool
                         ? r.add("Where",
                                 {given, r.number(0, type), r.number(-std::numeric_limits<double>::infinity(), type)},
                                 {}, type, r[given].sizes)
                         : given);
  }
  const char* names[2][2] = {{"attention", "causal_attention"}, {"masked_attention", "masked_causal_attention"}};
  r.skip(tensor(call, 1));
  r.write(out, r.call(names[mask.defined()][rule.causal], inputs, {{"scale", rule.scale}}, out));
}

// ---- losses

std::string reduction_name(ReductionKind kind) {
  return kind == ReductionKind::kNone ? "none" : kind == ReductionKind::kSum ? "sum" : "mean";
}

// `first`: the argument that holds the scores; the target and the weight follow.
std::vector<Id> class_inputs(Recorder& r, const KernelCall& call, std::size_t first) {
  std::vector<Id> inputs{r.read(tensor(call, first)), r.read(tensor(call, first + 1))};
  if (tensor(call, first + 2).defined()) inputs.push_back(r.read(tensor(call, first + 2)));
  return inputs;
}
Id class_loss(Recorder& r, const char* op, const std::vector<Id>& inputs, const ClassLoss& loss) {
  const Ints sizes = loss.reduction == ReductionKind::kNone ? r[inputs[1]].sizes : Ints{};
  return r.add(op, inputs, {{"reduction", reduction_name(loss.reduction)}, {"ignore_index", loss.ignore_index}},
               r[inputs[0]].dtype, sizes);
}

void cross_entropy(Recorder& r, const KernelCall& call) {
  const auto& loss = argument<ClassLoss>(call, 6);
  if (loss.label_smoothing != 0) return r.lack("cross_entropy_loss with label_smoothing");
  r.skip(tensor(call, 1));
  r.skip(tensor(call, 2));
  std::vector<Id> inputs = class_inputs(r, call, 3);
  inputs[0] = r.cast(inputs[0], tensor(call, 0).scalar_type());
  r.write(tensor(call, 0), class_loss(r, "SoftmaxCrossEntropyLoss", inputs, loss));
}
void nll(Recorder& r, const KernelCall& call) {
  r.skip(tensor(call, 1));
  r.write(tensor(call, 0),
          class_loss(r, "NegativeLogLikelihoodLoss", class_inputs(r, call, 2), argument<ClassLoss>(call, 5)));
}

}  // namespace

Translations network_translations() {
  return {
      {"matmul", matmul},
      {"linear", linear},
      {"quantized_linear", quantized_linear},
      {"conv2d", conv2d},
      {"conv2d_backward_input", conv_transpose},
      {"max_pool2d", max_pool},
      {"max_pool2d_gather", max_pool_gather},
      {"avg_pool2d", avg_pool},
      {"adaptive_avg_pool2d", adaptive_avg_pool},
      {"batch_norm", batch_norm},
      {"batch_norm_statistics", batch_norm_statistics},
      {"batch_norm_track", batch_norm_track},
      {"layer_norm", layer_norm},
      {"softmax", softmax<false>},
      {"log_softmax", softmax<true>},
      {"attention", attention},
      {"cross_entropy_loss", cross_entropy},
      {"nll_loss", nll},
  };
}

}  // namespace tandem::onnx::exporter
