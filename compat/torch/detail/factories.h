// The factories as ATen declares them: with dtype, layout, device and pin_memory as four optional parameters, without
// defaults, in place of TensorOptions. And the maker of tensors on the caller's memory.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "tandem/tandem.h"

#define TANDEM_FOUR                                                                                                    \
  std::optional<tandem::ScalarType> dtype, std::optional<tandem::Layout> layout, std::optional<tandem::Device> device, \
      std::optional<bool> pin_memory
#define TANDEM_MADE tandem::options_of(dtype, layout, device, pin_memory)
#define TANDEM_GENERATOR const std::optional<tandem::Generator>& generator
#define TANDEM_LIST(...) __VA_ARGS__
// Functions of the parameters and the four, which call Tandem's functions of the same names with the arguments.
#define TANDEM_FACTORY(name, arguments, ...) \
  inline tandem::Tensor name(__VA_ARGS__, TANDEM_FOUR) { return tandem::name(TANDEM_LIST arguments, TANDEM_MADE); }
#define TANDEM_FACTORY_OF(default_dtype, name, arguments, ...)                                    \
  inline tandem::Tensor name(__VA_ARGS__, TANDEM_FOUR) {                                          \
    return tandem::name(TANDEM_LIST arguments, TANDEM_MADE.dtype(dtype.value_or(default_dtype))); \
  }
#define TANDEM_FACTORY_LIKE(name, arguments, ...)                                                    \
  inline tandem::Tensor name(__VA_ARGS__, TANDEM_FOUR, std::optional<tandem::MemoryFormat> format) { \
    return tandem::name(TANDEM_LIST arguments, TANDEM_MADE, format);                                 \
  }

