// Cloneable<Derived>: base of modules that clone() can copy.
//
// Derived builds its parameters, buffers and children in reset(), which its constructor calls; clone() copies
// the object (options and other members), calls reset() on the copy and copies the values over.
#pragma once
#include "tandem/autograd/grad_mode.h"
#include "tandem/nn/init.h"
#include "tandem/nn/module.h"

namespace tandem::nn {

template <class Derived>
class Cloneable : public Module {
 public:
  using Module::Module;

  /// Makes parameters, buffers and children anew, with their initial values.
  virtual void reset() = 0;

  /// Draws no random numbers.
  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override {
    NoGradGuard no_grad;
    const auto& self = static_cast<const Derived&>(*this);
    auto copy = std::make_shared<Derived>(self);
    copy->parameters_.clear();
    copy->buffers_.clear();
    copy->children_.clear();
    {
      init::SkipGuard values_follow;
      copy->reset();
    }
    check(copy->parameters_.size() == parameters_.size() && copy->buffers_.size() == buffers_.size() &&
              copy->children_.size() == children_.size(),
          "clone: the copy of ", name(),
          " has other parameters, buffers or children than it. Are all of them ",
          "registered in reset(), not in the constructor?");
    copy_tensors(parameters_, copy->parameters_, device);
    copy_tensors(buffers_, copy->buffers_, device);
    for (const auto& child : children_) copy->children_[child.key()]->clone_(*child.value(), device);
    return copy;
  }

 private:
  static void copy_tensors(const OrderedDict<std::string, Tensor>& from, OrderedDict<std::string, Tensor>& to,
                           const optional<Device>& device) {
    for (const auto& item : from) {
      Tensor& target = to[item.key()];
      if (!item.value().defined()) continue;
      const Tensor& source = item.value();
      const Tensor values = source.detach().to(device.value_or(source.device()), source.dtype(), false, true);
      if (target.defined() && !target.is_same(source))
        target.set_data(values);
      else
        target = values;
      if (target.requires_grad() != source.requires_grad()) target.requires_grad_(source.requires_grad());
    }
  }

  void clone_(Module& other, const optional<Device>& device) final {
    auto* typed = dynamic_cast<Derived*>(this);
    const auto copy = std::dynamic_pointer_cast<Derived>(other.clone(device));
    check(typed != nullptr && copy != nullptr, "clone: child modules of different types: ", name(), " and ",
          other.name());
    *typed = *copy;
  }
};

}  // namespace tandem::nn
