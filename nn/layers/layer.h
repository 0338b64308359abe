// Layers without parameters: base classes, and macros that declare NameImpl with its constructors, forward() and
// pretty_print().
#pragma once
#include "tandem/nn/cloneable.h"
#include "tandem/nn/module_holder.h"

namespace tandem::nn::detail {

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

}  // namespace tandem::nn::detail

/// A layer without options.
#define TANDEM_PLAIN_LAYER(Name)                            \
  class Name##Impl : public detail::Plain<Name##Impl> {     \
   public:                                                  \
    Tensor forward(const Tensor& input);                    \
    void pretty_print(std::ostream& stream) const override; \
  }
/// A layer derived from detail::Base, with NameOptions, whose default is `= {}` or missing. The parameters of forward()
/// follow.
#define TANDEM_LAYER(Name, Base, Default, ...)                                     \
  class Name##Impl : public detail::Base<Name##Impl, Name##Options> {              \
   public:                                                                         \
    explicit Name##Impl(const Name##Options& options_ Default) : Base(options_) {} \
    Tensor forward(__VA_ARGS__);                                                   \
    void pretty_print(std::ostream& stream) const override;                        \
  }
/// A layer constructed from NameOptions or from the arguments of their constructor, such as `(int64_t size), (size)`.
/// More members may follow.
#define TANDEM_SIZED_LAYER(Name, Parameters, Arguments, ...)                   \
  class Name##Impl : public detail::Optioned<Name##Impl, Name##Options> {      \
   public:                                                                     \
    Name##Impl Parameters : Name##Impl(Name##Options Arguments) {}             \
    explicit Name##Impl(const Name##Options& options_) : Optioned(options_) {} \
    Tensor forward(const Tensor& input);                                       \
    void pretty_print(std::ostream& stream) const override;                    \
    __VA_ARGS__                                                                \
  }
/// A layer derived from Base<NameImpl>, which has all but the constructor.
#define TANDEM_DERIVED_LAYER(Name, Base)                                   \
  class Name##Impl : public Base<Name##Impl> {                             \
   public:                                                                 \
    explicit Name##Impl(const Name##Options& options_) : Base(options_) {} \
  }
