// Indexed reads and writes on the CPU.
#include "tandem/core/cpu/index.h"
#include "tandem/core/cpu/tables.h"

namespace tandem::cpu {
namespace {

void check_indices(const char* operation, const Tensor& index, int64_t dim, int64_t limit) {
  const int64_t* at = index.ptr<int64_t>();
  const int64_t step = index.dim() == 0 ? 0 : index.stride(0);
  for (int64_t i = 0; i < index.numel(); ++i)
    check_index(at[i * step] >= 0 && at[i * step] < limit, operation, ": index ", at[i * step],
                " is out of range: dimension ", dim, " has size ", limit);
}

// Position `number` of a shape as offsets in two sets of strides.
struct Offsets {
  int64_t to = 0, from = 0;
};
Offsets starts_of(int64_t number, const Dims& sizes, const Dims& to, const Dims& from) {
  Offsets out;
  for (std::size_t k = sizes.size(); k-- > 0;) {
    const int64_t position = number % sizes[k];
    number /= sizes[k];
    out.to += position * to[k];
    out.from += position * from[k];
  }
  return out;
}

// Threads share out the positions beside `dim`: additions to one element stay in the order of the index.
void index_add(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& source,
               const Scalar& alpha) {
  const int64_t count = index.numel(), limit = out.size(dim), step = index.dim() == 0 ? 0 : index.stride(0);
  const int64_t* at = index.ptr<int64_t>();
  check_indices("index_add", index, dim, limit);
  Dims sizes(source.sizes()), to(out.strides()), from(source.strides());
  const auto d = static_cast<std::size_t>(dim);
  const int64_t to_step = to[d], from_step = from[d];
  sizes.erase(d);
  to.erase(d);
  from.erase(d);
  const int64_t others = checked_numel(sizes);
  dispatch(out.dtype(), NumericTypes{}, "index_add", [&]<class T>(Type<T>) {
    const T factor = alpha.to<T>();
    parallel_for(others, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, count)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t o = begin; o < end; ++o) {
                     const Offsets start = starts_of(o, sizes, to, from);
                     T* target = out.ptr<T>() + start.to;
                     const T* x = source.ptr<T>() + start.from;
                     for (int64_t i = 0; i < count; ++i) {
                       T& sum = target[at[i * step] * to_step];
                       sum = static_cast<T>(sum + factor * x[i * from_step]);
                     }
                   }
                 });
  });
}

template <class Bits>
void select_bits(const Tensor& out, const Tensor& in, int64_t dim, const Tensor& index) {
  const auto d = static_cast<std::size_t>(dim);
  const int64_t count = index.numel(), step = index.dim() == 0 ? 0 : index.stride(0);
  const int64_t* at = index.ptr<int64_t>();
  // Everything behind `dim` in one run where both are row-major there: rows of a matrix, images of a data
  // set.
  if (out.is_contiguous() && in.is_contiguous()) {
    int64_t inner = 1, outer = 1;
    for (std::size_t k = d + 1; k < in.sizes().size(); ++k) inner *= in.sizes()[k];
    for (std::size_t k = 0; k < d; ++k) outer *= in.sizes()[k];
    const int64_t limit = in.size(dim);
    parallel_for(outer * count, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, inner)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t r = begin; r < end; ++r)
                     std::copy_n(in.ptr<Bits>() + ((r / count) * limit + at[(r % count) * step]) * inner,
                                 inner, out.ptr<Bits>() + r * inner);
                 });
    return;
  }
  Dims sizes(out.sizes()), to(out.strides()), from(in.strides());
  const int64_t to_step = to[d], from_step = from[d];
  sizes.erase(d);
  to.erase(d);
  from.erase(d);
  parallel_for(checked_numel(sizes), std::max<int64_t>(1, kGrain / std::max<int64_t>(1, count)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t o = begin; o < end; ++o) {
                   const Offsets start = starts_of(o, sizes, to, from);
                   for (int64_t i = 0; i < count; ++i)
                     out.ptr<Bits>()[start.to + i * to_step] =
                         in.ptr<Bits>()[start.from + at[i * step] * from_step];
                 }
               });
}

void index_select(const Tensor& out, const Tensor& in, int64_t dim, const Tensor& index) {
  check_indices("index_select", index, dim, in.size(dim));
  switch (in.element_size()) {
    case 1:
      return select_bits<uint8_t>(out, in, dim, index);
    case 2:
      return select_bits<uint16_t>(out, in, dim, index);
    case 4:
      return select_bits<uint32_t>(out, in, dim, index);
    default:
      return select_bits<uint64_t>(out, in, dim, index);
  }
}

}  // namespace

constinit const IndexKernels index_kernels{
    .index_add = index_add,
    .index_select = index_select,
    .offsets = offsets,
    .get = get,
    .put = put,
    .put_add = put_add,
    .gather = gather,
    .scatter = scatter,
    .scatter_add = scatter_add,
    .count_nonzero = count_nonzero,
    .nonzero = nonzero,
    .cat = cat,
    .triangle = triangle,
};

}  // namespace tandem::cpu
