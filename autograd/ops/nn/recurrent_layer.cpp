// A recurrent layer in one direction. The forward pass projects the input of all steps in one product; one kernel goes
// through the steps and keeps the activated gates. The backward pass goes through them the other way; the gradients of
// weights, biases and input are one product or sum over all steps each.
//
// Steps are a shrinking prefix of the batch. So the first rows of a state buffer are always the ones to update, and
// the final state of a row is its contents after its last step.
#include "tandem/autograd/ops/nn/recurrent_layer.h"
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/half.h"

#include <algorithm>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/linalg.h"

namespace tandem::autograd {
namespace {

RecurrentSteps in_order(const RecurrentSteps& steps, bool reverse) {
  return reverse ? RecurrentSteps(steps.rbegin(), steps.rend()) : steps;
}

// ---- The composition

struct Cell {
  Tensor h, c;
};
Cell cell(RecurrentKind kind, const Tensor& x, const Cell& s, const RecurrentWeights& w) {
  const Tensor y = linear(s.h, w.w_hh, w.b_hh);
  if (kind == RecurrentKind::kTanh) return {tanh(x + y), {}};
  if (kind == RecurrentKind::kRelu) return {relu(x + y), {}};
  if (kind == RecurrentKind::kGru) {
    const std::vector<Tensor> a = chunk(x, 3, 1), b = chunk(y, 3, 1);
    const Tensor r = sigmoid(a[0] + b[0]), z = sigmoid(a[1] + b[1]), n = tanh(a[2] + r * b[2]);
    return {n + z * (s.h - n), {}};
  }
  const std::vector<Tensor> a = chunk(x + y, 4, 1);
  const Tensor c = sigmoid(a[1]) * s.c + sigmoid(a[0]) * tanh(a[2]), h = sigmoid(a[3]) * tanh(c);
  return {w.w_hr.defined() ? linear(h, w.w_hr) : h, c};
}

Tensor first(const Tensor& t, int64_t rows) { return t.defined() && t.size(0) > rows ? t.narrow(0, 0, rows) : t; }
// `state` with its first rows replaced.
Tensor updated(const Tensor& state, const Tensor& rows) {
  if (!state.defined() || rows.size(0) == state.size(0)) return rows;
  return cat({rows, state.narrow(0, rows.size(0), state.size(0) - rows.size(0))});
}

}  // namespace

RecurrentState composed_layer(RecurrentKind kind, const Tensor& input, const RecurrentSteps& steps, bool reverse,
                              const Tensor& h, const Tensor& c, const RecurrentWeights& w) {
  const Tensor x = linear(input, w.w_ih, w.b_ih);
  Cell state{h, c};
  std::vector<Tensor> outs;
  for (const RecurrentStep& step : in_order(steps, reverse)) {
    const Cell next =
        cell(kind, x.narrow(0, step.at, step.rows), {first(state.h, step.rows), first(state.c, step.rows)}, w);
    outs.push_back(next.h);
    state = {updated(state.h, next.h), updated(state.c, next.c)};
  }
  if (reverse) std::reverse(outs.begin(), outs.end());
  return {cat(outs), state.h, state.c};
}

// ---- The fused pass

namespace {

/// The inputs of the node, in the order of its edges.
enum Input : std::size_t { kX, kH, kC, kWih, kWhh, kBih, kBhh, kInputs };

struct RecurrentNode final : Node {
  const char* label() const override {
    return kind == RecurrentKind::kLstm ? "LstmBackward" : kind == RecurrentKind::kGru ? "GruBackward" : "RnnBackward";
  }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    if (GradMode::is_enabled())
      differentiable(g, out);
    else
      fused(g, out);
  }
  void release() override {
    for (SavedTensor& t : inputs) t.release();
    for (SavedTensor* t : {&gates, &h_prev, &c_prev, &candidate}) t->release();
  }
  void fused(std::span<Tensor> g, std::span<Tensor> out);
  Tensor through_steps(std::span<Tensor> g, Tensor& dh, Tensor& dc, Tensor& d_hidden);
  void differentiable(std::span<Tensor> g, std::span<Tensor> out);
  Tensor saved(const SavedTensor& t) const { return t.unpack(*this); }

