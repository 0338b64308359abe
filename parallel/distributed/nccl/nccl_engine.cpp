// The engine on NCCL: collectives on CUDA memory. Calls submit their work to CallOptions::stream and return, without
// waiting for the device, so that they can be captured in CUDA graphs. The owner of the stream orders it with others.
//
// A device carries out the calls of a group in the order of submission, sends and receives included: a rank that first
// sends to a peer and then receives from it needs a peer that first receives. Tags have no meaning here.
#include <arpa/inet.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tandem/parallel/distributed/engine.h"
#include "tandem/parallel/distributed/nccl/communicator.h"

namespace {

using namespace tandem::distributed;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using tandem::ScalarType;

cudaStream_t stream_of(const CallOptions& options) { return static_cast<cudaStream_t>(options.stream); }

ncclDataType_t type_of(ScalarType dtype) {
  constexpr std::pair<ScalarType, ncclDataType_t> types[] = {
      {ScalarType::Byte, ncclUint8},    {ScalarType::Bool, ncclUint8},     {ScalarType::Char, ncclInt8},
      {ScalarType::Int, ncclInt32},     {ScalarType::Long, ncclInt64},     {ScalarType::Half, ncclFloat16},
      {ScalarType::Float, ncclFloat32}, {ScalarType::Double, ncclFloat64}, {ScalarType::BFloat16, ncclBfloat16}};
  for (const auto& [own, type] : types)
    if (own == dtype) return type;
  throw std::runtime_error("nccl: cannot reduce this dtype (int16); convert the tensor to int32");
}

bool is_supported(ScalarType dtype, ReduceOp op) {
  if (dtype == ScalarType::Short) return false;
  const bool bits = op == ReduceOp::BAND || op == ReduceOp::BOR || op == ReduceOp::BXOR;
  return op != ReduceOp::AVG && (!bits || (dtype == ScalarType::Bool && op != ReduceOp::BXOR));
}

// Bools are bytes of 0 and 1, so "or" is their maximum and "and" their minimum.
ncclRedOp_t op_of(ReduceOp op, ScalarType dtype) {
  if (!is_supported(dtype, op)) throw std::runtime_error("nccl: has no such reduction of this dtype; use backend gloo");
  if (op == ReduceOp::MAX || op == ReduceOp::BOR) return ncclMax;
  if (op == ReduceOp::MIN || op == ReduceOp::BAND) return ncclMin;
  if (dtype == ScalarType::Bool) return op == ReduceOp::SUM ? ncclMax : ncclMin;
  return op == ReduceOp::SUM ? ncclSum : ncclProd;
}

/// A send or receive that has been submitted.
class Request final : public EngineRequest {
 public:
  Request(std::shared_ptr<nccl::Communicator> communicator, cudaStream_t stream)
      : communicator_(std::move(communicator)) {
    const nccl::DeviceGuard guard(communicator_->device());
    nccl::check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate");
    if (const cudaError_t result = cudaEventRecord(event_, stream); result != cudaSuccess) {
      cudaEventDestroy(event_);
      nccl::check(result, "cudaEventRecord");
    }
  }
  ~Request() override { cudaEventDestroy(event_); }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  bool test() override {
    communicator_->check_submitted();
    const cudaError_t result = cudaEventQuery(event_);
    if (result == cudaErrorNotReady) return false;
    nccl::check(result, "message");
    return true;
  }
  void wait(milliseconds timeout) override {
    for (const auto end = steady_clock::now() + timeout; !test();) {
      if (steady_clock::now() >= end)
        throw std::runtime_error("nccl: message did not finish within " + std::to_string(timeout.count()) + " ms");
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

 private:
  const std::shared_ptr<nccl::Communicator> communicator_;
  cudaEvent_t event_ = nullptr;
};

int choose_device(const EngineOptions& options) {
  int count = 0, device = options.device_index;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess || count == 0)
    throw std::runtime_error("nccl: no CUDA device" +
                             (result == cudaSuccess ? "" : ": " + std::string(cudaGetErrorString(result))) +
                             "; use backend gloo");
  if (device < 0) nccl::check(cudaGetDevice(&device), "cudaGetDevice");
  if (device >= count)
    throw std::runtime_error("nccl: there is no device " + std::to_string(device) + ", only " + std::to_string(count));
  return device;
}

// NCCL takes the names of interfaces, and chooses one itself if it is given none or an address.
void choose_interface(const std::string& interface) {
  in6_addr parsed;
  const char* text = interface.c_str();
  if (interface.empty() || inet_pton(AF_INET, text, &parsed) == 1 || inet_pton(AF_INET6, text, &parsed) == 1) return;
  setenv("NCCL_SOCKET_IFNAME", ("=" + interface).c_str(), 0);
}

ncclUniqueId exchange_id(const EngineOptions& options) {
  ncclUniqueId id;
  if (options.rank == 0) {
    if (const ncclResult_t result = ncclGetUniqueId(&id); result != ncclSuccess)
      throw std::runtime_error("nccl: ncclGetUniqueId: " + std::string(ncclGetErrorString(result)) + "; " +
                               ncclGetLastError(nullptr));
    options.store->set("nccl/id", std::string_view(id.internal, sizeof(id.internal)));
    return id;
  }
  const std::string value = options.store->get("nccl/id", options.timeout);
  if (value.size() != sizeof(id.internal))
    throw std::runtime_error("nccl: rank 0 published an id of " + std::to_string(value.size()) + " bytes, expected " +
                             std::to_string(sizeof(id.internal)) + "; do all ranks use the same NCCL?");
  std::memcpy(id.internal, value.data(), sizeof(id.internal));
  return id;
}

class NcclEngine final : public Engine {
 public:
  explicit NcclEngine(const EngineOptions& options) : rank_(options.rank), size_(options.size) {
    const int device = choose_device(options);
    choose_interface(options.interface);
    communicator_ = std::make_shared<nccl::Communicator>(device, rank_, size_, exchange_id(options), options.timeout);
    const nccl::DeviceGuard guard(device);
    nccl::check(cudaMalloc(&token_, 1), "cudaMalloc");
  }
  ~NcclEngine() override {
    communicator_.reset();  // first: freeing memory waits for the device
    cudaFree(token_);
  }

