// Recurrent layers. ONNX stacks the gates of an LSTM as i, o, f, c and of a GRU as z, r, h.
#include <algorithm>
#include <numeric>

#include "tandem/autograd/ops/nn/recurrent_layer.h"
#include "tandem/onnx/operators.h"

namespace tandem::onnx {
namespace {

using autograd::RecurrentState;
using List = std::vector<int64_t>;

// ---- activations

struct Activation {
  const char* name;  ///< in lower case
  Tensor (*apply)(const Tensor& x, double alpha, double beta);
  int numbers = 0;  ///< that it takes: alpha, and beta
  double alpha = 0, beta = 0;
  Tensor operator()(const Tensor& x) const { return apply(x, alpha, beta); }
};
const Activation kActivations[] = {
    {"sigmoid", [](const Tensor& x, double, double) { return sigmoid(x); }},
    {"tanh", [](const Tensor& x, double, double) { return tanh(x); }},
    {"relu", [](const Tensor& x, double, double) { return relu(x); }},
    {"affine", [](const Tensor& x, double alpha, double beta) { return x * alpha + beta; }, 2, 1},
    {"leakyrelu", [](const Tensor& x, double alpha, double) { return leaky_relu(x, alpha); }, 1, 0.01},
    {"thresholdedrelu", [](const Tensor& x, double alpha, double) { return where(x >= alpha, x, 0); }, 1, 1},
    {"scaledtanh", [](const Tensor& x, double alpha, double beta) { return tanh(x * beta) * alpha; }, 2, 1, 1},
    {"hardsigmoid", [](const Tensor& x, double alpha, double beta) { return (x * alpha + beta).clamp(0, 1); }, 2, 0.2,
     0.5},
    {"elu", [](const Tensor& x, double alpha, double) { return elu(x, alpha); }, 1, 1},
    {"softsign", [](const Tensor& x, double, double) { return softsign(x); }},
    {"softplus", [](const Tensor& x, double, double) { return softplus(x); }},
};

/// `names` are the defaults of one direction. The numbers are consumed in order by the functions that take them.
std::vector<Activation> activations_of(const Call& c, std::size_t directions, std::vector<std::string> names) {
  const std::size_t count = names.size() * directions;
  if (directions == 2)
    for (std::size_t i = 0; i < count / 2; ++i) names.push_back(std::string(names[i]));
  const std::vector<std::string> given = c.texts("activations");
  const std::vector<double> alphas = c.numbers("activation_alpha"), betas = c.numbers("activation_beta");
  if (given.size() >= count) names = given;  // the default of an RNN has two names for either direction
  check(given.empty() || given.size() >= count, "expected ", count, " activations, got ", given.size());
  std::size_t alpha = 0, beta = 0;
  std::vector<Activation> out;
  for (std::size_t i = 0; i < count; ++i) {
    std::string name = names[i];
    for (char& letter : name)
      if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    const auto* found = std::ranges::find(kActivations, name, &Activation::name);
    check(found != std::end(kActivations), "unknown activation '", names[i], "'");
    Activation& a = out.emplace_back(*found);
    if (a.numbers > 0 && alpha < alphas.size()) a.alpha = alphas[alpha++];
    if (a.numbers > 1 && beta < betas.size()) a.beta = betas[beta++];
  }
  return out;
}

// ---- layers

enum class Kind { kLstm, kGru, kRnn };

/// One direction of a layer.
struct Layer {
  Kind kind = Kind::kRnn;
  bool reverse = false;
  Tensor w, r, wb, rb;  ///< biases: both or none
  Tensor peep_i, peep_o, peep_f;
  Tensor h, c;                  ///< at the start
  std::vector<Activation> act;  ///< f, g, h
  optional<double> clip;
  bool couples = false;       ///< the forget gate of an LSTM is 1 - i
  bool linear_first = false;  ///< a GRU multiplies the hidden state with the weight before it is reset

