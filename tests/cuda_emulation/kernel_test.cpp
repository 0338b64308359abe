// Kernel threads: barriers and warp functions against plain loops; incorrect kernels abort with a message.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <numeric>

#include <tensor_cores.h>

#include "tandem/tests/cuda_emulation/test_support.h"

namespace tandem::cuda_emulation {

std::string last_words(void (*f)()) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    for (const int signal : {SIGABRT, SIGSEGV}) std::signal(signal, SIG_DFL);
    f();
    _exit(0);
  }
  close(ends[1]);
  std::string out;
  char buffer[512];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const bool ended = WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) != 0);
  return ended ? "ended: " + out : "";
}

namespace {

cudaError_t start(cudaStream_t stream, dim3 grid, dim3 block, std::function<void()> thread, std::size_t shared = 0) {
  return launch("test", stream, grid, block, shared, std::move(thread));
}

__global__ void block_sums(const int* in, int* out, int n) {
  __shared__ int sums[256];
  const unsigned t = threadIdx.x;
  int sum = 0;
  for (unsigned i = blockIdx.x * blockDim.x + t; i < static_cast<unsigned>(n); i += gridDim.x * blockDim.x)
    sum += in[i];
  sums[t] = sum;
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) sums[t] += sums[t + half];
  }
  if (t == 0) out[blockIdx.x] = sums[0];
  __syncthreads();
}

__global__ void warp_scan(const double* in, double* out) {
  const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  double x = in[t];
  for (unsigned step = 1; step < 32; step *= 2) {
    const double left = __shfl_up_sync(0xffffffffu, x, step);
    if (threadIdx.x % 32 >= step) x += left;
  }
  out[t] = x;
}

}  // namespace

TEST_CASE("emulation: block sums with barriers") {
  std::vector<int> in(5000);
  std::iota(in.begin(), in.end(), -7);
  const Array<int> a(in);
  for (const unsigned blocks : {1u, 3u, 8u}) {
    const Array<int> out(blocks);
    REQUIRE(start(nullptr, blocks, 256, [=, a = a.data, o = out.data] { block_sums(a, o, 5000); }) == cudaSuccess);
    std::vector<int> expected(blocks);
    for (std::size_t i = 0; i < in.size(); ++i) expected[i / 256 % blocks] += in[i];
    CHECK(out.values() == expected);
  }
}

TEST_CASE("emulation: inclusive warp scan with shuffles") {
  std::vector<double> in(128), expected(128);
  for (std::size_t i = 0; i < in.size(); ++i) {
    in[i] = 0.5 * static_cast<double>(i * i % 11);
    expected[i] = in[i] + (i % 32 > 0 ? expected[i - 1] : 0);
  }
  const Array<double> a(in), out(128);
  REQUIRE(start(nullptr, 2, 64, [a = a.data, o = out.data] { warp_scan(a, o); }) == cudaSuccess);
  CHECK(out.values() == expected);
}

TEST_CASE("emulation: votes, counts, lane groups, dynamic shared memory, atomics") {
  const Array<unsigned> out(64 * 6);
  const Array<int> counter(std::vector<int>{0, 100});
  const auto thread = [o = out.data, c = counter.data] {
    const unsigned t = threadIdx.x, lane = t % 32;
    unsigned* own = o + t * 6;
    own[0] = __ballot_sync(0xffffffffu, lane % 3 == 0);
    own[1] = static_cast<unsigned>(__syncthreads_count(t % 5 == 0));
    own[2] = __shfl_xor_sync(0xffffffffu, t, 5);
    own[3] = __shfl_down_sync(0xffffffffu, t, 1, 8);
    own[4] = __match_any_sync(0xffffffffu, t % 4);
    auto* shared = dynamic_shared<unsigned>();
    shared[t] = t * 10;
    __syncthreads();
    own[5] = shared[63 - t];
    atomicAdd(c, 1);
    atomicMin(c + 1, static_cast<int>(t) - 3);
  };
  REQUIRE(start(nullptr, 1, 64, thread, 64 * sizeof(unsigned)) == cudaSuccess);
  const std::vector<unsigned> values = out.values();
  for (unsigned t = 0; t < 64; ++t) {
    const unsigned* own = values.data() + t * 6;
    CAPTURE(t);
    CHECK(own[0] == 0x49249249u);
    CHECK(own[1] == 13u);
    CHECK(own[2] == (t ^ 5u));
    CHECK(own[3] == (t % 8 == 7 ? t : t + 1));
    CHECK(own[4] == 0x11111111u << t % 4);
    CHECK(own[5] == (63 - t) * 10);
  }
  CHECK(counter.values() == std::vector<int>{64, -3});
}

