// The engine on Gloo: collectives on host memory over TCP, or through shared memory if all ranks run on one machine.
//
// Gloo accepts a message that is smaller than expected without a word, and ends the process when one is larger. Callers
// therefore give every call a tag that depends on its size: calls that do not fit each other never meet, and time out.
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/config.h>
#include <gloo/gather.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/scatter.h>
#include <gloo/transport/context.h>
#include <gloo/transport/tcp/device.h>

#include <arpa/inet.h>
#include <signal.h>

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include "tandem/parallel/distributed/engine.h"
#include "tandem/parallel/distributed/gloo/shared_memory.h"
#include "tandem/parallel/distributed/reduce_loops.h"

namespace {

using namespace tandem::distributed;
using std::chrono::milliseconds;

// Gloo writes to sockets without MSG_NOSIGNAL, so a peer that has gone would end the process with SIGPIPE.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipe() {
    if (sigismember(&before_, SIGPIPE) == 1) return;
    const timespec now{};
    while (sigtimedwait(&pipe_, nullptr, &now) == SIGPIPE) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;

 private:
  sigset_t pipe_, before_;
};

// Gloo's messages begin with "[file:line] ", its checks with "[enforce fail at …] ".
std::string without_location(std::string text) {
  while (!text.empty() && text.front() == '[') {
    const std::size_t end = text.find("] ");
    if (end == std::string::npos || text.find('[', 1) < end) break;
    text.erase(0, end + 2);
  }
  return text;
}

/// Runs `call`, and turns whatever it throws into std::runtime_error.
template <class Call>
auto guarded(const Call& call) {
  const NoBrokenPipe guard;
  try {
    return call();
  } catch (const std::exception& error) {
    throw std::runtime_error("Gloo: " + without_location(error.what()));
  }
}

// Gloo's view of the group's store. The addresses that ranks publish all have the same number of bytes; another
// length is refused here, because Gloo would read beyond it.
class RendezvousStore final : public gloo::rendezvous::Store {
 public:
  RendezvousStore(EngineStore& store, int rank, milliseconds timeout)
      : store_(store), own_key_(std::to_string(rank)), end_(std::chrono::steady_clock::now() + timeout) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    if (key == own_key_) address_bytes_ = data.size();
    store_.set(key, std::string_view(data.data(), data.size()));
  }
  std::vector<char> get(const std::string& key) override {
    const std::string value = store_.get(key, left());
    const bool is_address = !key.empty() && key.find_first_not_of("0123456789") == std::string::npos;
    if (is_address && value.size() != address_bytes_)
      throw std::runtime_error("the address of rank " + key + " in the store has " + std::to_string(value.size()) +
                               " bytes instead of " + std::to_string(address_bytes_) +
                               "; do all ranks use the same Gloo?");
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) store_.get(key, left());
  }
  void wait(const std::vector<std::string>& keys, const milliseconds&) override { wait(keys); }

 private:
  milliseconds left() const {
    const auto left = end_ - std::chrono::steady_clock::now();
    return std::max(milliseconds(1), std::chrono::duration_cast<milliseconds>(left));
  }
  EngineStore& store_;
  const std::string own_key_;
  const std::chrono::steady_clock::time_point end_;
  std::size_t address_bytes_ = 0;
};

// One message. Gloo can only wait for it, and closes every connection when a wait times out; so test() leaves the wait
// to a thread.
class Request final : public EngineRequest {
 public:
  Request(gloo::Context& context, void* data, std::size_t bytes, bool sending)
      : buffer_(context.createUnboundBuffer(bytes == 0 ? &empty_ : data, std::max<std::size_t>(1, bytes))),
        sending_(sending) {}
  ~Request() override {
    if (!waiter_.joinable()) return;
    sending_ ? buffer_->abortWaitSend() : buffer_->abortWaitRecv();
    waiter_.join();
  }
  void start(int peer, uint64_t slot) { sending_ ? buffer_->send(peer, slot) : buffer_->recv(peer, slot); }
  void wait(milliseconds timeout) override {
    if (!waiter_.joinable()) return guarded([&] { wait_here(timeout); });
    std::unique_lock lock(mutex_);
    const bool in_time = changed_.wait_for(lock, timeout, [this] { return done_; });
    if (!in_time || !error_.empty()) throw std::runtime_error(in_time ? error_ : "Gloo: no answer in time");
  }
  bool test() override {
    if (!waiter_.joinable()) waiter_ = std::thread([this] { wait_in_thread(); });
    const std::lock_guard lock(mutex_);
    if (!error_.empty()) throw std::runtime_error(error_);
    return done_;
  }

