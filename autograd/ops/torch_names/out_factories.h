// Functions that write to a given tensor (out_write.h): factories and copies; out has the dtype and the device.
#pragma once
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/factories/tensor_literal.h"
#include "tandem/autograd/ops/fft/windows.h"
#include "tandem/autograd/ops/torch_names/out_write.h"
#include "tandem/autograd/ops/view/whole_tensor.h"

namespace tandem {

inline Tensor& arange_out(Tensor& out, const Scalar& end) {
  return autograd::write_out("arange_out", out)(tandem::arange(end, out.options()));
}
inline Tensor& arange_out(Tensor& out, const Scalar& start, const Scalar& end, const Scalar& step) {
  return autograd::write_out("arange_out", out)(tandem::arange(start, end, step, out.options()));
}
inline Tensor& empty_out(Tensor& out, IntArrayRef size, optional<MemoryFormat> format = nullopt) {
  return autograd::write_out("empty_out", out)(tandem::empty(size, out.options(), format));
}
inline Tensor& empty_like_out(Tensor& out, const Tensor& self, optional<MemoryFormat> format = nullopt) {
  return autograd::write_out("empty_like_out", out)(tandem::empty_like(self, out.options(), format));
}
inline Tensor& eye_out(Tensor& out, int64_t n) {
  return autograd::write_out("eye_out", out)(tandem::eye(n, out.options()));
}
inline Tensor& eye_out(Tensor& out, int64_t n, int64_t m) {
  return autograd::write_out("eye_out", out)(tandem::eye(n, m, out.options()));
}
inline Tensor& full_out(Tensor& out, IntArrayRef size, const Scalar& fill_value) {
  return autograd::write_out("full_out", out)(tandem::full(size, fill_value, out.options()));
}
inline Tensor& full_like_out(Tensor& out, const Tensor& self, const Scalar& fill_value,
                             optional<MemoryFormat> format = nullopt) {
  return autograd::write_out("full_like_out", out)(tandem::full_like(self, fill_value, out.options(), format));
}
inline Tensor& linspace_out(Tensor& out, const Scalar& start, const Scalar& end, int64_t steps) {
  return autograd::write_out("linspace_out", out)(tandem::linspace(start, end, steps, out.options()));
}
template <class Start, class End>
requires(std::same_as<Start, Tensor> || std::same_as<End, Tensor>) Tensor& linspace_out(Tensor& out, const Start& start,
                                                                                        const End& end, int64_t steps) {
  return autograd::write_out("linspace_out", out)(tandem::linspace(start, end, steps, out.options()));
}
inline Tensor& logspace_out(Tensor& out, const Scalar& start, const Scalar& end, int64_t steps, double base = 10.0) {
  return autograd::write_out("logspace_out", out)(tandem::logspace(start, end, steps, base, out.options()));
}
template <class Start, class End>
requires(std::same_as<Start, Tensor> || std::same_as<End, Tensor>) Tensor& logspace_out(Tensor& out, const Start& start,
                                                                                        const End& end, int64_t steps,
                                                                                        double base = 10.0) {
  return autograd::write_out("logspace_out", out)(tandem::logspace(start, end, steps, base, out.options()));
}
inline Tensor& ones_out(Tensor& out, IntArrayRef size) {
  return autograd::write_out("ones_out", out)(tandem::ones(size, out.options()));
}
inline Tensor& ones_like_out(Tensor& out, const Tensor& self, optional<MemoryFormat> format = nullopt) {
  return autograd::write_out("ones_like_out", out)(tandem::ones_like(self, out.options(), format));
}
inline Tensor& zeros_out(Tensor& out, IntArrayRef size) {
  return autograd::write_out("zeros_out", out)(tandem::zeros(size, out.options()));
}
inline Tensor& zeros_like_out(Tensor& out, const Tensor& self, optional<MemoryFormat> format = nullopt) {
  return autograd::write_out("zeros_like_out", out)(tandem::zeros_like(self, out.options(), format));
}
inline Tensor& bartlett_window_out(Tensor& out, int64_t window_length) {
  return autograd::write_out("bartlett_window_out", out)(tandem::bartlett_window(window_length, out.options()));
}
inline Tensor& bartlett_window_out(Tensor& out, int64_t window_length, bool periodic) {
  return autograd::write_out("bartlett_window_out",
                             out)(tandem::bartlett_window(window_length, periodic, out.options()));
}
inline Tensor& blackman_window_out(Tensor& out, int64_t window_length) {
  return autograd::write_out("blackman_window_out", out)(tandem::blackman_window(window_length, out.options()));
}
inline Tensor& blackman_window_out(Tensor& out, int64_t window_length, bool periodic) {
  return autograd::write_out("blackman_window_out",
                             out)(tandem::blackman_window(window_length, periodic, out.options()));
}
inline Tensor& hamming_window_out(Tensor& out, int64_t window_length) {
  return autograd::write_out("hamming_window_out", out)(tandem::hamming_window(window_length, out.options()));
}
inline Tensor& hamming_window_out(Tensor& out, int64_t window_length, bool periodic) {
  return autograd::write_out("hamming_window_out", out)(tandem::hamming_window(window_length, periodic, out.options()));
}
inline Tensor& hamming_window_out(Tensor& out, int64_t window_length, bool periodic, double alpha) {
  return autograd::write_out("hamming_window_out",
                             out)(tandem::hamming_window(window_length, periodic, alpha, out.options()));
}
inline Tensor& hamming_window_out(Tensor& out, int64_t window_length, bool periodic, double alpha, double beta) {
  return autograd::write_out("hamming_window_out",
                             out)(tandem::hamming_window(window_length, periodic, alpha, beta, out.options()));
}
inline Tensor& hann_window_out(Tensor& out, int64_t window_length) {
  return autograd::write_out("hann_window_out", out)(tandem::hann_window(window_length, out.options()));
}
inline Tensor& hann_window_out(Tensor& out, int64_t window_length, bool periodic) {
  return autograd::write_out("hann_window_out", out)(tandem::hann_window(window_length, periodic, out.options()));
}
inline Tensor& kaiser_window_out(Tensor& out, int64_t window_length) {
  return autograd::write_out("kaiser_window_out", out)(tandem::kaiser_window(window_length, out.options()));
}
inline Tensor& kaiser_window_out(Tensor& out, int64_t window_length, bool periodic) {
  return autograd::write_out("kaiser_window_out", out)(tandem::kaiser_window(window_length, periodic, out.options()));
}
inline Tensor& kaiser_window_out(Tensor& out, int64_t window_length, bool periodic, double beta) {
  return autograd::write_out("kaiser_window_out",
                             out)(tandem::kaiser_window(window_length, periodic, beta, out.options()));
}
inline Tensor& clone_out(Tensor& out, const Tensor& self, optional<MemoryFormat> format = nullopt) {
  return autograd::write_out("clone_out", out)(tandem::clone(self, format));
}
inline Tensor& copy_out(Tensor& out, const Tensor& self, const Tensor& src, bool non_blocking = false) {
  return autograd::write_out("copy_out", out)(tandem::copy(self, src, non_blocking));
}
inline Tensor& empty_permuted_out(Tensor& out, IntArrayRef size, IntArrayRef physical_layout) {
  return autograd::write_out("empty_permuted_out", out)(tandem::empty_permuted(size, physical_layout, out.options()));
}
inline Tensor& empty_strided_out(Tensor& out, IntArrayRef size, IntArrayRef stride) {
  return autograd::write_out("empty_strided_out", out)(tandem::empty_strided(size, stride, out.options()));
}
inline Tensor& fill_out(Tensor& out, const Tensor& self, const Scalar& value) {
  return autograd::write_out("fill_out", out)(tandem::fill(self, value));
}
inline Tensor& fill_out(Tensor& out, const Tensor& self, const Tensor& value) {
  return autograd::write_out("fill_out", out)(tandem::fill(self, value));
}
inline Tensor& from_file_out(Tensor& out, std::string_view filename, optional<bool> shared = nullopt,
                             optional<int64_t> size = 0) {
  return autograd::write_out("from_file_out", out)(tandem::from_file(filename, shared, size, out.options()));
}
inline Tensor& new_empty_strided_out(Tensor& out, const Tensor& self, IntArrayRef size, IntArrayRef stride) {
  return autograd::write_out("new_empty_strided_out", out)(tandem::new_empty_strided(self, size, stride));
}
inline Tensor& nonzero_static_out(Tensor& out, const Tensor& self, int64_t size, int64_t fill_value = -1) {
  return autograd::write_out("nonzero_static_out", out)(tandem::nonzero_static(self, size, fill_value));
}
inline Tensor& range_out(Tensor& out, const Scalar& start, const Scalar& end) {
  return autograd::write_out("range_out", out)(tandem::range(start, end, out.options()));
}
inline Tensor& range_out(Tensor& out, const Scalar& start, const Scalar& end, const Scalar& step) {
  return autograd::write_out("range_out", out)(tandem::range(start, end, step, out.options()));
}
inline Tensor& set_out(Tensor& out, const Tensor& self, const Tensor& source) {
  return autograd::write_out("set_out", out)(tandem::set(self, source));
}
inline Tensor& set_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("set_out", out)(tandem::set(self));
}
inline Tensor& set_out(Tensor& out, const Tensor& self, const Storage& source) {
  return autograd::write_out("set_out", out)(tandem::set(self).set_(source));
}
inline Tensor& set_out(Tensor& out, const Tensor& self, const Storage& source, int64_t storage_offset, IntArrayRef size,
                       IntArrayRef stride = {}) {
  return autograd::write_out("set_out", out)(tandem::set(self).set_(source, storage_offset, size, stride));
}
inline Tensor& zero_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("zero_out", out)(tandem::zero(self));
}
inline Tensor& scalar_tensor_out(Tensor& out, const Scalar& s) {
  return autograd::write_out("scalar_tensor_out", out)(tandem::scalar_tensor(s, out.options()));
}

}  // namespace tandem
