// Operators and their options that ONNX's own tests of operator set 17 do not have, compared with plain loops.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "operator_call.h"
#include "tandem/tandem.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::test;

namespace {

Tensor one(const Call& call) { return run(call)[0].toTensor(); }

bool near(const Tensor& a, const Tensor& b, double tolerance = 1e-5) {
  return a.sizes() == b.sizes() && a.dtype() == b.dtype() &&
         allclose(a.to(kDouble), b.to(kDouble), tolerance, tolerance);
}

double at(const Tensor& t, std::initializer_list<int64_t> index) {
  Tensor out = t;
  for (const int64_t i : index) out = out[i];
  return out.item<double>();
}

// ---- recurrent layers, of one sequence and one direction

using Activation = std::function<Tensor(const Tensor&)>;

struct Gates {
  std::string op;
  Tensor w, r, wb, rb, p;
  std::vector<Activation> f;
  double clip = 0;
  bool couples = false, linear_first = false;

  Tensor gate(const Tensor& t, int64_t i) const { return t.narrow(0, i * r.size(1), r.size(1)); }
  Tensor apply(std::size_t i, const Tensor& t) const { return f[i](clip > 0 ? t.clamp(-clip, clip) : t); }
  Tensor input(const Tensor& x, const Tensor& h, int64_t i) const {
    return mv(gate(w, i), x) + mv(gate(r, i), h) + gate(wb, i) + gate(rb, i);
  }
  void step(const Tensor& x, Tensor& h, Tensor& c) const {
    if (op == "RNN") {
      h = apply(0, input(x, h, 0));
    } else if (op == "LSTM") {
      const Tensor none = zeros_like(c), pi = p.defined() ? gate(p, 0) : none, po = p.defined() ? gate(p, 1) : none,
                   pf = p.defined() ? gate(p, 2) : none;
      const Tensor i = apply(0, input(x, h, 0) + pi * c);
      const Tensor forget = couples ? 1 - i : apply(0, input(x, h, 2) + pf * c);
      c = forget * c + i * apply(1, input(x, h, 3));
      h = apply(0, input(x, h, 1) + po * c) * f[2](c);
    } else {
      const Tensor z = apply(0, input(x, h, 0)), reset = apply(0, input(x, h, 1));
      const Tensor hidden =
          linear_first ? reset * (mv(gate(r, 2), h) + gate(rb, 2)) : mv(gate(r, 2), reset * h) + gate(rb, 2);
      h = (1 - z) * apply(1, mv(gate(w, 2), x) + gate(wb, 2) + hidden) + z * h;
    }
  }
};

const Activation kLogistic = [](const Tensor&t) { return t.sigmoid(); },
                 kTangent = [](const Tensor&t) { return t.tanh(); };

struct Recurrent {
  std::string op;
  Attributes attributes;
  std::vector<Activation> functions;  // of one direction
  bool peepholes = false, lengths = false, states = false, biased = true;
};

void check_layer(const Recurrent& layer) {
  constexpr int64_t kSteps = 3, kBatch = 2, kIn = 2, kSize = 3;
  const int64_t gates = layer.op == "LSTM" ? 4 : layer.op == "GRU" ? 3 : 1;
  std::string direction = "forward";
  double clip = 0;
  bool couples = false, linear_first = false, batch_first = false;
  for (const auto& [name, value] : layer.attributes) {
    if (name == "direction") direction = std::get<std::string>(value);
    if (name == "clip") clip = std::get<double>(value);
    if (name == "input_forget") couples = true;
    if (name == "linear_before_reset") linear_first = true;
    if (name == "layout") batch_first = true;
  }
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  const Tensor x = randn({kSteps, kBatch, kIn}, kDouble), w = randn({directions, gates * kSize, kIn}, kDouble),
               r = randn({directions, gates * kSize, kSize}, kDouble),
               b = randn({directions, 2 * gates * kSize}, kDouble) * (layer.biased ? 1 : 0),
               h0 = randn({directions, kBatch, kSize}, kDouble) * (layer.states ? 1 : 0),
               c0 = randn({directions, kBatch, kSize}, kDouble) * (layer.states ? 1 : 0),
               p = randn({directions, 3 * kSize}, kDouble);
  const std::vector<int64_t> lengths = layer.lengths ? std::vector<int64_t>{2, 3} : std::vector<int64_t>{3, 3};

  Tensor y = zeros({kSteps, directions, kBatch, kSize}, kDouble), last = zeros({directions, kBatch, kSize}, kDouble),
         cells = zeros({directions, kBatch, kSize}, kDouble);
  for (int64_t d = 0; d < directions; ++d)
    for (int64_t row = 0; row < kBatch; ++row) {
      const Gates g{layer.op,
                    w[d],
                    r[d],
                    b[d].narrow(0, 0, gates * kSize),
                    b[d].narrow(0, gates * kSize, gates * kSize),
                    layer.peepholes ? p[d] : Tensor(),
                    layer.functions,
                    clip,
                    couples,
                    linear_first};
      Tensor h = h0[d][row], c = c0[d][row];
      const int64_t length = lengths[static_cast<std::size_t>(row)];
      for (int64_t k = 0; k < length; ++k) {
        const int64_t t = d == 1 || direction == "reverse" ? length - 1 - k : k;
        g.step(x[t][row], h, c);
        y[t][d][row].copy_(h);
      }
      last[d][row].copy_(h);
      cells[d][row].copy_(c);
    }

  const auto laid_out = [&](const Tensor& t) { return batch_first ? t.transpose(0, 1).contiguous() : t; };
  Call call{layer.op,
            {laid_out(x), w, r, layer.biased ? b : Tensor(), layer.lengths ? integers(lengths) : Tensor(),
             layer.states ? laid_out(h0) : Tensor()},
            layer.attributes,
            17,
            layer.op == "LSTM" ? 3 : 2};
  if (layer.op == "LSTM")
    call.inputs.insert(call.inputs.end(), {layer.states ? laid_out(c0) : Tensor(), layer.peepholes ? p : Tensor()});
  call.attributes.emplace_back("hidden_size", kSize);
  const std::vector<IValue> out = run(call);
  CHECK(near(out[0].toTensor(), batch_first ? y.permute({2, 0, 1, 3}) : y, 1e-9));
  CHECK(near(out[1].toTensor(), laid_out(last), 1e-9));
  if (layer.op == "LSTM") CHECK(near(out[2].toTensor(), laid_out(cells), 1e-9));
}

}  // namespace