  RecurrentKind kind;
  bool reverse;
  RecurrentSteps steps;  // in order of time
  SavedTensor inputs[kInputs];
  SavedTensor gates, h_prev, c_prev, candidate;
};

Tensor own_copy(const Tensor& gradient, IntArrayRef sizes, const TensorOptions& options) {
  return gradient.defined() ? gradient.detach().contiguous().clone() : zeros(sizes, options);
}

// Returns the gradient of the gates before their activations; dh and dc become those of the initial state.
Tensor RecurrentNode::through_steps(std::span<Tensor> g, Tensor& dh, Tensor& dc, Tensor& d_hidden) {
  const Tensor gates = saved(this->gates);
  const TensorOptions like = gates.options();
  const int64_t rows = gates.size(0), size = saved(h_prev).size(1), batch = outputs[1].sizes[0];
  const Tensor d_gates = empty_raw(gates.sizes(), gates.dtype(), gates.device());
  d_hidden = kind == RecurrentKind::kGru ? empty_raw(gates.sizes(), gates.dtype(), gates.device()) : d_gates;
  dh = own_copy(g[1], {batch, size}, like);
  if (kind == RecurrentKind::kLstm) dc = own_copy(g[2], {batch, size}, like);
  backend(gates).recurrent.backward({.kind = kind,
                                     .steps = in_order(steps, !reverse),
                                     .weight = saved(inputs[kWhh]).detach().contiguous(),
                                     .gates = gates,
                                     .h_prev = saved(h_prev),
                                     .c_prev = saved(c_prev),
                                     .candidate = saved(candidate),
                                     .grad = g[0].defined() ? g[0].detach().contiguous() : zeros({rows, size}, like),
                                     .dh = dh,
                                     .dc = dc,
                                     .d_gates = d_gates,
                                     .d_hidden = kind == RecurrentKind::kGru ? d_hidden : Tensor(),
                                     .of_state = needs(kH)});
  return d_gates;
}

void RecurrentNode::fused(std::span<Tensor> g, std::span<Tensor> out) {
  Tensor dh, dc, d_hidden;
  const Tensor d_gates = through_steps(g, dh, dc, d_hidden);
  if (needs(kX)) out[kX] = mm(d_gates, saved(inputs[kWih]));
  if (needs(kH)) out[kH] = dh;
  if (needs(kC)) out[kC] = dc;
  if (needs(kWih)) out[kWih] = mm(d_gates.t(), saved(inputs[kX]));
  if (needs(kWhh)) out[kWhh] = mm(d_hidden.t(), saved(h_prev));
  if (needs(kBih)) out[kBih] = d_gates.sum(0);
  if (needs(kBhh)) out[kBhh] = d_hidden.sum(0);
}

// Repeats the forward pass as a composition and differentiates it. The inputs are replaced by views of them: one
// input may depend on another, and partial derivatives are needed.
void RecurrentNode::differentiable(std::span<Tensor> g, std::span<Tensor> out) {
  Tensor in[kInputs];
  std::vector<Tensor> wanted, results, gradients;
  for (std::size_t i = 0; i < kInputs; ++i) {
    in[i] = saved(inputs[i]);
    if (!needs(i)) continue;
    in[i] = in[i].expand(in[i].sizes());
    wanted.push_back(in[i]);
  }
  const RecurrentState state =
      composed_layer(kind, in[kX], steps, reverse, in[kH], in[kC], {in[kWih], in[kWhh], in[kBih], in[kBhh], {}});
  const Tensor* forward[] = {&state.out, &state.h, &state.c};
  for (std::size_t i = 0; i < g.size(); ++i) {
    if (!g[i].defined()) continue;
    results.push_back(*forward[i]);
    gradients.push_back(g[i]);
  }
  const std::vector<Tensor> found = autograd::grad(results, wanted, gradients, true, true, true);
  for (std::size_t i = 0, k = 0; i < kInputs; ++i)
    if (needs(i)) out[i] = found[k++];
}

struct Checked {
  const char* operation;
  const Tensor& input;
  void operator()(const char* what, const Tensor& t, IntArrayRef sizes) const {
    check(t.defined() && t.sizes() == sizes, operation, ": expected ", what, " ", sizes, ", got ", t, "\n  input ",
          input);
    check_alike(operation, "input", input, what, t);
  }
};

void check_layer(const char* operation, RecurrentKind kind, const Tensor& input, const Tensor& h, const Tensor& c,
                 const RecurrentWeights& w) {
  check_floating_point(operation, input);
  check(w.w_ih.defined() && w.w_ih.dim() == 2 && w.w_hh.defined() && w.w_hh.dim() == 2, operation,
        ": expected the weights w_ih and w_hh to be matrices\n  w_ih ", w.w_ih, "\n  w_hh ", w.w_hh);
  check(h.dim() == 2, operation, ": expected a hidden state [batch, size], got ", h);
  const int64_t gates = w.w_ih.size(0), size = gates / gate_count(kind);
  check(gates % gate_count(kind) == 0, operation, ": the ", gate_count(kind),
        " gates do not divide the rows of the weight w_ih ", w.w_ih);
  check(input.size(1) == w.w_ih.size(1), operation, ": the weight expects ", w.w_ih.size(1),
        " input features, input has ", input.size(1), "\n  input  ", input, "\n  weight ", w.w_ih);
  const Checked fits{operation, input};
  const int64_t out = w.w_hr.defined() ? w.w_hr.size(0) : size;
  fits("w_ih", w.w_ih, {gates, input.size(1)});
  fits("w_hh", w.w_hh, {gates, out});
  fits("the hidden state", h, {h.size(0), out});
  if (w.w_hr.defined()) fits("w_hr", w.w_hr, {out, size});
  if (w.b_ih.defined()) fits("b_ih", w.b_ih, {gates});
  if (w.b_hh.defined()) fits("b_hh", w.b_hh, {gates});
  if (kind == RecurrentKind::kLstm) fits("the cell state", c, {h.size(0), size});
}

// The bias that is added to the projected input. Only a GRU keeps the other one apart.
Tensor input_bias(RecurrentKind kind, const RecurrentWeights& w) {
  if (kind == RecurrentKind::kGru || !w.b_hh.defined()) return w.b_ih;
  return w.b_ih.defined() ? w.b_ih + w.b_hh : w.b_hh;
}

// Without recording. With `keep`, h_prev and what else backward needs is defined.
RecurrentForward run_forward(RecurrentKind kind, const Tensor& input, const RecurrentSteps& steps, bool reverse,
                             const Tensor& h, const Tensor& c, const RecurrentWeights& w, bool keep) {
  NoGradGuard no_grad;
  const ScalarType dtype = input.dtype();
  const Device device = input.device();
  const int64_t n = input.size(0), size = h.size(1), gates = w.w_ih.size(0);
  const auto fresh = [&](bool needed, IntArrayRef sizes) {
    return needed ? empty_raw(sizes, dtype, device) : Tensor();
  };
  const bool lstm = kind == RecurrentKind::kLstm, gru = kind == RecurrentKind::kGru;
  RecurrentForward layer{.kind = kind,
                         .steps = in_order(steps, reverse),
                         .weight = w.w_hh.contiguous(),
                         .gates = fresh(true, {n, gates}),
                         .h = h.contiguous().clone(),
                         .c = lstm ? c.contiguous().clone() : Tensor(),
                         .out = fresh(true, {n, size}),
                         .bias = {},
                         .h_prev = fresh(keep, {n, size}),
                         .c_prev = fresh(keep && lstm, {n, size}),
                         .candidate = fresh(keep && gru, {n, size})};
  if (gru) layer.bias = w.b_hh.defined() ? w.b_hh.contiguous() : zeros({gates}, input.options());
  const Tensor bias = input_bias(kind, w);
  backend(input).linalg.linear(layer.gates, input, w.w_ih, bias.defined() ? bias.contiguous() : bias);
  backend(input).recurrent.forward(layer);
  return layer;
}

RecurrentState fused_layer(RecurrentKind kind, const Tensor& input, const RecurrentSteps& steps, bool reverse,
                           const Tensor& h, const Tensor& c, const RecurrentWeights& w) {
  const Tensor inputs[kInputs] = {input, h, c, w.w_ih, w.w_hh, w.b_ih, w.b_hh};
  const TensorList list(inputs, kInputs);
  const RecurrentForward layer =
      run_forward(kind, input, steps, reverse, h, c, w, GradMode::is_enabled() && requires_grad_any(list));
  const Tensor outs[] = {layer.out, layer.h, layer.c};
  if (auto* node = record_list<RecurrentNode>(TensorList(outs, layer.c.defined() ? 3 : 2), list)) {
    node->kind = kind;
    node->reverse = reverse;
    node->steps = steps;
    for (std::size_t i = 0; i < kInputs; ++i)
      if (inputs[i].defined()) node->inputs[i].save(inputs[i]);
    node->gates.save(layer.gates);
    node->h_prev.save(layer.h_prev);
    if (layer.c_prev.defined()) node->c_prev.save(layer.c_prev);
    if (layer.candidate.defined()) node->candidate.save(layer.candidate);
  }
  return {layer.out, layer.h, layer.c};
}

// The dtype of a layer under autocast. PyTorch converts the arguments of the products only. On the CPU, the state of an
// LSTM or a GRU, here its cells or hidden state, is added to the products, so a result has the wider
// dtype; we compute in it, too. On CUDA, all arguments are converted.
ScalarType autocast_type(RecurrentKind kind, const Tensor& state) {
  const DeviceType device = state.defined() ? state.device().type() : kCPU;
  const bool products_only = kind == RecurrentKind::kTanh || kind == RecurrentKind::kRelu;
  return !autocast::has_cuda_lists(device) && !products_only ? autocast::widest({&state}, device)
                                                             : autocast::get_autocast_dtype(device);
}

}  // namespace

