// Activations. Elementwise except Softmax and LogSoftmax (along dim); floating point.
#pragma once
#include "tandem/nn/cloneable.h"
#include "tandem/nn/module_holder.h"
#include "tandem/nn/options/activation.h"

namespace tandem::nn {

namespace detail {
/// A module without parameters, buffers or options.
template <class Derived>
class Plain : public Cloneable<Derived> {
 public:
  void reset() override {}
};
/// A module without parameters or buffers, but with options.
template <class Derived, class Options>
class Optioned : public Cloneable<Derived> {
 public:
  explicit Optioned(const Options& options_) : options(options_) {}
  void reset() override {}
  Options options;
};
}  // namespace detail

class SigmoidImpl : public detail::Plain<SigmoidImpl> {
 public:
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Sigmoid);

class TanhImpl : public detail::Plain<TanhImpl> {
 public:
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Tanh);

class SiLUImpl : public detail::Plain<SiLUImpl> {
 public:
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(SiLU);

/// x where positive, else r x, with r random during training and the mean of lower and upper otherwise.
class RReLUImpl : public detail::Optioned<RReLUImpl, RReLUOptions> {
 public:
  explicit RReLUImpl(const RReLUOptions& options_ = {}) : Optioned(options_) {}
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(RReLU);

class MishImpl : public detail::Plain<MishImpl> {
 public:
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Mish);

class SoftsignImpl : public detail::Plain<SoftsignImpl> {
 public:
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Softsign);

class LogSigmoidImpl : public detail::Plain<LogSigmoidImpl> {
 public:
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(LogSigmoid);

class HardswishImpl : public detail::Plain<HardswishImpl> {
 public:
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Hardswish);

class HardsigmoidImpl : public detail::Plain<HardsigmoidImpl> {
 public:
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Hardsigmoid);

class ReLUImpl : public detail::Optioned<ReLUImpl, ReLUOptions> {
 public:
  explicit ReLUImpl(const ReLUOptions& options_ = {}) : Optioned(options_) {}
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(ReLU);

class ReLU6Impl : public detail::Optioned<ReLU6Impl, ReLU6Options> {
 public:
  explicit ReLU6Impl(const ReLU6Options& options_ = {}) : Optioned(options_) {}
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(ReLU6);

class LeakyReLUImpl : public detail::Optioned<LeakyReLUImpl, LeakyReLUOptions> {
 public:
  explicit LeakyReLUImpl(const LeakyReLUOptions& options_ = {}) : Optioned(options_) {}
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(LeakyReLU);

class ELUImpl : public detail::Optioned<ELUImpl, ELUOptions> {
 public:
  explicit ELUImpl(const ELUOptions& options_ = {}) : Optioned(options_) {}
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(ELU);

class SELUImpl : public detail::Optioned<SELUImpl, SELUOptions> {
 public:
  explicit SELUImpl(const SELUOptions& options_ = {}) : Optioned(options_) {}
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(SELU);

class GELUImpl : public detail::Optioned<GELUImpl, GELUOptions> {
 public:
  explicit GELUImpl(const GELUOptions& options_ = {}) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(GELU);

class HardtanhImpl : public detail::Optioned<HardtanhImpl, HardtanhOptions> {
 public:
  /// Throws Error unless min_val is less than max_val.
  explicit HardtanhImpl(const HardtanhOptions& options = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Hardtanh);

class SoftplusImpl : public detail::Optioned<SoftplusImpl, SoftplusOptions> {
 public:
  explicit SoftplusImpl(const SoftplusOptions& options_ = {}) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Softplus);

class SoftmaxImpl : public detail::Optioned<SoftmaxImpl, SoftmaxOptions> {
 public:
  explicit SoftmaxImpl(const SoftmaxOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Softmax);

class LogSoftmaxImpl : public detail::Optioned<LogSoftmaxImpl, LogSoftmaxOptions> {
 public:
  explicit LogSoftmaxImpl(const LogSoftmaxOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(LogSoftmax);

}  // namespace tandem::nn
