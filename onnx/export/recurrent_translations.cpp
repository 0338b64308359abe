// Translations of recurrent layers: the calls for all steps of a layer become one LSTM, GRU or RNN. A layer whose
// sequences have different lengths becomes a node per step.
#include <algorithm>
#include <cstring>

#include "tandem/autograd/ops.h"
#include "tandem/core/backend/recurrent.h"
#include "tandem/onnx/export/arguments.h"

namespace tandem::onnx::exporter {
namespace {

Tensor rows_of(const Tensor& t, int64_t at, int64_t rows) {
  return alias(t, {rows, t.size(1)}, t.strides(), t.storage_offset() + at * t.stride(0));
}

class Layer final : public CallGroup {
 public:
  bool takes(const KernelCall& call) override {
    if (std::strcmp(call.name, "recurrent_product") == 0) {
      product_ = argument<StepProduct>(call, 0);
      from_.push_back({integer(call, 1), integer(call, 2)});
      return true;
    }
    if (std::strcmp(call.name, "recurrent_forward") != 0) return false;
    step_ = argument<RecurrentForward>(call, 0);
    steps_.push_back({integer(call, 1), integer(call, 2)});
    return true;
  }

  void translate(Recorder& r) override {
    if (steps_.empty()) return;
    const Id gates = r.read(step_.gates);
    const Node* projection = r.producer(gates);
    if (same_lengths() && projection != nullptr && projection->op == "Gemm")
      translate_layer(r, Node(*projection));
    else
      for (std::size_t i = 0; i < steps_.size(); ++i) translate_step(r, i);
  }

 private:
  struct Step {
    int64_t at, rows;
  };
  bool reversed() const { return steps_.size() > 1 && steps_[0].at > steps_[1].at; }
  bool same_lengths() const {
    const int64_t batch = step_.h.size(0), count = static_cast<int64_t>(steps_.size());
    for (int64_t t = 0; t < count; ++t) {
      const Step& step = steps_[static_cast<std::size_t>(t)];
      if (step.rows != batch || step.at != (reversed() ? count - 1 - t : t) * batch) return false;
    }
    return count * batch == step_.out.size(0);
  }

  // The gates in ONNX's order: an LSTM's are input, output, forget, cell; a GRU's are update, reset, new.
  Id in_order(Recorder& r, Id weight) const {
    if (gate_count(step_.kind) == 1) return weight;
    const std::vector<int64_t> order =
        step_.kind == RecurrentKind::kLstm ? std::vector<int64_t>{0, 3, 1, 2} : std::vector<int64_t>{1, 0, 2};
    const Ints sizes = r[weight].sizes;
    Ints cut{gate_count(step_.kind), sizes[0] / gate_count(step_.kind)};
    cut.insert(cut.end(), sizes.begin() + 1, sizes.end());
    const Tensor index = empty({gate_count(step_.kind)}, TensorOptions(kLong));
    std::copy(order.begin(), order.end(), index.data_ptr<int64_t>());
    const Id gates =
        r.add("Gather", {r.reshape(weight, cut), r.constant(index)}, {{"axis", int64_t{0}}}, r[weight].dtype, cut);
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
    if (step_.kind == RecurrentKind::kGru) of_state = r.read(step_.bias);
    if (of_input == kNoValue && of_state == kNoValue) return kNoValue;
    if (const Node* sum = of_input == kNoValue ? nullptr : r.producer(of_input);
        sum != nullptr && sum->op == "Add" && step_.kind != RecurrentKind::kGru) {
      of_state = sum->inputs[1];
      of_input = sum->inputs[0];
    }
    const Ints sizes = r[of_input != kNoValue ? of_input : of_state].sizes;
    const auto or_zeros = [&](Id id) {
      return id != kNoValue ? in_order(r, id) : r.constant(zeros(sizes, TensorOptions(step_.h.scalar_type())));
    };
    const Id both = r.add("Concat", {or_zeros(of_input), or_zeros(of_state)}, {{"axis", int64_t{0}}},
                          step_.h.scalar_type(), {2 * sizes[0]});
    return as_one_direction(r, both);
  }