RecurrentSteps recurrent_steps(IntArrayRef batch_sizes) {
  RecurrentSteps steps;
  int64_t at = 0;
  for (const int64_t rows : batch_sizes) {
    steps.push_back({at, rows});
    at += rows;
  }
  return steps;
}

RecurrentState recurrent_layer(const char* operation, RecurrentKind kind, const Tensor& input,
                               const RecurrentSteps& steps, bool reverse, const Tensor& h, const Tensor& c,
                               const RecurrentWeights& w) {
  if (autocast::is_on(input) && input.dtype() != kDouble) {
    const autocast::Conversion to(autocast_type(kind, c.defined() ? c : h), input);
    const Tensor x = to(input), state = to(h), cell = to(c);
    const RecurrentWeights weights{to(w.w_ih), to(w.w_hh), to(w.b_ih), to(w.b_hh), to(w.w_hr)};
    RecurrentState s = recurrent_layer(operation, kind, x, steps, reverse, state, cell, weights);
    if (w.w_hr.defined())  // a product comes last
      for (Tensor* t : {&s.out, &s.h}) *t = t->to(autocast::get_autocast_dtype(input.device().type()));
    return s;
  }
  check_layer(operation, kind, input, h, c, w);
  if (const auto half = half_result(input)) {
    const RecurrentWeights wide{widened(w.w_ih), widened(w.w_hh), widened(w.b_ih), widened(w.b_hh), widened(w.w_hr)};
    RecurrentState s = recurrent_layer(operation, kind, widened(input), steps, reverse, widened(h), widened(c), wide);
    for (Tensor* t : {&s.out, &s.h, &s.c})
      if (t->defined()) *t = t->to(*half);
    return s;
  }
  const bool computed = input.dtype() == kFloat || input.dtype() == kDouble;
  const bool fused = computed && !w.w_hr.defined() && input.size(0) > 0 && h.numel() > 0;
  return (fused ? fused_layer : composed_layer)(kind, input, steps, reverse, h, c, w);
}

}  // namespace tandem::autograd