TEST_CASE("recurrent layers in every direction, with lengths, states and options") {
  manual_seed(1);
  const std::vector<std::pair<std::string, std::vector<Activation>>> kinds = {
      {"LSTM", {kLogistic, kTangent, kTangent}}, {"GRU", {kLogistic, kTangent}}, {"RNN", {kTangent}}};
  for (const auto& kind : kinds)
    for (const std::string direction : {"forward", "reverse", "bidirectional"})
      for (const bool lengths : {false, true}) {
        const std::string& op = kind.first;
        const std::vector<Activation>& functions = kind.second;
        CAPTURE(op);
        CAPTURE(direction);
        CAPTURE(lengths);
        const Attributes one_way = {{"direction", direction}};
        const auto with = [&](const std::string& name, const Value& value) {
          Attributes out = one_way;
          out.emplace_back(name, value);
          return out;
        };
        check_layer({op, one_way, functions, false, lengths, false, true});
        check_layer({op, one_way, functions, false, lengths, true, false});
        check_layer({op, with("layout", 1), functions, false, lengths, true, true});
        check_layer({op, with("clip", 0.25), functions, false, lengths, true, true});
        if (op == "LSTM") {
          check_layer({op, one_way, functions, true, lengths, true, true});
          check_layer({op, with("input_forget", 1), functions, false, lengths, true, true});
          check_layer({op, with("input_forget", 1), functions, true, lengths, false, true});
        }
        if (op == "GRU") check_layer({op, with("linear_before_reset", 1), functions, false, lengths, true, true});
      }
}

TEST_CASE("activations of recurrent layers, with and without their numbers") {
  manual_seed(2);
  const auto affine = [](double a, double b) { return Activation([=](const Tensor& t) { return t * a + b; }); };
  const auto where_above = [](double a) {
    return Activation([=](const Tensor& t) { return t * t.ge(a).to(t.scalar_type()); });
  };
  struct Named {
    std::string name;
    Activation usual, given;  // with alpha 0.5 and beta 0.75
  };
  const std::vector<Named> all = {
      {"Relu", [](const Tensor& t) { return t.relu(); }, [](const Tensor& t) { return t.relu(); }},
      {"Affine", affine(1, 0), affine(0.5, 0.75)},
      {"LeakyRelu", [](const Tensor& t) { return t.relu() - (-t).relu() * 0.01; },
       [](const Tensor& t) { return t.relu() - (-t).relu() * 0.5; }},
      {"ThresholdedRelu", where_above(1), where_above(0.5)},
      {"ScaledTanh", kTangent, [](const Tensor& t) { return (t * 0.75).tanh() * 0.5; }},
      {"HardSigmoid", [](const Tensor& t) { return (t * 0.2 + 0.5).clamp(0, 1); },
       [](const Tensor& t) { return (t * 0.5 + 0.75).clamp(0, 1); }},
      {"Elu", [](const Tensor& t) { return t.relu() + (t.clamp_max(0).exp() - 1); },
       [](const Tensor& t) { return t.relu() + (t.clamp_max(0).exp() - 1) * 0.5; }},
      {"Softsign", [](const Tensor& t) { return t / (1 + t.abs()); },
       [](const Tensor& t) { return t / (1 + t.abs()); }},
      {"Softplus", [](const Tensor& t) { return (1 + t.exp()).log(); },
       [](const Tensor& t) { return (1 + t.exp()).log(); }},
      {"sigmoid", kLogistic, kLogistic},
      {"TANH", kTangent, kTangent}};
  using Texts = std::vector<std::string>;
  using Numbers = std::vector<double>;
  for (const Named& each : all) {
    CAPTURE(each.name);
    check_layer({"RNN", {{"activations", Texts{each.name}}}, {each.usual}});
    check_layer(
        {"RNN",
         {{"activations", Texts{each.name}}, {"activation_alpha", Numbers{0.5}}, {"activation_beta", Numbers{0.75}}},
         {each.given}});
  }
  // The numbers go to the functions that take them, in order.
  check_layer({"GRU",
               {{"activations", Texts{"Sigmoid", "ScaledTanh"}},
                {"activation_alpha", Numbers{0.5}},
                {"activation_beta", Numbers{0.75}}},
               {kLogistic, all[4].given}});
  check_layer({"LSTM",
               {{"activations", Texts{"HardSigmoid", "Relu", "LeakyRelu"}},
                {"activation_alpha", Numbers{0.5, 0.25}},
                {"activation_beta", Numbers{0.75}}},
               {all[5].given, all[0].usual, [](const Tensor& t) { return t.relu() - (-t).relu() * 0.25; }}});
  check_layer({"RNN", {{"direction", "bidirectional"}, {"activations", Texts{"Relu", "Relu"}}}, {all[0].usual}});
}

namespace {

struct Attended {
  Tensor y, shown[4];
};
// Scores, capped scores, masked scores and weights of attention in loops; `visible` says which keys a query sees.
Attended attend(const Tensor& q, const Tensor& k, const Tensor& v, double scale, double cap, const Tensor& bias,
                const std::function<bool(int64_t, int64_t, int64_t)>& visible) {
  const int64_t batch = q.size(0), heads = q.size(1), queries = q.size(2), keys = k.size(2), share = heads / k.size(1);
  Attended out;
  out.y = zeros({batch, heads, queries, v.size(3)}, kDouble);
  for (Tensor& t : out.shown) t = zeros({batch, heads, queries, keys}, kDouble);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < queries; ++i) {
        std::vector<double> masked;
        double most = -INFINITY, sum = 0;
        for (int64_t j = 0; j < keys; ++j) {
          double score = scale * (q[b][h][i] * k[b][h / share][j]).sum().item<double>();
          out.shown[0][b][h][i][j].fill_(score);
          if (cap > 0) score = cap * std::tanh(score / cap);
          out.shown[1][b][h][i][j].fill_(score);
          score += bias.defined() ? bias[i][j].item<double>() : 0;
          if (!visible(b, i, j)) score = -INFINITY;
          out.shown[2][b][h][i][j].fill_(score);
          masked.push_back(score);
          most = std::max(most, score);
        }
        for (const double score : masked) sum += most == -INFINITY ? 0 : std::exp(score - most);
        for (int64_t j = 0; j < keys; ++j) {
          const double weight = sum == 0 ? 0 : std::exp(masked[static_cast<std::size_t>(j)] - most) / sum;
          out.shown[3][b][h][i][j].fill_(weight);
          out.y[b][h][i].add_(v[b][h / share][j] * weight);
        }
      }
  return out;
}

}  // namespace