  void translate_layer(Recorder& r, const Node& projection) {
    const int64_t batch = step_.h.size(0), size = step_.h.size(1), count = static_cast<int64_t>(steps_.size());
    const ScalarType dtype = step_.h.scalar_type();
    const Tensor& w = product_.weight;
    const Id w_hh = r.read(alias(w, {w.size(1), w.size(0)}, {w.stride(1), w.stride(0)}, w.storage_offset()));
    const Id x = r.reshape(projection.inputs[0], {count, batch, r[projection.inputs[0]].sizes[1]});
    std::vector<Id> inputs{x,
                           as_one_direction(r, in_order(r, projection.inputs[1])),
                           as_one_direction(r, in_order(r, w_hh)),
                           biases(r, projection),
                           kNoValue,
                           as_one_direction(r, r.read(step_.h))};
    const bool lstm = step_.kind == RecurrentKind::kLstm, gru = step_.kind == RecurrentKind::kGru;
    if (lstm) inputs.push_back(as_one_direction(r, r.read(step_.c)));
    Attributes attributes{{"hidden_size", size}, {"direction", std::string(reversed() ? "reverse" : "forward")}};
    if (gru) attributes["linear_before_reset"] = int64_t{1};
    if (step_.kind == RecurrentKind::kRelu) attributes["activations"] = std::vector<std::string>{"Relu"};
    std::vector<std::pair<ScalarType, Ints>> outputs{{dtype, {count, 1, batch, size}}, {dtype, {1, batch, size}}};
    if (lstm) outputs.push_back(outputs[1]);
    const std::vector<Id> made = r.add_many(lstm ? "LSTM" : gru ? "GRU" : "RNN", inputs, attributes, outputs);
    r.write(step_.out, made[0]);
    r.write(step_.h, made[1]);
    if (lstm) r.write(step_.c, made[2]);
  }

  void translate_step(Recorder& r, std::size_t i) {
    const auto [at, rows] = steps_[i];
    const Tensor to = rows_of(product_.to, from_[i].at, rows), from = rows_of(product_.from, from_[i].rows, rows);
    Id value = r.add("MatMul", {r.read(from), r.read(product_.weight)}, {}, to.scalar_type(), sizes_of(to));
    if (product_.add) value = r.add("Add", {r.read(to), value});
    r.write(to, value);
    const Tensor gates = rows_of(step_.gates, at, rows), h = rows_of(step_.h, 0, rows),
                 out = rows_of(step_.out, at, rows);
    const ScalarType dtype = h.scalar_type();
    Id state = kNoValue;
    if (step_.kind == RecurrentKind::kLstm) {
      const Tensor c = rows_of(step_.c, 0, rows);
      const std::vector<Id> made =
          r.call_many("lstm_cell", {r.read(gates), r.read(c)}, {}, {{dtype, sizes_of(h)}, {dtype, sizes_of(h)}});
      state = made[0];
      r.write(c, made[1]);
    } else if (step_.kind == RecurrentKind::kGru) {
      const Id hidden = r.add("Add", {r.read(rows_of(step_.hidden, 0, rows)), r.read(step_.bias)});
      state = r.call("gru_cell", {r.read(gates), hidden, r.read(h)}, {}, dtype, sizes_of(h));
    } else {
      state = r.add(step_.kind == RecurrentKind::kTanh ? "Tanh" : "Relu", {r.read(gates)});
    }
    r.write(h, state);
    r.write(out, state);
  }

  StepProduct product_;
  RecurrentForward step_{};
  std::vector<Step> steps_, from_;  // from_: the rows of a product's result and of its argument
};

void pack(Recorder& r, const KernelCall&) { r.begin(std::make_unique<Layer>()); }

}  // namespace

const Translations& recurrent_translations() {
  static const Translations list = {{"recurrent_pack", pack}};
  return list;
}

}  // namespace tandem::onnx::exporter
