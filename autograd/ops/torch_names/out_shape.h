// Functions that write to a given tensor (out_write.h): diagonals and copies of elements in other places.
#pragma once
#include "tandem/autograd/ops/torch_names/out_write.h"
#include "tandem/autograd/ops/view/diag.h"
#include "tandem/autograd/ops/view/flip.h"
#include "tandem/autograd/ops/view/repeat.h"
#include "tandem/autograd/ops/view/tril.h"

namespace tandem {

inline Tensor& tril_out(Tensor& out, const Tensor& self, int64_t diagonal = 0) {
  return autograd::write_out("tril_out", out)(tandem::tril(self, diagonal));
}
inline Tensor& triu_out(Tensor& out, const Tensor& self, int64_t diagonal = 0) {
  return autograd::write_out("triu_out", out)(tandem::triu(self, diagonal));
}
inline Tensor& block_diag_out(Tensor& out, TensorList tensors) {
  return autograd::write_out("block_diag_out", out)(tandem::block_diag(tensors));
}
inline Tensor& diag_out(Tensor& out, const Tensor& self, int64_t diagonal = 0) {
  return autograd::write_out("diag_out", out)(tandem::diag(self, diagonal));
}
inline Tensor& diag_embed_out(Tensor& out, const Tensor& self, int64_t offset = 0, int64_t dim1 = -2,
                              int64_t dim2 = -1) {
  return autograd::write_out("diag_embed_out", out)(tandem::diag_embed(self, offset, dim1, dim2));
}
inline Tensor& diagonal_scatter_out(Tensor& out, const Tensor& self, const Tensor& src, int64_t offset = 0,
                                    int64_t dim1 = 0, int64_t dim2 = 1) {
  return autograd::write_out("diagonal_scatter_out", out)(tandem::diagonal_scatter(self, src, offset, dim1, dim2));
}
inline Tensor& select_scatter_out(Tensor& out, const Tensor& self, const Tensor& src, int64_t dim, int64_t index) {
  return autograd::write_out("select_scatter_out", out)(tandem::select_scatter(self, src, dim, index));
}
inline Tensor& slice_scatter_out(Tensor& out, const Tensor& self, const Tensor& src, int64_t dim = 0,
                                 optional<int64_t> start = nullopt, optional<int64_t> end = nullopt, int64_t step = 1) {
  return autograd::write_out("slice_scatter_out", out)(tandem::slice_scatter(self, src, dim, start, end, step));
}
inline Tensor& trace_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("trace_out", out)(tandem::trace(self));
}
inline Tensor& tril_indices_out(Tensor& out, int64_t row, int64_t col, int64_t offset = 0) {
  return autograd::write_out("tril_indices_out", out)(tandem::tril_indices(row, col, offset, out.options()));
}
inline Tensor& triu_indices_out(Tensor& out, int64_t row, int64_t col, int64_t offset = 0) {
  return autograd::write_out("triu_indices_out", out)(tandem::triu_indices(row, col, offset, out.options()));
}
inline Tensor& repeat_out(Tensor& out, const Tensor& self, IntArrayRef repeats) {
  return autograd::write_out("repeat_out", out)(tandem::repeat(self, repeats));
}
inline Tensor& repeat_interleave_out(Tensor& out, const Tensor& repeats, optional<int64_t> output_size = nullopt) {
  return autograd::write_out("repeat_interleave_out", out)(tandem::repeat_interleave(repeats, output_size));
}
inline Tensor& flip_out(Tensor& out, const Tensor& self, IntArrayRef dims) {
  return autograd::write_out("flip_out", out)(tandem::flip(self, dims));
}
inline Tensor& roll_out(Tensor& out, const Tensor& self, IntArrayRef shifts, IntArrayRef dims = {}) {
  return autograd::write_out("roll_out", out)(tandem::roll(self, shifts, dims));
}
inline Tensor& rot90_out(Tensor& out, const Tensor& self, int64_t k = 1, IntArrayRef dims = {0, 1}) {
  return autograd::write_out("rot90_out", out)(tandem::rot90(self, k, dims));
}

}  // namespace tandem