TEST_CASE("attention with masks, windows, caches, caps and shared heads") {
  manual_seed(3);
  const Tensor q = randn({2, 4, 3, 4}, kDouble), k = randn({2, 2, 5, 4}, kDouble), v = randn({2, 2, 5, 2}, kDouble);
  const auto all = [](int64_t, int64_t, int64_t) { return true; };
  const auto call = [&](const Attributes& attributes, const std::vector<Tensor>& more = {}, int outputs = 1) {
    Call out{"Attention", {q, k, v}, attributes, 24, outputs};
    for (const Tensor& each : more) out.inputs.emplace_back(each);
    return run(out);
  };
  const auto y_of = [&](const Attributes& attributes, const std::vector<Tensor>& more = {}) {
    return call(attributes, more)[0].toTensor();
  };
  const Tensor bias = randn({3, 5}, kDouble), shown = bias > -0.5;
  const auto by_mask = [&](int64_t, int64_t i, int64_t j) { return shown[i][j].item<bool>(); };
  CHECK(near(y_of({}), attend(q, k, v, 0.5, 0, {}, all).y, 1e-9));
  CHECK(near(y_of({{"scale", 0.25}}), attend(q, k, v, 0.25, 0, {}, all).y, 1e-9));
  CHECK(near(y_of({{"softcap", 0.5}}), attend(q, k, v, 0.5, 0.5, {}, all).y, 1e-9));
  CHECK(near(y_of({}, {bias}), attend(q, k, v, 0.5, 0, bias, all).y, 1e-9));
  CHECK(near(y_of({}, {shown}), attend(q, k, v, 0.5, 0, {}, by_mask).y, 1e-9));
  const auto causal = [](int64_t, int64_t i, int64_t j) { return j <= i; };
  CHECK(near(y_of({{"is_causal", 1}}), attend(q, k, v, 0.5, 0, {}, causal).y, 1e-9));
  CHECK(near(y_of({{"is_causal", 1}}, {bias}), attend(q, k, v, 0.5, 0, bias, causal).y, 1e-9));
  CHECK(near(y_of({{"is_causal", 1}}, {shown}),
             attend(q, k, v, 0.5, 0, {}, [&](int64_t b, int64_t i, int64_t j) { return j <= i && by_mask(b, i, j); }).y,
             1e-9));
  CHECK(near(y_of({}, {shown.narrow(1, 0, 3).contiguous()}),  // the rest is hidden
             attend(q, k, v, 0.5, 0, {}, [&](int64_t b, int64_t i, int64_t j) { return j < 3 && by_mask(b, i, j); }).y,
             1e-9));
  for (const auto& [left, right] : std::vector<std::pair<int64_t, int64_t>>{{1, -1}, {-1, 1}, {1, 0}, {0, 1}, {0, 0}}) {
    const auto window = [left = left, right = right](int64_t, int64_t i, int64_t j) {
      return (left < 0 || j >= i - left) && (right < 0 || j <= i + right);
    };
    CHECK(near(y_of({{"left_window_size", left}, {"right_window_size", right}}), attend(q, k, v, 0.5, 0, {}, window).y,
               1e-9));
  }
  // Of 4 and of 2 valid keys, the queries are the last.
  const std::vector<int64_t> valid = {4, 2};
  for (const bool is_causal : {false, true}) {
    const auto seen = [&, is_causal = is_causal](int64_t b, int64_t i, int64_t j) {
      const int64_t count = valid[static_cast<std::size_t>(b)];
      return j < count && (!is_causal || j <= i + count - 3);
    };
    CHECK(near(y_of({{"is_causal", is_causal}}, {kMissing, kMissing, kMissing, integers(valid)}),
               attend(q, k, v, 0.5, 0, {}, seen).y, 1e-9));
  }
  for (int64_t mode = 0; mode < 4; ++mode) {
    CAPTURE(mode);
    const auto out = call({{"softcap", 0.5}, {"qk_matmul_output_mode", mode}, {"is_causal", 1}}, {bias}, 4);
    const Attended expected = attend(q, k, v, 0.5, 0.5, bias, causal);
    CHECK(near(out[0].toTensor(), expected.y, 1e-9));
    const Tensor scores = out[3].toTensor(), wanted = expected.shown[mode];
    CHECK(equal(scores.isinf(), wanted.isinf()));
    CHECK(near(scores.masked_fill(scores.isinf(), 0), wanted.masked_fill(wanted.isinf(), 0), 1e-9));
  }
  // A cache of two more keys, which precede the queries.
  const Tensor past_k = randn({2, 2, 2, 4}, kDouble), past_v = randn({2, 2, 2, 2}, kDouble);
  const Tensor whole_k = cat({past_k, k}, 2), whole_v = cat({past_v, v}, 2);
  const auto out = call({{"is_causal", 1}}, {kMissing, past_k, past_v}, 3);
  CHECK(near(out[0].toTensor(),
             attend(q, whole_k, whole_v, 0.5, 0, {}, [](int64_t, int64_t i, int64_t j) { return j <= i + 2; }).y,
             1e-9));
  CHECK(equal(out[1].toTensor(), whole_k));
  CHECK(equal(out[2].toTensor(), whole_v));
  // Rows instead of heads.
  const auto rows = [](const Tensor& t) {
    return t.transpose(1, 2).contiguous().view({t.size(0), t.size(2), t.size(1) * t.size(3)});
  };
  CHECK(near(one({"Attention", {rows(q), rows(k), rows(v)}, {{"q_num_heads", 4}, {"kv_num_heads", 2}}}),
             rows(attend(q, k, v, 0.5, 0, {}, all).y), 1e-9));
  // Half types are computed in float32.
  const Tensor small = one({"Attention", {q.to(kHalf), k.to(kHalf), v.to(kHalf)}, {{"softcap", 0.5}}});
  CHECK(near(small, attend(q, k, v, 0.5, 0.5, {}, all).y.to(kHalf), 0.01));
  for (const int64_t precision : {1, 10, 11, 16})
    CHECK(near(one({"Attention", {q.to(kFloat), k.to(kFloat), v.to(kFloat)}, {{"softmax_precision", precision}}}),
               attend(q, k, v, 0.5, 0, {}, all).y.to(kFloat)));
  // Without functions, FlexAttention is the same.
  for (const Attributes& attributes : {Attributes{}, Attributes{{"softmax_precision", 11}}, Attributes{{"scale", 0.5}}})
    CHECK(near(one({"FlexAttention", {q, k, v}, attributes, 25, 1, "ai.onnx.preview"}),
               attend(q, k, v, 0.5, 0, {}, all).y, 1e-6));
}

