// gather, scatter and scatter_add along one dimension.
//
// gather is elementwise over the index. The writing kernels distribute the positions in the other dimensions
// among threads and walk the index in order at each position, so additions to one element have a fixed order.
#include "tandem/core/cpu/index.h"

namespace tandem::cpu {

void bad_index(const char* operation, int64_t index, int64_t dim, int64_t size) {
  throw IndexError(concat(operation, ": index ", index, " is out of bounds for dimension ", dim, " with size ", size));
}

namespace {

void check_range(const char* operation, const Tensor& index, int64_t dim, int64_t size) {
  parallel_runs(make_plan<1>({&index}), [&](const auto& p, const auto& s, int64_t n) {
    const int64_t* at = reinterpret_cast<const int64_t*>(p[0]);
    for (int64_t j = 0; j < n; ++j)
      if (static_cast<uint64_t>(at[j * s[0]]) >= static_cast<uint64_t>(size)) [[unlikely]]
        bad_index(operation, at[j * s[0]], dim, size);
  });
}

// out(position, index) = f(out, source) for every element of the index, in the order described above.
template <class T, class F>
void write_along(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& source, F f) {
  const int64_t count = index.size(dim);
  const int64_t to = out.stride(dim), at_step = index.stride(dim), from = source.stride(dim);
  const Tensor o = without_dim(out, dim, index.sizes()), at = without_dim(index, dim, index.sizes()),
               x = without_dim(source, dim, index.sizes());
  const auto plan = make_plan<3>({&o, &at, &x});
  parallel_for(plan.numel, positions_grain(count), [&](int64_t begin, int64_t end) {
    for_runs(plan, begin, end, [&](const auto& p, const auto& s, int64_t n) {
      T* target = reinterpret_cast<T*>(p[0]);
      const int64_t* where = reinterpret_cast<const int64_t*>(p[1]);
      const T* value = reinterpret_cast<const T*>(p[2]);
      if (n >= count) {
        for (int64_t i = 0; i < count; ++i)
          for (int64_t j = 0; j < n; ++j)
            f(target[j * s[0] + where[j * s[1] + i * at_step] * to], value[j * s[2] + i * from]);
      } else {
        for (int64_t j = 0; j < n; ++j)
          for (int64_t i = 0; i < count; ++i)
            f(target[j * s[0] + where[j * s[1] + i * at_step] * to], value[j * s[2] + i * from]);
      }
    });
  });
}

}  // namespace

void gather(const Tensor& out, const Tensor& in, int64_t dim, const Tensor& index) {
  const int64_t size = in.size(dim), step = in.stride(dim);
  Dims strides(in.strides());
  strides[static_cast<std::size_t>(dim)] = 0;
  const Tensor start = alias(in, index.sizes(), strides, in.storage_offset());
  const auto plan = make_plan<3>({&out, &start, &index});
  dispatch_bits(in.element_size(), [&]<class Bits>(Type<Bits>) {
    parallel_runs(plan, [&](const auto& p, const auto& s, int64_t n) {
      Bits* o = reinterpret_cast<Bits*>(p[0]);
      const Bits* x = reinterpret_cast<const Bits*>(p[1]);
      const int64_t* at = reinterpret_cast<const int64_t*>(p[2]);
      for (int64_t j = 0; j < n; ++j) {
        const int64_t i = at[j * s[2]];
        if (static_cast<uint64_t>(i) >= static_cast<uint64_t>(size)) [[unlikely]]
          bad_index("gather", i, dim, size);
        o[j * s[0]] = x[j * s[1] + i * step];
      }
    });
  });
}

void scatter(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& source) {
  check_range("scatter", index, dim, out.size(dim));
  dispatch_bits(out.element_size(), [&]<class Bits>(Type<Bits>) {
    write_along<Bits>(out, dim, index, source, [](Bits& o, Bits x) { o = x; });
  });
}

void scatter_add(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& source) {
  check_range("scatter_add", index, dim, out.size(dim));
  dispatch(out.dtype(), ComputedTypes{}, "scatter_add", [&]<class T>(Type<T>) {
    write_along<T>(out, dim, index, source, [](T& o, T x) { o = static_cast<T>(o + x); });
  });
}

}  // namespace tandem::cpu