  bool is(std::initializer_list<const char*> names) const {
    return std::equal(names.begin(), names.end(), act.begin(), act.end(),
                      [](std::string_view name, const Activation& a) { return name == a.name; });
  }
  /// The kind of Tandem's layer that computes the same.
  optional<RecurrentKind> fused() const {
    if (clip || couples || peep_i.defined()) return nullopt;
    if (kind == Kind::kLstm && is({"sigmoid", "tanh", "tanh"})) return RecurrentKind::kLstm;
    if (kind == Kind::kGru && linear_first && is({"sigmoid", "tanh"})) return RecurrentKind::kGru;
    if (kind == Kind::kRnn && is({"tanh"})) return RecurrentKind::kTanh;
    return kind == Kind::kRnn && is({"relu"}) ? optional(RecurrentKind::kRelu) : nullopt;
  }
};

/// The gates in Tandem's order: i, f, g, o of an LSTM, r, z, n of a GRU.
Tensor reordered(const Tensor& t, Kind kind) {
  if (!t.defined() || kind == Kind::kRnn) return t;
  const std::vector<Tensor> gates = t.chunk(kind == Kind::kLstm ? 4 : 3, 0);
  return kind == Kind::kLstm ? cat({gates[0], gates[2], gates[3], gates[1]}) : cat({gates[1], gates[0], gates[2]});
}

// x [T, B, I]; `lengths` is empty or has one positive number per sequence. Out: [T, B, H].
RecurrentState run_fused(const Layer& l, RecurrentKind kind, const Tensor& x, const List& lengths) {
  const int64_t steps = x.size(0), batch = x.size(1);
  const autograd::RecurrentWeights weights{
      reordered(l.w, l.kind), reordered(l.r, l.kind), reordered(l.wb, l.kind), reordered(l.rb, l.kind), {}};
  const Tensor rows = x.reshape({steps * batch, x.size(2)});
  if (lengths.empty()) {
    const auto all = autograd::recurrent_steps(List(static_cast<std::size_t>(steps), batch));
    RecurrentState s = autograd::recurrent_layer("layer", kind, rows, all, l.reverse, l.h, l.c, weights);
    s.out = s.out.view({steps, batch, -1});
    return s;
  }
  // Only the rows within the sequences are computed, the longest sequence first.
  List order(lengths.size()), back(lengths.size()), sizes, taken;
  std::iota(order.begin(), order.end(), 0);
  const auto length = [&](int64_t b) { return lengths[static_cast<std::size_t>(b)]; };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return length(a) > length(b); });
  for (std::size_t i = 0; i < order.size(); ++i) back[static_cast<std::size_t>(order[i])] = static_cast<int64_t>(i);
  for (int64_t t = 0; t < length(order[0]); ++t) {
    sizes.push_back(0);
    for (const int64_t b : order) {
      if (length(b) <= t) break;
      taken.push_back(t * batch + b);
      ++sizes.back();
    }
  }
  const auto on_device = [&](const List& list) { return tensor(list).to(x.device()); };
  const Tensor at = on_device(taken), sorted = on_device(order), unsorted = on_device(back);
  const auto in_order = [](const Tensor& t, const Tensor& by) { return t.defined() ? t.index_select(0, by) : t; };
  RecurrentState s =
      autograd::recurrent_layer("layer", kind, rows.index_select(0, at), autograd::recurrent_steps(sizes), l.reverse,
                                in_order(l.h, sorted), in_order(l.c, sorted), weights);
  const Tensor none = zeros({steps * batch, s.out.size(1)}, s.out.options().requires_grad(false));
  s.out = none.index_copy(0, at, s.out).view({steps, batch, -1});
  s.h = in_order(s.h, unsorted);
  s.c = in_order(s.c, unsorted);
  return s;
}

