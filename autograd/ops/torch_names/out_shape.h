// Functions that write to a given tensor (out_write.h): diagonals and copies of elements in other places.
#pragma once
#include "tandem/autograd/ops/torch_names/out_write.h"
#include "tandem/autograd/ops/view/diag.h"
#include "tandem/autograd/ops/view/flip.h"
#include "tandem/autograd/ops/view/repeat.h"
#include "tandem/autograd/ops/view/tril.h"

namespace tandem {

TANDEM_OUT(tril, (const Tensor& self, int64_t diagonal = 0), self, diagonal)
TANDEM_OUT(triu, (const Tensor& self, int64_t diagonal = 0), self, diagonal)
TANDEM_OUT(block_diag, (TensorList tensors), tensors)
TANDEM_OUT(diag, (const Tensor& self, int64_t diagonal = 0), self, diagonal)
TANDEM_OUT(diag_embed, (const Tensor& self, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1), self, offset,
           dim1, dim2)
TANDEM_OUT(diagonal_scatter,
           (const Tensor& self, const Tensor& src, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1), self, src,
           offset, dim1, dim2)
TANDEM_OUT(select_scatter, (const Tensor& self, const Tensor& src, int64_t dim, int64_t index), self, src, dim, index)
TANDEM_OUT(slice_scatter,
           (const Tensor& self, const Tensor& src, int64_t dim = 0, optional<int64_t> start = nullopt,
            optional<int64_t> end = nullopt, int64_t step = 1),
           self, src, dim, start, end, step)
TANDEM_OUT(trace, (const Tensor& self), self)
TANDEM_OUT(tril_indices, (int64_t row, int64_t col, int64_t offset = 0), row, col, offset, out.options())
TANDEM_OUT(triu_indices, (int64_t row, int64_t col, int64_t offset = 0), row, col, offset, out.options())
TANDEM_OUT(repeat, (const Tensor& self, IntArrayRef repeats), self, repeats)
TANDEM_OUT(repeat_interleave, (const Tensor& repeats, optional<int64_t> output_size = nullopt), repeats, output_size)
TANDEM_OUT(flip, (const Tensor& self, IntArrayRef dims), self, dims)
TANDEM_OUT(roll, (const Tensor& self, IntArrayRef shifts, IntArrayRef dims = {}), self, shifts, dims)
TANDEM_OUT(rot90, (const Tensor& self, int64_t k = 1, IntArrayRef dims = {0, 1}), self, k, dims)

}  // namespace tandem
