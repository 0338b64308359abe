// Scans, reductions, selection and run-length encoding, in the order of the items.
#pragma once
#include <limits>
#include <vector>

#include "emulation.h"

namespace cub::emulation {

struct Plus {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    return a + b;
  }
};
struct Least {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return b < a ? b : a;
  }
};
struct Greatest {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};
template <class Op, class Init, class In>
using sum_of = std::remove_cvref_t<std::invoke_result_t<Op, Init, value_of<In>>>;

template <class In, class Out, class Op, class N>
cudaError_t inclusive(void* storage, std::size_t& bytes, In in, Out out, Op op, N n, cudaStream_t stream) {
  return two_phases("InclusiveScan", storage, bytes, static_cast<int64_t>(n), stream, [=] {
    if (n <= 0) return;
    using Sum = sum_of<Op, value_of<In>, In>;
    Sum sum = static_cast<Sum>(in[0]);
    out[0] = static_cast<value_of<Out>>(sum);
    for (int64_t i = 1; i < static_cast<int64_t>(n); ++i) {
      sum = op(sum, in[i]);
      out[i] = static_cast<value_of<Out>>(sum);
    }
  });
}
template <class In, class Out, class Op, class Init, class N>
cudaError_t exclusive(void* storage, std::size_t& bytes, In in, Out out, Op op, Init init, N n, cudaStream_t stream) {
  return two_phases("ExclusiveScan", storage, bytes, static_cast<int64_t>(n), stream, [=] {
    sum_of<Op, Init, In> sum = init;
    for (int64_t i = 0; i < static_cast<int64_t>(n); ++i) {
      const auto item = in[i];
      out[i] = static_cast<value_of<Out>>(sum);
      sum = op(sum, item);
    }
  });
}
template <class In, class Out, class Op, class Init, class N>
cudaError_t reduce(void* storage, std::size_t& bytes, In in, Out out, N n, Op op, Init init, cudaStream_t stream) {
  return two_phases("Reduce", storage, bytes, static_cast<int64_t>(n), stream, [=] {
    sum_of<Op, Init, In> sum = init;
    for (int64_t i = 0; i < static_cast<int64_t>(n); ++i) sum = op(sum, in[i]);
    *out = static_cast<value_of<Out>>(sum);
  });
}
template <class In, class Out, class Begin, class End, class Op, class Init>
cudaError_t reduce_segments(void* storage, std::size_t& bytes, In in, Out out, int64_t segments, Begin begins, End ends,
                            Op op, Init init, cudaStream_t stream) {
  return two_phases("Reduce of segments", storage, bytes, segments, stream, [=] {
    for (int64_t s = 0; s < segments; ++s) {
      sum_of<Op, Init, In> sum = init;
      for (auto i = static_cast<int64_t>(begins[s]); i < static_cast<int64_t>(ends[s]); ++i) sum = op(sum, in[i]);
      out[s] = static_cast<value_of<Out>>(sum);
    }
  });
}
// Keeps in[i] if keep(i). In-place operation is allowed.
template <class In, class Out, class Count, class Keep>
cudaError_t select(void* storage, std::size_t& bytes, In in, Out out, Count count, int64_t n, Keep keep,
                   cudaStream_t stream) {
  return two_phases("Select", storage, bytes, n, stream, [=] {
    std::vector<value_of<In>> kept;
    for (int64_t i = 0; i < n; ++i)
      if (keep(i)) kept.push_back(in[i]);
    for (std::size_t i = 0; i < kept.size(); ++i) out[static_cast<int64_t>(i)] = kept[i];
    *count = static_cast<value_of<Count>>(kept.size());
  });
}

}  // namespace cub::emulation

