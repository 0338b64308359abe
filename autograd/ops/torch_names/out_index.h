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

TANDEM_OUT(gather, (const Tensor& self, int64_t dim, const Tensor& index, bool sparse_grad = false), self, dim, index,
           sparse_grad)
TANDEM_OUT(scatter, (const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src), self, dim, index, src)
TANDEM_OUT(scatter, (const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value), self, dim, index,
           value)
TANDEM_OUT(scatter, (const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce),
           self, dim, index, src, reduce)
TANDEM_OUT(scatter,
           (const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, std::string_view reduce), self,
           dim, index, value, reduce)
TANDEM_OUT(scatter_add, (const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src), self, dim, index,
           src)
TANDEM_OUT(take_along_dim, (const Tensor& self, const Tensor& indices, optional<int64_t> dim = nullopt), self, indices,
           dim)
TANDEM_OUT(index_copy, (const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source), self, dim, index,
           source)
TANDEM_OUT(index_fill, (const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value), self, dim, index,
           value)
TANDEM_OUT(index_fill, (const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value), self, dim, index,
           value)
TANDEM_OUT(masked_scatter, (const Tensor& self, const Tensor& mask, const Tensor& source), self, mask, source)
TANDEM_OUT(masked_select, (const Tensor& self, const Tensor& mask), self, mask)
TANDEM_OUT(nonzero, (const Tensor& self), self)
TANDEM_OUT(take, (const Tensor& self, const Tensor& index), self, index)
TANDEM_OUT(index_add,
           (const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha = 1), self,
           dim, index, source, alpha)
TANDEM_OUT(index_select, (const Tensor& self, int64_t dim, const Tensor& index), self, dim, index)
TANDEM_OUT(index_reduce,
           (const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
            bool include_self = true),
           self, dim, index, source, reduce, include_self)
TANDEM_OUT(put, (const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate = false), self, index,
           source, accumulate)
TANDEM_OUT(scatter_reduce,
           (const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
            bool include_self = true),
           self, dim, index, src, reduce, include_self)
TANDEM_OUT(segment_reduce,
           (const Tensor& data, std::string_view reduce, const Tensor& lengths = {}, const Tensor& indices = {},
            const Tensor& offsets = {}, int64_t axis = 0, bool unsafe = false,
            const optional<Scalar>& initial = nullopt),
           data, reduce, lengths, indices, offsets, axis, unsafe, initial)
TANDEM_OUT(masked_fill, (const Tensor& self, const Tensor& mask, const Scalar& value), self, mask, value)
TANDEM_OUT(masked_fill, (const Tensor& self, const Tensor& mask, const Tensor& value), self, mask, value)
TANDEM_OUT(where, (const Tensor& condition, const Tensor& self, const Tensor& other), condition, self, other)
TANDEM_OUT(embedding,
           (const Tensor& weight, const Tensor& indices, int64_t padding_idx = -1, bool scale_grad_by_freq = false,
            bool sparse = false),
           weight, indices, padding_idx, scale_grad_by_freq, sparse)

}  // namespace tandem
