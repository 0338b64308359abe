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

namespace torch {

// ---- filled
inline tandem::Tensor empty(tandem::IntArrayRef size, TANDEM_FOUR, std::optional<tandem::MemoryFormat> format) {
  return tandem::empty(size, TANDEM_MADE, format);
}
inline tandem::Tensor zeros(tandem::IntArrayRef size, TANDEM_FOUR) { return tandem::zeros(size, TANDEM_MADE); }
inline tandem::Tensor ones(tandem::IntArrayRef size, TANDEM_FOUR) { return tandem::ones(size, TANDEM_MADE); }
inline tandem::Tensor full(tandem::IntArrayRef size, const tandem::Scalar& fill_value, TANDEM_FOUR) {
  return tandem::full(size, fill_value, TANDEM_MADE);
}
inline tandem::Tensor empty_like(const tandem::Tensor& self, TANDEM_FOUR, std::optional<tandem::MemoryFormat> format) {
  return tandem::empty_like(self, TANDEM_MADE, format);
}
inline tandem::Tensor zeros_like(const tandem::Tensor& self, TANDEM_FOUR, std::optional<tandem::MemoryFormat> format) {
  return tandem::zeros_like(self, TANDEM_MADE, format);
}
inline tandem::Tensor ones_like(const tandem::Tensor& self, TANDEM_FOUR, std::optional<tandem::MemoryFormat> format) {
  return tandem::ones_like(self, TANDEM_MADE, format);
}
inline tandem::Tensor full_like(const tandem::Tensor& self, const tandem::Scalar& fill_value, TANDEM_FOUR,
                                std::optional<tandem::MemoryFormat> format) {
  return tandem::full_like(self, fill_value, TANDEM_MADE, format);
}
inline tandem::Tensor empty_strided(tandem::IntArrayRef size, tandem::IntArrayRef stride, TANDEM_FOUR) {
  return tandem::empty_strided(size, stride, TANDEM_MADE);
}
inline tandem::Tensor empty_permuted(tandem::IntArrayRef size, tandem::IntArrayRef physical_layout, TANDEM_FOUR) {
  return tandem::empty_permuted(size, physical_layout, TANDEM_MADE);
}
inline tandem::Tensor scalar_tensor(const tandem::Scalar& s, TANDEM_FOUR) {
  return tandem::scalar_tensor(s, TANDEM_MADE);
}
inline tandem::Tensor from_file(std::string_view filename, std::optional<bool> shared, std::optional<int64_t> size,
                                TANDEM_FOUR) {
  return tandem::from_file(filename, shared, size, TANDEM_MADE);
}

// ---- sequences
inline tandem::Tensor arange(const tandem::Scalar& end, TANDEM_FOUR) { return tandem::arange(end, TANDEM_MADE); }
inline tandem::Tensor arange(const tandem::Scalar& start, const tandem::Scalar& end, TANDEM_FOUR) {
  return tandem::arange(start, end, TANDEM_MADE);
}
inline tandem::Tensor arange(const tandem::Scalar& start, const tandem::Scalar& end, const tandem::Scalar& step,
                             TANDEM_FOUR) {
  return tandem::arange(start, end, step, TANDEM_MADE);
}
inline tandem::Tensor range(const tandem::Scalar& start, const tandem::Scalar& end, TANDEM_FOUR) {
  return tandem::range(start, end, TANDEM_MADE);
}
inline tandem::Tensor range(const tandem::Scalar& start, const tandem::Scalar& end, const tandem::Scalar& step,
                            TANDEM_FOUR) {
  return tandem::range(start, end, step, TANDEM_MADE);
}
// The ends are numbers or 0-dim tensors.
template <class Start, class End>
tandem::Tensor linspace(const Start& start, const End& end, int64_t steps, TANDEM_FOUR) {
  return tandem::linspace(start, end, steps, TANDEM_MADE);
}
template <class Start, class End>
tandem::Tensor logspace(const Start& start, const End& end, int64_t steps, double base, TANDEM_FOUR) {
  return tandem::logspace(start, end, steps, base, TANDEM_MADE);
}
inline tandem::Tensor eye(int64_t n, TANDEM_FOUR) { return tandem::eye(n, TANDEM_MADE); }
inline tandem::Tensor eye(int64_t n, int64_t m, TANDEM_FOUR) { return tandem::eye(n, m, TANDEM_MADE); }
inline tandem::Tensor tril_indices(int64_t row, int64_t col, int64_t offset, TANDEM_FOUR) {
  return tandem::tril_indices(row, col, offset, TANDEM_MADE.dtype(dtype.value_or(tandem::kLong)));
}
inline tandem::Tensor triu_indices(int64_t row, int64_t col, int64_t offset, TANDEM_FOUR) {
  return tandem::triu_indices(row, col, offset, TANDEM_MADE.dtype(dtype.value_or(tandem::kLong)));
}
inline tandem::Tensor fft_fftfreq(int64_t n, double d, TANDEM_FOUR) { return tandem::fft_fftfreq(n, d, TANDEM_MADE); }
inline tandem::Tensor fft_rfftfreq(int64_t n, double d, TANDEM_FOUR) { return tandem::fft_rfftfreq(n, d, TANDEM_MADE); }

// ---- windows
inline tandem::Tensor bartlett_window(int64_t window_length, TANDEM_FOUR) {
  return tandem::bartlett_window(window_length, TANDEM_MADE);
}
inline tandem::Tensor bartlett_window(int64_t window_length, bool periodic, TANDEM_FOUR) {
  return tandem::bartlett_window(window_length, periodic, TANDEM_MADE);
}
inline tandem::Tensor blackman_window(int64_t window_length, TANDEM_FOUR) {
  return tandem::blackman_window(window_length, TANDEM_MADE);
}
inline tandem::Tensor blackman_window(int64_t window_length, bool periodic, TANDEM_FOUR) {
  return tandem::blackman_window(window_length, periodic, TANDEM_MADE);
}
inline tandem::Tensor hann_window(int64_t window_length, TANDEM_FOUR) {
  return tandem::hann_window(window_length, TANDEM_MADE);
}
inline tandem::Tensor hann_window(int64_t window_length, bool periodic, TANDEM_FOUR) {
  return tandem::hann_window(window_length, periodic, TANDEM_MADE);
}
inline tandem::Tensor hamming_window(int64_t window_length, TANDEM_FOUR) {
  return tandem::hamming_window(window_length, TANDEM_MADE);
}
inline tandem::Tensor hamming_window(int64_t window_length, bool periodic, TANDEM_FOUR) {
  return tandem::hamming_window(window_length, periodic, TANDEM_MADE);
}
inline tandem::Tensor hamming_window(int64_t window_length, bool periodic, double alpha, TANDEM_FOUR) {
  return tandem::hamming_window(window_length, periodic, alpha, TANDEM_MADE);
}
inline tandem::Tensor hamming_window(int64_t window_length, bool periodic, double alpha, double beta, TANDEM_FOUR) {
  return tandem::hamming_window(window_length, periodic, alpha, beta, TANDEM_MADE);
}
inline tandem::Tensor kaiser_window(int64_t window_length, TANDEM_FOUR) {
  return tandem::kaiser_window(window_length, TANDEM_MADE);
}
inline tandem::Tensor kaiser_window(int64_t window_length, bool periodic, TANDEM_FOUR) {
  return tandem::kaiser_window(window_length, periodic, TANDEM_MADE);
}
inline tandem::Tensor kaiser_window(int64_t window_length, bool periodic, double beta, TANDEM_FOUR) {
  return tandem::kaiser_window(window_length, periodic, beta, TANDEM_MADE);
}

// ---- random
inline tandem::Tensor rand(tandem::IntArrayRef size, TANDEM_FOUR) { return tandem::rand(size, TANDEM_MADE); }
inline tandem::Tensor rand(tandem::IntArrayRef size, const std::optional<tandem::Generator>& generator, TANDEM_FOUR) {
  return tandem::rand(size, generator, TANDEM_MADE);
}
inline tandem::Tensor randn(tandem::IntArrayRef size, TANDEM_FOUR) { return tandem::randn(size, TANDEM_MADE); }
inline tandem::Tensor randn(tandem::IntArrayRef size, const std::optional<tandem::Generator>& generator, TANDEM_FOUR) {
  return tandem::randn(size, generator, TANDEM_MADE);
}
// Without a dtype in the default dtype, not in int64.
inline tandem::Tensor randint(int64_t high, tandem::IntArrayRef size, TANDEM_FOUR) {
  return tandem::randint(high, size, TANDEM_MADE.dtype(dtype.value_or(tandem::get_default_dtype())));
}
inline tandem::Tensor randint(int64_t high, tandem::IntArrayRef size, const std::optional<tandem::Generator>& generator,
                              TANDEM_FOUR) {
  return tandem::randint(high, size, generator, TANDEM_MADE.dtype(dtype.value_or(tandem::get_default_dtype())));
}
inline tandem::Tensor randint(int64_t low, int64_t high, tandem::IntArrayRef size, TANDEM_FOUR) {
  return tandem::randint(low, high, size, TANDEM_MADE.dtype(dtype.value_or(tandem::get_default_dtype())));
}
inline tandem::Tensor randint(int64_t low, int64_t high, tandem::IntArrayRef size,
                              const std::optional<tandem::Generator>& generator, TANDEM_FOUR) {
  return tandem::randint(low, high, size, generator, TANDEM_MADE.dtype(dtype.value_or(tandem::get_default_dtype())));
}
inline tandem::Tensor randperm(int64_t n, TANDEM_FOUR) { return tandem::randperm(n, TANDEM_MADE); }
inline tandem::Tensor randperm(int64_t n, const std::optional<tandem::Generator>& generator, TANDEM_FOUR) {
  return tandem::randperm(n, generator, TANDEM_MADE);
}
inline tandem::Tensor normal(double mean, double std, tandem::IntArrayRef size,
                             const std::optional<tandem::Generator>& generator, TANDEM_FOUR) {
  return tandem::normal(mean, std, size, generator, TANDEM_MADE);
}
inline tandem::Tensor rand_like(const tandem::Tensor& self, TANDEM_FOUR, std::optional<tandem::MemoryFormat> format) {
  return tandem::rand_like(self, TANDEM_MADE, format);
}
inline tandem::Tensor rand_like(const tandem::Tensor& self, const std::optional<tandem::Generator>& generator,
                                TANDEM_FOUR, std::optional<tandem::MemoryFormat> format) {
  return tandem::rand_like(self, generator, TANDEM_MADE, format);
}
inline tandem::Tensor randn_like(const tandem::Tensor& self, TANDEM_FOUR, std::optional<tandem::MemoryFormat> format) {
  return tandem::randn_like(self, TANDEM_MADE, format);
}
inline tandem::Tensor randn_like(const tandem::Tensor& self, const std::optional<tandem::Generator>& generator,
                                 TANDEM_FOUR, std::optional<tandem::MemoryFormat> format) {
  return tandem::randn_like(self, generator, TANDEM_MADE, format);
}
inline tandem::Tensor randint_like(const tandem::Tensor& self, int64_t high, TANDEM_FOUR,
                                   std::optional<tandem::MemoryFormat> format) {
  return tandem::randint_like(self, high, TANDEM_MADE, format);
}
inline tandem::Tensor randint_like(const tandem::Tensor& self, int64_t high,
                                   const std::optional<tandem::Generator>& generator, TANDEM_FOUR,
                                   std::optional<tandem::MemoryFormat> format) {
  return tandem::randint_like(self, high, generator, TANDEM_MADE, format);
}
inline tandem::Tensor randint_like(const tandem::Tensor& self, const tandem::Tensor& high, TANDEM_FOUR,
                                   std::optional<tandem::MemoryFormat> format) {
  return tandem::randint_like(self, high, TANDEM_MADE, format);
}
inline tandem::Tensor randint_like(const tandem::Tensor& self, const tandem::Tensor& high,
                                   const std::optional<tandem::Generator>& generator, TANDEM_FOUR,
                                   std::optional<tandem::MemoryFormat> format) {
  return tandem::randint_like(self, high, generator, TANDEM_MADE, format);
}
inline tandem::Tensor randint_like(const tandem::Tensor& self, int64_t low, int64_t high, TANDEM_FOUR,
                                   std::optional<tandem::MemoryFormat> format) {
  return tandem::randint_like(self, low, high, TANDEM_MADE, format);
}
inline tandem::Tensor randint_like(const tandem::Tensor& self, int64_t low, int64_t high,
                                   const std::optional<tandem::Generator>& generator, TANDEM_FOUR,
                                   std::optional<tandem::MemoryFormat> format) {
  return tandem::randint_like(self, low, high, generator, TANDEM_MADE, format);
}

#undef TANDEM_FOUR
#undef TANDEM_MADE

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
  /// The device of the memory; without, that of the options.
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
                                const std::function<void(void*)>& deleter, const tandem::TensorOptions& options = {},
                                std::optional<tandem::Device> target_device = std::nullopt) {
  return for_blob(data, sizes)
      .strides(strides)
      .deleter(deleter)
      .options(options)
      .target_device(target_device)
      .make_tensor();
}
inline tandem::Tensor from_blob(void* data, tandem::IntArrayRef sizes, tandem::IntArrayRef strides,
                                int64_t storage_offset, const std::function<void(void*)>& deleter,
                                const tandem::TensorOptions& options = {},
                                std::optional<tandem::Device> target_device = std::nullopt) {
  return for_blob(data, sizes)
      .strides(strides)
      .storage_offset(storage_offset)
      .deleter(deleter)
      .options(options)
      .target_device(target_device)
      .make_tensor();
}
inline tandem::Tensor from_blob(void* data, tandem::IntArrayRef sizes, const std::function<void(void*)>& deleter,
                                const tandem::TensorOptions& options = {},
                                std::optional<tandem::Device> target_device = std::nullopt) {
  return for_blob(data, sizes).deleter(deleter).options(options).target_device(target_device).make_tensor();
}

}  // namespace torch
