// Reads and writes at offsets: the kernels of advanced indexing. Also contains the table of the family.
#include "tandem/core/backend/index.h"
#include "tandem/core/cpu/index.h"
#include "tandem/core/cpu/tables.h"

namespace tandem::cpu {
namespace {

// Converts an index to a position: wraps and checks it.
inline int64_t position(int64_t index, const IndexedDims& at, std::size_t k) {
  const int64_t size = at.sizes[k], i = at.wrap && index < 0 ? index + size : index;
  if (static_cast<uint64_t>(i) >= static_cast<uint64_t>(size)) [[unlikely]]
    bad_index(at.operation, index, at.dims[k], size);
  return i;
}

// Ordered writes: the positions in the other dimensions are distributed among threads.
template <class T, class F>
void put_with(const Tensor& out, int64_t dim, const Tensor& offsets, const Tensor& source, F f) {
  const int64_t count = offsets.numel(), from = source.strides()[static_cast<std::size_t>(dim)];
  const int64_t* where = offsets.ptr<int64_t>();
  const Tensor o = without_dim(out, dim, out.sizes()), x = without_dim(source, dim, source.sizes());
  const auto plan = make_plan<2>({&o, &x});
  parallel_for(plan.numel, positions_grain(count), [&](int64_t begin, int64_t end) {
    for_runs(plan, begin, end, [&](const auto& p, const auto& s, int64_t n) {
      T* target = reinterpret_cast<T*>(p[0]);
      const T* value = reinterpret_cast<const T*>(p[1]);
      if (n == 1) {
        for (int64_t i = 0; i < count; ++i) f(target[where[i]], value[i * from]);
        return;
      }
      for (int64_t i = 0; i < count; ++i) {
        T* to = target + where[i];
        const T* row = value + i * from;
        if (s[0] == 1 && s[1] == 1)
          for (int64_t j = 0; j < n; ++j) f(to[j], row[j]);
        else
          for (int64_t j = 0; j < n; ++j) f(to[j * s[0]], row[j * s[1]]);
      }
    });
  });
}

void offsets(const Tensor& out, TensorList indices, const IndexedDims& at) {
  for (std::size_t k = 0; k < indices.size(); ++k)
    parallel_runs(make_plan<2>({&out, &indices[k]}), [&](const auto& p, const auto& s, int64_t n) {
      int64_t* o = reinterpret_cast<int64_t*>(p[0]);
      const int64_t* index = reinterpret_cast<const int64_t*>(p[1]);
      for (int64_t j = 0; j < n; ++j) {
        const int64_t moved = position(index[j * s[1]], at, k) * at.strides[k];
        o[j * s[0]] = k == 0 ? moved : o[j * s[0]] + moved;
      }
    });
}

void get(const Tensor& out, const Tensor& in, const Tensor& offsets) {
  if (out.numel() == 0) return;
  const auto plan = make_plan<3>({&out, &in, &offsets});
  dispatch_bits(in.element_size(), [&]<class Bits>(Type<Bits>) {
    parallel_runs(plan, [&](const auto& p, const auto& s, int64_t n) {
      Bits* o = reinterpret_cast<Bits*>(p[0]);
      const Bits* x = reinterpret_cast<const Bits*>(p[1]);
      const int64_t* at = reinterpret_cast<const int64_t*>(p[2]);
      if (s[2] == 0 && s[0] == 1 && s[1] == 1)
        std::copy_n(x + *at, n, o);  // a row
      else
        for (int64_t j = 0; j < n; ++j) o[j * s[0]] = x[j * s[1] + at[j * s[2]]];
    });
  });
}

void put(const Tensor& out, int64_t dim, const Tensor& offsets, const Tensor& source) {
  if (source.numel() == 0) return;
  dispatch_bits(out.element_size(), [&]<class Bits>(Type<Bits>) {
    put_with<Bits>(out, dim, offsets, source, [](Bits& o, Bits x) { o = x; });
  });
}

void put_add(const Tensor& out, int64_t dim, const Tensor& offsets, const Tensor& source) {
  if (source.numel() == 0) return;
  dispatch(out.dtype(), ComputedTypes{}, "index_put_", [&]<class T>(Type<T>) {
    put_with<T>(out, dim, offsets, source, [](T& o, T x) { o = static_cast<T>(o + x); });
  });
}

}  // namespace

constinit const IndexKernels index_kernels{
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
