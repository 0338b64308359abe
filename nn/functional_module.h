// Functional: wraps any function of one tensor as a module: nn::Functional(tandem::relu), or with additional
// arguments, nn::Functional(tandem::log_softmax, 1, nullopt).
#pragma once
#include <tuple>

#include "tandem/nn/cloneable.h"
#include "tandem/nn/module_holder.h"

namespace tandem::nn {

class FunctionalImpl : public Cloneable<FunctionalImpl> {
 public:
  template <class F, class... Bound>
  requires(!std::is_base_of_v<FunctionalImpl, std::decay_t<F>>) explicit FunctionalImpl(F function, Bound... bound)
      : function_(std::make_shared<Bind<F, Bound...>>(std::move(function), std::move(bound)...)) {}

  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(Tensor input) { return function_->call(std::move(input)); }
  Tensor operator()(Tensor input) { return forward(std::move(input)); }
  bool is_serializable() const override { return false; }

 private:
  struct Callable {
    virtual ~Callable() = default;
    virtual Tensor call(Tensor input) = 0;
  };
  template <class F, class... Bound>
  struct Bind final : Callable {
    explicit Bind(F f, Bound... b) : function(std::move(f)), bound(std::move(b)...) {}
    Tensor call(Tensor input) override {
      return std::apply([&](auto&... rest) { return function(std::move(input), rest...); }, bound);
    }
    F function;
    std::tuple<Bound...> bound;
  };
  std::shared_ptr<Callable> function_;
};
TANDEM_MODULE(Functional);

}  // namespace tandem::nn
