// RNN, LSTM and GRU.
#include "tandem/nn/layers/rnn.h"

#include <cmath>
#include <ostream>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/index/index_select.h"
#include "tandem/autograd/ops/nn/recurrent.h"
#include "tandem/nn/init.h"

namespace tandem::nn {

using utils::rnn::PackedSequence;

namespace detail {
namespace {

const char* mode_name(RNNMode mode) { return mode == kLSTM ? "LSTM" : mode == kGRU ? "GRU" : "RNN"; }
int64_t gates(RNNMode mode) { return mode == kLSTM ? 4 : mode == kGRU ? 3 : 1; }

Tensor permuted(const Tensor& state, const Tensor& order) {
  return state.defined() && order.defined() ? index_select(state, 1, order) : state;
}

}  // namespace

template <class Derived>
RNNImplBase<Derived>::RNNImplBase(const RNNOptionsBase& options) : options_base(options) {
  const char* name = mode_name(options.mode());
  check(options.input_size() >= 0, name, ": input_size must not be negative, got ", options.input_size());
  check(options.hidden_size() > 0, name, ": hidden_size must be positive, got ", options.hidden_size());
  check(options.num_layers() > 0, name, ": num_layers must be positive, got ", options.num_layers());
  check(options.dropout() >= 0 && options.dropout() <= 1, name, ": dropout must be a probability, got ",
        options.dropout());
  check(options.proj_size() >= 0 && options.proj_size() < options.hidden_size(), name,
        ": proj_size must be from 0 to below hidden_size = ", options.hidden_size(), ", got ", options.proj_size());
  RNNImplBase::reset();
}

template <class Derived>
void RNNImplBase<Derived>::reset() {
  const RNNOptionsBase& o = options_base;
  const int64_t rows = gates(o.mode()) * o.hidden_size(), directions = o.bidirectional() ? 2 : 1;
  flat_weights_.clear();
  for (int64_t layer = 0; layer < o.num_layers(); ++layer)
    for (int64_t direction = 0; direction < directions; ++direction) {
      const std::string suffix = concat("_l", layer, direction == 1 ? "_reverse" : "");
      const auto add = [&](const char* name, IntArrayRef sizes) {
        flat_weights_.push_back(this->register_parameter(name + suffix, empty(sizes)));
      };
      add("weight_ih", {rows, layer == 0 ? o.input_size() : output_size() * directions});
      add("weight_hh", {rows, output_size()});
      if (o.bias()) add("bias_ih", {rows});
      if (o.bias()) add("bias_hh", {rows});
      if (o.proj_size() > 0) add("weight_hr", {o.proj_size(), o.hidden_size()});
    }
  reset_parameters();
}

template <class Derived>
void RNNImplBase<Derived>::reset_parameters() {
  const double bound = 1 / std::sqrt(static_cast<double>(options_base.hidden_size()));
  for (Tensor& weight : flat_weights_) init::uniform_(weight, -bound, bound);
}

template <class Derived>
void RNNImplBase<Derived>::pretty_print(std::ostream& stream) const {
  const RNNOptionsBase& o = options_base;
  const auto word = [](bool value) { return value ? "true" : "false"; };
  stream << "tandem::nn::" << mode_name(o.mode()) << "(input_size=" << o.input_size()
         << ", hidden_size=" << o.hidden_size() << ", num_layers=" << o.num_layers() << ", bias=" << word(o.bias())
         << ", batch_first=" << word(o.batch_first()) << ", dropout=" << o.dropout()
         << ", bidirectional=" << word(o.bidirectional());
  if (o.proj_size() > 0) stream << ", proj_size=" << o.proj_size();
  stream << ")";
}

template <class Derived>
void RNNImplBase<Derived>::check_features(const Tensor& input) const {
  check(input.size(-1) == options_base.input_size(), mode_name(options_base.mode()),
        ": input.size(-1) must be equal to input_size = ", options_base.input_size(), ", got ", input);
}

// A given initial state, or zeros.
template <class Derived>
Tensor RNNImplBase<Derived>::initial(const char* what, const Tensor& state, int64_t batch, int64_t size,
                                     const Tensor& input) const {
  if (!state.defined()) return zeros({states(), batch, size}, input.options());
  const Dims expected{states(), batch, size};
  check(state.sizes() == IntArrayRef(expected), mode_name(options_base.mode()), ": expected ", what, " size ", expected,
        ", got ", state);
  return state;
}

template <class Derived>
auto RNNImplBase<Derived>::call(const Tensor& input, const Tensor& batch_sizes, const Tensor& h, const Tensor& c) const
    -> Results {
  const RNNOptionsBase& o = options_base;
  const bool packed = batch_sizes.defined(), train = this->is_training();
  if (o.mode() == kLSTM) {
    const std::vector<Tensor> hx{h, c};
    auto [out, h_n, c_n] = packed ? lstm(input, batch_sizes, hx, flat_weights_, o.bias(), o.num_layers(), o.dropout(),
                                         train, o.bidirectional())
                                  : lstm(input, hx, flat_weights_, o.bias(), o.num_layers(), o.dropout(), train,
                                         o.bidirectional(), o.batch_first());
    return {out, h_n, c_n};
  }
  const auto with = [&](auto padded_form, auto packed_form) {
    auto [out, h_n] = packed ? packed_form(input, batch_sizes, h, flat_weights_, o.bias(), o.num_layers(), o.dropout(),
                                           train, o.bidirectional())
                             : padded_form(input, h, flat_weights_, o.bias(), o.num_layers(), o.dropout(), train,
                                           o.bidirectional(), o.batch_first());
    return Results{out, h_n, {}};
  };
  using Pair = std::tuple<Tensor, Tensor>;
  using Padded = Pair (*)(const Tensor&, const Tensor&, TensorList, bool, int64_t, double, bool, bool, bool);
  using Packed = Pair (*)(const Tensor&, const Tensor&, const Tensor&, TensorList, bool, int64_t, double, bool, bool);
  if (o.mode() == kGRU) return with(Padded(gru), Packed(gru));
  return o.mode() == kRNN_TANH ? with(Padded(rnn_tanh), Packed(rnn_tanh)) : with(Padded(rnn_relu), Packed(rnn_relu));
}

template <class Derived>
auto RNNImplBase<Derived>::run(const Tensor& input, Tensor h, Tensor c) -> Results {
  check(input.dim() == 2 || input.dim() == 3, mode_name(options_base.mode()),
        ": expected an input of 2 dimensions, or of 3 with a batch, got ", input);
  check_features(input);
  const int64_t batch_dim = options_base.batch_first() ? 0 : 1;
  if (input.dim() == 2) {
    for (Tensor* state : {&h, &c}) {
      if (!state->defined()) continue;
      check(state->dim() == 2, mode_name(options_base.mode()),
            ": for an input without a batch, states must have 2 dimensions, got ", *state);
      *state = state->unsqueeze(1);
    }
    Results r = run(input.unsqueeze(batch_dim), h, c);
    return {r.out.squeeze(batch_dim), r.h.squeeze(1), r.c.defined() ? r.c.squeeze(1) : r.c};
  }
  const int64_t batch = input.size(batch_dim);
  const bool lstm = options_base.mode() == kLSTM;
  return call(input, {}, initial("hidden", h, batch, output_size(), input),
              lstm ? initial("cell", c, batch, options_base.hidden_size(), input) : Tensor());
}

template <class Derived>
auto RNNImplBase<Derived>::run(const PackedSequence& input, Tensor h, Tensor c) -> Results {
  const Tensor& data = input.data();
  check(data.dim() == 2, mode_name(options_base.mode()), ": expected a packed sequence with data of 2 dimensions, got ",
        data);
  check_features(data);
  const int64_t batch = input.batch_sizes()[0].item<int64_t>();
  h = initial("hidden", permuted(h, input.sorted_indices()), batch, output_size(), data);
  if (options_base.mode() == kLSTM)
    c = initial("cell", permuted(c, input.sorted_indices()), batch, options_base.hidden_size(), data);
  Results r = call(data, input.batch_sizes(), h, c);
  return {r.out, permuted(r.h, input.unsorted_indices()), permuted(r.c, input.unsorted_indices())};
}

template class RNNImplBase<RNNImpl>;
template class RNNImplBase<LSTMImpl>;
template class RNNImplBase<GRUImpl>;

namespace {

template <class Options>
RNNOptionsBase base(RNNMode mode, const Options& o) {
  return RNNOptionsBase(mode, o.input_size(), o.hidden_size())
      .num_layers(o.num_layers())
      .bias(o.bias())
      .batch_first(o.batch_first())
      .dropout(o.dropout())
      .bidirectional(o.bidirectional());
}
RNNMode mode_of(init::Nonlinearity nonlinearity) {
  check(nonlinearity == kTanh || nonlinearity == kReLU, "RNN: nonlinearity must be kTanh or kReLU");
  return nonlinearity == kTanh ? kRNN_TANH : kRNN_RELU;
}
PackedSequence with_data(const PackedSequence& like, const Tensor& data) {
  return PackedSequence(data, like.batch_sizes(), like.sorted_indices(), like.unsorted_indices());
}

}  // namespace
}  // namespace detail

RNNImpl::RNNImpl(const RNNOptions& options)
    : RNNImplBase(detail::base(detail::mode_of(options.nonlinearity()), options)), options(options) {}
GRUImpl::GRUImpl(const GRUOptions& options) : RNNImplBase(detail::base(kGRU, options)), options(options) {}

// The forward functions of layers whose state is one tensor.
#define FORWARD(Name)                                                                                          \
  std::tuple<Tensor, Tensor> Name##Impl::forward(const Tensor& input, Tensor hx) {                             \
    Results r = run(input, std::move(hx), {});                                                                 \
    return {r.out, r.h};                                                                                       \
  }                                                                                                            \
  std::tuple<PackedSequence, Tensor> Name##Impl::forward_with_packed_input(const PackedSequence& packed_input, \
                                                                           Tensor hx) {                        \
    Results r = run(packed_input, std::move(hx), {});                                                          \
    return {detail::with_data(packed_input, r.out), r.h};                                                      \
  }
FORWARD(RNN)
FORWARD(GRU)

LSTMImpl::LSTMImpl(const LSTMOptions& options)
    : RNNImplBase(detail::base(kLSTM, options).proj_size(options.proj_size())), options(options) {}
std::tuple<Tensor, LSTMImpl::States> LSTMImpl::forward(const Tensor& input, optional<States> hx_opt) {
  const auto [h, c] = hx_opt.value_or(States());
  Results r = run(input, h, c);
  return {r.out, States(r.h, r.c)};
}
std::tuple<PackedSequence, LSTMImpl::States> LSTMImpl::forward_with_packed_input(const PackedSequence& packed_input,
                                                                                 optional<States> hx_opt) {
  const auto [h, c] = hx_opt.value_or(States());
  Results r = run(packed_input, h, c);
  return {detail::with_data(packed_input, r.out), States(r.h, r.c)};
}

}  // namespace tandem::nn
