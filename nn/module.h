// Module: a function with parameters, buffers and child modules (LibTorch's torch::nn::Module).
//
//   struct Net : nn::Module {
//     Net() { fc = register_module("fc", nn::Linear(784, 10)); }
//     Tensor forward(Tensor x) { return fc(x); }
//     nn::Linear fc{nullptr};
//   };
//   auto net = std::make_shared<Net>();
//
// Several threads may call and read one module as long as its forward does not write to the module and no
// thread modifies it meanwhile. (BatchNorm writes its running statistics during training.)
#pragma once
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/core/base/ordered_dict.h"
#include "tandem/core/tensor.h"
#include "tandem/nn/hooks.h"

namespace tandem {
namespace serialize {
class InputArchive;
class OutputArchive;
}  // namespace serialize
namespace nn {

template <class Contained>
class ModuleHolder;
template <class Derived>
class Cloneable;
class AnyValue;
namespace detail {
template <class M, class Result, class... Args>
struct AnyModuleHolder;
struct ParentLink;
struct ModuleTree;
/// Throws Error if `name` is empty or contains a dot. `what`: "Parameter", "Buffer" or "Submodule".
void check_name(const char* what, const std::string& name);
}  // namespace detail

/// Names without a counterpart, as reported by load_state_dict.
struct LoadResult {
  std::vector<std::string> missing_keys, unexpected_keys;
};

class Module : public std::enable_shared_from_this<Module> {
 public:
  /// The name defaults to that of the type.
  Module();
  explicit Module(std::string name);
  /// Shares parameters, buffers and children with `other`; clone() copies them.
  Module(const Module& other);
  Module& operator=(const Module& other);
  virtual ~Module();

  const std::string& name() const;
  /// A deep copy, on `device` if given. Throws Error unless the type derives from Cloneable<Itself>.
  virtual std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const;