 private:
  void wait_here(milliseconds timeout) {
    const bool done = sending_ ? buffer_->waitSend(timeout) : buffer_->waitRecv(timeout);
    if (!done) throw std::runtime_error("the wait was given up");
  }
  void wait_in_thread() {
    std::string error;
    try {
      guarded([&] { wait_here(std::chrono::hours(24 * 365)); });
    } catch (const std::runtime_error& thrown) {
      error = thrown.what();
    }
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
    done_ = true;
    changed_.notify_all();
  }

  char empty_ = 0;  // travels in place of an empty message, which Gloo may not deliver
  const std::unique_ptr<gloo::transport::UnboundBuffer> buffer_;
  const bool sending_;
  std::thread waiter_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::string error_;
};

// Collectives use slots whose first byte is 1 to 8.
constexpr uint64_t kMessageSlots = uint64_t{0x40} << 56, kProbeSlot = uint64_t{0x41} << 56;

class Mesh final : public gloo::rendezvous::Context {
 public:
  using Context::Context;
  /// How long an algorithm waits that does not use the timeout of its call, as halving and doubling does.
  void set_wait(milliseconds timeout) { transportContext_->setTimeout(timeout); }
};

class GlooEngine final : public Engine {
 public:
  explicit GlooEngine(const EngineOptions& options)
      : rank_(options.rank), size_(options.size), context_(std::make_shared<Mesh>(rank_, size_)) {
    gloo::transport::tcp::attr address;
    in6_addr parsed;
    const char* text = options.interface.c_str();
    const bool is_address = inet_pton(AF_INET, text, &parsed) == 1 || inet_pton(AF_INET6, text, &parsed) == 1;
    (is_address ? address.hostname : address.iface) = options.interface;
    device_ = gloo::transport::tcp::CreateDevice(address);
    // Gloo waits five times as long for a connection.
    context_->setTimeout(std::max(milliseconds(100), options.timeout / 5));
    RendezvousStore store(*options.store, rank_, options.timeout);
    context_->connectFullMesh(store, device_);
    // A connection that closes while a rank still sets it up fails there, or ends the process in Gloo's own thread. So
    // no rank goes on, and perhaps leaves, before all have their connections: this waits for all.
    open_shared_memory({.timeout = options.timeout});
  }
  ~GlooEngine() override {
    const NoBrokenPipe guard;
    try {
      context_->closeConnections();
    } catch (const std::exception&) {
      // What is closed already needs no more.
    }
    context_.reset();
    device_.reset();
  }

