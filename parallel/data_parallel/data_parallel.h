// DataParallel: runs a module on several devices at once.
//
//   auto model = nn::DataParallel(net, {"cuda:0", "cuda:1"});   // net: a holder or a shared_ptr
//   Tensor output = model(input);                               // same call as net(input)
//
// Tensor arguments are split along `dim` as chunk does, one piece per device. Each replica computes on its
// own host thread, and the outputs are concatenated on `output_device`. Containers (see nested.h) are split
// and joined tensor by tensor. A 0-d result, such as a loss, becomes a vector with one element per replica. A
// batch with fewer pieces than devices uses the first ones. With a single device, a call runs the module
// itself, and a 0-d result stays 0-d.
//
// The module's own device, which may be any in the list, is the root. It computes the first piece with the
// module itself, so whatever forward stores there (running statistics) persists. The other devices hold
// replicas. They receive the root's parameters and buffers with one copy per device and dtype, and only if
// these were written or a backward ran since the last forward. (Writes through data() are not detected: call
// refresh() after them unless a backward follows first.) Replicas do not follow later changes to the module's
// options and hooks, but they do follow its train/eval mode. Gradients are summed on the root in device
// order, so equal inputs produce equal bits. For dropout see parallel_apply.h.
//
// Several threads may run forward and backward concurrently, with or without recording. Each call uses a
// separate set of replicas, which is kept for later calls, so there are as many sets as the peak number of
// concurrent calls. All of them use the module itself on the root: its forward must tolerate concurrent
// calls, as it must without DataParallel. Layers that write to the module do not: BatchNorm and InstanceNorm
// with running statistics during training. Gradients of all backward passes are accumulated in order of
// arrival, so the last bits depend on that order. Nothing else may run concurrently with a call: changing the
// module (to, train, load_state_dict, hooks), its parameters (an optimizer step) or their gradients
// (zero_grad), or entering or leaving no_sync, which applies to all threads.
#pragma once
#include "tandem/nn/module_holder.h"
#include "tandem/parallel/data_parallel/data_parallel_base.h"
#include "tandem/parallel/data_parallel/nested.h"
#include "tandem/parallel/shared/parallel_apply.h"

namespace tandem::parallel {

namespace detail {
template <class T>
struct Unwrapped {
  using type = T;
};
template <class T>
struct Unwrapped<Whole<T>> {
  using type = T;
};
/// The type that forward receives for an argument of type A.
template <class A>
using Argument = typename Unwrapped<std::decay_t<A>>::type;

/// The argument on `device`, not split.
template <class A>
Argument<A> moved(const A& argument, Device device) {
  return map_tensors(argument, [&](const Tensor& t) { return t.device() == device ? t : t.to(device); });
}
template <class T>
T moved(const Whole<T>& argument, Device device) {
  return moved(argument.value, device);
}
}  // namespace detail

template <class M>
class DataParallelImpl : public DataParallelBase {
 public:
  /// `devices` defaults to all devices of the module's device type, `output_device` to the root. Throws Error
  /// on a device that does not exist or appears twice.
  explicit DataParallelImpl(std::shared_ptr<M> module, optional<std::vector<Device>> devices = nullopt,
                            optional<Device> output_device = nullopt, int64_t dim = 0)
      : DataParallelBase(module, detail::make_replica<M>, std::move(devices), output_device, dim),
        module_(std::move(module)) {}

  /// The wrapped module.
  const std::shared_ptr<M>& module() const { return module_; }

  /// Calls module->forward with the same arguments. Throws Error when tensors differ in size along `dim`, and
  /// rethrows a replica's exception: see parallel_apply.h.
  template <class... Args>
  auto forward(Args&&... args) {
    using Result = decltype(nn::call(*module_, std::declval<detail::Argument<Args>>()...));
    if (devices().size() == 1) return forward_on_one<Result>(args...);
    Call call(*this);
    const std::vector<Device>& where = call.order();
    detail::Arguments arguments;
    (arguments.add(args), ...);
    std::vector<Tensors> pieces = detail::cut("DataParallel", arguments, where, dim());
    const std::vector<nn::Module*> modules = call.prepare(pieces.size());
    const auto run = [&](std::size_t i) {
      auto tuple = arguments_of<detail::Argument<Args>...>(pieces[i], args...);
      return std::apply([&](auto&... piece) { return nn::call(static_cast<M&>(*modules[i]), std::move(piece)...); },
                        tuple);
    };
    const std::vector<Device> used(where.begin(), where.begin() + static_cast<std::ptrdiff_t>(pieces.size()));
    if constexpr (std::is_void_v<Result>)
      parallel_apply(used, run);
    else
      return gather_nested(parallel_apply(used, run), given_output_device().value_or(where[0]), dim());
  }