TEST_CASE("linear attention in loops") {
  manual_seed(4);
  constexpr int64_t kBatch = 2, kLength = 3, kHeads = 2, kKeys = 2, kValues = 3;
  for (const int64_t q_heads : {2, 4})
    for (const std::string rule : {"linear", "gated", "delta", "gated_delta"})
      for (const bool past : {false, true}) {
        CAPTURE(rule);
        CAPTURE(q_heads);
        const bool gated = rule.starts_with("gated"), delta = rule.ends_with("delta");
        const Tensor q = randn({kBatch, kLength, q_heads * kKeys}, kDouble),
                     k = randn({kBatch, kLength, kHeads * kKeys}, kDouble),
                     v = randn({kBatch, kLength, kHeads * kValues}, kDouble),
                     start = randn({kBatch, kHeads, kKeys, kValues}, kDouble) * (past ? 1 : 0),
                     decay = -rand({kBatch, kLength, kHeads}, kDouble), beta = rand({kBatch, kLength, kHeads}, kDouble);
        Tensor y = zeros({kBatch, kLength, q_heads * kValues}, kDouble), states = start.clone();
        for (int64_t b = 0; b < kBatch; ++b)
          for (int64_t h = 0; h < kHeads; ++h) {
            Tensor state = start[b][h].clone();
            for (int64_t t = 0; t < kLength; ++t) {
              const Tensor key = k[b][t].narrow(0, h * kKeys, kKeys);
              Tensor value = v[b][t].narrow(0, h * kValues, kValues);
              if (gated) state = state * std::exp(at(decay, {b, t, h}));
              if (delta) value = (value - mv(state.t(), key)) * at(beta, {b, t, h});
              state = state + key.unsqueeze(1) * value.unsqueeze(0);
              for (int64_t each = 0; each < q_heads / kHeads; ++each) {
                const int64_t head = h * (q_heads / kHeads) + each;
                const Tensor query = q[b][t].narrow(0, head * kKeys, kKeys) * 0.5;
                y[b][t].narrow(0, head * kValues, kValues).copy_(mv(state.t(), query));
              }
            }
            states[b][h].copy_(state);
          }
        const auto out =
            run({"LinearAttention",
                 {q, k, v, past ? start : Tensor(), gated ? decay : Tensor(), delta ? beta : Tensor()},
                 {{"update_rule", rule}, {"q_num_heads", q_heads}, {"kv_num_heads", kHeads}, {"scale", 0.5}},
                 28,
                 2});
        CHECK(near(out[0].toTensor(), y, 1e-9));
        CHECK(near(out[1].toTensor(), states, 1e-9));
      }
}

TEST_CASE("rotated embeddings and gated activations") {
  manual_seed(5);
  const Tensor x = randn({2, 3, 4, 6}, kDouble), angles = randn({5, 2}, kDouble), cosines = angles.cos(),
               sines = angles.sin(), places = tensor({0, 2, 4, 1, 3, 0, 4, 4}, kLong).view({2, 4});
  for (const bool interleaved : {false, true}) {
    Tensor wanted = x.clone();
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t h = 0; h < 3; ++h)
        for (int64_t t = 0; t < 4; ++t)
          for (int64_t i = 0; i < 2; ++i) {
            const int64_t first = interleaved ? 2 * i : i, second = interleaved ? 2 * i + 1 : i + 2;
            const double a = at(x, {b, h, t, first}), c = at(x, {b, h, t, second}),
                         angle = at(angles, {places[b][t].item<int64_t>(), i});
            wanted[b][h][t][first].fill_(std::cos(angle) * a - std::sin(angle) * c);
            wanted[b][h][t][second].fill_(std::sin(angle) * a + std::cos(angle) * c);
          }
    const Attributes attributes = {{"rotary_embedding_dim", 4}, {"interleaved", interleaved}};
    CHECK(near(one({"RotaryEmbedding", {x, cosines, sines, places}, attributes}), wanted, 1e-9));
    const Tensor of_each = cosines.index_select(0, places.view({8})).view({2, 4, 2}),
                 sine_of_each = sines.index_select(0, places.view({8})).view({2, 4, 2});
    CHECK(near(one({"RotaryEmbedding", {x, of_each, sine_of_each}, attributes}), wanted, 1e-9));
    const auto rows = [](const Tensor& t) { return t.transpose(1, 2).contiguous().view({2, 4, 18}); };
    Attributes with_heads = attributes;
    with_heads.emplace_back("num_heads", 3);
    CHECK(near(one({"RotaryEmbedding", {rows(x), cosines, sines, places}, with_heads}), rows(wanted), 1e-9));
  }
  const Tensor a = randn({3, 4}), b = randn({3, 4});
  CHECK(near(one({"SwiGLU", {a, b}, {}, 28}), a * a.sigmoid() * b));
  CHECK(near(one({"SwiGLU", {a, b}, {{"alpha", 0.5}}, 28}), a * (a * 0.5).sigmoid() * b));
  CHECK(near(one({"Swish", {a}, {{"alpha", 0.5}}}), a * (a * 0.5).sigmoid()));
}

TEST_CASE("writes into caches, and convolutions that continue") {
  const Tensor cache = arange(2 * 4 * 2, kFloat).view({2, 4, 2}),
               update = -arange(1, 2 * 2 * 2 + 1, kFloat).view({2, 2, 2});
  for (const std::string mode : {"linear", "circular"})
    for (const Ints& start : {Ints{0, 2}, mode == "circular" ? Ints{3, 5} : Ints{1, 0}}) {
      Tensor wanted = cache.clone();
      for (int64_t b = 0; b < 2; ++b)
        for (int64_t i = 0; i < 2; ++i) wanted[b][(start[static_cast<std::size_t>(b)] + i) % 4].copy_(update[b][i]);
      CHECK(equal(one({"TensorScatter", {cache, update, integers(start)}, {{"mode", mode}, {"axis", 1}}}), wanted));
    }
  CHECK(equal(one({"TensorScatter", {cache, update}, {{"axis", 1}}}), cat({update, cache.narrow(1, 2, 2)}, 1)));
  CHECK(equal(one({"TensorScatter", {cache, update}}), cat({update, cache.narrow(1, 2, 2)}, 1)));

  manual_seed(6);
  const Tensor x = randn({2, 3, 5}, kDouble), weight = randn({3, 1, 3}, kDouble), bias = randn({3}, kDouble),
               past = randn({2, 3, 2}, kDouble);
  for (const bool with_past : {false, true})
    for (const bool biased : {false, true})
      for (const std::string activation : {"", "none", "silu", "swish"}) {
        const Tensor before = with_past ? past : zeros_like(past), all = cat({before, x}, 2);
        Tensor wanted = zeros_like(x);
        for (int64_t n = 0; n < 2; ++n)
          for (int64_t ch = 0; ch < 3; ++ch)
            for (int64_t t = 0; t < 5; ++t)
              wanted[n][ch][t].fill_((all[n][ch].narrow(0, t, 3) * weight[ch][0]).sum().item<double>() +
                                     (biased ? at(bias, {ch}) : 0));
        if (activation == "silu" || activation == "swish") wanted = wanted * wanted.sigmoid();
        Call call{"CausalConvWithState", {x, weight, biased ? bias : Tensor(), with_past ? past : Tensor()}, {}, 28, 2};
        if (!activation.empty()) call.attributes.emplace_back("activation", activation);
        const auto out = run(call);
        CHECK(near(out[0].toTensor(), wanted, 1e-9));
        CHECK(equal(out[1].toTensor(), x.narrow(2, 3, 2)));
      }
  const Tensor short_x = x.narrow(2, 0, 1).contiguous();
  CHECK(equal(run({"CausalConvWithState", {short_x, weight, kMissing, past}, {}, 28, 2})[1].toTensor(),
              cat({past.narrow(2, 1, 1), short_x}, 2)));
}

