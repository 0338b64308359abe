// RNNCell, LSTMCell and GRUCell: one step of a recurrent layer.
#pragma once
#include "tandem/nn/any_module.h"
#include "tandem/nn/cloneable.h"
#include "tandem/nn/module_holder.h"
#include "tandem/nn/options/rnn.h"

namespace tandem::nn {
namespace detail {

/// Input [batch, input_size] or [input_size]; states [batch, hidden_size] or [hidden_size], by default zeros. Weights
/// and biases start uniform in ±1/√hidden_size. Throws Error for other shapes.
template <class Derived>
class RNNCellImplBase : public Cloneable<Derived> {
 public:
  explicit RNNCellImplBase(const RNNCellOptionsBase& options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  RNNCellOptionsBase options_base;
  Tensor weight_ih, weight_hh, bias_ih, bias_hh;

 protected:
  /// A given state, or zeros.
  Tensor state_for(const Tensor& input, const Tensor& state) const;
  /// "kTanh" or "kReLU" of an RNNCell, otherwise empty.
  virtual std::string get_nonlinearity_str() const { return {}; }

 private:
  const char* cell_name() const;
};

}  // namespace detail

class RNNCellImpl : public detail::RNNCellImplBase<RNNCellImpl> {
 public:
  RNNCellImpl(int64_t input_size, int64_t hidden_size) : RNNCellImpl(RNNCellOptions(input_size, hidden_size)) {}
  explicit RNNCellImpl(const RNNCellOptions& options);
  Tensor forward(const Tensor& input, const Tensor& hx = {});
  RNNCellOptions options;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())})
  std::string get_nonlinearity_str() const override;
};
TANDEM_MODULE(RNNCell);

/// The states, and the result, are {hidden, cells}.
class LSTMCellImpl : public detail::RNNCellImplBase<LSTMCellImpl> {
 public:
  using States = std::tuple<Tensor, Tensor>;
  LSTMCellImpl(int64_t input_size, int64_t hidden_size) : LSTMCellImpl(LSTMCellOptions(input_size, hidden_size)) {}
  explicit LSTMCellImpl(const LSTMCellOptions& options);
  States forward(const Tensor& input, optional<States> hx_opt = {});
  LSTMCellOptions options;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(optional<States>())})
};
TANDEM_MODULE(LSTMCell);

class GRUCellImpl : public detail::RNNCellImplBase<GRUCellImpl> {
 public:
  GRUCellImpl(int64_t input_size, int64_t hidden_size) : GRUCellImpl(GRUCellOptions(input_size, hidden_size)) {}
  explicit GRUCellImpl(const GRUCellOptions& options);
  Tensor forward(const Tensor& input, const Tensor& hx = {});
  GRUCellOptions options;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())})
};
TANDEM_MODULE(GRUCell);

}  // namespace tandem::nn
