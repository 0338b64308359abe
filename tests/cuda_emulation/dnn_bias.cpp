// cuDNN: convolution biases, alone and followed by an activation.
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

bool repeats(const Strided& part, const Strided& whole) {
  for (int d = 0; d < 5; ++d)
    if (part.sizes[d] != 1 && part.sizes[d] != whole.sizes[d]) return false;
  return true;
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

template <class T, class S>
void add(const Strided& c_t, const Strided& a_t, const void* a, void* c, double alpha, double beta) {
  for_each_pair(c_t, a_t, [&](int64_t to, int64_t from) {
    S& out = static_cast<S*>(c)[to];
    out = static_cast<S>(static_cast<T>(alpha) * static_cast<T>(static_cast<const S*>(a)[from]) +
                         (beta == 0 ? T{0} : static_cast<T>(beta) * static_cast<T>(out)));
  });
}

cudnnStatus_t queued(cudnnHandle_t handle, const char* operation, std::function<void()> run) {
  if (handle->gpu != host_thread().gpu) return CUDNN_STATUS_EXECUTION_FAILED;
  return enqueue_library(handle->stream, operation, std::move(run)) ? CUDNN_STATUS_SUCCESS
                                                                    : CUDNN_STATUS_EXECUTION_FAILED;
}

// y = activation(y + alpha2 z + bias), where y holds alpha1 times the convolution. z may share y's memory,
// because it was read before.
template <class T, class S>
void finish(const Strided& y_t, const Strided& bias_t, S* y, const S* bias, const std::vector<T>& z, bool relu) {
  std::size_t i = 0;
  for_each_pair(y_t, bias_t, [&](int64_t to, int64_t from) {
    const T value = static_cast<T>(y[to]) + static_cast<T>(bias[from]) + (z.empty() ? T{0} : z[i]);
    ++i;
    y[to] = static_cast<S>(relu && value < 0 ? T{0} : value);
  });
}

struct Fused {
  Convolution conv;
  Strided z_t, bias_t;
  Pointers pointers;
  const void *z, *bias;
  double alpha1, alpha2;
  bool relu;
};
template <class T, class S>
void run_fused(const Fused& f) {
  std::vector<T> z;
  if (f.alpha2 != 0)
    for_each_pair(f.z_t, f.z_t, [&](int64_t at, int64_t) {
      z.push_back(static_cast<T>(f.alpha2) * static_cast<T>(static_cast<const S*>(f.z)[at]));
    });
  run(f.conv, Pass::kForward, f.pointers, f.alpha1, 0, false);
  finish<T, S>(f.conv.y, f.bias_t, static_cast<S*>(f.pointers.out), static_cast<const S*>(f.bias), z, f.relu);
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

cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t a_d, const void* a,
                             const void* beta, const cudnnTensorDescriptor_t c_d, void* c) {
  return dnn_call("cudnnAddTensor", handle, [&]() -> cudnnStatus_t {
    if (a_d->type != c_d->type || c_d->dims > 5 || a_d->dims != c_d->dims) return CUDNN_STATUS_BAD_PARAM;
    const Strided a_t = strided(*a_d), c_t = strided(*c_d);
    const tandem::ScalarType type = dtype_of(a_d->type);
    if (!repeats(a_t, c_t)) return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
    if (!tensor_usable(a_t, a, type) || !tensor_usable(c_t, c, type)) return CUDNN_STATUS_EXECUTION_FAILED;
    const double f = scalar(alpha, a_d->type), g = scalar(beta, a_d->type);
    return queued(handle, "cudnnAddTensor",
                  [=] { by_dtype(type, [&]<class T, class S>(T, S) { add<T, S>(c_t, a_t, a, c, f, g); }); });
  });
}

cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void* alpha1, const cudnnTensorDescriptor_t x_d, const void* x,
    const cudnnFilterDescriptor_t w_d, const void* w, const cudnnConvolutionDescriptor_t conv,
    cudnnConvolutionFwdAlgo_t algo, void* space, size_t bytes, const void* alpha2, const cudnnTensorDescriptor_t z_d,
    const void* z, const cudnnTensorDescriptor_t bias_d, const void* bias, const cudnnActivationDescriptor_t activation,
    const cudnnTensorDescriptor_t y_d, void* y) {
  return dnn_call("cudnnConvolutionBiasActivationForward", handle, [&]() -> cudnnStatus_t {
    Fused f{};
    const cudnnStatus_t status = describe(x_d, w_d, conv, y_d, f.conv);
    if (status != CUDNN_STATUS_SUCCESS) return status;
    const bool precomputed = algo == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
    const tandem::ScalarType d = f.conv.type;
    if (activation->mode != CUDNN_ACTIVATION_RELU && (activation->mode != CUDNN_ACTIVATION_IDENTITY || !precomputed))
      return CUDNN_STATUS_NOT_SUPPORTED;
    if (!precomputed && algo != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM) return CUDNN_STATUS_NOT_SUPPORTED;
    f.z_t = strided(*z_d), f.bias_t = strided(*bias_d);
    const bool shapes = is_bias(f.bias_t, f.conv.y) && std::equal(f.z_t.sizes, f.z_t.sizes + 5, f.conv.y.sizes);
    if (!shapes || z_d->type != x_d->type || bias_d->type != x_d->type) return CUDNN_STATUS_BAD_PARAM;
    if (bytes < (precomputed ? 4 : 1) * 4096u) return CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
    f.alpha1 = scalar(alpha1, x_d->type), f.alpha2 = scalar(alpha2, x_d->type);
    f.pointers = {x, w, y};
    f.z = z, f.bias = bias;
    f.relu = activation->mode == CUDNN_ACTIVATION_RELU;
    if (!usable(space, bytes, handle->gpu) || !tensor_usable(f.conv.x, x, d) || !tensor_usable(f.conv.w, w, d) ||
        !tensor_usable(f.conv.y, y, d) || !tensor_usable(f.bias_t, bias, d) ||
        (f.alpha2 != 0 && !tensor_usable(f.z_t, z, d)))
      return CUDNN_STATUS_EXECUTION_FAILED;
    return queued(handle, "cudnnConvolutionBiasActivationForward", [f, space] {
      clobber(space, 4096);
      by_dtype(f.conv.type, [&]<class T, class S>(T, S) { run_fused<T, S>(f); });
    });
  });
}

}  // extern "C"