TEST_CASE("sizes of Resize that keep the aspect ratio, of named axes") {
  const Tensor x = arange(2 * 3 * 8 * 4, kFloat).view({2, 3, 8, 4});
  const auto sizes = [&](const std::string& policy, const Ints& axes, const Ints& wanted) {
    return one({"Resize",
                {x, kMissing, kMissing, integers(wanted)},
                {{"keep_aspect_ratio_policy", policy}, {"axes", axes}},
                19})
        .sizes()
        .vec();
  };
  CHECK(sizes("stretch", {2, 3}, {4, 6}) == Ints{2, 3, 4, 6});
  CHECK(sizes("stretch", {3, 2}, {6, 4}) == Ints{2, 3, 4, 6});
  CHECK(sizes("not_larger", {2, 3}, {4, 6}) == Ints{2, 3, 4, 2});
  CHECK(sizes("not_smaller", {2, 3}, {4, 6}) == Ints{2, 3, 12, 6});
  CHECK(sizes("not_larger", {-2, -1}, {5, 3}) == Ints{2, 3, 5, 3});  // 0.625: 2.5 is rounded up
  CHECK(equal(one({"Resize",
                   {x, kMissing, floats({0.5}), kMissing},
                   {{"axes", Ints{2}}, {"coordinate_transformation_mode", "asymmetric"}, {"nearest_mode", "floor"}},
                   19}),
              x.slice(2, 0, nullopt, 2)));
  // Half of the pixels with an antialias filter: weights 1/8, 3/8, 3/8, 1/8, without those outside.
  const Tensor line = tensor({8.0F, 16.0F, 0.0F, 8.0F}).view({1, 1, 1, 4});
  CHECK(near(one({"Resize", {line, kMissing, floats({1, 1, 1, 0.5})}, {{"mode", "linear"}, {"antialias", 1}}, 18}),
             tensor({(3 * 8 + 3 * 16 + 0 + 8) / 8.0F, (16 + 3 * 0 + 3 * 8 + 8) / 8.0F}).view({1, 1, 1, 2})));
  CHECK(near(one({"Resize",
                  {line, kMissing, floats({1, 1, 1, 0.5})},
                  {{"mode", "linear"}, {"antialias", 1}, {"exclude_outside", 1}},
                  18}),
             tensor({(3 * 8 + 3 * 16) / 7.0F, (16 + 3 * 8) / 7.0F}).view({1, 1, 1, 2})));
  CHECK(equal(one({"CenterCropPad", {x, integers({2, 2})}, {{"axes", Ints{2, 3}}}, 18}),
              x.narrow(2, 3, 2).narrow(3, 1, 2)));
  CHECK(equal(one({"CenterCropPad", {x, integers({2, 3, 8, 7})}, {}, 18}), constant_pad_nd(x, {1, 2})));
  CHECK(equal(one({"CenterCropPad", {x, integers({3})}, {{"axes", Ints{-1}}}, 18}), x.narrow(3, 0, 3)));
}

TEST_CASE("reductions of nothing are those of ONNX") {
  for (const ScalarType type : {kByte, kChar, kShort, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble, kBool}) {
    CAPTURE(name(type));
    const Tensor none = zeros({2, 0}, type);
    const auto reduced = [&](const char* op) { return one({op, {none, integers({1})}, {{"keepdims", 0}}, 20}); };
    const Tensor low = reduced("ReduceMax"), high = reduced("ReduceMin");
    CHECK(low.dtype() == type);
    CHECK(low.sizes() == IntArrayRef({2}));
    double least = -INFINITY, most = INFINITY;
    if (type == kBool) least = 0, most = 1;
    if (type == kByte) least = 0, most = 255;
    if (type == kChar) least = -128, most = 127;
    if (type == kShort) least = -32768, most = 32767;
    if (type == kInt) least = -2147483648.0, most = 2147483647.0;
    if (type == kLong) {
      CHECK(low[0].item<int64_t>() == std::numeric_limits<int64_t>::min());
      CHECK(high[1].item<int64_t>() == std::numeric_limits<int64_t>::max());
      continue;
    }
    CHECK(equal(low.to(kDouble), full({2}, least, kDouble)));
    CHECK(equal(high.to(kDouble), full({2}, most, kDouble)));
  }
  const Tensor none = zeros({2, 0});
  const auto value = [&](const char* op) {
    return at(one({op, {none, integers({1})}, {{"keepdims", 1}}, 20}), {1, 0});
  };
  CHECK(value("ReduceSum") == 0);
  CHECK(value("ReduceProd") == 1);
  CHECK(value("ReduceL1") == 0);
  CHECK(value("ReduceL2") == 0);
  CHECK(value("ReduceSumSquare") == 0);
  CHECK(value("ReduceLogSum") == -INFINITY);
  CHECK(value("ReduceLogSumExp") == -INFINITY);
  CHECK(std::isnan(value("ReduceMean")));
  const Tensor x = tensor({3.0F, 4.0F});
  CHECK(equal(one({"ReduceL2", {x, integers({})}, {{"noop_with_empty_axes", 1}}, 18}), x));
  CHECK(at(one({"ReduceL2", {x, integers({})}, {}, 18}), {0}) == 5);
  CHECK(at(one({"ReduceSumSquare", {ones({}) * 3}, {}, 18}), {}) == 9);
  const Tensor twice = tensor({1.0F, 3.0F, 3.0F, 1.0F});
  for (const auto& [op, last, wanted] : std::vector<std::tuple<const char*, int64_t, int64_t>>{
           {"ArgMax", 0, 1}, {"ArgMax", 1, 2}, {"ArgMin", 0, 0}, {"ArgMin", 1, 3}})
    CHECK(at(one({op, {twice}, {{"select_last_index", last}}, 13}), {0}) == static_cast<double>(wanted));
}

