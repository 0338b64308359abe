// Functions that write to a given tensor (out_write.h): factories and copies; out has the dtype and the device.
#pragma once
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/factories/tensor_literal.h"
#include "tandem/autograd/ops/fft/windows.h"
#include "tandem/autograd/ops/torch_names/out_write.h"
#include "tandem/autograd/ops/view/whole_tensor.h"

namespace tandem {

TANDEM_OUT(arange, (const Scalar& end), end, out.options())
TANDEM_OUT(arange, (const Scalar& start, const Scalar& end, const Scalar& step), start, end, step, out.options())
TANDEM_OUT(empty, (IntArrayRef size, optional<MemoryFormat> format = nullopt), size, out.options(), format)
TANDEM_OUT(empty_like, (const Tensor& self, optional<MemoryFormat> format = nullopt), self, out.options(), format)
TANDEM_OUT(eye, (int64_t n), n, out.options())
TANDEM_OUT(eye, (int64_t n, int64_t m), n, m, out.options())
TANDEM_OUT(full, (IntArrayRef size, const Scalar& fill_value), size, fill_value, out.options())
TANDEM_OUT(full_like, (const Tensor& self, const Scalar& fill_value, optional<MemoryFormat> format = nullopt), self,
           fill_value, out.options(), format)
TANDEM_OUT(linspace, (const Scalar& start, const Scalar& end, int64_t steps), start, end, steps, out.options())
template <class Start, class End>
requires(std::same_as<Start, Tensor> || std::same_as<End, Tensor>)
    TANDEM_OUT(linspace, (const Start& start, const End& end, int64_t steps), start, end, steps, out.options())
TANDEM_OUT(logspace, (const Scalar& start, const Scalar& end, int64_t steps, double base = 10.0), start, end, steps,
           base, out.options())
template <class Start, class End>
requires(std::same_as<Start, Tensor> || std::same_as<End, Tensor>)
    TANDEM_OUT(logspace, (const Start& start, const End& end, int64_t steps, double base = 10.0), start, end, steps,
               base, out.options())
TANDEM_OUT(ones, (IntArrayRef size), size, out.options())
TANDEM_OUT(ones_like, (const Tensor& self, optional<MemoryFormat> format = nullopt), self, out.options(), format)
TANDEM_OUT(zeros, (IntArrayRef size), size, out.options())
TANDEM_OUT(zeros_like, (const Tensor& self, optional<MemoryFormat> format = nullopt), self, out.options(), format)
TANDEM_OUT(bartlett_window, (int64_t window_length), window_length, out.options())
TANDEM_OUT(bartlett_window, (int64_t window_length, bool periodic), window_length, periodic, out.options())
TANDEM_OUT(blackman_window, (int64_t window_length), window_length, out.options())
TANDEM_OUT(blackman_window, (int64_t window_length, bool periodic), window_length, periodic, out.options())
TANDEM_OUT(hamming_window, (int64_t window_length), window_length, out.options())
TANDEM_OUT(hamming_window, (int64_t window_length, bool periodic), window_length, periodic, out.options())
TANDEM_OUT(hamming_window, (int64_t window_length, bool periodic, double alpha), window_length, periodic, alpha,
           out.options())
TANDEM_OUT(hamming_window, (int64_t window_length, bool periodic, double alpha, double beta), window_length, periodic,
           alpha, beta, out.options())
TANDEM_OUT(hann_window, (int64_t window_length), window_length, out.options())
TANDEM_OUT(hann_window, (int64_t window_length, bool periodic), window_length, periodic, out.options())
TANDEM_OUT(kaiser_window, (int64_t window_length), window_length, out.options())
TANDEM_OUT(kaiser_window, (int64_t window_length, bool periodic), window_length, periodic, out.options())
TANDEM_OUT(kaiser_window, (int64_t window_length, bool periodic, double beta), window_length, periodic, beta,
           out.options())
TANDEM_OUT(clone, (const Tensor& self, optional<MemoryFormat> format = nullopt), self, format)
TANDEM_OUT(copy, (const Tensor& self, const Tensor& src, bool non_blocking = false), self, src, non_blocking)
TANDEM_OUT(empty_permuted, (IntArrayRef size, IntArrayRef physical_layout), size, physical_layout, out.options())
TANDEM_OUT(empty_strided, (IntArrayRef size, IntArrayRef stride), size, stride, out.options())
TANDEM_OUT(fill, (const Tensor& self, const Scalar& value), self, value)
TANDEM_OUT(fill, (const Tensor& self, const Tensor& value), self, value)
TANDEM_OUT(from_file, (std::string_view filename, optional<bool> shared = nullopt, optional<int64_t> size = 0),
           filename, shared, size, out.options())
TANDEM_OUT(new_empty_strided, (const Tensor& self, IntArrayRef size, IntArrayRef stride), self, size, stride)
TANDEM_OUT(nonzero_static, (const Tensor& self, int64_t size, int64_t fill_value = -1), self, size, fill_value)
TANDEM_OUT(range, (const Scalar& start, const Scalar& end), start, end, out.options())
TANDEM_OUT(range, (const Scalar& start, const Scalar& end, const Scalar& step), start, end, step, out.options())
TANDEM_OUT(set, (const Tensor& self, const Tensor& source), self, source)
TANDEM_OUT(set, (const Tensor& self), self)
inline Tensor& set_out(Tensor& out, const Tensor& self, const Storage& source) {
  return autograd::write_out("set_out", out)(tandem::set(self).set_(source));
}
inline Tensor& set_out(Tensor& out, const Tensor& self, const Storage& source, int64_t storage_offset, IntArrayRef size,
                       IntArrayRef stride = {}) {
  return autograd::write_out("set_out", out)(tandem::set(self).set_(source, storage_offset, size, stride));
}
TANDEM_OUT(zero, (const Tensor& self), self)
TANDEM_OUT(scalar_tensor, (const Scalar& s), s, out.options())

}  // namespace tandem
