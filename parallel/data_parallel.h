// DataParallel: a module on several devices at once.
//
//   auto model = nn::DataParallel(net, {"cuda:0", "cuda:1"});   // net: a holder or a shared_ptr
//   Tensor output = model(input);                               // as net(input)
//
// The tensors among the arguments are cut along `dim` as chunk cuts, one piece a device; the replicas compute
// on a host thread each, and their outputs are joined on `output_device`. Containers (see nested.h) are cut
// and joined tensor by tensor; a 0-d result, as a loss, becomes a vector with a number a replica. A batch
// with fewer pieces than devices uses the first ones. On one device a call is that of the module itself, and
// gives a 0-d result as it is.
//
// The device on which the module is, any one of the list, is the root: it computes the first piece with the
// module itself, so that what a forward leaves there (running statistics) stays. The others keep replicas,
// which get the root's parameters and buffers by one copy a device and dtype, and only when these were
// written since the last forward, or a backward ran. (Writes through data() are not counted: call refresh()
// after them, unless a backward came between.) Options and hooks of the module that change later are not
// followed; modes (train, eval) are. Gradients of all are added on the root in the order of the devices, so
// equal inputs give equal bits. Dropout: see parallel_apply.h.
//
// Several threads may call it at once and go backward at once, recording or not: each call has replicas of
// its own, which are kept for later calls, so that there are as many sets as calls were ever at work
// together. The module itself is the root's part in all of them: its forward must bear that, as without
// DataParallel. Layers that write to it do not: BatchNorm and InstanceNorm with running statistics while
// training. Gradients of all backwards are added up, in the order in which they come, so that the last bits
// are those of one order. Nothing else goes beside a call: changing the module (to, train, load_state_dict,
// hooks), its parameters (an optimizer's step) or their gradients (zero_grad), or entering or leaving
// no_sync, which is for all threads.
#pragma once
#include "tandem/nn/module_holder.h"
#include "tandem/parallel/data_parallel_base.h"
#include "tandem/parallel/nested.h"
#include "tandem/parallel/parallel_apply.h"

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
/// What forward gets for an argument of type A.
template <class A>
using Argument = typename Unwrapped<std::decay_t<A>>::type;

/// An argument on `device`, uncut.
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
  /// `devices`: by default all of the kind that the module is on. `output_device`: by default the root.
  /// Throws Error on a device that is not there or that comes twice.
  explicit DataParallelImpl(std::shared_ptr<M> module, optional<std::vector<Device>> devices = nullopt,
                            optional<Device> output_device = nullopt, int64_t dim = 0)
      : DataParallelBase(module, detail::make_replica<M>, std::move(devices), output_device, dim),
        module_(std::move(module)) {}

  /// What is wrapped.
  const std::shared_ptr<M>& module() const { return module_; }

  /// module->forward of the same arguments. Throws Error when tensors differ in the size of `dim`, or what a
  /// replica throws: see parallel_apply.h.
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
      return std::apply(
          [&](auto&... piece) { return nn::call(static_cast<M&>(*modules[i]), std::move(piece)...); }, tuple);
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
    // Braces: from left to right, as the tensors were added.
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
  /// On all devices of the kind that the module is on.
  DataParallel(std::shared_ptr<M> module) : DataParallel(std::move(module), nullopt) {}
  DataParallel(const nn::ModuleHolder<M>& module) : DataParallel(module.ptr()) {}
  DataParallel(std::shared_ptr<M> module, std::vector<Device> devices,
               optional<Device> output_device = nullopt, int64_t dim = 0)
      : DataParallel(std::move(module), optional(std::move(devices)), output_device, dim) {}
  DataParallel(const nn::ModuleHolder<M>& module, std::vector<Device> devices,
               optional<Device> output_device = nullopt, int64_t dim = 0)
      : DataParallel(module.ptr(), std::move(devices), output_device, dim) {}

  DataParallel(std::shared_ptr<M> module, optional<std::vector<Device>> devices,
               optional<Device> output_device = nullopt, int64_t dim = 0)
      : nn::ModuleHolder<Impl>(
            std::make_shared<Impl>(std::move(module), std::move(devices), output_device, dim)) {}
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

/// One forward of `module` (a shared_ptr or a holder) on several devices, with new replicas: see
/// DataParallel, which keeps them. The output is on `output_device`, by default the first of `devices`. A
/// list of one moves the module there.
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
