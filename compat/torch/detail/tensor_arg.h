// TensorArg: a tensor with its name and position in a function's parameters, and checks that name it. All throw Error.
#pragma once
#include <string>

#include "tandem/core/deprecated_type.h"

namespace torch {

/// The function whose arguments are checked.
using CheckedFrom = const char*;
struct TensorArg {
  TensorArg(const tandem::Tensor& tensor_, const char* name_, int pos_) : tensor(tensor_), name(name_), pos(pos_) {}
  const tandem::Tensor* operator->() const { return &tensor; }
  const tandem::Tensor& operator*() const { return tensor; }
  tandem::Tensor tensor;
  const char* name;
  int pos;
};
using TensorGeometryArg = TensorArg;
inline void append(std::string& out, const TensorArg& arg) {
  out += "argument #" + std::to_string(arg.pos) + " '" + arg.name + "'";
}

inline void checkDefined(CheckedFrom c, const TensorArg& t) {
  tandem::check(t->defined(), c, ": expected a tensor for ", t, ", it is undefined");
}
inline void checkDim(CheckedFrom c, const TensorArg& t, int64_t dim) {
  tandem::check(t->dim() == dim, c, ": expected ", dim, " dimensions of ", t, ", it is ", *t);
}
inline void checkDim(CheckedFrom c, const tandem::Tensor& t, const char* name, int pos, int64_t dim) {
  checkDim(c, TensorArg(t, name, pos), dim);
}
/// first to last - 1 dimensions.
inline void checkDimRange(CheckedFrom c, const TensorArg& t, int64_t first, int64_t last) {
  tandem::check(first <= t->dim() && t->dim() < last, c, ": expected ", first, " to ", last - 1, " dimensions of ", t,
                ", it is ", *t);
}
inline void checkSameDim(CheckedFrom c, const TensorArg& a, const TensorArg& b) {
  tandem::check(a->dim() == b->dim(), c, ": expected the dimensions of ", a, " and ", b, " to be as many, they are ",
                *a, " and ", *b);
}
inline void checkContiguous(CheckedFrom c, const TensorArg& t) {
  tandem::check(t->is_contiguous(), c, ": expected ", t, " to be contiguous");
}
inline void checkSize(CheckedFrom c, const TensorArg& t, tandem::IntArrayRef sizes) {
  tandem::check(t->sizes() == sizes, c, ": expected sizes ", sizes, " of ", t, ", it is ", *t);
}
inline void checkSize(CheckedFrom c, const TensorArg& t, int64_t dim, int64_t size) {
  tandem::check(t->size(dim) == size, c, ": expected size ", size, " in dimension ", dim, " of ", t, ", it is ", *t);
}
inline void checkNumel(CheckedFrom c, const TensorArg& t, int64_t numel) {
  tandem::check(t->numel() == numel, c, ": expected ", numel, " elements of ", t, ", it is ", *t);
}
inline void checkSameNumel(CheckedFrom c, const TensorArg& a, const TensorArg& b) {
  tandem::check(a->numel() == b->numel(), c, ": expected ", a, " and ", b, " to have as many elements, they are ", *a,
                " and ", *b);
}
inline void checkSameSize(CheckedFrom c, const TensorArg& a, const TensorArg& b) {
  tandem::check(a->sizes() == b->sizes(), c, ": expected the same sizes of ", a, " and ", b, ", they are ", *a, " and ",
                *b);
}
inline void checkScalarType(CheckedFrom c, const TensorArg& t, tandem::ScalarType type) {
  tandem::check(t->dtype() == type, c, ": expected dtype ", type, " of ", t, ", it is ", *t);
}
inline void checkSameType(CheckedFrom c, const TensorArg& a, const TensorArg& b) {
  tandem::check(a->type() == b->type(), c, ": expected the same type of ", a, " and ", b, ", they are ", *a, " and ",
                *b);
}
inline void checkSameGPU(CheckedFrom c, const TensorArg& a, const TensorArg& b) {
  tandem::check(a->is_cuda() && a->device() == b->device(), c, ": expected ", a, " and ", b,
                " on the same GPU, they are ", *a, " and ", *b);
}

inline void checkAllDefined(CheckedFrom c, tandem::ArrayRef<TensorArg> tensors) {
  for (const TensorArg& t : tensors) checkDefined(c, t);
}
inline void checkAllContiguous(CheckedFrom c, tandem::ArrayRef<TensorArg> tensors) {
  for (const TensorArg& t : tensors) checkContiguous(c, t);
}
#define TANDEM_COMPAT_CHECK_ALL(Same)                                                        \
  inline void checkAll##Same(CheckedFrom c, tandem::ArrayRef<TensorArg> tensors) {           \
    for (std::size_t i = 1; i < tensors.size(); ++i) check##Same(c, tensors[0], tensors[i]); \
  }
TANDEM_COMPAT_CHECK_ALL(SameSize)
TANDEM_COMPAT_CHECK_ALL(SameNumel)
TANDEM_COMPAT_CHECK_ALL(SameType)
TANDEM_COMPAT_CHECK_ALL(SameGPU)
#undef TANDEM_COMPAT_CHECK_ALL

}  // namespace torch
