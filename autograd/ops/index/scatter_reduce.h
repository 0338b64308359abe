// Folds of the elements that an index sends to one place. Names of folds: "sum", "prod", "mean", "amax", "amin". Throws
// Error for other names, and as scatter_add does.
#pragma once
#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem {

/// A copy of self with out[index[i][j]][j] = the fold of all src[i][j] sent there, and of self's element unless
/// include_self is false. The mean of integers is rounded down. The gradient of an extreme is shared evenly among equal
/// elements.
Tensor scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                      bool include_self = true);
Tensor& scatter_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                        std::string_view reduce, bool include_self = true);
/// scatter with "add" or "multiply" in place of overwriting.
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce);
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, std::string_view reduce);
Tensor& scatter_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce);
Tensor& scatter_(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, std::string_view reduce);
/// The same for the slices source[…, i, …], which are sent to index[i] along `dim`; not "sum".
Tensor index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                    bool include_self = true);
Tensor& index_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                      std::string_view reduce, bool include_self = true);
/// Folds consecutive elements along `axis`: "sum", "mean", "max", "min" or "prod". `lengths` (integers, which add up to
/// the size) has the sizes of data before `axis`, and then the number of segments; or `offsets` has the first position
/// of each segment, and the size. Empty segments are `initial`, by default the fold's neutral element (NaN for the
/// mean). `indices` must be undefined.
Tensor segment_reduce(const Tensor& data, std::string_view reduce, const Tensor& lengths = {},
                      const Tensor& indices = {}, const Tensor& offsets = {}, int64_t axis = 0, bool unsafe = false,
                      const optional<Scalar>& initial = nullopt);
/// A copy of self with source written (or added) at the positions `index` of the flattened tensor. source and index
/// have the same number of elements; negative positions count from the end.
Tensor put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate = false);
Tensor& put_(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate = false);

}  // namespace tandem
