// cuBLAS, cuBLASLt, cuDNN, cuFFT and CUB against results computed by hand.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cudnn.h>
#include <cufft.h>
#include <cub/cub.cuh>

#include <limits>

#include "tandem/tests/cuda_emulation/test_support.h"

namespace tandem::cuda_emulation {
namespace {

struct Blas {
  cublasHandle_t handle = nullptr;
  Blas() { CHECK(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS); }
  ~Blas() { cublasDestroy(handle); }
};
struct Dnn {
  cudnnHandle_t handle = nullptr;
  cudnnTensorDescriptor_t x, y, bias;
  cudnnFilterDescriptor_t w;
  cudnnConvolutionDescriptor_t conv;
  Dnn() {
    CHECK(cudnnCreate(&handle) == CUDNN_STATUS_SUCCESS);
    for (cudnnTensorDescriptor_t* t : {&x, &y, &bias}) cudnnCreateTensorDescriptor(t);
    cudnnCreateFilterDescriptor(&w);
    cudnnCreateConvolutionDescriptor(&conv);
  }
  ~Dnn() {
    for (cudnnTensorDescriptor_t t : {x, y, bias}) cudnnDestroyTensorDescriptor(t);
    cudnnDestroyFilterDescriptor(w);
    cudnnDestroyConvolutionDescriptor(conv);
    cudnnDestroy(handle);
  }
};

}  // namespace

TEST_CASE("emulation: products with all transposes, strided batches; beta 0 does not read C") {
  // op(A) = [1 2; 3 4; 5 6], op(B) = [1 0 2; 0 1 3], doubled in the second batch; column-major.
  const std::vector<double> a{1, 3, 5, 2, 4, 6}, at{1, 2, 3, 4, 5, 6}, b{1, 0, 0, 1, 2, 3}, bt{1, 0, 2, 0, 1, 3};
  const std::vector<double> product{1, 3, 5, 2, 4, 6, 8, 18, 28};
  const Blas blas;
  const double one = 1, two = 2, zero = 0;
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      const Array<double> A(ta ? at : a), B(tb ? bt : b), C(9);
      const auto op_a = ta ? CUBLAS_OP_T : CUBLAS_OP_N, op_b = tb ? CUBLAS_OP_T : CUBLAS_OP_N;
      REQUIRE(cublasDgemm(blas.handle, op_a, op_b, 3, 3, 2, &one, A.data, ta ? 2 : 3, B.data, tb ? 3 : 2, &zero, C.data,
                          3) == CUBLAS_STATUS_SUCCESS);
      CHECK(C.values() == product);
      REQUIRE(cublasGemmEx(blas.handle, op_a, op_b, 3, 3, 2, &two, A.data, CUDA_R_64F, ta ? 2 : 3, B.data, CUDA_R_64F,
                           tb ? 3 : 2, &one, C.data, CUDA_R_64F, 3, CUBLAS_COMPUTE_64F,
                           CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
      std::vector<double> thrice = product;
      for (double& v : thrice) v *= 3;
      CHECK(C.values() == thrice);
    }
  const Array<float> A(std::vector<float>{1, 2, 3, 4}), B(std::vector<float>{5, 6, 7, 8}), C(2);
  const float f_one = 1, f_zero = 0;
  REQUIRE(cublasSgemmStridedBatched(blas.handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 2, &f_one, A.data, 1, 2, B.data, 2, 2,
                                    &f_zero, C.data, 1, 1, 2) == CUBLAS_STATUS_SUCCESS);
  CHECK(C.values() == std::vector<float>{17, 53});
}

TEST_CASE("emulation: products reject invalid arguments; TF32 only on request") {
  const Blas blas;
  const Array<float> A(std::vector<float>(4, 1.0f + 0x1p-15f)), C(4);
  std::vector<float> host(4);
  const float one = 1, zero = 0;
  const auto gemm = [&](const float* a, int lda, cublasComputeType_t compute) {
    return cublasGemmEx(blas.handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a, CUDA_R_32F, lda, A.data, CUDA_R_32F, 2,
                        &zero, C.data, CUDA_R_32F, 2, compute, CUBLAS_GEMM_DEFAULT);
  };
  CHECK(gemm(A.data, 1, CUBLAS_COMPUTE_32F) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(gemm(host.data(), 2, CUBLAS_COMPUTE_32F) == CUBLAS_STATUS_EXECUTION_FAILED);
  CHECK(gemm(A.data + 1, 2, CUBLAS_COMPUTE_32F) == CUBLAS_STATUS_EXECUTION_FAILED);
  CHECK(gemm(A.data, 2, CUBLAS_COMPUTE_64F) == CUBLAS_STATUS_NOT_SUPPORTED);
  REQUIRE(gemm(A.data, 2, CUBLAS_COMPUTE_32F) == CUBLAS_STATUS_SUCCESS);
  CHECK(C.values()[0] > 2.0f);
  REQUIRE(gemm(A.data, 2, CUBLAS_COMPUTE_32F_FAST_TF32) == CUBLAS_STATUS_SUCCESS);
  CHECK(C.values()[0] == 2.0f);
}

TEST_CASE("emulation: cuBLASLt with bias and ReLU") {
  cublasLtHandle_t lt = nullptr;
  cublasLtMatmulDesc_t d = nullptr;
  cublasLtMatrixLayout_t a, b, c;
  cublasLtMatmulPreference_t preference = nullptr;
  REQUIRE(cublasLtCreate(&lt) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasLtMatmulDescCreate(&d, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS);
  cublasLtMatrixLayoutCreate(&a, CUDA_R_32F, 2, 3, 2);  // transposed: 3 x 2
  cublasLtMatrixLayoutCreate(&b, CUDA_R_32F, 2, 2, 2);
  cublasLtMatrixLayoutCreate(&c, CUDA_R_32F, 3, 2, 3);
  cublasLtMatmulPreferenceCreate(&preference);
  const Array<float> A(std::vector<float>{1, 2, 3, 4, 5, 6}), B(std::vector<float>{1, 0, 0, -1}), D(6);
  const Array<float> bias(std::vector<float>{0, -10, 5});
  const cublasOperation_t t = CUBLAS_OP_T;
  const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
  CHECK(cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_TRANSA, &t, 1) == CUBLAS_STATUS_INVALID_VALUE);
  REQUIRE(cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_TRANSA, &t, sizeof t) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue) ==
          CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias.data, sizeof bias.data) ==
          CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulHeuristicResult_t result;
  int count = 0;
  REQUIRE(cublasLtMatmulAlgoGetHeuristic(lt, d, a, b, c, c, preference, 1, &result, &count) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(count == 1);
  const float one = 1, zero = 0;
  const auto matmul = [&](const float* left) {
    return cublasLtMatmul(lt, d, &one, left, a, B.data, b, &zero, D.data, c, D.data, c, &result.algo, nullptr, 0,
                          nullptr);
  };
  REQUIRE(matmul(A.data) == CUBLAS_STATUS_SUCCESS);
  CHECK(D.values() == std::vector<float>{1, 0, 10, 0, 0, 0});
  CHECK(matmul(A.data + 1) == CUBLAS_STATUS_NOT_SUPPORTED);  // the heuristic was not asked for small alignments
  CHECK(cublasLtMatmulAlgoGetHeuristic(lt, d, c, b, c, c, preference, 1, &result, &count) ==
        CUBLAS_STATUS_INVALID_VALUE);
  cublasLtMatmulPreferenceDestroy(preference);
  for (cublasLtMatrixLayout_t layout : {a, b, c}) cublasLtMatrixLayoutDestroy(layout);
  cublasLtMatmulDescDestroy(d);
  cublasLtDestroy(lt);
}

TEST_CASE("emulation: convolution forward and backward, strided, padded, in groups") {
  // Two groups of one channel, input 3x3, kernel 2x2, stride 2, padding 1: output 2x2.
  const Dnn dnn;
  cudnnSetTensor4dDescriptor(dnn.x, CUDNN_TENSOR_NCHW, CUDNN_DATA_DOUBLE, 1, 2, 3, 3);
  cudnnSetTensor4dDescriptor(dnn.y, CUDNN_TENSOR_NCHW, CUDNN_DATA_DOUBLE, 1, 2, 2, 2);
  cudnnSetTensor4dDescriptor(dnn.bias, CUDNN_TENSOR_NCHW, CUDNN_DATA_DOUBLE, 1, 2, 1, 1);
  cudnnSetFilter4dDescriptor(dnn.w, CUDNN_DATA_DOUBLE, CUDNN_TENSOR_NCHW, 2, 1, 2, 2);
  cudnnSetConvolution2dDescriptor(dnn.conv, 1, 1, 2, 2, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_DOUBLE);
  const Array<double> x(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  const Array<double> w(std::vector<double>{1, 2, 3, 4, 1, 1, 1, 1}), y(8), dx(18), dw(8), db(2);
  const Array<char> space(1 << 16);
  const double one = 1, zero = 0;
  const auto forward = [&](std::size_t bytes) {
    return cudnnConvolutionForward(dnn.handle, &one, dnn.x, x.data, dnn.w, w.data, dnn.conv,
                                   CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, space.data, bytes, &zero, dnn.y,
                                   y.data);
  };
  CHECK(forward(1 << 16) == CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
  cudnnSetConvolutionGroupCount(dnn.conv, 2);
  std::size_t bytes = 0;
  REQUIRE(cudnnGetConvolutionForwardWorkspaceSize(dnn.handle, dnn.x, dnn.w, dnn.conv, dnn.y,
                                                  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
                                                  &bytes) == CUDNN_STATUS_SUCCESS);
  CHECK(forward(bytes - 1) == CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
  REQUIRE(forward(bytes) == CUDNN_STATUS_SUCCESS);
  CHECK(y.values() == std::vector<double>{4, 18, 36, 77, 1, 2, 2, 4});
  const Array<double> dy(std::vector<double>{1, 10, 100, 1000, 1, 1, 1, 1});
  REQUIRE(cudnnConvolutionBackwardData(dnn.handle, &one, dnn.w, w.data, dnn.y, dy.data, dnn.conv,
                                       CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, space.data, 1 << 16, &zero, dnn.x,
                                       dx.data) == CUDNN_STATUS_SUCCESS);
  CHECK(dx.values() == std::vector<double>{4, 30, 40, 200, 1000, 2000, 400, 3000, 4000, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  REQUIRE(cudnnConvolutionBackwardFilter(dnn.handle, &one, dnn.x, x.data, dnn.y, dy.data, dnn.conv,
                                         CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, space.data, 1 << 16, &zero, dnn.w,
                                         dw.data) == CUDNN_STATUS_SUCCESS);
  CHECK(dw.values() == std::vector<double>{5000, 6400, 8020, 9731, 1, 2, 2, 4});
  REQUIRE(cudnnConvolutionBackwardBias(dnn.handle, &one, dnn.y, dy.data, &zero, dnn.bias, db.data) ==
          CUDNN_STATUS_SUCCESS);
  CHECK(db.values() == std::vector<double>{1111, 4});
  REQUIRE(cudnnAddTensor(dnn.handle, &one, dnn.bias, db.data, &one, dnn.y, y.data) == CUDNN_STATUS_SUCCESS);
  CHECK(y.values()[7] == 8);
}

TEST_CASE("emulation: backward algorithms report their determinism") {
  const Dnn dnn;
  cudnnSetTensor4dDescriptor(dnn.x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 1, 3, 3);
  cudnnSetTensor4dDescriptor(dnn.y, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 1, 3, 3);
  cudnnSetFilter4dDescriptor(dnn.w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 1, 1, 1, 1);
  cudnnSetConvolution2dDescriptor(dnn.conv, 0, 0, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
  cudnnConvolutionBwdFilterAlgoPerf_t results[8];
  int count = 0;
  REQUIRE(cudnnGetConvolutionBackwardFilterAlgorithm_v7(dnn.handle, dnn.x, dnn.y, dnn.conv, dnn.w, 8, &count,
                                                        results) == CUDNN_STATUS_SUCCESS);
  REQUIRE(count == 3);
  CHECK(results[0].determinism == CUDNN_NON_DETERMINISTIC);
  CHECK(results[1].determinism == CUDNN_DETERMINISTIC);
  CHECK(results[2].status != CUDNN_STATUS_SUCCESS);
}

TEST_CASE("emulation: CUB's two-phase calls") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Array<float> keys(std::vector<float>{2, -1, nan, 0, -1, -0.0f}), sorted(6);
  const Array<int> places(std::vector<int>{0, 1, 2, 3, 4, 5}), order(6);
  std::size_t bytes = 0;
  const auto sort = [&](void* storage) {
    return cub::DeviceRadixSort::SortPairs(storage, bytes, keys.data, sorted.data, places.data, order.data, 6);
  };
  REQUIRE(sort(nullptr) == cudaSuccess);
  REQUIRE(bytes > 0);
  const Array<char> storage(bytes);
  REQUIRE(sort(storage.data) == cudaSuccess);
  CHECK(order.values() == std::vector<int>{1, 4, 3, 5, 0, 2});
  --bytes;
  CHECK(sort(storage.data) == cudaErrorInvalidValue);

  const Array<int> in(std::vector<int>{3, 1, 4, 1, 5}), out(5), offsets(std::vector<int>{0, 3, 5}), count(1);
  const Array<char> more(1 << 16);
  bytes = more.count;
  REQUIRE(cub::DeviceScan::InclusiveSum(more.data, bytes, in.data, out.data, 5) == cudaSuccess);
  CHECK(out.values() == std::vector<int>{3, 4, 8, 9, 14});
  REQUIRE(cub::DeviceScan::ExclusiveSum(more.data, bytes, in.data, out.data, 5) == cudaSuccess);
  CHECK(out.values() == std::vector<int>{0, 3, 4, 8, 9});
  REQUIRE(cub::DeviceSegmentedSort::StableSortKeys(more.data, bytes, in.data, out.data, 5, 2, offsets.data,
                                                   offsets.data + 1) == cudaSuccess);
  CHECK(out.values() == std::vector<int>{1, 3, 4, 1, 5});
  REQUIRE(cub::DeviceSelect::If(more.data, bytes, in.data, out.data, count.data, 5, [](int v) { return v > 2; }) ==
          cudaSuccess);
  CHECK(count.values()[0] == 3);
  CHECK(out.values()[2] == 5);
  REQUIRE(cub::DeviceReduce::Max(more.data, bytes, in.data, count.data, 5) == cudaSuccess);
  CHECK(count.values()[0] == 5);
  cudaGetLastError();
}

TEST_CASE("emulation: transforms of two lines of four points; inputs of transforms to real numbers are lost") {
  const std::vector<double> reals{1, 2, 3, 4, 0, 1, 0, 0};
  const std::vector<double> spectrum{10, 0, -2, 2, -2, 0, 1, 0, 0, -1, -1, 0};
  const Array<double> in(reals), half(12), back(8), workspace(64);
  const auto plan_of = [&](cufftType type) {
    cufftHandle plan = 0;
    long long n = 4;
    std::size_t bytes = 0;
    CHECK(cufftCreate(&plan) == CUFFT_SUCCESS);
    CHECK(cufftSetAutoAllocation(plan, 0) == CUFFT_SUCCESS);
    CHECK(cufftMakePlanMany64(plan, 1, &n, nullptr, 1, n, nullptr, 1, n, type, 2, &bytes) == CUFFT_SUCCESS);
    CHECK(bytes <= 64 * sizeof(double));
    return plan;
  };
  const auto near = [](const std::vector<double>& a, const std::vector<double>& b) {
    for (std::size_t i = 0; i < b.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-12));
  };
  const cufftHandle forward = plan_of(CUFFT_D2Z), inverse = plan_of(CUFFT_Z2D), both = plan_of(CUFFT_Z2Z);
  const auto complex = [](const Array<double>& a) { return reinterpret_cast<cufftDoubleComplex*>(a.data); };
  CHECK(cufftExecD2Z(forward, in.data, complex(half)) == CUFFT_NO_WORKSPACE);
  for (const cufftHandle plan : {forward, inverse, both})
    CHECK(cufftSetWorkArea(plan, workspace.data) == CUFFT_SUCCESS);
  CHECK(cufftExecD2Z(forward, in.data, complex(half)) == CUFFT_SUCCESS);
  near(half.values(), spectrum);
  CHECK(cufftExecZ2D(inverse, complex(half), back.data) == CUFFT_SUCCESS);
  near(back.values(), {4, 8, 12, 16, 0, 4, 0, 0});
  CHECK(half.values()[0] != half.values()[0]);

  const Array<double> z({1, 0, 2, 0, 3, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0});
  CHECK(cufftExecZ2Z(both, complex(z), complex(z), CUFFT_INVERSE) == CUFFT_SUCCESS);
  near(z.values(), {10, 0, -2, -2, -2, 0, -2, 2, 1, 0, 0, 1, -1, 0, 0, -1});
  CHECK(cufftExecD2Z(both, in.data, complex(half)) == CUFFT_INVALID_VALUE);
  for (const cufftHandle plan : {forward, inverse, both}) CHECK(cufftDestroy(plan) == CUFFT_SUCCESS);
  CHECK(cufftDestroy(both) == CUFFT_INVALID_PLAN);
}

}  // namespace tandem::cuda_emulation
