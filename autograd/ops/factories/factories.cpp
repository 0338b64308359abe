// Tensors created uninitialised, from a number, or on the caller's memory.
#include "tandem/autograd/ops/factories/factories.h"

#include <cmath>

#include "tandem/autograd/ops/detail/constant.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/core/memory_format.h"

namespace tandem {
namespace {

Tensor finish(Tensor out, const TensorOptions& options) {
  if (options.requires_grad()) out.requires_grad_();
  return out;
}

Tensor make(IntArrayRef size, const TensorOptions& options) {
  if (is_channels_last(options.memory_format_opt())) {
    const Tensor flat = make({checked_numel(size)}, options.memory_format(nullopt));
    return alias(flat, size, channels_last_strides(size, *options.memory_format_opt()), 0);
  }
  if (!options.pinned_memory()) return empty_raw(size, options.dtype(), options.resolved_device());
  const int64_t bytes = checked_numel(size) * item_size(options.dtype());
  return Tensor(IntrusivePtr(new TensorImpl(
      make_storage(static_cast<std::size_t>(bytes), options.resolved_device(), true), options.dtype(), size)));
}

}  // namespace

Tensor empty(IntArrayRef size, const TensorOptions& options) { return finish(make(size, options), options); }

Tensor full(IntArrayRef size, const Scalar& value, const TensorOptions& options) {
  Tensor out = make(size, options.has_dtype() ? options : options.dtype(autograd::natural_type(value)));
  autograd::check_number_fits("full", value, out.dtype());
  fill_raw(out, value);
  return finish(std::move(out), options);
}
Tensor zeros(IntArrayRef size, const TensorOptions& options) { return full(size, 0, options.dtype(options.dtype())); }
Tensor ones(IntArrayRef size, const TensorOptions& options) { return full(size, 1, options.dtype(options.dtype())); }

Tensor arange(const Scalar& end, const TensorOptions& options) { return arange(0, end, 1, options); }
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options) {
  return arange(start, end, 1, options);
}
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options) {
  const bool real = start.isFloatingPoint() || end.isFloatingPoint() || step.isFloatingPoint();
  const double first = start.toDouble(), last = end.toDouble(), by = step.toDouble();
  check(by != 0, "arange: the step must not be 0");
  check(std::isfinite(first) && std::isfinite(last), "arange: unsupported range ", start, " to ", end);
  check((last - first) * by >= 0, "arange: the range from ", start, " to ", end,
        " is inconsistent with the sign of step ", step);
  double count = std::ceil((last - first) / by);
  if (!real) {  // exact beyond 2^53
    __extension__ using Wide = __int128;
    const Wide from = start.toLong(), to = end.toLong(), step_by = step.toLong();
    count = static_cast<double>((to - from + step_by - (step_by > 0 ? 1 : -1)) / step_by);
  }
  check(count < 9e15, "arange: too many elements: ", count);
  const ScalarType type = options.has_dtype() ? options.dtype() : real ? get_default_dtype() : kLong;
  Tensor host = autograd::host_table({static_cast<int64_t>(count)}, type);
  const bool in_integers = !real || is_integral(type, true);  // then start and step are converted first
  const auto at = [&](int64_t i) {  // the distance from the smallest to the largest int64 exceeds an int64
    return static_cast<int64_t>(static_cast<uint64_t>(start.toLong()) +
                                static_cast<uint64_t>(i) * static_cast<uint64_t>(step.toLong()));
  };
  dispatch(type, AllTypes{}, "arange", [&]<class T>(Type<T>) {
    T* out = host.ptr<T>();
    for (int64_t i = 0; i < host.numel(); ++i) {
      if (in_integers)
        out[i] = Scalar(at(i)).to<T>();
      else
        out[i] = Scalar(first + static_cast<double>(i) * by).to<T>();
    }
  });
  const Device device = options.resolved_device();
  return finish(device == host.device() ? host : autograd::constant_on(host, device), options);
}

namespace autograd {
TensorOptions merge_options(const TensorOptions& given, const Tensor& self) {
  TensorOptions out = given;
  if (!given.has_dtype()) out = out.dtype(self.dtype());
  if (!given.has_device()) out = out.device(optional<Device>(self.device()));
  return out;
}
TensorOptions options_like(const TensorOptions& given, const Tensor& self) {
  return merge_options(given, self).memory_format(preserved_format(self, given.memory_format_opt()));
}
}  // namespace autograd
using autograd::merge_options;
using autograd::options_like;

#define TANDEM_FILLED(f)                                                                                         \
  Tensor f##_like(const Tensor& self, const TensorOptions& o) { return f(self.sizes(), options_like(o, self)); } \
  Tensor Tensor::new_##f(IntArrayRef size, const TensorOptions& o) const {                                       \
    return tandem::f(size, merge_options(o, *this));                                                             \
  }
TANDEM_FILLED(empty)
TANDEM_FILLED(zeros)
TANDEM_FILLED(ones)
#undef TANDEM_FILLED
Tensor full_like(const Tensor& self, const Scalar& value, const TensorOptions& options) {
  return full(self.sizes(), value, options_like(options, self));
}
Tensor Tensor::new_full(IntArrayRef size, const Scalar& value, const TensorOptions& o) const {
  return tandem::full(size, value, merge_options(o, *this));
}

namespace detail {
Tensor borrow(void* data, IntArrayRef sizes, IntArrayRef strides, DeleterFn deleter, BorrowContext context,
              const TensorOptions& options, int64_t offset) {
  check(sizes.size() == strides.size(), "from_blob: ", sizes.size(), " sizes but ", strides.size(), " strides");
  check(offset >= 0 && offset < int64_t{1} << 59, "from_blob: expected an offset >= 0, got ", offset);
  int64_t last = offset;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    check(strides[d] >= 0, "from_blob: negative strides are not supported, got ", strides);
    int64_t reach = 0;
    check(!__builtin_mul_overflow(std::max<int64_t>(sizes[d], 1) - 1, strides[d], &reach) &&
              !__builtin_add_overflow(last, reach, &last) && last < int64_t{1} << 59,
          "from_blob: sizes ", sizes, " with strides ", strides, " address too many elements");
  }
  const int64_t elements = checked_numel(sizes) == 0 ? offset : last + 1;
  Storage storage = borrow_storage(data, static_cast<std::size_t>(elements * item_size(options.dtype())),
                                   options.resolved_device(), deleter, context.get());
  static_cast<void>(context.release());  // the storage has it
  return finish(Tensor(IntrusivePtr(new TensorImpl(std::move(storage), options.dtype(), sizes, strides, offset))),
                options);
}
}  // namespace detail

Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options) {
  return from_blob(data, sizes, contiguous_strides(sizes), options);
}
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) {
  return detail::borrow(data, sizes, strides, nullptr, {nullptr, nullptr}, options);
}
}  // namespace tandem
