// cuDNN: the gradient of a convolution's bias.
#include <algorithm>
#include <vector>

#include "tandem/tests/cuda_emulation/dnn.h"

namespace tandem::cuda_emulation {
namespace {

// Calls f(index in `whole`, index in `part`); dimensions of size 1 in `part` are broadcast.
template <class F>
void for_each_pair(const Strided& whole, const Strided& part, F f) {
  int64_t i[5];
  for (i[0] = 0; i[0] < whole.sizes[0]; ++i[0])
    for (i[1] = 0; i[1] < whole.sizes[1]; ++i[1])
      for (i[2] = 0; i[2] < whole.sizes[2]; ++i[2])
        for (i[3] = 0; i[3] < whole.sizes[3]; ++i[3])
          for (i[4] = 0; i[4] < whole.sizes[4]; ++i[4]) {
            int64_t a = 0, b = 0;
            for (int d = 0; d < 5; ++d) {
              a += i[d] * whole.strides[d];
              if (part.sizes[d] != 1) b += i[d] * part.strides[d];
            }
            f(a, b);
          }
}

// [1, channels, 1, …]
bool is_bias(const Strided& part, const Strided& whole) {
  return part.sizes[1] == whole.sizes[1] && part.count() == part.sizes[1];
}

template <class T, class S>
void sum_bias(const Strided& dy_t, const Strided& db_t, const void* dy, void* db, double alpha, double beta) {
  std::vector<T> sums(static_cast<std::size_t>(db_t.sizes[1]));
  Strided dense_bias = db_t;
  dense_bias.strides[1] = 1;
  for_each_pair(dy_t, dense_bias, [&](int64_t a, int64_t b) {
    sums[static_cast<std::size_t>(b)] += static_cast<T>(static_cast<const S*>(dy)[a]);
  });
  for (std::size_t c = 0; c < sums.size(); ++c) {
    S& to = static_cast<S*>(db)[static_cast<int64_t>(c) * db_t.strides[1]];
    to = static_cast<S>(static_cast<T>(alpha) * sums[c] +
                        (beta == 0 ? T{0} : static_cast<T>(beta) * static_cast<T>(to)));
  }
}

cudnnStatus_t queued(cudnnHandle_t handle, const char* operation, std::function<void()> run) {
  if (handle->gpu != host_thread().gpu) return CUDNN_STATUS_EXECUTION_FAILED;
  return enqueue_library(handle->stream, operation, std::move(run)) ? CUDNN_STATUS_SUCCESS
                                                                    : CUDNN_STATUS_EXECUTION_FAILED;
}

}  // namespace
}  // namespace tandem::cuda_emulation

using namespace tandem::cuda_emulation;
extern "C" {

cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t dy_d,
                                           const void* dy, const void* beta, const cudnnTensorDescriptor_t db_d,
                                           void* db) {
  return dnn_call("cudnnConvolutionBackwardBias", handle, [&]() -> cudnnStatus_t {
    if (dy_d->type != db_d->type || dy_d->dims > 5 || dy_d->dims != db_d->dims) return CUDNN_STATUS_BAD_PARAM;
    const Strided dy_t = strided(*dy_d), db_t = strided(*db_d);
    const tandem::ScalarType type = dtype_of(dy_d->type);
    if (!is_bias(db_t, dy_t)) return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
    if (!tensor_usable(dy_t, dy, type) || !tensor_usable(db_t, db, type)) return CUDNN_STATUS_EXECUTION_FAILED;
    const double a = scalar(alpha, dy_d->type), b = scalar(beta, dy_d->type);
    return queued(handle, "cudnnConvolutionBackwardBias",
                  [=] { by_dtype(type, [&]<class T, class S>(T, S) { sum_bias<T, S>(dy_t, db_t, dy, db, a, b); }); });
  });
}

}  // extern "C"
