// RNNCell, LSTMCell and GRUCell.
#include "tandem/nn/layers/rnn_cell.h"

#include <cmath>
#include <ostream>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/nn/recurrent.h"
#include "tandem/nn/init.h"

namespace tandem::nn {
namespace detail {

template <class Derived>
RNNCellImplBase<Derived>::RNNCellImplBase(const RNNCellOptionsBase& options) : options_base(options) {
  check(options.input_size() >= 0 && options.hidden_size() > 0, cell_name(),
        ": input_size must not be negative and hidden_size must be positive, got ", options.input_size(), " and ",
        options.hidden_size());
  RNNCellImplBase::reset();
}

template <class Derived>
const char* RNNCellImplBase<Derived>::cell_name() const {
  const int64_t gates = options_base.num_chunks();
  return gates == 4 ? "LSTMCell" : gates == 3 ? "GRUCell" : "RNNCell";
}

template <class Derived>
void RNNCellImplBase<Derived>::reset() {
  const RNNCellOptionsBase& o = options_base;
  const int64_t rows = o.num_chunks() * o.hidden_size();
  weight_ih = this->register_parameter("weight_ih", empty({rows, o.input_size()}));
  weight_hh = this->register_parameter("weight_hh", empty({rows, o.hidden_size()}));
  bias_ih = this->register_parameter("bias_ih", o.bias() ? empty({rows}) : Tensor(), o.bias());
  bias_hh = this->register_parameter("bias_hh", o.bias() ? empty({rows}) : Tensor(), o.bias());
  reset_parameters();
}

template <class Derived>
void RNNCellImplBase<Derived>::reset_parameters() {
  const double bound = 1 / std::sqrt(static_cast<double>(options_base.hidden_size()));
  for (Tensor* t : {&weight_ih, &weight_hh, &bias_ih, &bias_hh})
    if (t->defined()) init::uniform_(*t, -bound, bound);
}

template <class Derived>
void RNNCellImplBase<Derived>::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::" << cell_name() << "(" << options_base.input_size() << ", " << options_base.hidden_size();
  if (!options_base.bias()) stream << ", bias=false";
  const std::string nonlinearity = get_nonlinearity_str();
  if (!nonlinearity.empty() && nonlinearity != "kTanh") stream << ", nonlinearity=" << nonlinearity;
  stream << ")";
}

template <class Derived>
Tensor RNNCellImplBase<Derived>::state_for(const Tensor& input, const Tensor& state) const {
  check(input.dim() == 1 || input.dim() == 2, cell_name(), ": expected an input of 1 or 2 dimensions, got ", input);
  check(input.size(-1) == options_base.input_size(), cell_name(),
        ": input.size(-1) must be equal to input_size = ", options_base.input_size(), ", got ", input);
  Dims sizes{options_base.hidden_size()};
  if (input.dim() == 2) sizes = Dims{input.size(0), options_base.hidden_size()};
  if (!state.defined()) return zeros(sizes, input.options());
  check(state.sizes() == IntArrayRef(sizes), cell_name(), ": expected states ", sizes, " for the input ", input,
        ", got ", state);
  return state;
}

template class RNNCellImplBase<RNNCellImpl>;
template class RNNCellImplBase<LSTMCellImpl>;
template class RNNCellImplBase<GRUCellImpl>;

}  // namespace detail

RNNCellImpl::RNNCellImpl(const RNNCellOptions& options)
    : RNNCellImplBase(detail::RNNCellOptionsBase(options.input_size(), options.hidden_size(), options.bias(), 1)),
      options(options) {
  check(options.nonlinearity() == kTanh || options.nonlinearity() == kReLU,
        "RNNCell: nonlinearity must be kTanh or kReLU");
}
Tensor RNNCellImpl::forward(const Tensor& input, const Tensor& hx) {
  const Tensor h = state_for(input, hx);
  return (options.nonlinearity() == kTanh ? rnn_tanh_cell : rnn_relu_cell)(input, h, weight_ih, weight_hh, bias_ih,
                                                                           bias_hh);
}
std::string RNNCellImpl::get_nonlinearity_str() const { return options.nonlinearity() == kTanh ? "kTanh" : "kReLU"; }

LSTMCellImpl::LSTMCellImpl(const LSTMCellOptions& options)
    : RNNCellImplBase(detail::RNNCellOptionsBase(options.input_size(), options.hidden_size(), options.bias(), 4)),
      options(options) {}
LSTMCellImpl::States LSTMCellImpl::forward(const Tensor& input, optional<States> hx_opt) {
  const auto [h, c] = hx_opt.value_or(States());
  const std::vector<Tensor> hx{state_for(input, h), state_for(input, c)};
  return lstm_cell(input, hx, weight_ih, weight_hh, bias_ih, bias_hh);
}

GRUCellImpl::GRUCellImpl(const GRUCellOptions& options)
    : RNNCellImplBase(detail::RNNCellOptionsBase(options.input_size(), options.hidden_size(), options.bias(), 3)),
      options(options) {}
Tensor GRUCellImpl::forward(const Tensor& input, const Tensor& hx) {
  return gru_cell(input, state_for(input, hx), weight_ih, weight_hh, bias_ih, bias_hh);
}

}  // namespace tandem::nn
