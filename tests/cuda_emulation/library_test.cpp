// cuBLAS, cuBLASLt, cuDNN, cuFFT and CUB against results computed by hand.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cudnn.h>
#include <cufft.h>
#include <cub/cub.cuh>

#include <limits>
#include <memory>

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
  Dnn() { CHECK(cudnnCreate(&handle) == CUDNN_STATUS_SUCCESS); }
  ~Dnn() { cudnnDestroy(handle); }
};

// A descriptor of cuDNN's graph API.
struct Graph {
  cudnnBackendDescriptor_t raw = nullptr;
  explicit Graph(cudnnBackendDescriptorType_t type) {
    REQUIRE(cudnnBackendCreateDescriptor(type, &raw) == CUDNN_STATUS_SUCCESS);
  }
  Graph(const Graph&) = delete;
  ~Graph() { cudnnBackendDestroyDescriptor(raw); }
  template <class T>
  cudnnStatus_t set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const std::vector<T>& values) {
    return cudnnBackendSetAttribute(raw, name, type, static_cast<int64_t>(values.size()), values.data());
  }
  cudnnStatus_t set(cudnnBackendAttributeName_t name, const Graph& value) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::vector<cudnnBackendDescriptor_t>{value.raw});
  }
  int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t room, void* values) const {
    int64_t count = 0;
    REQUIRE(cudnnBackendGetAttribute(raw, name, type, room, &count, values) == CUDNN_STATUS_SUCCESS);
    return count;
  }
  cudnnStatus_t finalize() { return cudnnBackendFinalize(raw); }
};

struct GraphTensor : Graph {
  GraphTensor(int64_t id, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides)
      : Graph(CUDNN_BACKEND_TENSOR_DESCRIPTOR) {
    set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, std::vector{CUDNN_DATA_DOUBLE});
    set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, sizes);
    set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides);
    set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, std::vector<int64_t>{id});
    CHECK(finalize() == CUDNN_STATUS_BAD_PARAM);  // an attribute is missing
    set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, std::vector<int64_t>{16});
    CHECK(finalize() == CUDNN_STATUS_SUCCESS);
  }
};