  void all_reduce(void* data, std::size_t count, tandem::ScalarType dtype, ReduceOp op,
                  const CallOptions& options) override {
    const auto item = static_cast<std::size_t>(tandem::item_size(dtype));
    // Halving and doubling needs 2 log2(size) messages, the ring 2 (size - 1) per segment, of which there are at least
    // two. For more data the ring is better: it adds one segment while the next arrives.
    const bool ring = count * item > (1 << 20) || !std::has_single_bit(static_cast<unsigned>(size_));
    constexpr std::size_t kSegmentBytes = 4 << 20;
    if (shared_)
      return shared_->all_reduce(data, count, item, checked_function(dtype, op), ring, kSegmentBytes, options);
    gloo::AllreduceOptions call(context_);
    reduction(call, data, count, dtype, op, options);
    if (!ring) {
      call.setAlgorithm(gloo::AllreduceOptions::Algorithm::BCUBE);
      context_->set_wait(options.timeout);
    }
    call.setMaxSegmentSize(kSegmentBytes);
    guarded([&] { gloo::allreduce(call); });
  }
  void reduce(void* data, std::size_t count, tandem::ScalarType dtype, ReduceOp op, int root,
              const CallOptions& options) override {
    gloo::ReduceOptions call(context_);
    call.setRoot(root);
    reduction(call, data, count, dtype, op, options);
    guarded([&] { gloo::reduce(call); });
  }
  void broadcast(void* data, std::size_t bytes, int root, const CallOptions& options) override {
    if (shared_) return shared_->broadcast(data, bytes, root, options);
    gloo::BroadcastOptions call(context_);
    common(call, options);
    call.setRoot(root);
    call.setOutput(static_cast<char*>(data), bytes);
    guarded([&] { gloo::broadcast(call); });
  }
  void all_gather(const void* in, void* out, const std::size_t* bytes, const CallOptions& options) override {
    if (shared_) return shared_->all_gather(in, out, bytes, options);
    gloo::AllgathervOptions call(context_);
    common(call, options);
    call.setInput(writable(in), bytes[rank_]);
    call.setOutput(static_cast<char*>(out), std::vector<std::size_t>(bytes, bytes + size_));
    guarded([&] { gloo::allgatherv(call); });
  }
  void all_to_all(const void* in, const std::size_t* in_bytes, void* out, const std::size_t* out_bytes,
                  const CallOptions& options) override {
    if (shared_) return shared_->all_to_all(in, in_bytes, out, out_bytes, options);
    gloo::AlltoallvOptions call(context_);
    common(call, options);
    call.setInput(writable(in), std::vector<int64_t>(in_bytes, in_bytes + size_));
    call.setOutput(static_cast<char*>(out), std::vector<int64_t>(out_bytes, out_bytes + size_));
    guarded([&] { gloo::alltoallv(call); });
  }
  void gather(const void* in, void* out, std::size_t bytes, int root, const CallOptions& options) override {
    gloo::GatherOptions call(context_);
    common(call, options);
    call.setRoot(root);
    call.setInput(writable(in), bytes);
    if (rank_ == root) call.setOutput(static_cast<char*>(out), bytes * static_cast<std::size_t>(size_));
    guarded([&] { gloo::gather(call); });
  }
  void scatter(const void* in, void* out, std::size_t bytes, int root, const CallOptions& options) override {
    gloo::ScatterOptions call(context_);
    common(call, options);
    call.setRoot(root);
    std::vector<char*> parts;
    if (rank_ == root)
      for (std::size_t i = 0; i < static_cast<std::size_t>(size_); ++i) parts.push_back(writable(in) + i * bytes);
    if (rank_ == root) call.setInputs(parts, bytes);
    call.setOutput(static_cast<char*>(out), bytes);
    guarded([&] { gloo::scatter(call); });
  }
  void barrier(const CallOptions& options) override {
    if (shared_) return shared_->barrier(options);
    gloo::BarrierOptions call(context_);
    common(call, options);
    guarded([&] { gloo::barrier(call); });
  }
  std::unique_ptr<EngineRequest> send(const void* data, std::size_t bytes, int to,
                                      const CallOptions& options) override {
    return start(writable(data), bytes, to, true, options);
  }
  std::unique_ptr<EngineRequest> recv(void* data, std::size_t bytes, int from, const CallOptions& options) override {
    return start(data, bytes, from, false, options);
  }

