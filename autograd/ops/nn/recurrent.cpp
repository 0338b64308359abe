// lstm, gru, rnn_tanh, rnn_relu and their cells: layers and directions around recurrent_layer.
#include "tandem/autograd/ops/nn/recurrent.h"

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/nn/dropout.h"
#include "tandem/autograd/ops/nn/recurrent_layer.h"
#include "tandem/autograd/ops/nn/sequence.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/autograd/ops/view/view.h"

namespace tandem {
namespace {
using namespace autograd;

struct Network {
  const char* operation;
  RecurrentKind kind;
  bool has_biases;
  int64_t num_layers;
  double dropout;
  bool train, bidirectional;

  int64_t directions() const { return bidirectional ? 2 : 1; }
};
struct Results {
  Tensor out, h, c;
};

// params[i] onward as the weights of one layer and direction.
RecurrentWeights weights_at(const Network& net, TensorList params, std::size_t& i, bool projected) {
  RecurrentWeights w;
  w.w_ih = params[i++];
  w.w_hh = params[i++];
  if (net.has_biases) {
    w.b_ih = params[i++];
    w.b_hh = params[i++];
  }
  if (projected) w.w_hr = params[i++];
  return w;
}

// Checks everything except what recurrent_layer checks.
void check_network(const Network& net, const Tensor& input, const Tensor& h, const Tensor& c, TensorList params,
                   bool projected) {
  const int64_t states = net.num_layers * net.directions();
  check(net.num_layers >= 1, net.operation, ": num_layers must be positive, got ", net.num_layers);
  check(net.dropout >= 0 && net.dropout <= 1, net.operation, ": dropout must be a probability, got ", net.dropout);
  check(h.defined() && h.dim() == 3 && h.size(0) == states, net.operation, ": expected a hidden state [", states,
        ", batch, size] for ", net.num_layers, " layers in ", net.directions(), " direction",
        net.bidirectional ? "s" : "", ", got ", h);
  if (net.kind == RecurrentKind::kLstm)
    check(c.defined() && c.dim() == 3 && c.size(0) == states && c.size(1) == h.size(1), net.operation,
          ": expected a cell state [", states, ", ", h.size(1), ", size], got ", c, "\n  hidden state ", h);
  const int64_t each = 2 + 2 * net.has_biases + projected;
  check(static_cast<int64_t>(params.size()) == states * each, net.operation, ": expected ", states * each,
        " parameters, ", each, " for each layer and direction, got ", params.size());
  check(input.is_floating_point(), net.operation, ": expected a floating point input, got ", input);
}

// All layers, on packed rows. `whole`: the rows are padded sequences.
Results run(const Network& net, Tensor x, const RecurrentSteps& steps, const Tensor& h, const Tensor& c,
            TensorList params, bool whole) {
  const bool lstm = net.kind == RecurrentKind::kLstm, projected = lstm && c.defined() && h.size(-1) != c.size(-1);
  check_network(net, x, h, c, params, projected);
  const int64_t batch = steps.empty() ? 0 : steps.front().rows;
  check(h.size(1) == batch, net.operation, ": the input has a batch of ", batch, ", the hidden state ", h);
  // Autocast has PyTorch's kernel for such LSTMs in its list of the half type, but no other networks.
  const bool listed = lstm && whole && !projected && autocast::is_on(x);
  const auto state = [&, device = x.device().type()](const Tensor& t) {
    return listed ? autocast::cached_cast(autocast::get_autocast_dtype(device), t, device) : t;
  };
  const std::vector<Tensor> hs = unbind(state(h)), cs = lstm ? unbind(state(c)) : std::vector<Tensor>(hs.size());
  std::vector<Tensor> h_n, c_n;
  std::size_t at = 0;
  for (int64_t layer = 0; layer < net.num_layers; ++layer) {
    std::vector<Tensor> outs;
    for (int64_t direction = 0; direction < net.directions(); ++direction) {
      const RecurrentWeights w = weights_at(net, params, at, projected);
      const RecurrentState s =
          recurrent_layer(net.operation, net.kind, x, steps, direction == 1, hs[h_n.size()], cs[h_n.size()], w);
      outs.push_back(s.out);
      h_n.push_back(s.h);
      c_n.push_back(s.c);
    }
    x = outs.size() == 1 ? outs[0] : cat(outs, 1);
    if (layer + 1 < net.num_layers && net.train && net.dropout > 0) x = dropout(x, net.dropout, true);
  }
  return {x, stack(h_n), lstm ? stack(c_n) : Tensor()};
}

Results padded(const Network& net, const Tensor& input, const Tensor& h, const Tensor& c, TensorList params,
               bool batch_first) {
  check(input.dim() == 3, net.operation, ": expected an input of 3 dimensions, got ", input);
  const Tensor x = batch_first ? input.transpose(0, 1) : input;
  const int64_t length = x.size(0), batch = x.size(1);
  check(length > 0, net.operation, ": expected a sequence of at least one step, got ", input);
  const std::vector<int64_t> rows(static_cast<std::size_t>(length), batch);
  Results r = run(net, x.reshape({length * batch, x.size(2)}), recurrent_steps(rows), h, c, params, true);
  r.out = r.out.view({length, batch, r.out.size(1)});
  if (batch_first) r.out = r.out.transpose(0, 1);
  return r;
}

Results packed(const Network& net, const Tensor& data, const Tensor& batch_sizes, const Tensor& h, const Tensor& c,
               TensorList params) {
  check(data.dim() == 2, net.operation, ": expected packed data of 2 dimensions, got ", data);
  const std::vector<int64_t> rows = checked_batch_sizes(net.operation, data, batch_sizes);
  return run(net, data, recurrent_steps(rows), h, c, params, false);
}

std::tuple<Tensor, Tensor> pair(Results r) { return {std::move(r.out), std::move(r.h)}; }
std::tuple<Tensor, Tensor, Tensor> triple(Results r) { return {std::move(r.out), std::move(r.h), std::move(r.c)}; }

// The two states of an LSTM.
void check_states(const char* operation, TensorList hx) {
  check(hx.size() == 2, operation, ": expected two states, the hidden one and the cells, got ", hx.size());
}

RecurrentState cell(const char* operation, RecurrentKind kind, const Tensor& input, const Tensor& h, const Tensor& c,
                    const RecurrentWeights& w) {
  check(input.dim() == 1 || input.dim() == 2, operation, ": expected input [batch, features] or [features], got ",
        input);
  check(h.defined() && h.dim() == input.dim(), operation, ": expected a state of ", input.dim(),
        " dimensions like the input\n  input ", input, "\n  state ", h);
  if (input.dim() == 1) {
    const RecurrentState s =
        cell(operation, kind, input.unsqueeze(0), h.unsqueeze(0), c.defined() ? c.unsqueeze(0) : c, w);
    return {s.out.squeeze(0), s.h.squeeze(0), s.c.defined() ? s.c.squeeze(0) : s.c};
  }
  check(input.size(0) == h.size(0), operation, ": batch sizes differ\n  input ", input, "\n  state ", h);
  return recurrent_layer(operation, kind, input, recurrent_steps({input.size(0)}), false, h, c, w);
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input, TensorList hx, TensorList params, bool has_biases,
                                        int64_t num_layers, double dropout, bool train, bool bidirectional,
                                        bool batch_first) {
  check_states("lstm", hx);
  const Network net{"lstm", RecurrentKind::kLstm, has_biases, num_layers, dropout, train, bidirectional};
  return triple(padded(net, input, hx[0], hx[1], params, batch_first));
}
std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& data, const Tensor& batch_sizes, TensorList hx, TensorList params,
                                        bool has_biases, int64_t num_layers, double dropout, bool train,
                                        bool bidirectional) {
  check_states("lstm", hx);
  const Network net{"lstm", RecurrentKind::kLstm, has_biases, num_layers, dropout, train, bidirectional};
  return triple(packed(net, data, batch_sizes, hx[0], hx[1], params));
}

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, TensorList hx, const Tensor& w_ih, const Tensor& w_hh,
                                     const Tensor& b_ih, const Tensor& b_hh) {
  check_states("lstm_cell", hx);
  check(hx[1].defined(), "lstm_cell: the cell state is undefined");
  const RecurrentState s = cell("lstm_cell", RecurrentKind::kLstm, input, hx[0], hx[1], {w_ih, w_hh, b_ih, b_hh, {}});
  return {s.h, s.c};
}
// The networks with one state: padded, packed, and their cell.
#define TANDEM_RECURRENT(f, kind)                                                                                      \
  std::tuple<Tensor, Tensor> f(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,              \
                               int64_t num_layers, double dropout, bool train, bool bidirectional, bool batch_first) { \
    const Network net{#f, kind, has_biases, num_layers, dropout, train, bidirectional};                                \
    return pair(padded(net, input, hx, {}, params, batch_first));                                                      \
  }                                                                                                                    \
  std::tuple<Tensor, Tensor> f(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx, TensorList params,     \
                               bool has_biases, int64_t num_layers, double dropout, bool train, bool bidirectional) {  \
    const Network net{#f, kind, has_biases, num_layers, dropout, train, bidirectional};                                \
    return pair(packed(net, data, batch_sizes, hx, {}, params));                                                       \
  }                                                                                                                    \
  Tensor f##_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,   \
                  const Tensor& b_hh) {                                                                                \
    return cell(#f "_cell", kind, input, hx, {}, {w_ih, w_hh, b_ih, b_hh, {}}).h;                                      \
  }
TANDEM_RECURRENT(gru, RecurrentKind::kGru)
TANDEM_RECURRENT(rnn_tanh, RecurrentKind::kTanh)
TANDEM_RECURRENT(rnn_relu, RecurrentKind::kRelu)
#undef TANDEM_RECURRENT

}  // namespace tandem