// A warp's product of a [16, 16] and b [16, 8], loaded as the tensor cores take them.
TEST_CASE("emulation: matrices of the tensor cores, late copies") {
  const auto a = [](int r, int c) { return static_cast<float>((3 * r + 5 * c) % 7 - 3); };
  const auto b = [](int r, int c) { return static_cast<float>((r + 2 * c) % 5 - 2); };
  std::vector<BFloat16> both;
  for (int i = 0; i < 256; ++i) both.emplace_back(a(i / 16, i % 16));
  for (int i = 0; i < 128; ++i) both.emplace_back(b(i / 8, i % 8));
  const Array<BFloat16> in(both);
  const Array<float> out(128);
  const auto thread = [from = in.data, to = out.data] {
    auto* shared = dynamic_shared<BFloat16>();
    const int lane = static_cast<int>(threadIdx.x);
    cuda_impl::start_copy(shared + 8 * lane, from + 8 * lane, true);
    if (lane < 16) cuda_impl::start_copy(shared + 256 + 8 * lane, from + 256 + 8 * lane, true);
    cuda_impl::start_copy(shared + 384 + 8 * lane, from, false);
    const bool early = shared[8 * lane].bits != 0xffff;  // the memory's first contents
    cuda_impl::finish_copies();
    __syncthreads();
    uint32_t left[4], right[4];
    cuda_impl::load_matrices<false>(left, shared + lane % 16 * 16 + lane / 16 * 8);
    cuda_impl::load_matrices<true>(right, shared + 256 + lane % 16 * 8);
    float d[4] = {};
    cuda_impl::multiply_tiles<BFloat16>(d, left, right[0], right[1]);
    for (int i = 0; i < 4; ++i)
      to[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = early || shared[384 + 8 * lane].bits != 0 ? -1 : d[i];
  };
  REQUIRE(start(nullptr, 1, 32, thread, 640 * sizeof(BFloat16)) == cudaSuccess);
  const std::vector<float> values = out.values();
  for (int r = 0; r < 16; ++r)
    for (int c = 0; c < 8; ++c) {
      float sum = 0;
      for (int k = 0; k < 16; ++k) sum += a(r, k) * b(k, c);
      CHECK(values[static_cast<std::size_t>(8 * r + c)] == sum);
    }
  CHECK(last_words([] {
          start(
              nullptr, 1, 32, [] { cuda_impl::start_copy(dynamic_shared<char>(), nullptr, false); }, 16);
          cudaDeviceSynchronize();
        }).find("copies that it has not waited for") != std::string::npos);
}

TEST_CASE("emulation: thread indices in three dimensions") {
  const Array<int> seen(std::vector<int>(2 * 3 * 2 * 4 * 3 * 2));
  const auto thread = [s = seen.data] {
    const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const unsigned own = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    s[block * 24 + own] += 1;
  };
  REQUIRE(start(nullptr, dim3(2, 3, 2), dim3(4, 3, 2), thread) == cudaSuccess);
  CHECK(seen.values() == std::vector<int>(seen.count, 1));
}

TEST_CASE("emulation: launches that every GPU rejects") {
  const auto nothing = [] {};
  CHECK(start(nullptr, 0, 32, nothing) == cudaErrorInvalidConfiguration);
  CHECK(start(nullptr, dim3(1, 65536), 32, nothing) == cudaErrorInvalidConfiguration);
  CHECK(start(nullptr, 1, 1025, nothing) == cudaErrorInvalidConfiguration);
  CHECK(start(nullptr, 1, dim3(1, 1, 65), nothing) == cudaErrorInvalidConfiguration);
  CHECK(start(nullptr, 1, 32, nothing, 48 * 1024 + 1) == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("emulation: barriers that some threads never reach, shuffles with missing lanes") {
  const auto contains = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  const std::string missing = last_words([] {
    start(nullptr, 2, 64, [] {
      if (threadIdx.x != 40) __syncthreads();
    });
    cudaDeviceSynchronize();
  });
  CAPTURE(missing);
  CHECK(contains(missing, "kernel 'test'"));
  CHECK(contains(missing, "__syncthreads"));
  CHECK(contains(missing, "has ended: thread 40"));
  const std::string elsewhere = last_words([] {
    start(nullptr, 1, 64, [] {
      if (threadIdx.x < 32)
        __syncthreads();
      else
        __syncthreads();
    });
    cudaDeviceSynchronize();
  });
  CHECK(contains(elsewhere, "waits elsewhere"));
  const std::string lane = last_words([] {
    start(nullptr, 1, 32, [] {
      if (threadIdx.x != 3) __shfl_sync(0xffffffffu, 1, 0);
    });
    cudaDeviceSynchronize();
  });
  CHECK(contains(lane, "a shuffle"));
  const std::string few = last_words([] {
    start(nullptr, 1, 24, [] { __syncwarp(); });
    cudaDeviceSynchronize();
  });
  CHECK(contains(few, "does not have"));
}

TEST_CASE("emulation: the host cannot read device memory, and kernels cannot read host memory") {
  CHECK(last_words([] {
          int* p = nullptr;
          cudaMalloc(reinterpret_cast<void**>(&p), 64);
          volatile int value = *p;
          static_cast<void>(value);
        }) != "");
  CHECK(last_words([] {
          int value = 0;
          check_argument("test", &value);
        }) == "ended: emulated CUDA: kernel 'test' received a pointer to host memory\n");
}

}  // namespace tandem::cuda_emulation