namespace cub {

struct DeviceScan {
  template <class In, class Out, class N>
  static cudaError_t InclusiveSum(void* storage, std::size_t& bytes, In in, Out out, N n,
                                  cudaStream_t stream = nullptr) {
    return emulation::inclusive(storage, bytes, in, out, emulation::Plus{}, n, stream);
  }
  template <class In, class Out, class N>
  static cudaError_t ExclusiveSum(void* storage, std::size_t& bytes, In in, Out out, N n,
                                  cudaStream_t stream = nullptr) {
    return emulation::exclusive(storage, bytes, in, out, emulation::Plus{}, emulation::value_of<In>{}, n, stream);
  }
  template <class In, class Out, class Op, class N>
  static cudaError_t InclusiveScan(void* storage, std::size_t& bytes, In in, Out out, Op op, N n,
                                   cudaStream_t stream = nullptr) {
    return emulation::inclusive(storage, bytes, in, out, op, n, stream);
  }
  template <class In, class Out, class Op, class Init, class N>
  static cudaError_t ExclusiveScan(void* storage, std::size_t& bytes, In in, Out out, Op op, Init init, N n,
                                   cudaStream_t stream = nullptr) {
    return emulation::exclusive(storage, bytes, in, out, op, init, n, stream);
  }
};

struct DeviceReduce {
  template <class In, class Out, class N, class Op, class Init>
  static cudaError_t Reduce(void* storage, std::size_t& bytes, In in, Out out, N n, Op op, Init init,
                            cudaStream_t stream = nullptr) {
    return emulation::reduce(storage, bytes, in, out, n, op, init, stream);
  }
  template <class In, class Out, class N>
  static cudaError_t Sum(void* storage, std::size_t& bytes, In in, Out out, N n, cudaStream_t stream = nullptr) {
    return Reduce(storage, bytes, in, out, n, emulation::Plus{}, emulation::value_of<In>{}, stream);
  }
  template <class In, class Out, class N>
  static cudaError_t Min(void* storage, std::size_t& bytes, In in, Out out, N n, cudaStream_t stream = nullptr) {
    using T = emulation::value_of<In>;
    return Reduce(storage, bytes, in, out, n, emulation::Least{}, std::numeric_limits<T>::max(), stream);
  }
  template <class In, class Out, class N>
  static cudaError_t Max(void* storage, std::size_t& bytes, In in, Out out, N n, cudaStream_t stream = nullptr) {
    using T = emulation::value_of<In>;
    return Reduce(storage, bytes, in, out, n, emulation::Greatest{}, std::numeric_limits<T>::lowest(), stream);
  }
};

struct DeviceSegmentedReduce {
  template <class In, class Out, class Begin, class End, class Op, class Init>
  static cudaError_t Reduce(void* storage, std::size_t& bytes, In in, Out out, int64_t segments, Begin begins, End ends,
                            Op op, Init init, cudaStream_t stream = nullptr) {
    return emulation::reduce_segments(storage, bytes, in, out, segments, begins, ends, op, init, stream);
  }
  template <class In, class Out, class Begin, class End>
  static cudaError_t Sum(void* storage, std::size_t& bytes, In in, Out out, int64_t segments, Begin begins, End ends,
                         cudaStream_t stream = nullptr) {
    return Reduce(storage, bytes, in, out, segments, begins, ends, emulation::Plus{}, emulation::value_of<In>{},
                  stream);
  }
};

struct DeviceSelect {
  template <class In, class Flags, class Out, class Count>
  static cudaError_t Flagged(void* storage, std::size_t& bytes, In in, Flags flags, Out out, Count count, int64_t n,
                             cudaStream_t stream = nullptr) {
    return emulation::select(
        storage, bytes, in, out, count, n, [=](int64_t i) { return static_cast<bool>(flags[i]); }, stream);
  }
  template <class In, class Out, class Count, class Op>
  static cudaError_t If(void* storage, std::size_t& bytes, In in, Out out, Count count, int64_t n, Op op,
                        cudaStream_t stream = nullptr) {
    return emulation::select(
        storage, bytes, in, out, count, n, [=](int64_t i) { return static_cast<bool>(op(in[i])); }, stream);
  }
  template <class In, class Out, class Count>
  static cudaError_t Unique(void* storage, std::size_t& bytes, In in, Out out, Count count, int64_t n,
                            cudaStream_t stream = nullptr) {
    return emulation::select(
        storage, bytes, in, out, count, n, [=](int64_t i) { return i == 0 || !(in[i - 1] == in[i]); }, stream);
  }
};

struct DeviceRunLengthEncode {
  template <class In, class Unique, class Lengths, class Count>
  static cudaError_t Encode(void* storage, std::size_t& bytes, In in, Unique unique, Lengths lengths, Count count,
                            int n, cudaStream_t stream = nullptr) {
    return emulation::two_phases("Encode", storage, bytes, n, stream, [=] {
      int64_t runs = 0;
      for (int64_t i = 0, first = 0; i < n; ++i) {
        if (i + 1 < n && in[i] == in[i + 1]) continue;
        unique[runs] = in[first];
        lengths[runs++] = static_cast<emulation::value_of<Lengths>>(i + 1 - first);
        first = i + 1;
      }
      *count = static_cast<emulation::value_of<Count>>(runs);
    });
  }
};

}  // namespace cub
