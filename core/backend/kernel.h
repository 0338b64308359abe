// Kernel: a named function pointer in a backend's table that cannot be left out; OptionalKernel: one that can.
#pragma once
#include <array>
#include <cstddef>
#include <string_view>
#include <typeinfo>

#include "tandem/core/backend/half_calls.h"
#include "tandem/core/backend/kernel_span.h"
#include "tandem/core/base/literal.h"
#include "tandem/core/base/type_list.h"

namespace tandem {

/// Where a profile shows a kernel: on its device's stream, or as a wait on the host.
enum class ShownOn : bool { kStream, kHost };

template <class Signature>
class KernelFunction;
/// A kernel without its name in the type. Nobody watches the calls of a kernel with an empty name.
template <class R, class... Args>
class KernelFunction<R(Args...)> {
 public:
  constexpr KernelFunction(R (*kernel)(Args...), const char* name, HalfCalls half = {},
                           ShownOn shown = ShownOn::kStream)
      : function_(kernel), name_(name), half_(half), shown_(shown) {}
  R operator()(Args... args) const {
    if (profiler::is_on() || in_float(args...)) [[unlikely]]
      return special(static_cast<Args&&>(args)...);
    return function_(static_cast<Args&&>(args)...);
  }
  constexpr const char* name() const { return name_; }
  /// Unwatched and without the conversion of half types, for a kernel that only calls another one.
  constexpr auto function() const { return function_; }

 private:
  bool in_float(const std::remove_cvref_t<Args>&... args) const {
    return !half_.native && (detail::FloatArgument<Args>::needed(args) || ...);
  }
  static constexpr auto again() {
    void (*run)(const void*, const void* const*) = nullptr;
    if constexpr (std::is_void_v<R>)
      run = [](const void* kernel, const void* const* values) {
        [&]<std::size_t... i>(std::index_sequence<i...>) {
          (*static_cast<const KernelFunction*>(kernel))(
              *static_cast<const std::remove_reference_t<Args>*>(values[i])...);
        }
        (std::index_sequence_for<Args...>());
      };
    return run;
  }
  R call(Args... args) const {
    if (in_float(args...)) return detail::call_in_float<R, Args...>(function_, half_, args...);
    return function_(static_cast<Args&&>(args)...);
  }
  [[gnu::noinline, gnu::cold]] R special(Args... args) const {
    if (*name_ == '\0' || !profiler::is_on()) return call(static_cast<Args&&>(args)...);
    const std::type_info* const types[] = {&typeid(Args)..., nullptr};
    const void* const values[] = {&args..., nullptr};
    const KernelCall watched_call{name_, types, values, sizeof...(Args), this, again()};
    if (detail::queued(watched_call))
      if constexpr (std::is_void_v<R>) return;
    const detail::WatchedCall watched(watched_call, shown_ == ShownOn::kStream);
    return call(static_cast<Args&&>(args)...);
  }
  R (*function_)(Args...);
  const char* name_;
  HalfCalls half_;
  ShownOn shown_;
};

template <Literal name, class Signature, HalfCalls half = HalfCalls{}, ShownOn shown = ShownOn::kStream>
class Kernel : public KernelFunction<Signature> {
 public:
  constexpr Kernel(Signature* kernel) : Kernel(kernel, half) {}
  /// A backend's kernel that is called with the half types in its own way.
  constexpr Kernel(Signature* kernel, HalfCalls own) : KernelFunction<Signature>(kernel, text_.text, own, shown) {}
  Kernel(std::nullptr_t) = delete;

 private:
  static constexpr auto text_ = name;
};

/// A kernel that a backend may lack: absent if default-constructed. Callers ask, and compose the operation otherwise.
template <Literal name, class Signature, HalfCalls half = HalfCalls{}, ShownOn shown = ShownOn::kStream>
class OptionalKernel : public Kernel<name, Signature, half, shown> {
  using Base = Kernel<name, Signature, half, shown>;

 public:
  using Base::Base;
  constexpr OptionalKernel() : Base(static_cast<Signature*>(nullptr)) {}
  constexpr explicit operator bool() const { return this->function() != nullptr; }
};

namespace detail {
/// Op::name with a suffix.
template <class Op, Literal suffix>
struct SuffixedName {
  static constexpr auto make() {
    constexpr std::string_view name = Op::name, end = suffix.text;
    std::array<char, name.size() + end.size() + 1> out{};
    name.copy(out.data(), name.size());
    end.copy(out.data() + name.size(), end.size());
    return out;
  }
  static constexpr auto text = make();
};
}  // namespace detail

template <class List, class Signature>
class KernelsOf;
template <class... Ops, class Signature>
class KernelsOf<TypeList<Ops...>, Signature> {
 public:
  template <class Op>
  const KernelFunction<Signature>& get() const {
    return kernels_[index_of<Op, TypeList<Ops...>>];
  }
  /// By the position of the operation in the list.
  const KernelFunction<Signature>& operator[](std::size_t op) const { return kernels_[op]; }

 protected:
  using Kernels = std::array<KernelFunction<Signature>, sizeof...(Ops)>;
  template <class Maker, Literal suffix>
  static constexpr Kernels make(HalfCalls half) {
    return {KernelFunction<Signature>(&Maker::template kernel<Ops>, detail::SuffixedName<Ops, suffix>::text.data(),
                                      half)...};
  }
  constexpr explicit KernelsOf(const Kernels& kernels) : kernels_(kernels) {}

 private:
  Kernels kernels_;
};

/// One kernel per type of an operation list, all with one signature: the functions `Maker::kernel<Op>`. A
/// kernel's name is Op::name followed by `suffix`.
template <class List, class Signature, Literal suffix = "">
class KernelArray : public KernelsOf<List, Signature> {
  using Base = KernelsOf<List, Signature>;

 public:
  template <class Maker>
  static constexpr KernelArray from(HalfCalls half = {}) {
    return KernelArray(Base::template make<Maker, suffix>(half));
  }

 private:
  using Base::Base;
};

/// The kernels of `Ops`. A constant made of it instantiates them in the source that has their definition.
template <class Maker, class... Ops>
constexpr auto instantiate(TypeList<Ops...>) {
  return std::array{&Maker::template kernel<Ops>...};
}

}  // namespace tandem