TEST_CASE("normalisation of tiny values, and its other outputs") {
  manual_seed(7);
  const Tensor x = randn({2, 3, 4}, kDouble), scale = randn({4}, kDouble), bias = randn({4}, kDouble);
  const Tensor mean = x.mean(Ints{-1}, true), inverse = ((x - mean).square().mean(Ints{-1}, true) + 1e-5).rsqrt();
  const auto layer = run({"LayerNormalization", {x, scale, bias}, {}, 17, 3});
  CHECK(near(layer[0].toTensor(), (x - mean) * inverse * scale + bias, 1e-9));
  CHECK(near(layer[1].toTensor(), mean, 1e-9));
  CHECK(near(layer[2].toTensor(), inverse, 1e-9));
  const Tensor rms = (x.square().mean(Ints{-1}, true) + 0.5).rsqrt();
  CHECK(near(one({"RMSNormalization", {x, scale}, {{"epsilon", 0.5}}}), x * rms * scale, 1e-9));
  const auto two = run({"SimplifiedLayerNormalization", {x, scale}, {{"epsilon", 0.5}}, 17, 2});
  CHECK(near(two[0].toTensor(), x * rms * scale, 1e-9));
  CHECK(near(two[1].toTensor(), rms, 1e-9));
  // Deviations of the size of what is added to them.
  const Tensor tiny = tensor({0.0, 2e-9}, kDouble).view({2, 1});
  CHECK(near(one({"MeanVarianceNormalization", {tiny}, {{"axes", Ints{0}}}}) * 1e9,
             tensor({-0.5e9, 0.5e9}, kDouble).view({2, 1})));
  const Tensor zero = one({"LpNormalization", {tensor({0.0F, 0.0F, 3.0F, 4.0F}).view({2, 2})}});
  CHECK(near(zero, tensor({0.0F, 0.0F, 0.6F, 0.8F}).view({2, 2})));
  CHECK(near(one({"LpNormalization", {tensor({-1.0F, 3.0F})}, {{"p", 1}}}), tensor({-0.25F, 0.75F})));
  const Tensor image = randn({2, 4, 3}, kDouble);
  const Tensor groups = image.view({2, 2, 6});
  const Tensor normed = ((groups - groups.mean(Ints{2}, true)) *
                         ((groups - groups.mean(Ints{2}, true)).square().mean(Ints{2}, true) + 1e-5).rsqrt())
                            .view({2, 4, 3});
  const Tensor per_group = tensor({2.0, 3.0}, kDouble), per_channel = tensor({2.0, 2.0, 3.0, 3.0}, kDouble);
  for (const int64_t version : {18, 21}) {
    const Tensor& factor = version == 18 ? per_group : per_channel;
    CHECK(near(one({"GroupNormalization", {image, factor, factor}, {{"num_groups", 2}}, version}),
               normed * per_channel.view({4, 1}) + per_channel.view({4, 1}), 1e-9));
  }
}

TEST_CASE("quantisation along axes and in blocks") {
  const Tensor x = tensor({-3.0F, -1.5F, 0.5F, 2.5F, 300.0F, -300.0F}).view({2, 3});
  CHECK(equal(one({"QuantizeLinear", {x, ones({})}}), tensor({0, 0, 0, 2, 255, 0}, kByte).view({2, 3})));
  CHECK(equal(one({"QuantizeLinear", {x, ones({}), full({}, 3, kChar)}}),
              tensor({0, 1, 3, 5, 127, -128}, kChar).view({2, 3})));
  CHECK(equal(one({"QuantizeLinear", {x, floats({1, 2}), tensor({0, 10}, kShort)}, {{"axis", 0}}}),
              tensor({-3, -2, 0, 11, 160, -140}, kShort).view({2, 3})));
  CHECK(equal(one({"QuantizeLinear", {x, floats({1, 0.5, 2})}, {{"output_dtype", 3}}}),
              tensor({-3, -3, 0, 2, 127, -128}, kChar).view({2, 3})));
  const Tensor blocks = floats({1, 0.5, 2, 4}).view({2, 2});  // of two columns, the last one smaller
  CHECK(equal(one({"QuantizeLinear", {x, blocks}, {{"block_size", 2}, {"output_dtype", 5}}}),
              tensor({-3, -2, 1, 1, 150, -75}, kShort).view({2, 3})));
  const Tensor q = tensor({0, 10, 20, 30, 40, 50}, kByte).view({2, 3});
  CHECK(equal(one({"DequantizeLinear", {q, blocks, tensor({0, 1, 2, 3}, kByte).view({2, 2})}, {{"block_size", 2}}}),
              floats({0, 10, 9.5, 56, 76, 188}).view({2, 3})));
  CHECK(equal(one({"DequantizeLinear", {q, floats({1, 2, 3}), tensor({0, 1, 2}, kByte)}}),
              floats({0, 18, 54, 30, 78, 144}).view({2, 3})));
  CHECK(equal(one({"DequantizeLinear", {q, full({}, 0.5), full({}, 10, kByte)}}),
              floats({-5, 0, 5, 10, 15, 20}).view({2, 3})));
  CHECK(one({"DequantizeLinear", {q, full({}, 0.5)}, {{"output_dtype", 10}}, 23}).dtype() == kHalf);
  const auto dynamic = run({"DynamicQuantizeLinear", {floats({-1, 0, 1.55})}, {}, 17, 3});
  CHECK(at(dynamic[1].toTensor(), {}) == doctest::Approx(0.01));
  CHECK(equal(dynamic[2].toTensor(), full({}, 100, kByte)));
  CHECK(equal(dynamic[0].toTensor(), tensor({0, 100, 255}, kByte)));
  CHECK(at(run({"DynamicQuantizeLinear", {zeros({2})}, {}, 17, 3})[1].toTensor(), {}) == 1);

  const Tensor a = tensor({1, 2, 3, 4}, kByte).view({2, 2}), b = tensor({1, 0, -1, 2}, kChar).view({2, 2});
  const Tensor product = tensor({-1, 4, -1, 8}, kInt).view({2, 2});
  CHECK(equal(one({"MatMulInteger", {a, b}}), product));
  CHECK(equal(one({"MatMulInteger", {a, b, tensor({1, 2}, kByte), tensor({0, 1}, kChar)}}),
              tensor({-1, 1, -1, 1}, kInt).view({2, 2})));
  CHECK(equal(
      one({"QLinearMatMul",
           {a, floats({2}), zeros({}, kByte), b, floats({0.5}), zeros({}, kChar), floats({0.5}), full({}, 10, kByte)}}),
      tensor({8, 18, 8, 26}, kByte).view({2, 2})));
  const Tensor image = a.view({1, 1, 2, 2}), filter = tensor({2, -1}, kChar).view({2, 1, 1, 1});
  CHECK(equal(one({"ConvInteger", {image, filter, full({}, 1, kByte), tensor({1, 0}, kChar)}}),
              tensor({0, 1, 2, 3, 0, -1, -2, -3}, kInt).view({1, 2, 2, 2})));
  CHECK(equal(one({"QLinearConv",
                   {image, floats({1}), zeros({}, kByte), filter, floats({1, 2}), zeros({}, kChar), floats({0.5}),
                    full({}, 100, kByte), tensor({1, 2}, kInt)}}),
              tensor({106, 110, 114, 118, 104, 100, 96, 92}, kByte).view({1, 2, 2, 2})));
}