 private:
  template <class Result, class... Args>
  Result forward_on_one(const Args&... args) {
    const Device device = only_device();
    if constexpr (std::is_void_v<Result>) {
      nn::call(*module_, detail::moved(args, device)...);
    } else {
      if (!given_output_device()) return nn::call(*module_, detail::moved(args, device)...);
      return detail::moved(nn::call(*module_, detail::moved(args, device)...), *given_output_device());
    }
  }
  template <class... Arguments, class... Args>
  static auto arguments_of(Tensors& tensors, const Args&... args) {
    auto next = tensors.begin();
    // Braces evaluate from left to right, the order in which the tensors were added.
    return std::tuple<Arguments...>{detail::with_tensors(args, next)...};
  }

  std::shared_ptr<M> module_;
};

template <class M>
class DataParallel : public nn::ModuleHolder<DataParallelImpl<M>> {
 public:
  using Impl = DataParallelImpl<M>;

  DataParallel(std::nullptr_t) : nn::ModuleHolder<Impl>(nullptr) {}
  DataParallel(std::shared_ptr<Impl> impl) : nn::ModuleHolder<Impl>(std::move(impl)) {}
  /// Uses all devices of the module's device type.
  DataParallel(std::shared_ptr<M> module) : DataParallel(std::move(module), nullopt) {}
  DataParallel(const nn::ModuleHolder<M>& module) : DataParallel(module.ptr()) {}
  DataParallel(std::shared_ptr<M> module, std::vector<Device> devices, optional<Device> output_device = nullopt,
               int64_t dim = 0)
      : DataParallel(std::move(module), optional(std::move(devices)), output_device, dim) {}
  DataParallel(const nn::ModuleHolder<M>& module, std::vector<Device> devices, optional<Device> output_device = nullopt,
               int64_t dim = 0)
      : DataParallel(module.ptr(), std::move(devices), output_device, dim) {}

  DataParallel(std::shared_ptr<M> module, optional<std::vector<Device>> devices,
               optional<Device> output_device = nullopt, int64_t dim = 0)
      : nn::ModuleHolder<Impl>(std::make_shared<Impl>(std::move(module), std::move(devices), output_device, dim)) {}
};

namespace detail {
template <class M>
const std::shared_ptr<M>& pointer(const std::shared_ptr<M>& module) {
  return module;
}
template <class M>
const std::shared_ptr<M>& pointer(const nn::ModuleHolder<M>& module) {
  return module.ptr();
}
}  // namespace detail

/// One forward of `module` (a shared_ptr or a holder) on several devices, with new replicas. DataParallel
/// keeps its replicas instead. The output is on `output_device`, by default the first of `devices`. A single
/// device in `devices` moves the module to that device.
template <class ModuleType>
Tensor data_parallel(ModuleType module, Tensor input, optional<std::vector<Device>> devices = nullopt,
                     optional<Device> output_device = nullopt, int64_t dim = 0) {
  const auto& pointer = detail::pointer(module);
  check(pointer != nullptr, "data_parallel: the module is empty");
  if (devices && devices->size() == 1) pointer->to((*devices)[0]);
  using M = std::decay_t<decltype(*pointer)>;
  if (devices && !devices->empty() && !output_device) output_device = (*devices)[0];
  DataParallelImpl<M> model(pointer, std::move(devices), output_device, dim);
  return model.forward(std::move(input));
}

}  // namespace tandem::parallel

namespace tandem::nn {
using tandem::parallel::DataParallel;
namespace parallel {
using tandem::parallel::data_parallel;
}
}  // namespace tandem::nn
