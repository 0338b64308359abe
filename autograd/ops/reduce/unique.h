// Searching sorted values, and removing duplicates. No gradients.
#pragma once
#include <string_view>
#include <tuple>

#include "tandem/core/tensor.h"

namespace tandem {

/// For each element of self, the number of elements of sorted_sequence (ascending along its last dimension)
/// that are less than it or, with `right` (side "right"), less than or equal to it: int64, or int32 with
/// out_int32. sorted_sequence is a vector, or has the same dimensions as self before the last. sorter: the
/// permutation that sorts sorted_sequence.
Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& self, bool out_int32 = false, bool right = false,
                    optional<std::string_view> side = nullopt, const Tensor& sorter = {});
Tensor searchsorted(const Tensor& sorted_sequence, const Scalar& self, bool out_int32 = false, bool right = false,
                    optional<std::string_view> side = nullopt, const Tensor& sorter = {});
/// searchsorted with a vector of boundaries.
Tensor bucketize(const Tensor& self, const Tensor& boundaries, bool out_int32 = false, bool right = false);
Tensor bucketize(const Scalar& self, const Tensor& boundaries, bool out_int32 = false, bool right = false);
/// bool: whether each element is (with `invert`: is not) among test_elements.
Tensor isin(const Tensor& elements, const Tensor& test_elements, bool assume_unique = false, bool invert = false);
Tensor isin(const Tensor& elements, const Scalar& test_element, bool assume_unique = false, bool invert = false);
Tensor isin(const Scalar& element, const Tensor& test_elements, bool assume_unique = false, bool invert = false);

/// The distinct values in ascending order; for each element of self the index of its value; and the number of
/// occurrences of each value. Outputs that were not requested are empty. LibTorch's name for torch.unique.
std::tuple<Tensor, Tensor, Tensor> _unique2(const Tensor& self, bool sorted = true, bool return_inverse = false,
                                            bool return_counts = false);
std::tuple<Tensor, Tensor> _unique(const Tensor& self, bool sorted = true, bool return_inverse = false);
/// The same for the slices along `dim`, in lexicographic order.
std::tuple<Tensor, Tensor, Tensor> unique_dim(const Tensor& self, int64_t dim, bool sorted = true,
                                              bool return_inverse = false, bool return_counts = false);
/// Keeps the first of each run of equal consecutive values (or slices).
std::tuple<Tensor, Tensor, Tensor> unique_consecutive(const Tensor& self, bool return_inverse = false,
                                                      bool return_counts = false, optional<int64_t> dim = nullopt);
std::tuple<Tensor, Tensor, Tensor> unique_dim_consecutive(const Tensor& self, int64_t dim, bool return_inverse = false,
                                                          bool return_counts = false);

}  // namespace tandem