TEST_CASE("regions at the borders of images, and boxes by their centres") {
  const Tensor image = arange(12, kFloat).view({1, 1, 3, 4});
  // One sample, in the middle of the region.
  const auto aligned = [&](const std::string& mode, double x1, double y1, double x2, double y2) {
    return at(one({"RoiAlign",
                   {image, floats({x1, y1, x2, y2}).view({1, 4}), integers({0})},
                   {{"mode", mode}, {"sampling_ratio", 1}}}),
              {0, 0, 0, 0});
  };
  for (const std::string mode : {"avg", "max"}) {
    CAPTURE(mode);
    CHECK(aligned(mode, 1, 1, 2, 2) == 5);
    CHECK(aligned(mode, 3, 1, 5, 2) == 7);   // half a pixel beyond the last column
    CHECK(aligned(mode, -1, 1, 1, 2) == 4);  // before the first
    CHECK(aligned(mode, 1, 2, 2, 4) == 9);   // below the last row
    CHECK(aligned(mode, 1, -1, 2, 1) == 1);  // above the first
    CHECK(aligned(mode, 5, 1, 6, 2) == 0);   // outside
    CHECK(aligned(mode, -3, 1, -2, 2) == 0);
    CHECK(aligned(mode, 1, 5, 2, 6) == 0);
    CHECK(aligned(mode, 1, -3, 2, -2) == 0);
  }
  CHECK(aligned("avg", 1.5, 1.5, 2.5, 2.5) == 7.5);
  const Tensor rois = floats({0, 0, 0, 1, 1, 0, 2, 1, 3, 2}).view({2, 5});
  CHECK(equal(one({"MaxRoiPool", {image, rois}, {{"pooled_shape", Ints{1, 2}}}}),
              floats({4, 5, 10, 11}).view({2, 1, 1, 2})));

  // 4 x 2 around (2, 1); the same, moved by 1; and one apart.
  const Tensor centres = floats({2, 1, 4, 2, 3, 1, 4, 2, 20, 20, 2, 2}).view({1, 3, 4}),
               corners = floats({0, 0, 2, 4, 0, 1, 2, 5, 19, 19, 21, 21}).view({1, 3, 4}),
               scores = floats({0.75, 0.5, 0.25}).view({1, 1, 3});
  const auto kept = [&](const Tensor& boxes, int64_t centred, double overlap, double least = -1) {
    const Tensor out = one({"NonMaxSuppression",
                            {boxes, scores, integers({3}), floats({overlap}), floats({least})},
                            {{"center_point_box", centred}}});
    return out.select(1, 2).contiguous();
  };
  for (const int64_t centred : {0, 1}) {
    const Tensor& boxes = centred == 1 ? centres : corners;
    CHECK(equal(kept(boxes, centred, 0.55), integers({0, 2})));  // they share 6 of 10
    CHECK(equal(kept(boxes, centred, 0.65), integers({0, 1, 2})));
    CHECK(equal(kept(boxes, centred, 0.65, 0.25), integers({0, 1})));
  }
  CHECK(one({"NonMaxSuppression", {corners, scores}}).sizes() == IntArrayRef({0, 3}));
}

TEST_CASE("operators of shapes in newer sets") {
  const Tensor x = arange(12, kFloat).view({3, 4});
  const auto parts = run({"Split", {x}, {{"axis", 1}, {"num_outputs", 3}}, 18, 3});
  CHECK(parts[0].toTensor().size(1) == 2);
  CHECK(parts[1].toTensor().size(1) == 2);
  CHECK(parts[2].toTensor().size(1) == 0);
  CHECK(one({"Reshape", {zeros({0, 3}), integers({3, 0})}, {{"allowzero", 1}}, 14}).sizes() == IntArrayRef({3, 0}));
  CHECK(one({"Reshape", {x, integers({0, 2, 2})}, {}, 14}).sizes() == IntArrayRef({3, 2, 2}));
  CHECK(equal(one({"Pad", {x, integers({1, 2}), kMissing, integers({-1})}, {{"mode", "wrap"}}, 19}),
              cat({x.narrow(1, 3, 1), x, x.narrow(1, 0, 2)}, 1)));
  CHECK(equal(one({"Pad", {x, integers({1, 2}), floats({9}), integers({1})}, {}, 18}), constant_pad_nd(x, {1, 2}, 9)));
  CHECK(equal(one({"Pad", {x, integers({2, 3, 2, 3})}, {{"mode", "edge"}}, 18}).select(1, 0),
              integers({0, 0, 0, 4, 8, 8, 8}).to(kFloat)));
  const Tensor row = floats({0, 1, 2});
  CHECK(equal(one({"Pad", {row, integers({5, 4})}, {{"mode", "reflect"}}, 18}),
              floats({1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2})));
  CHECK(equal(one({"Shape", {zeros({2, 3, 4})}, {{"start", -2}, {"end", -1}}, 15}), integers({3})));
  CHECK(equal(one({"Shape", {zeros({2, 3, 4})}, {{"start", 2}, {"end", 1}}, 15}), integers({})));
  CHECK(equal(one({"Shape", {zeros({2, 3, 4})}, {{"start", -9}, {"end", 9}}, 15}), integers({2, 3, 4})));
  CHECK(one({"Flatten", {zeros({2, 3, 4})}, {{"axis", -1}}}).sizes() == IntArrayRef({6, 4}));
  CHECK(one({"Flatten", {zeros({2, 3, 4})}, {{"axis", 3}}}).sizes() == IntArrayRef({24, 1}));
  CHECK(one({"Flatten", {zeros({2, 3, 4})}, {{"axis", 0}}}).sizes() == IntArrayRef({1, 24}));
  const auto sliced = [&](int64_t from, int64_t to, int64_t step) {
    return one({"Slice", {floats({0, 1, 2, 3, 4}), integers({from}), integers({to}), integers({0}), integers({step})}});
  };
  const int64_t far = std::numeric_limits<int64_t>::max(), back = std::numeric_limits<int64_t>::min();
  CHECK(equal(sliced(1, far, 2), floats({1, 3})));
  CHECK(equal(sliced(back, far, far), floats({0})));
  CHECK(equal(sliced(-2, far, 1), floats({3, 4})));
  CHECK(equal(sliced(far, back, -1), floats({4, 3, 2, 1, 0})));
  CHECK(equal(sliced(3, 0, -2), floats({3, 1})));
  CHECK(equal(sliced(-1, -4, -1), floats({4, 3, 2})));
  CHECK(equal(sliced(4, -9, -3), floats({4, 1})));
  CHECK(equal(sliced(2, back, back), floats({2})));
  CHECK(equal(sliced(1, 1, 1), floats({})));
  CHECK(equal(sliced(1, 3, -1), floats({})));
  CHECK(equal(one({"CumProd", {floats({1, 2, 3}), integers({0})}, {}, 26}), floats({1, 2, 6})));
  CHECK(equal(one({"CumProd", {floats({1, 2, 3}), integers({0})}, {{"exclusive", 1}, {"reverse", 1}}, 26}),
              floats({6, 3, 1})));
  CHECK(equal(one({"CumSum", {floats({1, 2, 3}), integers({-1})}, {{"exclusive", 1}}, 14}), floats({0, 1, 3})));
  CHECK(equal(one({"BitCast", {floats({1, -2})}, {{"to", 6}}, 26}), tensor({0x3f800000, -0x40000000}, kInt)));
  CHECK(equal(one({"Hardmax", {floats({1, 3, 3}).view({1, 3})}, {}, 13}), floats({0, 1, 0}).view({1, 3})));
  CHECK(equal(one({"Hardmax", {floats({1, 3, 4, 2}).view({1, 2, 2})}, {{"axis", 1}}, 11}),
              floats({0, 0, 1, 0}).view({1, 2, 2})));
}

