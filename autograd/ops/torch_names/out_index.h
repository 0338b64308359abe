// Functions that write to a given tensor (out_write.h): reads and writes by index.
#pragma once
#include "tandem/autograd/ops/index/gather.h"
#include "tandem/autograd/ops/index/index.h"
#include "tandem/autograd/ops/index/index_add.h"
#include "tandem/autograd/ops/index/index_select.h"
#include "tandem/autograd/ops/index/scatter_reduce.h"
#include "tandem/autograd/ops/nn/embedding.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/ops/torch_names/out_write.h"

namespace tandem {

inline Tensor& gather_out(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, bool sparse_grad = false) {
  return autograd::write_out("gather_out", out)(tandem::gather(self, dim, index, sparse_grad));
}
inline Tensor& scatter_out(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return autograd::write_out("scatter_out", out)(tandem::scatter(self, dim, index, src));
}
inline Tensor& scatter_out(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  return autograd::write_out("scatter_out", out)(tandem::scatter(self, dim, index, value));
}
inline Tensor& scatter_out(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                           std::string_view reduce) {
  return autograd::write_out("scatter_out", out)(tandem::scatter(self, dim, index, src, reduce));
}
inline Tensor& scatter_out(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                           std::string_view reduce) {
  return autograd::write_out("scatter_out", out)(tandem::scatter(self, dim, index, value, reduce));
}
inline Tensor& scatter_add_out(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return autograd::write_out("scatter_add_out", out)(tandem::scatter_add(self, dim, index, src));
}
inline Tensor& take_along_dim_out(Tensor& out, const Tensor& self, const Tensor& indices,
                                  optional<int64_t> dim = nullopt) {
  return autograd::write_out("take_along_dim_out", out)(tandem::take_along_dim(self, indices, dim));
}
inline Tensor& index_copy_out(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  return autograd::write_out("index_copy_out", out)(tandem::index_copy(self, dim, index, source));
}
inline Tensor& index_fill_out(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  return autograd::write_out("index_fill_out", out)(tandem::index_fill(self, dim, index, value));
}
inline Tensor& index_fill_out(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  return autograd::write_out("index_fill_out", out)(tandem::index_fill(self, dim, index, value));
}
inline Tensor& masked_scatter_out(Tensor& out, const Tensor& self, const Tensor& mask, const Tensor& source) {
  return autograd::write_out("masked_scatter_out", out)(tandem::masked_scatter(self, mask, source));
}
inline Tensor& masked_select_out(Tensor& out, const Tensor& self, const Tensor& mask) {
  return autograd::write_out("masked_select_out", out)(tandem::masked_select(self, mask));
}
inline Tensor& nonzero_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("nonzero_out", out)(tandem::nonzero(self));
}
inline Tensor& take_out(Tensor& out, const Tensor& self, const Tensor& index) {
  return autograd::write_out("take_out", out)(tandem::take(self, index));
}
inline Tensor& index_add_out(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                             const Scalar& alpha = 1) {
  return autograd::write_out("index_add_out", out)(tandem::index_add(self, dim, index, source, alpha));
}
inline Tensor& index_select_out(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index) {
  return autograd::write_out("index_select_out", out)(tandem::index_select(self, dim, index));
}
inline Tensor& index_reduce_out(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                                std::string_view reduce, bool include_self = true) {
  return autograd::write_out("index_reduce_out",
                             out)(tandem::index_reduce(self, dim, index, source, reduce, include_self));
}
inline Tensor& put_out(Tensor& out, const Tensor& self, const Tensor& index, const Tensor& source,
                       bool accumulate = false) {
  return autograd::write_out("put_out", out)(tandem::put(self, index, source, accumulate));
}
inline Tensor& scatter_reduce_out(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                                  std::string_view reduce, bool include_self = true) {
  return autograd::write_out("scatter_reduce_out",
                             out)(tandem::scatter_reduce(self, dim, index, src, reduce, include_self));
}
inline Tensor& segment_reduce_out(Tensor& out, const Tensor& data, std::string_view reduce, const Tensor& lengths = {},
                                  const Tensor& indices = {}, const Tensor& offsets = {}, int64_t axis = 0,
                                  bool unsafe = false, const optional<Scalar>& initial = nullopt) {
  return autograd::write_out("segment_reduce_out", out)(
      tandem::segment_reduce(data, reduce, lengths, indices, offsets, axis, unsafe, initial));
}
inline Tensor& masked_fill_out(Tensor& out, const Tensor& self, const Tensor& mask, const Scalar& value) {
  return autograd::write_out("masked_fill_out", out)(tandem::masked_fill(self, mask, value));
}
inline Tensor& masked_fill_out(Tensor& out, const Tensor& self, const Tensor& mask, const Tensor& value) {
  return autograd::write_out("masked_fill_out", out)(tandem::masked_fill(self, mask, value));
}
inline Tensor& where_out(Tensor& out, const Tensor& condition, const Tensor& self, const Tensor& other) {
  return autograd::write_out("where_out", out)(tandem::where(condition, self, other));
}
inline Tensor& embedding_out(Tensor& out, const Tensor& weight, const Tensor& indices, int64_t padding_idx = -1,
                             bool scale_grad_by_freq = false, bool sparse = false) {
  return autograd::write_out("embedding_out",
                             out)(tandem::embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse));
}

}  // namespace tandem