namespace torch {

// ---- filled
TANDEM_FACTORY_LIKE(empty, (size), tandem::IntArrayRef size)
TANDEM_FACTORY(zeros, (size), tandem::IntArrayRef size)
TANDEM_FACTORY(ones, (size), tandem::IntArrayRef size)
TANDEM_FACTORY(full, (size, fill_value), tandem::IntArrayRef size, const tandem::Scalar& fill_value)
TANDEM_FACTORY_LIKE(empty_like, (self), const tandem::Tensor& self)
TANDEM_FACTORY_LIKE(zeros_like, (self), const tandem::Tensor& self)
TANDEM_FACTORY_LIKE(ones_like, (self), const tandem::Tensor& self)
TANDEM_FACTORY_LIKE(full_like, (self, fill_value), const tandem::Tensor& self, const tandem::Scalar& fill_value)
TANDEM_FACTORY(empty_strided, (size, stride), tandem::IntArrayRef size, tandem::IntArrayRef stride)
TANDEM_FACTORY(empty_permuted, (size, physical_layout), tandem::IntArrayRef size, tandem::IntArrayRef physical_layout)
TANDEM_FACTORY(scalar_tensor, (s), const tandem::Scalar& s)
TANDEM_FACTORY(from_file, (filename, shared, size), std::string_view filename, std::optional<bool> shared,
               std::optional<int64_t> size)

// ---- sequences
TANDEM_FACTORY(arange, (end), const tandem::Scalar& end)
TANDEM_FACTORY(arange, (start, end), const tandem::Scalar& start, const tandem::Scalar& end)
TANDEM_FACTORY(arange, (start, end, step), const tandem::Scalar& start, const tandem::Scalar& end,
               const tandem::Scalar& step)
TANDEM_FACTORY(range, (start, end), const tandem::Scalar& start, const tandem::Scalar& end)
TANDEM_FACTORY(range, (start, end, step), const tandem::Scalar& start, const tandem::Scalar& end,
               const tandem::Scalar& step)
// The ends are numbers or 0-dim tensors.
template <class Start, class End>
tandem::Tensor linspace(const Start& start, const End& end, int64_t steps, TANDEM_FOUR) {
  return tandem::linspace(start, end, steps, TANDEM_MADE);
}
template <class Start, class End>
tandem::Tensor logspace(const Start& start, const End& end, int64_t steps, double base, TANDEM_FOUR) {
  return tandem::logspace(start, end, steps, base, TANDEM_MADE);
}
TANDEM_FACTORY(eye, (n), int64_t n)
TANDEM_FACTORY(eye, (n, m), int64_t n, int64_t m)
TANDEM_FACTORY_OF(tandem::kLong, tril_indices, (row, col, offset), int64_t row, int64_t col, int64_t offset)
TANDEM_FACTORY_OF(tandem::kLong, triu_indices, (row, col, offset), int64_t row, int64_t col, int64_t offset)
TANDEM_FACTORY(fft_fftfreq, (n, d), int64_t n, double d)
TANDEM_FACTORY(fft_rfftfreq, (n, d), int64_t n, double d)

// ---- windows
TANDEM_FACTORY(bartlett_window, (window_length), int64_t window_length)
TANDEM_FACTORY(bartlett_window, (window_length, periodic), int64_t window_length, bool periodic)
TANDEM_FACTORY(blackman_window, (window_length), int64_t window_length)
TANDEM_FACTORY(blackman_window, (window_length, periodic), int64_t window_length, bool periodic)
TANDEM_FACTORY(hann_window, (window_length), int64_t window_length)
TANDEM_FACTORY(hann_window, (window_length, periodic), int64_t window_length, bool periodic)
TANDEM_FACTORY(hamming_window, (window_length), int64_t window_length)
TANDEM_FACTORY(hamming_window, (window_length, periodic), int64_t window_length, bool periodic)
TANDEM_FACTORY(hamming_window, (window_length, periodic, alpha), int64_t window_length, bool periodic, double alpha)
TANDEM_FACTORY(hamming_window, (window_length, periodic, alpha, beta), int64_t window_length, bool periodic,
               double alpha, double beta)
TANDEM_FACTORY(kaiser_window, (window_length), int64_t window_length)
TANDEM_FACTORY(kaiser_window, (window_length, periodic), int64_t window_length, bool periodic)
TANDEM_FACTORY(kaiser_window, (window_length, periodic, beta), int64_t window_length, bool periodic, double beta)

// ---- random
TANDEM_FACTORY(rand, (size), tandem::IntArrayRef size)
TANDEM_FACTORY(rand, (size, generator), tandem::IntArrayRef size, TANDEM_GENERATOR)
TANDEM_FACTORY(randn, (size), tandem::IntArrayRef size)
TANDEM_FACTORY(randn, (size, generator), tandem::IntArrayRef size, TANDEM_GENERATOR)
// Without a dtype in the default dtype, not in int64.
#define TANDEM_RANDINT(...) TANDEM_FACTORY_OF(tandem::get_default_dtype(), randint, __VA_ARGS__)
TANDEM_RANDINT((high, size), int64_t high, tandem::IntArrayRef size)
TANDEM_RANDINT((high, size, generator), int64_t high, tandem::IntArrayRef size, TANDEM_GENERATOR)
TANDEM_RANDINT((low, high, size), int64_t low, int64_t high, tandem::IntArrayRef size)
TANDEM_RANDINT((low, high, size, generator), int64_t low, int64_t high, tandem::IntArrayRef size, TANDEM_GENERATOR)
TANDEM_FACTORY(randperm, (n), int64_t n)
TANDEM_FACTORY(randperm, (n, generator), int64_t n, TANDEM_GENERATOR)
TANDEM_FACTORY(normal, (mean, std, size, generator), double mean, double std, tandem::IntArrayRef size,
               TANDEM_GENERATOR)
#define TANDEM_RANDOM_LIKE(name, arguments, ...)                  \
  TANDEM_FACTORY_LIKE(name, (TANDEM_LIST arguments), __VA_ARGS__) \
  TANDEM_FACTORY_LIKE(name, (TANDEM_LIST arguments, generator), __VA_ARGS__, TANDEM_GENERATOR)
TANDEM_RANDOM_LIKE(rand_like, (self), const tandem::Tensor& self)
TANDEM_RANDOM_LIKE(randn_like, (self), const tandem::Tensor& self)
TANDEM_RANDOM_LIKE(randint_like, (self, high), const tandem::Tensor& self, int64_t high)
TANDEM_RANDOM_LIKE(randint_like, (self, high), const tandem::Tensor& self, const tandem::Tensor& high)
TANDEM_RANDOM_LIKE(randint_like, (self, low, high), const tandem::Tensor& self, int64_t low, int64_t high)

#undef TANDEM_FOUR
#undef TANDEM_MADE
#undef TANDEM_GENERATOR
#undef TANDEM_LIST
#undef TANDEM_FACTORY
#undef TANDEM_FACTORY_OF
#undef TANDEM_FACTORY_LIKE
#undef TANDEM_RANDINT
#undef TANDEM_RANDOM_LIKE

/// Makes a tensor on the caller's memory: for_blob(data, sizes).strides(strides).deleter(deleter).make_tensor().
class TensorMaker {
 public:
  using ContextDeleter = void (*)(void*);

