// Cloneable<Derived>: base class of modules that support clone().
//
// Derived builds its parameters, buffers and children in reset(), which its constructor calls. clone() copies
// the object (options and other members), calls reset() on the copy and then copies the values.
#pragma once
#include "tandem/autograd/grad_mode.h"
#include "tandem/core/random/generator.h"
#include "tandem/nn/init.h"
#include "tandem/nn/module.h"

namespace tandem::nn {

template <class Derived>
class Cloneable : public Module {
 public:
  using Module::Module;

  /// Recreates parameters, buffers and children with their initial values.
  virtual void reset() = 0;

  /// Draws no random numbers, since initialisation is skipped; in GeneratorMode::kPyTorch it draws as LibTorch's does.
  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override {
    NoGradGuard no_grad;
    auto* copy = new Derived(static_cast<const Derived&>(*this));
    // Owned as a Module: make_shared<Derived> costs every program 10 ms of compile time per layer, used or not.
    std::shared_ptr<Module> owner(static_cast<Module*>(copy));
    copy->forget_members();
    {
      init::SkipGuard values_follow(generator_mode() != GeneratorMode::kPyTorch);
      copy->reset();
    }
    copy->copy_members(*this, device);
    return owner;
  }

 private:
  void clone_(Module& other, const optional<Device>& device) final {
    const std::shared_ptr<Module> copy = other.clone(device);
    const auto* same = dynamic_cast<const Derived*>(copy.get());
    if (same == nullptr) differs_from(other);
    static_cast<Derived&>(*this) = *same;
  }
};

}  // namespace tandem::nn
