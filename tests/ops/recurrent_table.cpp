// Describes recurrent networks, their cells, and padded sequences.
#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/operation_table.h"

namespace tandem::testing {
namespace {

using Pair = std::tuple<T, T>;
using Triple = std::tuple<T, T, T>;

// A network's tensors: input, states, and the parameters of `layers`, where each direction counts as a layer.
std::vector<InputSpec> network(std::vector<int64_t> input, int64_t states, int64_t gates, int64_t size, int64_t layers,
                               int64_t directions, bool biases = true, int64_t projection = 0) {
  const int64_t batch = input.size() == 3 ? input[1] : 3, out = projection > 0 ? projection : size;
  std::vector<InputSpec> list{real(input), real({layers, batch, out})};
  if (states == 2) list.push_back(real({layers, batch, size}));
  for (int64_t i = 0; i < layers; ++i) {
    list.push_back(real({gates * size, i < directions ? input.back() : out * directions}, -1, 1));
    list.push_back(real({gates * size, out}, -1, 1));
    if (biases) list.push_back(real({gates * size}));
    if (biases) list.push_back(real({gates * size}));
    if (projection > 0) list.push_back(real({projection, size}, -1, 1));
  }
  return list;
}

// Steps of 3, 2 and 1 sequences.
Tensor shrinking() { return tensor(std::vector<int64_t>{3, 2, 1}, kLong); }
const char* const kShrinking = "torch.tensor([3, 2, 1])";

std::vector<Operation> networks() {
  using Gru = Pair(CT, CT, TensorList, bool, I, double, bool, bool, bool);
  using PackedGru = Pair(CT, CT, CT, TensorList, bool, I, double, bool, bool);
  const auto one = [](const char* name, int64_t gates) {
    return std::vector<Example>{
        {name, "x0, x1, [x2, x3, x4, x5], True, 1, 0.0, True, False, False", {network({3, 2, 2}, 1, gates, 3, 1, 1)}},
        {concat(name, " two layers"),
         "x0, x1, [x2, x3, x4, x5], False, 2, 0.0, True, False, False",
         {network({2, 2, 2}, 1, gates, 2, 2, 1, false)}},
        {concat(name, " two directions"),
         "x0, x1, [x2, x3, x4, x5, x6, x7, x8, x9], True, 1, 0.0, False, True, False",
         {network({3, 1, 2}, 1, gates, 2, 2, 2)}}};
  };
  const auto packed = [](const char* name, int64_t gates, auto f) {
    return std::vector<OpTest>{{.name = concat(name, " packed"),
                                .torch = concat("torch.", name, "(x0, ", kShrinking,
                                                ", x1, [x2, x3, x4, x5, x6, x7, x8, x9], True, 1, 0.0, True, True)"),
                                .fn =
                                    [f](const Tensors& x) {
                                      const auto [out, h] = f(x[0], shrinking(), x[1], TensorList(x.data() + 2, 8));
                                      return Tensors{out, h};
                                    },
                                .cases = {network({6, 2}, 1, gates, 2, 2, 2)}}};
  };
  return {
      {OPERATION(lstm, Triple(CT, TensorList, TensorList, bool, I, double, bool, bool, bool),
                 Triple(CT, CT, TensorList, TensorList, bool, I, double, bool, bool)),
       .examples = {{"lstm",
                     "x0, [x1, x2], [x3, x4, x5, x6], True, 1, 0.0, True, False, False",
                     {network({3, 2, 2}, 2, 4, 3, 1, 1)}},
                    {"lstm batch first",
                     "x0, [x1, x2], [x3, x4], False, 1, 0.0, True, False, True",
                     {{real({2, 3, 2}), real({1, 2, 2}), real({1, 2, 2}), real({8, 2}), real({8, 2})}}},
                    {"lstm two layers, two directions",
                     "x0, [x1, x2], [x3, x4, x5, x6, x7, x8, x9, x10], False, 2, 0.0, False, True, False",
                     {network({2, 1, 2}, 2, 4, 2, 4, 2, false)}},
                    {"lstm projection",
                     "x0, [x1, x2], [x3, x4, x5, x6, x7], True, 1, 0.0, True, False, False",
                     {network({3, 2, 2}, 2, 4, 3, 1, 1, true, 2)}}},
       .tests = {{.name = "lstm packed",
                  .torch = concat("torch.lstm(x0, ", kShrinking,
                                  ", [x1, x2], [x3, x4, x5, x6, x7, x8, x9, x10], True, 1, 0.0, True, True)"),
                  .fn =
                      [](const Tensors& x) {
                        const auto [out, h, c] = lstm(x[0], shrinking(), TensorList(x.data() + 1, 2),
                                                      TensorList(x.data() + 3, 8), true, 1, 0, true, true);
                        return Tensors{out, h, c};
                      },
                  .cases = {network({6, 2}, 2, 4, 2, 2, 2)}}}},
      {OPERATION(gru, Gru, PackedGru), .examples = one("gru", 3),
       .tests =
           packed("gru", 3, [](CT x, CT n, CT h, TensorList p) { return gru(x, n, h, p, true, 1, 0, true, true); })},
      {OPERATION(rnn_tanh, Gru, PackedGru), .examples = one("rnn_tanh", 1),
       .tests = packed("rnn_tanh", 1,
                       [](CT x, CT n, CT h, TensorList p) { return rnn_tanh(x, n, h, p, true, 1, 0, true, true); })},
      {OPERATION(rnn_relu, Gru, PackedGru), .examples = one("rnn_relu", 1)},
  };
}

std::vector<InputSpec> one_step(int64_t gates, bool lstm = false) {
  std::vector<InputSpec> list{real({3, 2}), real({3, 4})};
  if (lstm) list.push_back(real({3, 4}));
  for (const InputSpec& w : {real({gates * 4, 2}), real({gates * 4, 4}), real({gates * 4}), real({gates * 4})})
    list.push_back(w);
  return list;
}

std::vector<Operation> cells() {
  using One = T(CT, CT, CT, CT, CT, CT);
  return {
      {OPERATION(lstm_cell, Pair(CT, TensorList, CT, CT, CT, CT)),
       .examples = {{"lstm_cell", "x0, [x1, x2], x3, x4, x5, x6", {one_step(4, true)}},
                    {"lstm_cell without bias",
                     "x0, [x1, x2], x3, x4, None, None",
                     {{real({1, 2}), real({1, 3}), real({1, 3}), real({12, 2}), real({12, 3})}}}}},
      {OPERATION(gru_cell, One), .examples = {{"gru_cell", "x0, x1, x2, x3, x4, x5", {one_step(3)}}}},
      {OPERATION(rnn_tanh_cell, One), .examples = {{"rnn_tanh_cell", "x0, x1, x2, x3, x4, x5", {one_step(1)}}}},
      {OPERATION(rnn_relu_cell, One), .examples = {{"rnn_relu_cell", "x0, x1, x2, x3, x4, x5", {one_step(1)}}}},
  };
}

std::vector<Operation> sequences() {
  // Lengths and batch sizes are on the CPU, wherever the data is.
  const OpTest pack{
      .name = "pack_padded_sequence",
      .torch = concat("torch._pack_padded_sequence(x0, ", kShrinking, ", False)[0]"),
      .fn = [](const Tensors& x) { return Tensors{std::get<0>(_pack_padded_sequence(x[0], shrinking(), false))}; },
      .cases = {{real({3, 3, 2})}, {real({4, 3})}}};
  const OpTest pad{
      .name = "pad_packed_sequence",
      .torch = concat("torch._pad_packed_sequence(x0, ", kShrinking, ", True, 0.5, 4)[0]"),
      .fn =
          [](const Tensors& x) { return Tensors{std::get<0>(_pad_packed_sequence(x[0], shrinking(), true, 0.5, 4))}; },
      .cases = {{real({6, 2})}, {real({6})}}};
  return {
      {OPERATION(pad_sequence, T(TensorList, bool, double, std::string_view)),
       .torch = "torch.nn.utils.rnn.pad_sequence",
       .examples = {{"pad_sequence",
                     "[x0, x1, x2], False, 0.5, 'right'",
                     {{real({2, 2}), real({3, 2}), real({0, 2})}, {real({2}), real({1}), real({3})}}},
                    {"pad_sequence left", "[x0, x1], True, 0.0, 'left'", {{real({1, 2}), real({3, 2})}}}}},
      {OPERATION(_pack_padded_sequence, Pair(CT, CT, bool)), .tests = {pack}},
      {OPERATION(_pad_packed_sequence, Pair(CT, CT, bool, CS, I)), .tests = {pad}},
  };
}

}  // namespace

std::vector<Operation> recurrent_operations() { return joined({networks, cells, sequences}); }

}  // namespace tandem::testing