  void all_reduce(void* data, std::size_t count, ScalarType dtype, ReduceOp op, const CallOptions& options) override {
    const ncclDataType_t type = type_of(dtype);
    const ncclRedOp_t as = op_of(op, dtype);
    submit("all_reduce", options, [&](ncclComm_t comm, cudaStream_t stream) {
      return ncclAllReduce(data, data, count, type, as, comm, stream);
    });
  }
  void reduce(void* data, std::size_t count, ScalarType dtype, ReduceOp op, int root,
              const CallOptions& options) override {
    const ncclDataType_t type = type_of(dtype);
    const ncclRedOp_t as = op_of(op, dtype);
    submit("reduce", options, [&](ncclComm_t comm, cudaStream_t stream) {
      return ncclReduce(data, data, count, type, as, root, comm, stream);
    });
  }
  void broadcast(void* data, std::size_t bytes, int root, const CallOptions& options) override {
    submit("broadcast", options, [&](ncclComm_t comm, cudaStream_t stream) {
      return ncclBroadcast(data, data, bytes, ncclUint8, root, comm, stream);
    });
  }
  void all_gather(const void* in, void* out, const std::size_t* bytes, const CallOptions& options) override {
    const bool equal = std::all_of(bytes, bytes + size_, [&](std::size_t n) { return n == bytes[0]; });
    if (equal)
      return submit("all_gather", options, [&](ncclComm_t comm, cudaStream_t stream) {
        return ncclAllGather(in, out, bytes[0], ncclUint8, comm, stream);
      });
    submit_group("all_gather", options, [&](Group& group) {
      char* to = static_cast<char*>(out);
      for (int i = 0; i < size_; to += bytes[i], ++i)
        if (bytes[i] > 0)
          group.add(ncclBroadcast(i == rank_ ? in : to, to, bytes[i], ncclUint8, i, group.comm, group.stream));
    });
  }
  void all_to_all(const void* in, const std::size_t* in_bytes, void* out, const std::size_t* out_bytes,
                  const CallOptions& options) override {
    submit_group("all_to_all", options, [&](Group& group) {
      const char* from = static_cast<const char*>(in);
      char* to = static_cast<char*>(out);
      for (int i = 0; i < size_; from += in_bytes[i], to += out_bytes[i], ++i) {
        group.send(from, in_bytes[i], i);
        group.receive(to, out_bytes[i], i);
      }
    });
  }
  void gather(const void* in, void* out, std::size_t bytes, int root, const CallOptions& options) override {
    submit_group("gather", options, [&](Group& group) {
      group.send(in, bytes, root);
      for (int i = 0; i < size_ && rank_ == root; ++i)
        group.receive(static_cast<char*>(out) + static_cast<std::size_t>(i) * bytes, bytes, i);
    });
  }
  void scatter(const void* in, void* out, std::size_t bytes, int root, const CallOptions& options) override {
    submit_group("scatter", options, [&](Group& group) {
      for (int i = 0; i < size_ && rank_ == root; ++i)
        group.send(static_cast<const char*>(in) + static_cast<std::size_t>(i) * bytes, bytes, i);
      group.receive(out, bytes, root);
    });
  }
  // The stream passes it once all ranks' streams have come here.
  void barrier(const CallOptions& options) override {
    submit("barrier", options, [&](ncclComm_t comm, cudaStream_t stream) {
      return ncclAllReduce(token_, token_, 1, ncclUint8, ncclMax, comm, stream);
    });
  }
  std::unique_ptr<EngineRequest> send(const void* data, std::size_t bytes, int to,
                                      const CallOptions& options) override {
    submit_group("send", options, [&](Group& group) { group.send(data, bytes, to); });
    return std::make_unique<Request>(communicator_, stream_of(options));
  }
  std::unique_ptr<EngineRequest> recv(void* data, std::size_t bytes, int from, const CallOptions& options) override {
    submit_group("recv", options, [&](Group& group) { group.receive(data, bytes, from); });
    return std::make_unique<Request>(communicator_, stream_of(options));
  }