  TensorMaker(void* data, tandem::IntArrayRef sizes) : data_(data), sizes_(sizes) {}
  /// In elements; row-major without.
  TensorMaker& strides(tandem::IntArrayRef value) {
    strides_ = value;
    return *this;
  }
  template <tandem::OptionalDims Strides>
  TensorMaker& strides(const Strides& value) {
    strides_.reset();
    if (value.has_value()) strides_ = tandem::Dims(*value);
    return *this;
  }
  /// The first element is data + offset, in elements.
  TensorMaker& storage_offset(std::optional<int64_t> value) {
    offset_ = value.value_or(0);
    return *this;
  }
  /// Called with the data when the last reference is released.
  TensorMaker& deleter(std::function<void(void*)> value) {
    deleter_ = std::move(value);
    return *this;
  }
  /// The same, but called with `value`, and also if no tensor is made.
  TensorMaker& context(void* value, ContextDeleter when_done = nullptr) {
    if (when_done == nullptr) when_done = [](void*) {};
    context_ = value != nullptr ? std::shared_ptr<void>(value, when_done) : nullptr;
    return *this;
  }
  /// The device of the memory; by default the options' device.
  TensorMaker& target_device(std::optional<tandem::Device> value) {
    device_ = value;
    return *this;
  }
  TensorMaker& options(const tandem::TensorOptions& value) {
    options_ = value;
    return *this;
  }
  /// Throws Error for a deleter and a context, for a negative offset, and when the options name another device than
  /// the memory's.
  tandem::Tensor make_tensor() {
    tandem::check(!deleter_ || !context_, "The deleter and context arguments are mutually exclusive.");
    tandem::check(!device_ || !options_.has_device() || !options_.device().has_index() || options_.device() == *device_,
                  "Specified device ", options_.device(), " does not match device of data ",
                  device_.value_or(options_.device()));
    return tandem::detail::borrow(data_, sizes_, strides_ ? *strides_ : tandem::contiguous_strides(sizes_), &release,
                                  tandem::detail::borrow_context(Kept{std::move(deleter_), std::move(context_)}),
                                  device_ ? options_.device(device_) : options_, offset_);
  }

 private:
  struct Kept {
    std::function<void(void*)> deleter;
    std::shared_ptr<void> context;
  };
  static void release(void* data, void* kept) {
    const std::unique_ptr<Kept> last(static_cast<Kept*>(kept));
    if (last->deleter) last->deleter(data);
  }

  void* data_;
  tandem::Dims sizes_;  // a copy: the maker may outlive the caller's braces
  std::optional<tandem::Dims> strides_;
  int64_t offset_ = 0;
  std::function<void(void*)> deleter_;
  std::shared_ptr<void> context_;
  std::optional<tandem::Device> device_;
  tandem::TensorOptions options_;
};
inline TensorMaker for_blob(void* data, tandem::IntArrayRef sizes) { return {data, sizes}; }
inline tandem::Tensor from_blob(void* data, tandem::IntArrayRef sizes, tandem::IntArrayRef strides,
                                int64_t storage_offset, const std::function<void(void*)>& deleter,
                                const tandem::TensorOptions& options = {},
                                std::optional<tandem::Device> target_device = std::nullopt) {
  TensorMaker maker = for_blob(data, sizes).strides(strides).storage_offset(storage_offset).deleter(deleter);
  return maker.options(options).target_device(target_device).make_tensor();
}
inline tandem::Tensor from_blob(void* data, tandem::IntArrayRef sizes, tandem::IntArrayRef strides,
                                const std::function<void(void*)>& deleter, const tandem::TensorOptions& options = {},
                                std::optional<tandem::Device> target_device = std::nullopt) {
  return from_blob(data, sizes, strides, 0, deleter, options, target_device);
}
inline tandem::Tensor from_blob(void* data, tandem::IntArrayRef sizes, const std::function<void(void*)>& deleter,
                                const tandem::TensorOptions& options = {},
                                std::optional<tandem::Device> target_device = std::nullopt) {
  return for_blob(data, sizes).deleter(deleter).options(options).target_device(target_device).make_tensor();
}

}  // namespace torch