/// One step after another, from the products of all inputs with the weight.
RecurrentState run_steps(const Layer& l, const Tensor& x, const List& lengths) {
  const int64_t steps = x.size(0);
  // The bound holds for the gates only, as other runtimes read it, and not for the cells.
  const auto bounded = [&](const Tensor& t) { return l.clip ? t.clamp(-*l.clip, *l.clip) : t; };
  const auto apply = [&](std::size_t i, const Tensor& t) { return l.act[i](bounded(t)); };
  const auto with = [](const Tensor& t, const Tensor& bias) { return bias.defined() ? t + bias : t; };
  const Tensor in = with(matmul(x, l.w.t()), l.wb);  // [T, B, gates H]
  const Tensor lens = lengths.empty() ? Tensor() : tensor(lengths).to(x.device()).unsqueeze(1);
  std::vector<Tensor> out(static_cast<std::size_t>(steps));
  RecurrentState s{{}, l.h, l.c};
  for (int64_t k = 0; k < steps; ++k) {
    const int64_t t = l.reverse ? steps - 1 - k : k;
    const Tensor now = in.select(0, t);
    Tensor h, c;
    if (l.kind == Kind::kRnn) {
      h = apply(0, now + linear(s.h, l.r, l.rb));
    } else if (l.kind == Kind::kLstm) {
      const std::vector<Tensor> g = (now + linear(s.h, l.r, l.rb)).chunk(4, 1);
      const bool peeps = l.peep_i.defined();
      const Tensor i = apply(0, peeps ? g[0] + l.peep_i * s.c : g[0]);
      const Tensor f = l.couples ? 1 - i : apply(0, peeps ? g[2] + l.peep_f * s.c : g[2]);
      c = f * s.c + i * apply(1, g[3]);
      h = apply(0, peeps ? g[1] + l.peep_o * c : g[1]) * l.act[2](c);
    } else {
      const std::vector<Tensor> g = now.chunk(3, 1), r = l.r.chunk(3, 0);
      const std::vector<Tensor> b = l.rb.defined() ? l.rb.chunk(3, 0) : std::vector<Tensor>(3);
      const Tensor z = apply(0, g[0] + linear(s.h, r[0], b[0])), reset = apply(0, g[1] + linear(s.h, r[1], b[1]));
      const Tensor hidden = l.linear_first ? reset * linear(s.h, r[2], b[2]) : linear(reset * s.h, r[2], b[2]);
      h = (1 - z) * apply(1, g[2] + hidden) + z * s.h;
    }
    Tensor& y = out[static_cast<std::size_t>(t)];
    if (!lens.defined()) {
      y = s.h = h;
      s.c = c;
      continue;
    }
    const Tensor within = lens > t;  // a sequence that is over, or not yet begun in reverse, keeps its state
    y = where(within, h, 0);
    s.h = where(within, h, s.h);
    if (c.defined()) s.c = where(within, c, s.c);
  }
  s.out = out.empty() ? zeros({0, l.h.size(0), l.h.size(1)}, x.options().requires_grad(false)) : stack(out, 0);
  return s;
}