// An operation of two groups of one channel: kernel 2x2, stride 2, padding 1. Names of the attributes: convolution, x,
// w, y, alpha, beta.
struct Operation : Graph {
  Graph convolution{CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR}, graph{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
  Operation(const Dnn& dnn, cudnnBackendDescriptorType_t type, const std::vector<cudnnBackendAttributeName_t>& names,
            const Graph& x, const Graph& w, const Graph& y)
      : Graph(type) {
    convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, std::vector{CUDNN_DATA_DOUBLE});
    convolution.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                    std::vector{CUDNN_CROSS_CORRELATION});
    convolution.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, std::vector<int64_t>{2});
    for (const auto padding :
         {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_ATTR_CONVOLUTION_DILATIONS})
      convolution.set(padding, CUDNN_TYPE_INT64, std::vector<int64_t>{1, 1});
    convolution.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, std::vector<int64_t>{2, 2});
    CHECK(set(names[0], convolution) == CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
    REQUIRE(convolution.finalize() == CUDNN_STATUS_SUCCESS);
    CHECK(set(names[0], x) == CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE);
    CHECK(set(names[0], convolution) == CUDNN_STATUS_SUCCESS);
    set(names[1], x), set(names[2], w), set(names[3], y);
    set(names[4], CUDNN_TYPE_DOUBLE, std::vector{1.0}), set(names[5], CUDNN_TYPE_DOUBLE, std::vector{0.0});
    if (finalize() != CUDNN_STATUS_SUCCESS) return;
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, std::vector<cudnnHandle_t>{dnn.handle});
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, *this);
    REQUIRE(graph.finalize() == CUDNN_STATUS_SUCCESS);
  }
  /// The engines that a heuristic proposes.
  std::vector<std::unique_ptr<Graph>> engines(cudnnBackendHeurMode_t mode) const {
    Graph heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, std::vector{mode});
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    REQUIRE(heuristic.finalize() == CUDNN_STATUS_SUCCESS);
    std::vector<std::unique_ptr<Graph>> configs;
    std::vector<cudnnBackendDescriptor_t> raw;
    const auto results = [&](int64_t room) {
      return static_cast<std::size_t>(
          heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, room, raw.data()));
    };
    for (std::size_t i = results(0); i-- > 0;) {
      configs.push_back(std::make_unique<Graph>(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
      raw.push_back(configs.back()->raw);
    }
    configs.resize(results(static_cast<int64_t>(raw.size())));
    return configs;
  }
};
std::vector<cudnnBackendNumericalNote_t> notes_of(const Graph& config) {
  const Graph engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.raw;
  config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
  std::vector<cudnnBackendNumericalNote_t> notes(8);
  notes.resize(static_cast<std::size_t>(
      engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, 8, notes.data())));
  return notes;
}
cudnnStatus_t plan_for(Graph& plan, const Dnn& dnn, const Graph& config) {
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, std::vector<cudnnHandle_t>{dnn.handle});
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  return plan.finalize();
}
cudnnStatus_t execute(const Dnn& dnn, const Graph& plan, const std::vector<int64_t>& ids,
                      const std::vector<void*>& data, void* workspace) {
  Graph pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, ids);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, data);
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, std::vector<void*>{workspace});
  const cudnnStatus_t status = pack.finalize();
  return status == CUDNN_STATUS_SUCCESS ? cudnnBackendExecute(dnn.handle, plan.raw, pack.raw) : status;
}

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
  // Input 3x3, output 2x2. The output's channels are innermost.
  const Dnn dnn;
  const GraphTensor x_t(7, {1, 2, 3, 3}, {18, 9, 3, 1}), w_t(8, {2, 1, 2, 2}, {4, 4, 2, 1});
  const GraphTensor y_t(9, {1, 2, 2, 2}, {8, 1, 4, 2}), wrong(9, {1, 2, 2, 3}, {12, 6, 3, 1});
  const Array<double> x(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  const Array<double> w(std::vector<double>{1, 2, 3, 4, 1, 1, 1, 1}), y(8), dx(18), dw(8);
  const Array<double> dy(std::vector<double>{1, 1, 10, 1, 100, 1, 1000, 1});
  const Array<char> space(1 << 16);
  const std::vector<cudnnBackendAttributeName_t> forward_names{
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  const auto forward_type = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
  CHECK(Operation(dnn, forward_type, forward_names, x_t, w_t, wrong).finalize() ==
        CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
  const Operation forward(dnn, forward_type, forward_names, x_t, w_t, y_t);
  const Operation data(
      dnn, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
      x_t, w_t, y_t);
  const Operation filter(
      dnn, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
      x_t, w_t, y_t);
  const auto run = [&](const Operation& operation, double* x_data, double* w_data, double* y_data) {
    const auto configs = operation.engines(CUDNN_HEUR_MODE_FALLBACK);
    REQUIRE(configs.size() == 1);
    Graph plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    REQUIRE(plan_for(plan, dnn, *configs[0]) == CUDNN_STATUS_SUCCESS);
    int64_t bytes = 0;
    plan.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &bytes);
    CHECK((bytes > 0 && bytes <= 1 << 16));
    CHECK(execute(dnn, plan, {9, 7}, {y_data, x_data}, space.data) == CUDNN_STATUS_BAD_PARAM);
    CHECK(execute(dnn, plan, {9, 7, 7}, {y_data, x_data, w_data}, space.data) == CUDNN_STATUS_BAD_PARAM);
    CHECK(execute(dnn, plan, {9, 7, 8}, {y_data + 1, x_data, w_data}, space.data) ==
          CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
    CHECK(execute(dnn, plan, {9, 7, 8}, {y_data, x_data, w_data}, nullptr) == CUDNN_STATUS_EXECUTION_FAILED);
    REQUIRE(execute(dnn, plan, {9, 7, 8}, {y_data, x_data, w_data}, space.data) == CUDNN_STATUS_SUCCESS);
  };
  run(forward, x.data, w.data, y.data);
  CHECK(y.values() == std::vector<double>{4, 1, 18, 2, 36, 2, 77, 4});
  run(data, dx.data, w.data, dy.data);
  CHECK(dx.values() == std::vector<double>{4, 30, 40, 200, 1000, 2000, 400, 3000, 4000, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  run(filter, x.data, dw.data, dy.data);
  CHECK(dw.values() == std::vector<double>{5000, 6400, 8020, 9731, 1, 2, 2, 4});

  // Proposals: a caller has to read the notes, and to expect refusals.
  const auto best = data.engines(CUDNN_HEUR_MODE_A);
  REQUIRE(best.size() == 5);
  CHECK(notes_of(*best[0]) == std::vector{CUDNN_NUMERICAL_NOTE_TENSOR_CORE});
  CHECK(notes_of(*best[4]) == std::vector{CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC});
  Graph refused(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  CHECK(plan_for(refused, dnn, *best[3]) == CUDNN_STATUS_NOT_SUPPORTED);
  int64_t count = 0, bytes = 0;
  CHECK(cudnnBackendGetAttribute(refused.raw, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count,
                                 &bytes) == CUDNN_STATUS_NOT_INITIALIZED);
}

TEST_CASE("emulation: attributes of cuDNN's graphs are checked") {
  Graph tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const std::vector type{CUDNN_DATA_FLOAT};
  CHECK(tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_INT64, type) == CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  CHECK(tensor.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, type) == CUDNN_STATUS_BAD_PARAM);
  CHECK(tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, std::vector<int64_t>{1, 2}) ==
        CUDNN_STATUS_BAD_PARAM);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, std::vector<int64_t>{2, 3, 4, 5});
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, std::vector<int64_t>{1});
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, std::vector<int64_t>{60, 20, 5});
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, std::vector<int64_t>{4});
  CHECK(tensor.finalize() == CUDNN_STATUS_BAD_PARAM);  // one stride less than dimensions
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, std::vector<int64_t>{60, 20, 5, 1});
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, std::vector<int64_t>{2});
  CHECK(tensor.finalize() == CUDNN_STATUS_BAD_PARAM);  // less aligned than an element
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, std::vector<int64_t>{4});
  CHECK(tensor.finalize() == CUDNN_STATUS_SUCCESS);
  CHECK(tensor.finalize() == CUDNN_STATUS_BAD_PARAM);
  CHECK(tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type) == CUDNN_STATUS_BAD_PARAM);
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
