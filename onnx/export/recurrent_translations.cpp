// Translations of recurrent layers: one LSTM, GRU or RNN. A layer whose sequences have different lengths becomes a node per
// step.
#include <algorithm>

#include "tandem/autograd/ops.h"
#include "tandem/core/backend/recurrent.h"
#include "tandem/onnx/export/arguments.h"

namespace tandem::onnx::exporter {
namespace {

Tensor rows_of(const Tensor& t, int64_t at, int64_t rows) {
  return alias(t, {rows, t.size(1)}, t.strides(), t.storage_offset() + at * t.stride(0));
}

class Layer {
 public:
  explicit Layer(const RecurrentForward& layer) : layer_(layer) {}

  void translate(Recorder& r) const {
    const Node* projection = r.producer(r.read(layer_.gates));
    if (same_lengths() && projection != nullptr && projection->op == "Gemm")
      translate_layer(r, Node(*projection));
    else
      translate_steps(r);
  }

 private:
  int64_t count() const { return static_cast<int64_t>(layer_.steps.size()); }
  bool reversed() const { return layer_.steps.size() > 1 && layer_.steps[0].at > layer_.steps[1].at; }
  bool same_lengths() const {
    const int64_t batch = layer_.h.size(0);
    for (int64_t t = 0; t < count(); ++t) {
      const RecurrentStep& step = layer_.steps[static_cast<std::size_t>(t)];
      if (step.rows != batch || step.at != (reversed() ? count() - 1 - t : t) * batch) return false;
    }
    return count() * batch == layer_.out.size(0);
  }

  // The gates in ONNX's order: an LSTM's are input, output, forget, cell; a GRU's are update, reset, new.
  Id in_order(Recorder& r, Id weight) const {
    if (gate_count(layer_.kind) == 1) return weight;
    const Ints order = layer_.kind == RecurrentKind::kLstm ? Ints{0, 3, 1, 2} : Ints{1, 0, 2};
    const Ints sizes = r[weight].sizes;
    Ints cut{gate_count(layer_.kind), sizes[0] / gate_count(layer_.kind)};
    cut.insert(cut.end(), sizes.begin() + 1, sizes.end());
    const Id gates = r.add("Gather", {r.reshape(weight, cut), r.constant(order, {cut[0]})}, {{"axis", int64_t{0}}},
                           r[weight].dtype, cut);
    return r.reshape(gates, sizes);
  }
  Id as_one_direction(Recorder& r, Id value) const {
    Ints sizes = r[value].sizes;
    sizes.insert(sizes.begin(), 1);
    return r.reshape(value, sizes);
  }

  // The biases of the input and of the state, one after the other; kNoValue without biases.
  Id biases(Recorder& r, const Node& projection) const {
    Id of_input = projection.inputs.size() > 2 ? projection.inputs[2] : kNoValue, of_state = kNoValue;
    if (layer_.kind == RecurrentKind::kGru) of_state = r.read(layer_.bias);
    if (of_input == kNoValue && of_state == kNoValue) return kNoValue;
    if (const Node* sum = of_input == kNoValue ? nullptr : r.producer(of_input);
        sum != nullptr && sum->op == "Add" && layer_.kind != RecurrentKind::kGru) {
      of_state = sum->inputs[1];
      of_input = sum->inputs[0];
    }
    const Ints sizes = r[of_input != kNoValue ? of_input : of_state].sizes;
    const auto or_zeros = [&](Id id) {
      return id != kNoValue ? in_order(r, id) : r.constant(zeros(sizes, TensorOptions(layer_.h.scalar_type())));
    };
    const Id both = r.add("Concat", {or_zeros(of_input), or_zeros(of_state)}, {{"axis", int64_t{0}}},
                          layer_.h.scalar_type(), {2 * sizes[0]});
    return as_one_direction(r, both);
  }

  void translate_layer(Recorder& r, const Node& projection) const {
    const int64_t batch = layer_.h.size(0), size = layer_.h.size(1);
    const ScalarType dtype = layer_.h.scalar_type();
    const Id w_hh = r.read(layer_.weight);
    const Id x = r.reshape(projection.inputs[0], {count(), batch, r[projection.inputs[0]].sizes[1]});
    std::vector<Id> inputs{x,
                           as_one_direction(r, in_order(r, projection.inputs[1])),
                           as_one_direction(r, in_order(r, w_hh)),
                           biases(r, projection),
                           kNoValue,
                           as_one_direction(r, r.read(layer_.h))};
    const bool lstm = layer_.kind == RecurrentKind::kLstm, gru = layer_.kind == RecurrentKind::kGru;
    if (lstm) inputs.push_back(as_one_direction(r, r.read(layer_.c)));
    Attributes attributes{{"hidden_size", size}, {"direction", std::string(reversed() ? "reverse" : "forward")}};
    if (gru) attributes["linear_before_reset"] = int64_t{1};
    if (layer_.kind == RecurrentKind::kRelu) attributes["activations"] = std::vector<std::string>{"Relu"};
    std::vector<std::pair<ScalarType, Ints>> outputs{{dtype, {count(), 1, batch, size}}, {dtype, {1, batch, size}}};
    if (lstm) outputs.push_back(outputs[1]);
    const std::vector<Id> made = r.add_many(lstm ? "LSTM" : gru ? "GRU" : "RNN", inputs, attributes, outputs);
    r.write(layer_.out, made[0]);
    r.write(layer_.h, made[1]);
    if (lstm) r.write(layer_.c, made[2]);
  }

  void translate_steps(Recorder& r) const {
    const Id weight = r.transpose(r.read(layer_.weight), {1, 0});
    for (const RecurrentStep& step : layer_.steps) translate_step(r, step, weight);
  }
  void translate_step(Recorder& r, const RecurrentStep& step, Id weight) const {
    const auto [at, rows] = step;
    const Tensor gates = rows_of(layer_.gates, at, rows), h = rows_of(layer_.h, 0, rows),
                 out = rows_of(layer_.out, at, rows);
    const ScalarType dtype = h.scalar_type();
    const Id product = r.add("MatMul", {r.read(h), weight}, {}, dtype, sizes_of(gates));
    Id state = kNoValue;
    if (layer_.kind == RecurrentKind::kGru) {
      const Id hidden = r.add("Add", {product, r.read(layer_.bias)});
      state = r.call("gru_cell", {r.read(gates), hidden, r.read(h)}, {}, dtype, sizes_of(h));
    } else {
      const Id sum = r.add("Add", {r.read(gates), product});
      if (layer_.kind == RecurrentKind::kLstm) {
        const Tensor c = rows_of(layer_.c, 0, rows);
        const std::vector<Id> made =
            r.call_many("lstm_cell", {sum, r.read(c)}, {}, {{dtype, sizes_of(h)}, {dtype, sizes_of(h)}});
        state = made[0];
        r.write(c, made[1]);
      } else {
        state = r.add(layer_.kind == RecurrentKind::kTanh ? "Tanh" : "Relu", {sum});
      }
    }
    r.write(h, state);
    r.write(out, state);
  }

  const RecurrentForward& layer_;
};

void layer(Recorder& r, const KernelCall& call) { Layer(argument<RecurrentForward>(call, 0)).translate(r); }

}  // namespace

Translations recurrent_translations() { return {{"recurrent_forward", layer}}; }

}  // namespace tandem::onnx::exporter