Results recurrent(Call& c, Kind kind) {
  const int64_t gates = kind == Kind::kLstm ? 4 : kind == Kind::kGru ? 3 : 1;
  const std::string direction = c.text("direction", "forward");
  check(direction == "forward" || direction == "foward" || direction == "reverse" || direction == "bidirectional",
        "unknown direction '", direction, "'");
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  const bool batch_first = c.flag("layout");
  const Tensor &w = c[1], &r = c[2];
  check(c[0].dim() == 3 && c[0].is_floating_point(), "the input must have three dimensions, got ", c[0]);
  const Tensor x = batch_first ? c[0].transpose(0, 1) : c[0];
  const int64_t batch = x.size(1), size = r.dim() == 3 ? r.size(2) : 0;
  const auto expect = [&](const char* what, const Tensor& t, IntArrayRef sizes) {
    check(t.sizes() == sizes, "expected ", what, " ", sizes, ", got ", t);
    check(t.dtype() == x.dtype(), what, " has another dtype than the input: ", t);
  };
  check(size > 0 && size <= INT32_MAX, "the recurrent weight must be [directions, gates, size], got ", r);
  check(!c.has("hidden_size") || c.integer("hidden_size") == size, "hidden_size is not that of the weight: ", size);
  expect("a weight", w, {directions, gates * size, x.size(2)});
  expect("a recurrent weight", r, {directions, gates * size, size});
  const Tensor bias = c.optional(3), peepholes = kind == Kind::kLstm ? c.optional(7) : Tensor();
  if (bias.defined()) expect("a bias", bias, {directions, 2 * gates * size});
  if (peepholes.defined()) expect("peepholes", peepholes, {directions, 3 * size});
  List lengths = c.has(4) ? c.integers(4) : List();
  check(!c.has(4) || static_cast<int64_t>(lengths.size()) == batch, "expected ", batch, " sequence_lens, got ",
        lengths);
  for (const int64_t length : lengths)
    check(length >= 0 && length <= x.size(0), "sequence_lens must be from 0 to ", x.size(0), ", got ", lengths);
  if (std::all_of(lengths.begin(), lengths.end(), [&](int64_t n) { return n == x.size(0); })) lengths.clear();
  const auto initial = [&](std::size_t input) {
    if (!c.has(input)) return zeros({directions, batch, size}, x.options().requires_grad(false));
    const Tensor t = batch_first ? c[input].transpose(0, 1) : c[input];
    expect("an initial state", t, {directions, batch, size});
    return t;
  };
  const Tensor h = initial(5), cells = kind == Kind::kLstm ? initial(6) : Tensor();

  const std::vector<Activation> act =
      activations_of(c, static_cast<std::size_t>(directions),
                     kind == Kind::kLstm  ? std::vector<std::string>{"sigmoid", "tanh", "tanh"}
                     : kind == Kind::kGru ? std::vector<std::string>{"sigmoid", "tanh"}
                                          : std::vector<std::string>{"tanh"});
  const auto functions = static_cast<std::ptrdiff_t>(act.size()) / directions;
  const bool skips = std::find(lengths.begin(), lengths.end(), 0) != lengths.end();
  std::vector<Tensor> ys, hs, cs;
  for (int64_t d = 0; d < directions; ++d) {
    Layer l;
    l.kind = kind;
    l.reverse = d == 1 || direction == "reverse";
    l.w = w.select(0, d);
    l.r = r.select(0, d);
    if (bias.defined()) {
      l.wb = bias.select(0, d).narrow(0, 0, gates * size);
      l.rb = bias.select(0, d).narrow(0, gates * size, gates * size);
    }
    if (peepholes.defined()) {
      const std::vector<Tensor> parts = peepholes.select(0, d).chunk(3, 0);
      l.peep_i = parts[0];
      l.peep_o = parts[1];
      l.peep_f = parts[2];
    }
    l.h = h.select(0, d);
    if (cells.defined()) l.c = cells.select(0, d);
    l.act.assign(act.begin() + d * functions, act.begin() + (d + 1) * functions);
    if (c.has("clip")) {
      l.clip = c.number("clip");
      check(*l.clip >= 0, "clip must not be negative, got ", *l.clip);
    }
    l.couples = kind == Kind::kLstm && c.flag("input_forget");
    l.linear_first = kind == Kind::kGru && c.flag("linear_before_reset");
    const auto fused = x.size(0) > 0 && batch > 0 && !skips ? l.fused() : nullopt;
    const RecurrentState s = fused ? run_fused(l, *fused, x, lengths) : run_steps(l, x, lengths);
    ys.push_back(s.out);
    hs.push_back(s.h);
    cs.push_back(s.c);
  }
  const Tensor y = stack(ys, 1), last = stack(hs, 0), last_cells = cells.defined() ? stack(cs, 0) : Tensor();
  if (!batch_first) return Results::of({y, last, last_cells});
  return Results::of(
      {y.permute({2, 0, 1, 3}), last.transpose(0, 1), cells.defined() ? last_cells.transpose(0, 1) : last_cells});
}

}  // namespace

Operators recurrent_operators() {
  return {
      {"LSTM", [](Call& c) { return recurrent(c, Kind::kLstm); }, 0b10000},
      {"GRU", [](Call& c) { return recurrent(c, Kind::kGru); }, 0b10000},
      {"RNN", [](Call& c) { return recurrent(c, Kind::kRnn); }, 0b10000},
  };
}

}  // namespace tandem::onnx