  std::vector<int> lost() override {
    const NoBrokenPipe guard;
    std::vector<int> out;
    for (int peer = 0; peer < size_; ++peer) {
      if (peer == rank_) continue;
      char byte = 0;
      try {
        context_->createUnboundBuffer(&byte, 1)->recv(peer, kProbeSlot);
      } catch (const std::exception&) {
        out.push_back(peer);
      }
    }
    return out;
  }
  void abort() noexcept override {
    const NoBrokenPipe guard;
    if (shared_) shared_->abort();
    try {
      // A wait that times out is Gloo's way to end all pending operations of a context.
      char byte = 0;
      context_->createUnboundBuffer(&byte, 1)->waitRecv(milliseconds(1));
    } catch (const std::exception&) {
      // This is the exception that the wait was for.
    }
  }
  bool aborts_at_once() const override { return shared_ != nullptr; }

 private:
  // Ranks may differ in what they are allowed to do, so all use shared memory, or none.
  void open_shared_memory(const CallOptions& options) {
    const char* const wanted = std::getenv("TANDEM_SHARED_MEMORY");
    auto memory = std::make_unique<SharedMemory>(rank_, size_);
    std::vector<SharedMemory::Place> places(static_cast<std::size_t>(size_));
    const std::vector<std::size_t> bytes(places.size(), sizeof(SharedMemory::Place));
    all_gather(&memory->place(), places.data(), bytes.data(), options);
    uint8_t usable = size_ > 1 && (wanted == nullptr || std::string_view(wanted) != "0") && memory->open(places);
    all_reduce(&usable, 1, tandem::ScalarType::Byte, ReduceOp::MIN, options);
    if (usable != 0) shared_ = std::move(memory);
  }

  static ReduceFunction checked_function(tandem::ScalarType dtype, ReduceOp op) {
    const ReduceFunction function = reduce_function(dtype, op);
    if (function == nullptr) throw std::runtime_error("Gloo: the dtype does not have this reduction");
    return function;
  }

  static char* writable(const void* data) { return const_cast<char*>(static_cast<const char*>(data)); }

  template <class Call>
  static void common(Call& call, const CallOptions& options) {
    call.setTag(options.tag);
    call.setTimeout(options.timeout);
  }
  template <class Call>
  static void reduction(Call& call, void* data, std::size_t count, tandem::ScalarType dtype, ReduceOp op,
                        const CallOptions& options) {
    common(call, options);
    call.setReduceFunction(checked_function(dtype, op));
    switch (tandem::item_size(dtype)) {
      case 1:
        call.setOutput(static_cast<uint8_t*>(data), count);
        break;
      case 2:
        call.setOutput(static_cast<uint16_t*>(data), count);
        break;
      case 4:
        call.setOutput(static_cast<uint32_t*>(data), count);
        break;
      default:
        call.setOutput(static_cast<uint64_t*>(data), count);
        break;
    }
  }
  std::unique_ptr<EngineRequest> start(void* data, std::size_t bytes, int peer, bool sending,
                                       const CallOptions& options) {
    return guarded([&] {
      auto request = std::make_unique<Request>(*context_, data, bytes, sending);
      request->start(peer, kMessageSlots | options.tag);
      return std::unique_ptr<EngineRequest>(std::move(request));
    });
  }

  const int rank_, size_;
  std::shared_ptr<gloo::transport::Device> device_;
  std::shared_ptr<Mesh> context_;
  std::unique_ptr<SharedMemory> shared_;  // if all ranks run on this machine
};

Engine* make_engine(const EngineOptions& options) {
  return guarded([&]() -> Engine* { return new GlooEngine(options); });
}

#define TANDEM_TEXT(x) #x
#define TANDEM_VERSION_TEXT(a, b, c) "Gloo " TANDEM_TEXT(a) "." TANDEM_TEXT(b) "." TANDEM_TEXT(c)
constexpr const char* kDescription = TANDEM_VERSION_TEXT(GLOO_VERSION_MAJOR, GLOO_VERSION_MINOR, GLOO_VERSION_PATCH);

}  // namespace

extern "C" __attribute__((visibility("default")))
const EnginePlugin tandem_engine_plugin{EnginePlugin::kVersion, "gloo", kDescription, make_engine};