  bool can_reduce(ScalarType dtype, ReduceOp op) const override { return is_supported(dtype, op); }
  void check_submitted() override { communicator_->check_submitted(); }
  void abort() noexcept override { communicator_->abort(); }
  bool on_device() const override { return true; }

 private:
  /// Calls that NCCL carries out at once. A group must be ended even when one of them fails.
  struct Group {
    ncclComm_t comm;
    cudaStream_t stream;
    ncclResult_t error = ncclSuccess;

    void add(ncclResult_t result) {
      if (result != ncclSuccess && result != ncclInProgress && error == ncclSuccess) error = result;
    }
    void send(const void* data, std::size_t bytes, int to) {
      if (bytes > 0) add(ncclSend(data, bytes, ncclUint8, to, comm, stream));
    }
    void receive(void* data, std::size_t bytes, int from) {
      if (bytes > 0) add(ncclRecv(data, bytes, ncclUint8, from, comm, stream));
    }
  };

  template <class Call>
  void submit(const char* operation, const CallOptions& options, const Call& call) {
    communicator_->submit(operation, options.timeout, [&](ncclComm_t comm) { return call(comm, stream_of(options)); });
  }
  template <class Fill>
  void submit_group(const char* operation, const CallOptions& options, const Fill& fill) {
    submit(operation, options, [&](ncclComm_t comm, cudaStream_t stream) {
      if (const ncclResult_t result = ncclGroupStart(); result != ncclSuccess) return result;
      Group group{comm, stream};
      fill(group);
      const ncclResult_t result = ncclGroupEnd();
      return group.error != ncclSuccess ? group.error : result;
    });
  }

  const int rank_, size_;
  std::shared_ptr<nccl::Communicator> communicator_;
  void* token_ = nullptr;
};

Engine* make_engine(const EngineOptions& options) { return new NcclEngine(options); }

#define TANDEM_TEXT(x) #x
#define TANDEM_VERSION_TEXT(a, b, c) "NCCL " TANDEM_TEXT(a) "." TANDEM_TEXT(b) "." TANDEM_TEXT(c)
constexpr const char* kDescription = TANDEM_VERSION_TEXT(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH);

}  // namespace

extern "C" __attribute__((visibility("default")))
const EnginePlugin tandem_engine_plugin{EnginePlugin::kVersion, "nccl", kDescription, make_engine};
