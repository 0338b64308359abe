// RNN, LSTM and GRU.
//
// Input [steps, batch, input_size], or [batch, steps, input_size] with batch_first, or [steps, input_size] without a
// batch. Output [steps, batch, D P] in the same layout, and the final states [D num_layers, batch, P], which are also
// the form of the optional initial states hx (default: zeros). P is hidden_size, or proj_size of an LSTM that has one
// (its cells keep hidden_size), and D is 2 if bidirectional, otherwise 1. Throws Error for other shapes.
#pragma once
#include "tandem/nn/any_module.h"
#include "tandem/nn/cloneable.h"
#include "tandem/nn/module_holder.h"
#include "tandem/nn/options/rnn.h"
#include "tandem/nn/packed_sequence.h"

namespace tandem::nn {
namespace detail {

/// Parameters of layer k: weight_ih_lk, weight_hh_lk, bias_ih_lk, bias_hh_lk, and weight_hr_lk with a projection; the
/// second direction's end in _reverse. All start uniform in ±1/√hidden_size.
template <class Derived>
class RNNImplBase : public Cloneable<Derived> {
 public:
  explicit RNNImplBase(const RNNOptionsBase& options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  /// Has nothing to do, because kernels take the parameters as they are.
  void flatten_parameters() {}
  /// In the order of the parameters' registration.
  std::vector<Tensor> all_weights() const { return flat_weights_; }

  RNNOptionsBase options_base;

 protected:
  struct Results {
    Tensor out, h, c;
  };
  /// Undefined states are zeros. c is used by an LSTM only.
  Results run(const Tensor& input, Tensor h, Tensor c);
  /// The output is the data of a packed sequence.
  Results run(const utils::rnn::PackedSequence& input, Tensor h, Tensor c);

 private:
  Results call(const Tensor& input, const Tensor& batch_sizes, const Tensor& h, const Tensor& c) const;
  void check_features(const Tensor& input) const;
  Tensor initial(const char* what, const Tensor& state, int64_t batch, int64_t size, const Tensor& input) const;
  int64_t states() const { return options_base.num_layers() * (options_base.bidirectional() ? 2 : 1); }
  int64_t output_size() const {
    return options_base.proj_size() > 0 ? options_base.proj_size() : options_base.hidden_size();
  }
  std::vector<Tensor> flat_weights_;
};

}  // namespace detail

#define TANDEM_RECURRENT(Name)                                                                                  \
  class Name##Impl : public detail::RNNImplBase<Name##Impl> {                                                   \
   public:                                                                                                      \
    Name##Impl(int64_t input_size, int64_t hidden_size) : Name##Impl(Name##Options(input_size, hidden_size)) {} \
    explicit Name##Impl(const Name##Options& options);                                                          \
    std::tuple<Tensor, Tensor> forward(const Tensor& input, Tensor hx = {});                                    \
    std::tuple<utils::rnn::PackedSequence, Tensor> forward_with_packed_input(                                   \
        const utils::rnn::PackedSequence& packed_input, Tensor hx = {});                                        \
    Name##Options options;                                                                                      \
                                                                                                                \
   protected:                                                                                                   \
    FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())})                                                           \
  }
/// h' = f(w_ih x + b_ih + w_hh h + b_hh), where f is tanh or relu.
TANDEM_RECURRENT(RNN);
TANDEM_MODULE(RNN);
/// Gated recurrent unit.
TANDEM_RECURRENT(GRU);
TANDEM_MODULE(GRU);
#undef TANDEM_RECURRENT

/// Long short-term memory. The states are {hidden, cells}.
class LSTMImpl : public detail::RNNImplBase<LSTMImpl> {
 public:
  using States = std::tuple<Tensor, Tensor>;
  LSTMImpl(int64_t input_size, int64_t hidden_size) : LSTMImpl(LSTMOptions(input_size, hidden_size)) {}
  explicit LSTMImpl(const LSTMOptions& options);
  std::tuple<Tensor, States> forward(const Tensor& input, optional<States> hx_opt = {});
  std::tuple<utils::rnn::PackedSequence, States> forward_with_packed_input(
      const utils::rnn::PackedSequence& packed_input, optional<States> hx_opt = {});
  LSTMOptions options;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(optional<States>())})
};
TANDEM_MODULE(LSTM);

}  // namespace tandem::nn