  // ---- Contents. Names look like "child.grandchild.weight". A tensor that is reachable on several paths is
  // listed once, under its first name.
  std::vector<Tensor> parameters(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_parameters(bool recurse = true) const;
  std::vector<Tensor> buffers(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_buffers(bool recurse = true) const;
  /// All descendants. With include_self this module comes first, named `name_prefix`; a shared_ptr must then
  /// own it.
  std::vector<std::shared_ptr<Module>> modules(bool include_self = true) const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_modules(const std::string& name_prefix = {},
                                                                  bool include_self = true) const;
  std::vector<std::shared_ptr<Module>> children() const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_children() const;

  /// Calls `f` for this module and all descendants: f(Module&), f(name, Module&), f(shared_ptr<Module>) or
  /// f(name, shared_ptr<Module>).
  template <class F>
  void apply(const F& f, const std::string& name_prefix = {});
  template <class F>
  void apply(const F& f, const std::string& name_prefix = {}) const;

  // ---- State.
  virtual void train(bool on = true);
  void eval() { train(false); }
  bool is_training() const noexcept { return is_training_; }
  /// Converts in place. `dtype`: floating point, for such tensors only; or complex, for these and complex ones.
  virtual void to(Device device, ScalarType dtype, bool non_blocking = false);
  virtual void to(ScalarType dtype, bool non_blocking = false);
  virtual void to(Device device, bool non_blocking = false);
  /// Lays out parameters and buffers in place: those of 4 dimensions for ChannelsLast, of 5 for ChannelsLast3d, all for
  /// Contiguous. Convolutions with channels-last weights return channels-last tensors.
  virtual void to(MemoryFormat format);
  virtual void zero_grad(bool set_to_none = true);

  /// Parameters and buffers under their full names, detached; they share memory with the module.
  OrderedDict<std::string, Tensor> state_dict() const;
  /// Copies the values into the module, across dtypes and devices. All names may start with "module." and
  /// "_orig_mod.", as wrapped models save them. Throws Error for missing or unexpected names (when strict) and mismatched shapes, with
  /// the first five and the number of each; the module is then unchanged.
  LoadResult load_state_dict(const OrderedDict<std::string, Tensor>& state, bool strict = true);
  virtual void save(serialize::OutputArchive& archive) const;
  virtual void load(serialize::InputArchive& archive);
  virtual bool is_serializable() const { return true; }

  /// Prints "Linear(in_features=2, out_features=3, bias=true)"; children follow, indented.
  virtual void pretty_print(std::ostream& stream) const;

  // ---- Building. Throws Error on a name that is already used, is empty or contains a dot.
  //
  // A module that is this one or contains it is rejected: modules form a tree and may share children, but
  // never form a cycle. So every traversal ends, and each module is freed with its last owner. (PyTorch
  // accepts cycles; train, to, apply and state_dict then recurse forever.)
  Tensor& register_parameter(std::string name, Tensor tensor, bool requires_grad = true);
  Tensor& register_buffer(std::string name, Tensor tensor);
  template <class M>
  std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M> module) {
    add_child(std::move(name), module);
    return module;
  }
  template <class M>
  std::shared_ptr<M> register_module(std::string name, ModuleHolder<M> holder) {
    return register_module(std::move(name), holder.ptr());
  }
  template <class M>
  std::shared_ptr<M> replace_module(const std::string& name, std::shared_ptr<M> module) {
    set_child(name, module);
    return module;
  }
  template <class M>
  std::shared_ptr<M> replace_module(const std::string& name, ModuleHolder<M> holder) {
    return replace_module(name, holder.ptr());
  }
  void unregister_module(const std::string& name);

  /// `hook(module, inputs)`: a tensor or tensors it returns replace the inputs. See nn/hooks.h.
  template <class Hook>
  HookHandle register_forward_pre_hook(Hook hook) {
    return add_hook(std::make_shared<detail::CallablePreHook<Hook>>(std::move(hook)), true);
  }
  /// `hook(module, inputs, output)`: a defined tensor it returns replaces the output.
  template <class Hook>
  HookHandle register_forward_hook(Hook hook) {
    return add_hook(std::make_shared<detail::CallableForwardHook<Hook>>(std::move(hook)), false);
  }
  bool has_forward_hooks() const noexcept { return hooks_ != nullptr; }
  const std::shared_ptr<detail::ForwardHooks>& forward_hooks() const noexcept { return hooks_; }

  /// This module as a Linear (or a LinearImpl), or nullptr when it has a different type.
  template <class M>
  auto* as() noexcept {
    if constexpr (requires { typename M::ContainedType; })
      return dynamic_cast<typename M::ContainedType*>(this);
    else
      return dynamic_cast<M*>(this);
  }
  template <class M>
  const auto* as() const noexcept {
    return const_cast<Module*>(this)->as<M>();
  }

 protected:
  // Used by clone(): recreates the copy's parameters, buffers and children, then copies the values of `from`.
  void forget_members();
  void copy_members(const Module& from, const optional<Device>& device);
  /// Throws Error if adding `module` as child `name` would create a cycle.
  void check_child(const std::string& name, const Module& module) const;
  [[noreturn]] void differs_from(const Module& other) const;

  OrderedDict<std::string, Tensor> parameters_, buffers_;
  OrderedDict<std::string, std::shared_ptr<Module>> children_;
  /// Default arguments of forward in calls through AnyModule: see FORWARD_HAS_DEFAULT_ARGS.
  virtual bool _forward_has_default_args() { return false; }
  virtual unsigned _forward_num_required_args();
  virtual std::vector<AnyValue> _forward_populate_default_args(std::vector<AnyValue>&& arguments);

 private:
  template <class Derived>
  friend class Cloneable;
  template <class, class, class...>
  friend struct detail::AnyModuleHolder;
  friend struct detail::ModuleTree;
  friend std::ostream& operator<<(std::ostream& stream, const Module& module);

  void add_child(std::string name, std::shared_ptr<Module> module);
  void set_child(const std::string& name, std::shared_ptr<Module> module);
  /// Makes the child know this parent, for the places of errors. The caller holds the lock.
  void link(Module& child);
  HookHandle add_hook(std::shared_ptr<detail::ForwardHook> hook, bool pre);
  /// Copies the state of `other`, a module of the same type; used by clone().
  virtual void clone_(Module& other, const optional<Device>& device);
  std::shared_ptr<Module> shared() const;
  OrderedDict<std::string, Tensor> named_tensors(const char* kind, OrderedDict<std::string, Tensor> Module::*tensors,
                                                 bool recurse) const;
  void pretty_print_recursive(std::ostream& stream, const std::string& indent) const;
  template <class Convert>
  void convert_all(const Convert& convert);

  optional<std::string> name_;
  bool is_training_ = true;
  std::shared_ptr<detail::ForwardHooks> hooks_;
  std::shared_ptr<detail::ParentLink> link_;                  // to this module, in its children
  std::vector<std::shared_ptr<detail::ParentLink>> parents_;  // some may not have this child any more
};

std::ostream& operator<<(std::ostream& stream, const Module& module);

template <class F>
void Module::apply(const F& f, const std::string& name_prefix) {
  if constexpr (std::is_invocable_v<F, Module&>)
    f(*this);
  else if constexpr (std::is_invocable_v<F, const std::string&, Module&>)
    f(name_prefix, *this);
  else if constexpr (std::is_invocable_v<F, std::shared_ptr<Module>>)
    f(shared());
  else
    f(name_prefix, shared());
  for (const auto& child : children_)
    child.value()->apply(f, name_prefix.empty() ? child.key() : name_prefix + "." + child.key());
}
template <class F>
void Module::apply(const F& f, const std::string& name_prefix) const {
  if constexpr (std::is_invocable_v<F, const Module&>)
    f(*this);
  else if constexpr (std::is_invocable_v<F, const std::string&, const Module&>)
    f(name_prefix, *this);
  else
    return const_cast<Module*>(this)->apply(f, name_prefix);
  for (const auto& child : children_)
    std::as_const(*child.value()).apply(f, name_prefix.empty() ? child.key() : name_prefix + "." + child.key());
}

}  // namespace nn
}  // namespace tandem