TEST_CASE("slopes, and neighbours of channels") {
  manual_seed(8);
  const Tensor x = randn({2, 3, 4}), slopes = floats({2, 3, 4}), each = randn({3, 4});
  const Tensor wanted = x.relu() - (-x).relu() * slopes.view({3, 1});
  CHECK(near(one({"PRelu", {x, slopes}, {}, 6}), wanted));
  CHECK(near(one({"PRelu", {x, slopes.view({3, 1})}, {}, 16}), wanted));
  CHECK(near(one({"PRelu", {x, floats({2})}, {}, 16}), x.relu() - (-x).relu() * 2));
  CHECK(near(one({"PRelu", {x, each}, {}, 16}), x.relu() - (-x).relu() * each));
  CHECK(near(one({"PRelu", {x, floats({1, 2, 3, 4})}, {}, 16}), x.relu() - (-x).relu() * floats({1, 2, 3, 4})));
  const Tensor square = randn({2, 4, 4});
  CHECK(near(one({"PRelu", {square, floats({1, 2, 3, 4})}, {}, 16}),
             square.relu() - (-square).relu() * floats({1, 2, 3, 4})));
  for (const int64_t size : {1, 2, 3, 4}) {
    CAPTURE(size);
    Tensor normed = x.clone();
    for (int64_t channel = 0; channel < 3; ++channel) {
      Tensor sum = zeros({2, 4});
      for (int64_t other = channel - (size - 1) / 2; other <= channel + size / 2; ++other)
        if (other >= 0 && other < 3) sum = sum + x.select(1, other).square();
      normed.select(1, channel).copy_(x.select(1, channel) / (sum * (0.5 / static_cast<double>(size)) + 2).pow(0.25));
    }
    CHECK(near(one({"LRN", {x}, {{"size", size}, {"alpha", 0.5}, {"beta", 0.25}, {"bias", 2.0}}}), normed));
  }
}

TEST_CASE("recurrent layers of nothing") {
  for (const std::string op : {"LSTM", "GRU", "RNN"})
    for (const auto& [steps, batch] : std::vector<std::pair<int64_t, int64_t>>{{0, 2}, {3, 0}}) {
      CAPTURE(op);
      const int64_t gates = op == "LSTM" ? 4 : op == "GRU" ? 3 : 1;
      const Tensor start = full({1, batch, 5}, 0.5);
      Call call{op,
                {zeros({steps, batch, 4}), ones({1, gates * 5, 4}), ones({1, gates * 5, 5}), kMissing, kMissing, start},
                {{"linear_before_reset", 1}},
                17,
                2};
      if (op != "GRU") call.attributes.clear();
      const auto out = run(call);
      CHECK(out[0].toTensor().sizes() == IntArrayRef({steps, 1, batch, 5}));
      CHECK(equal(out[1].toTensor(), start));
    }
}

TEST_CASE("blocks of one and of three dimensions are added") {
  manual_seed(9);
  const Tensor row = randn({2, 2 * 3, 2}, kDouble);  // blocks of 3 at every other place of 7, with dilation 2 and a pad
  Tensor wanted = zeros({2, 2, 8}, kDouble);
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t channel = 0; channel < 2; ++channel)
      for (int64_t tap = 0; tap < 3; ++tap)
        for (int64_t place = 0; place < 2; ++place)
          wanted[n][channel][2 * place + 2 * tap].add_(row[n][channel * 3 + tap][place]);
  CHECK(near(one({"Col2Im",
                  {row, integers({7}), integers({3})},
                  {{"strides", Ints{2}}, {"dilations", Ints{2}}, {"pads", Ints{1, 0}}}}),
             wanted.narrow(2, 1, 7), 1e-9));
  const Tensor cubes = randn({1, 8, 4}, kDouble);  // 2 x 2 x 2 at 1 x 2 x 2 places of 2 x 3 x 3
  Tensor volume = zeros({1, 1, 2, 3, 3}, kDouble);
  for (int64_t tap = 0; tap < 8; ++tap)
    for (int64_t place = 0; place < 4; ++place)
      volume[0][0][tap / 4][tap / 2 % 2 + place / 2][tap % 2 + place % 2].add_(cubes[0][tap][place]);
  CHECK(near(one({"Col2Im", {cubes, integers({2, 3, 3}), integers({2, 2, 2})}}), volume, 1e-9));
}
