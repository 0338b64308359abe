// Device time for the same work with direct calls of cuBLAS, cuDNN and cudaMemcpy, the reference for
// gpu_bench's rows. float32 is strict, as in Tandem, except in matmul_tf32. For each shape, cuDNN searches
// for its fastest deterministic algorithm.
//
//   gpu_libraries [ROW…]      rows and output as in gpu_bench.cpp
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <bit>
#include <cstring>
#include <stdexcept>

#include "tandem/bench/gpu/rows.h"

namespace {

constexpr const char* kSource = "direct";

void ok(cudaError_t code) {
  if (code != cudaSuccess) throw std::runtime_error(cudaGetErrorString(code));
}
void ok(cublasStatus_t code) {
  if (code != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(code));
}
void ok(cudnnStatus_t code) {
  if (code != CUDNN_STATUS_SUCCESS) throw std::runtime_error(cudnnGetErrorString(code));
}

struct Buffer {
  explicit Buffer(std::size_t bytes) : bytes(bytes) {
    ok(cudaMalloc(&data, bytes == 0 ? 1 : bytes));
    ok(cudaMemset(data, 0, bytes));
  }
  ~Buffer() { cudaFree(data); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  float* floats() { return static_cast<float*>(data); }
  void* data = nullptr;
  std::size_t bytes;
};

// The values do not matter, except that zeros would: a GPU draws less power for them and runs faster.
// Numbers in [-1, 1), as float32 and as bfloat16: both halves of a float are the same bits.
void fill(Buffer& buffer) {
  std::vector<uint32_t> host(buffer.bytes / sizeof(uint32_t));
  uint32_t state = 1;
  for (uint32_t& x : host) {
    state = state * 1664525u + 1013904223u;
    const uint32_t half = std::bit_cast<uint32_t>(static_cast<float>(state >> 8) / (1 << 23) - 1) >> 16;
    x = half << 16 | half;
  }
  ok(cudaMemcpy(buffer.data, host.data(), buffer.bytes, cudaMemcpyHostToDevice));
}

template <class F>
double device_seconds(F&& call) {
  cudaEvent_t begin, end;
  ok(cudaEventCreate(&begin));
  ok(cudaEventCreate(&end));
  const double seconds = bench::median_of(2, 10, [&] {
    ok(cudaEventRecord(begin));
    call();
    ok(cudaEventRecord(end));
    ok(cudaEventSynchronize(end));
    float ms = 0;
    ok(cudaEventElapsedTime(&ms, begin, end));
    return ms / 1e3;
  });
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return seconds;
}

void matmul(const char* row, cublasComputeType_t type, cudaDataType data = CUDA_R_32F) {
  constexpr int n = 8192;
  Buffer a(sizeof(float) * n * n), b(sizeof(float) * n * n), c(sizeof(float) * n * n);
  fill(a);
  fill(b);
  cublasHandle_t handle;
  ok(cublasCreate(&handle));
  const float one = 1, zero = 0;
  bench::row(kSource, row, device_seconds([&] {
               ok(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.data, data, n, b.data, data, n, &zero,
                               c.data, data, n, type, CUBLAS_GEMM_DEFAULT));
             }));
  cublasDestroy(handle);
}

void copy() {
  constexpr std::size_t bytes = std::size_t{1} << 30;
  Buffer from(bytes), to(bytes);
  fill(from);
  const double s = device_seconds([&] { ok(cudaMemcpyAsync(to.data, from.data, bytes, cudaMemcpyDeviceToDevice)); });
  bench::row(kSource, "copy", 2 * static_cast<double>(bytes) / s);
}

// One convolution with cuDNN.
class Convolution {
 public:
  explicit Convolution(const bench::ConvShape& s)
      : shape_(s), out_((s.size + 2 * s.padding() - s.kernel) / s.stride + 1) {
    ok(cudnnCreate(&cudnn_));
    ok(cudnnCreateTensorDescriptor(&x_));
    ok(cudnnCreateTensorDescriptor(&y_));
    ok(cudnnCreateFilterDescriptor(&w_));
    ok(cudnnCreateConvolutionDescriptor(&conv_));
    ok(cudnnSetTensor4dDescriptor(x_, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, bench::kConvBatch, s.in, s.size, s.size));
    ok(cudnnSetTensor4dDescriptor(y_, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, bench::kConvBatch, s.out, out_, out_));
    ok(cudnnSetFilter4dDescriptor(w_, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, s.out, s.in, s.kernel, s.kernel));
    ok(cudnnSetConvolution2dDescriptor(conv_, s.padding(), s.padding(), s.stride, s.stride, 1, 1,
                                       CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    ok(cudnnSetConvolutionMathType(conv_, CUDNN_FMA_MATH));
  }
  ~Convolution() {
    cudnnDestroyConvolutionDescriptor(conv_);
    cudnnDestroyFilterDescriptor(w_);
    cudnnDestroyTensorDescriptor(y_);
    cudnnDestroyTensorDescriptor(x_);
    cudnnDestroy(cudnn_);
  }
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;

  void measure() {
    fill(x_data_);
    fill(w_data_);
    fill(y_data_);
    const auto forward = best<cudnnConvolutionFwdAlgoPerf_t>([&](int most, int* count, auto* found) {
      ok(cudnnFindConvolutionForwardAlgorithm(cudnn_, x_, w_, conv_, y_, most, count, found));
    });
    const auto input = best<cudnnConvolutionBwdDataAlgoPerf_t>([&](int most, int* count, auto* found) {
      ok(cudnnFindConvolutionBackwardDataAlgorithm(cudnn_, w_, y_, conv_, x_, most, count, found));
    });
    const auto weight = best<cudnnConvolutionBwdFilterAlgoPerf_t>([&](int most, int* count, auto* found) {
      ok(cudnnFindConvolutionBackwardFilterAlgorithm(cudnn_, x_, y_, conv_, w_, most, count, found));
    });
    Buffer space(std::max({forward.memory, input.memory, weight.memory}));
    const float one = 1, zero = 0;
    report("conv_forward", [&] {
      ok(cudnnConvolutionForward(cudnn_, &one, x_, x_data_.data, w_, w_data_.data, conv_, forward.algo, space.data,
                                 space.bytes, &zero, y_, y_data_.data));
    });
    report("conv_input", [&] {
      ok(cudnnConvolutionBackwardData(cudnn_, &one, w_, w_data_.data, y_, y_data_.data, conv_, input.algo, space.data,
                                      space.bytes, &zero, x_, x_data_.data));
    });
    report("conv_weight", [&] {
      ok(cudnnConvolutionBackwardFilter(cudnn_, &one, x_, x_data_.data, y_, y_data_.data, conv_, weight.algo,
                                        space.data, space.bytes, &zero, w_, w_data_.data));
    });
  }

 private:
  template <class Found, class Find>
  static Found best(Find&& find) {
    Found found[16];
    int count = 0;
    find(16, &count, found);
    for (int i = 0; i < count; ++i)  // sorted by speed, fastest first
      if (found[i].status == CUDNN_STATUS_SUCCESS && found[i].determinism == CUDNN_DETERMINISTIC &&
          found[i].mathType == CUDNN_FMA_MATH)
        return found[i];
    throw std::runtime_error("cuDNN has no deterministic algorithm");
  }
  template <class F>
  void report(const char* row, F&& call) {
    bench::row(kSource, row, device_seconds(call), shape_.name());
  }
  static std::size_t floats(int a, int b, int c, int d) {
    return sizeof(float) * static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * static_cast<std::size_t>(c) *
           static_cast<std::size_t>(d);
  }
  const bench::ConvShape shape_;
  const int out_;
  cudnnHandle_t cudnn_ = nullptr;
  cudnnTensorDescriptor_t x_ = nullptr, y_ = nullptr;
  cudnnFilterDescriptor_t w_ = nullptr;
  cudnnConvolutionDescriptor_t conv_ = nullptr;
  Buffer x_data_{floats(bench::kConvBatch, shape_.in, shape_.size, shape_.size)};
  Buffer w_data_{floats(shape_.out, shape_.in, shape_.kernel, shape_.kernel)};
  Buffer y_data_{floats(bench::kConvBatch, shape_.out, out_, out_)};
};

void convolutions() {
  for (const bench::ConvShape& shape : bench::kResNet50) Convolution(shape).measure();
}

}  // namespace

int main(int argc, char** argv) {
  int devices = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&devices); code != cudaSuccess || devices == 0) {
    std::printf("no CUDA device: %s\n", code != cudaSuccess ? cudaGetErrorString(code) : "none found");
    return 77;
  }
  const auto run = [&](std::vector<const char*> rows, auto&& body) {
    const bool wanted =
        argc == 1 || std::any_of(argv + 1, argv + argc, [&](const char* asked) {
          return std::any_of(rows.begin(), rows.end(), [&](const char* row) { return std::strcmp(row, asked) == 0; });
        });
    if (!wanted) return;
    try {
      body();
    } catch (const std::exception& error) {
      for (const char* row : rows) bench::absent(kSource, row, error.what());
    }
  };
  run({"copy"}, copy);
  run({"matmul_fp32"}, [] { matmul("matmul_fp32", CUBLAS_COMPUTE_32F); });
  run({"matmul_tf32"}, [] { matmul("matmul_tf32", CUBLAS_COMPUTE_32F_FAST_TF32); });
  run({"matmul_bf16"}, [] { matmul("matmul_bf16", CUBLAS_COMPUTE_32F, CUDA_R_16BF); });
  run({"conv_forward", "conv_input", "conv_weight"}, convolutions);
}
