#include "tandem/tests/simulation/engine.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace tandem::simulation {

namespace {
constexpr uint64_t kMessages = uint64_t{1} << 40, kConnecting = uint64_t{1} << 41;

Time deadline_after(World& world, std::chrono::milliseconds timeout) {
  return world.scheduler.now() + timeout.count() * kMillisecond;
}
}  // namespace

// ---- connections

SimulatedEngine::SimulatedEngine(const EngineOptions& options)
    : world_(World::instance()),
      machine_(world_.machine()),
      rank_(options.rank),
      size_(options.size),
      id_(world_.add_engine(this)),
      peers_(ranks(), 0),
      closed_(ranks(), 0) {
  try {
    connect(options);
  } catch (...) {
    close_all();
    world_.remove_engine(id_);
    throw;
  }
}

void SimulatedEngine::connect(const EngineOptions& options) {
  world_.call();
  const Time deadline = deadline_after(world_, options.timeout);
  options.store->set(std::to_string(rank_), std::to_string(id_));
  for (int peer = 0; peer < size_; ++peer) {
    const Time left = std::max(kMillisecond, deadline - world_.scheduler.now());
    const std::string id = options.store->get(std::to_string(peer), std::chrono::milliseconds(left / kMillisecond));
    peers_[static_cast<std::size_t>(peer)] = std::stoi(id);
  }
  std::vector<Part> parts(ranks());
  for (Part& part : parts) part.sends = part.receives = true;
  const Time left = std::max(kMillisecond, deadline - world_.scheduler.now());
  exchange(parts, kConnecting, std::chrono::milliseconds(left / kMillisecond));
}

SimulatedEngine::~SimulatedEngine() {
  close_all();
  world_.remove_engine(id_);
}

void SimulatedEngine::close_all() {
  if (broken_) return;
  broken_ = true;
  for (const auto& weak : sent_)
    if (const auto transfer = weak.lock()) transfer->cancelled = !transfer->done;
  for (int peer = 0; peer < size_; ++peer) notify_closed(peer);
  world_.scheduler.wake_all(this);
}

// The other side notices after all that was sent before.
void SimulatedEngine::notify_closed(int peer) {
  const int id = peers_[static_cast<std::size_t>(peer)];
  SimulatedEngine* const other = world_.engine(id);
  if (silent_ || peer == rank_ || other == nullptr || world_.silent(machine_, other->machine_)) return;
  world_.scheduler.at(world_.arrival(id_, id), [&world = world_, id, from = rank_] {
    if (SimulatedEngine* const engine = world.engine(id)) engine->peer_closed(from);
  });
}

void SimulatedEngine::peer_closed(int peer) {
  if (broken_) return;
  if (machine_.stalled_until > world_.scheduler.now())
    return world_.scheduler.at(machine_.stalled_until, [&world = world_, id = id_, peer] {
      if (SimulatedEngine* const engine = world.engine(id)) engine->peer_closed(peer);
    });
  closed_[static_cast<std::size_t>(peer)] = 1;
  world_.scheduler.wake_all(this);
}

void SimulatedEngine::die(bool closes) {
  silent_ = !closes;
  close_all();
}

void SimulatedEngine::reset(int machine_rank) {
  for (int peer = 0; peer < size_; ++peer) {
    const SimulatedEngine* const other = world_.engine(peers_[static_cast<std::size_t>(peer)]);
    if (other != nullptr && other->machine_.rank == machine_rank) peer_closed(peer);
  }
}

std::vector<int> SimulatedEngine::lost() {
  std::vector<int> out;
  for (int peer = 0; peer < size_; ++peer)
    if (peer != rank_ && (broken_ || closed_[static_cast<std::size_t>(peer)] != 0)) out.push_back(peer);
  return out;
}

void SimulatedEngine::abort() noexcept { close_all(); }

// ---- messages

TransferPtr SimulatedEngine::start_send(int to, uint64_t tag, const void* data, std::size_t bytes, Time extra) {
  if (broken_) throw std::runtime_error("simulated: the connections are closed");
  if (closed_[static_cast<std::size_t>(to)] != 0)
    throw std::runtime_error("simulated: connection closed by peer " + std::to_string(to));
  auto transfer = std::make_shared<Transfer>();
  transfer->from = id_;
  transfer->data = data;
  transfer->bytes = bytes;
  if (world_.conditions.eager) {
    transfer->copy.assign(static_cast<const char*>(data), static_cast<const char*>(data) + bytes);
    transfer->done = true;
  }
  std::erase_if(sent_, [](const auto& sent) { return sent.expired(); });
  sent_.push_back(transfer);
  const int id = peers_[static_cast<std::size_t>(to)];
  const SimulatedEngine* const other = world_.engine(id);
  if (other == nullptr || world_.silent(machine_, other->machine_)) return transfer;
  if (world_.bug == Bug::kLostMessage && ++sends_ % 20 == 0) return transfer;
  if (world_.bug == Bug::kEarlyEnd) transfer->done = true;
  const Time at = world_.arrival(id_, id, extra);
  world_.scheduler.trace([&] {
    return "send to engine " + std::to_string(id) + " tag " + std::to_string(tag) + " bytes " + std::to_string(bytes);
  });
  world_.scheduler.at(at, [&world = world_, id, from = rank_, tag, transfer] {
    if (SimulatedEngine* const engine = world.engine(id)) engine->arrive(from, tag, transfer);
  });
  return transfer;
}

void SimulatedEngine::arrive(int from, uint64_t tag, const TransferPtr& transfer) {
  if (broken_) return;
  // What reaches a process that stalls waits in its machine.
  if (machine_.stalled_until > world_.scheduler.now())
    return world_.scheduler.at(machine_.stalled_until, [&world = world_, id = id_, from, tag, transfer] {
      if (SimulatedEngine* const engine = world.engine(id)) engine->arrive(from, tag, transfer);
    });
  world_.scheduler.note(tag ^ static_cast<uint64_t>(from));
  arrived_[{from, tag}].push_back(transfer);
  match({from, tag});
}

PostedPtr SimulatedEngine::post(int from, uint64_t tag, void* data, std::size_t bytes) {
  auto posted = std::make_shared<Posted>();
  posted->data = data;
  posted->bytes = bytes;
  posted_[{from, tag}].push_back(posted);
  match({from, tag});
  return posted;
}

void SimulatedEngine::cancel(const PostedPtr& posted) {
  for (auto& [slot, queue] : posted_) std::erase(queue, posted);
}

void SimulatedEngine::match(const Slot& slot) {
  std::deque<TransferPtr>& messages = arrived_[slot];
  std::deque<PostedPtr>& places = posted_[slot];
  while (!messages.empty() && !places.empty()) {
    const TransferPtr message = messages.front();
    messages.pop_front();
    if (message->cancelled) continue;
    const PostedPtr place = places.front();
    places.pop_front();
    if (message->bytes != place->bytes)
      world_.violation("a message of " + std::to_string(message->bytes) + " bytes meets a receive of " +
                       std::to_string(place->bytes));
    const std::size_t bytes = std::min(message->bytes, place->bytes);
    const bool loses = world_.bug == Bug::kLostData && came_ % 8 == 7;
    const void* data = message->copy.empty() ? message->data : message->copy.data();
    if (bytes > 0 && !loses) std::memcpy(place->data, data, bytes);
    place->done = true;
    place->order = came_++;
    world_.scheduler.wake_all(this);
    if (message->done) continue;
    world_.scheduler.at(world_.arrival(id_, message->from), [&world = world_, message] {
      message->done = true;
      if (SimulatedEngine* const sender = world.engine(message->from)) world.scheduler.wake_all(sender);
    });
  }
  if (messages.empty()) arrived_.erase(slot);
  if (places.empty()) posted_.erase(slot);
}

void SimulatedEngine::wait_for(const bool& done, int peer, Time deadline) {
  for (;;) {
    world_.check_alive();
    if (done) return;
    if (broken_) throw std::runtime_error("simulated: the connections are closed");
    if (closed_[static_cast<std::size_t>(peer)] != 0)
      throw std::runtime_error("simulated: connection closed by peer " + std::to_string(peer));
    if (world_.bug == Bug::kNoTimeout) deadline = kNever;
    if (world_.scheduler.block("a message", this, deadline)) continue;
    world_.check_alive();
    if (done) return;
    close_all();
    throw std::runtime_error("simulated: no answer from peer " + std::to_string(peer) + " in time");
  }
}

// ---- point to point

class SimulatedRequest final : public EngineRequest {
 public:
  SimulatedRequest(SimulatedEngine& engine, int peer, TransferPtr sent, PostedPtr posted)
      : world_(engine.world_), engine_(engine.id_), peer_(peer), sent_(std::move(sent)), posted_(std::move(posted)) {}
  ~SimulatedRequest() override {
    if (sent_ && !sent_->done) sent_->cancelled = true;
    if (SimulatedEngine* const engine = world_.engine(engine_); engine != nullptr && posted_) engine->cancel(posted_);
  }
  void wait(std::chrono::milliseconds timeout) override {
    world_.call();
    engine().wait_for(done(), peer_, deadline_after(world_, timeout));
  }
  bool test() override {
    world_.call();
    if (done()) return true;
    const SimulatedEngine& here = engine();
    if (here.broken_ || here.closed_[static_cast<std::size_t>(peer_)] != 0)
      throw std::runtime_error("simulated: connection closed by peer " + std::to_string(peer_));
    return false;
  }

 private:
  const bool& done() const { return sent_ ? sent_->done : posted_->done; }
  SimulatedEngine& engine() const {
    SimulatedEngine* const engine = world_.engine(engine_);
    if (engine == nullptr) throw std::runtime_error("simulated: the engine has ended");
    return *engine;
  }
  World& world_;
  const int engine_, peer_;
  const TransferPtr sent_;
  const PostedPtr posted_;
};

std::unique_ptr<EngineRequest> SimulatedEngine::send(const void* data, std::size_t bytes, int to,
                                                     const CallOptions& options) {
  world_.call();
  return std::make_unique<SimulatedRequest>(*this, to, start_send(to, kMessages | options.tag, data, bytes), nullptr);
}

std::unique_ptr<EngineRequest> SimulatedEngine::recv(void* data, std::size_t bytes, int from,
                                                     const CallOptions& options) {
  world_.call();
  if (broken_) throw std::runtime_error("simulated: the connections are closed");
  return std::make_unique<SimulatedRequest>(*this, from, nullptr, post(from, kMessages | options.tag, data, bytes));
}

// ---- collectives

// The messages of one call, which no longer use the caller's memory once the call has returned.
struct SimulatedEngine::Exchange {
  explicit Exchange(SimulatedEngine& the_engine) : engine(the_engine), sent(engine.ranks()), posted(engine.ranks()) {
    if (engine.in_collective_) engine.world_.violation("two threads make collective calls");
    engine.in_collective_ = true;
  }
  ~Exchange() {
    engine.in_collective_ = false;
    for (const TransferPtr& transfer : sent)
      if (transfer && !transfer->done) transfer->cancelled = true;
    for (const PostedPtr& place : posted)
      if (place && !place->done) engine.cancel(place);
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  SimulatedEngine& engine;
  std::vector<TransferPtr> sent;
  std::vector<PostedPtr> posted;
};

std::vector<int> SimulatedEngine::exchange(std::vector<Part> parts, uint64_t tag, std::chrono::milliseconds timeout) {
  world_.call();
  const Time deadline = deadline_after(world_, timeout);
  Exchange here(*this);
  const auto own = static_cast<std::size_t>(rank_);
  if (parts[own].receives && parts[own].in_bytes > 0) std::memcpy(parts[own].in, parts[own].out, parts[own].in_bytes);
  parts[own].sends = parts[own].receives = false;
  for (int peer = 0; peer < size_; ++peer) {
    const auto at = static_cast<std::size_t>(peer);
    const Part& part = parts[at];
    if (part.receives) here.posted[at] = post(peer, tag, part.in, part.in_bytes);
    if (part.sends) here.sent[at] = start_send(peer, tag, part.out, part.out_bytes);
  }
  std::vector<int> order;
  for (int peer = 0; peer < size_; ++peer) {
    const auto at = static_cast<std::size_t>(peer);
    if (here.posted[at]) wait_for(here.posted[at]->done, peer, deadline), order.push_back(peer);
    if (here.sent[at]) wait_for(here.sent[at]->done, peer, deadline);
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return here.posted[static_cast<std::size_t>(a)]->order < here.posted[static_cast<std::size_t>(b)]->order;
  });
  return order;
}

// Everyone's `bytes` to everyone.
std::vector<int> SimulatedEngine::all(const void* in, std::size_t bytes, std::vector<char>& received,
                                      const CallOptions& options) {
  received.resize(bytes * ranks());
  std::vector<Part> parts(ranks());
  for (std::size_t peer = 0; peer < ranks(); ++peer)
    parts[peer] = {in, bytes, received.data() + peer * bytes, bytes, true, true};
  return exchange(std::move(parts), options.tag, options.timeout);
}

void SimulatedEngine::all_reduce(void* data, std::size_t count, ScalarType dtype, ReduceOp op,
                                 const CallOptions& options) {
  std::vector<char> received;
  const auto bytes = count * static_cast<std::size_t>(item_size(dtype));
  const std::vector<int> order = all(data, bytes, received, options);
  fold(data, count, dtype, op, received, order);
}

void SimulatedEngine::reduce(void* data, std::size_t count, ScalarType dtype, ReduceOp op, int root,
                             const CallOptions& options) {
  const auto bytes = count * static_cast<std::size_t>(item_size(dtype));
  std::vector<char> received(bytes * ranks());
  gather(data, received.data(), bytes, root, options);
  if (rank_ == root)
    fold(data, count, dtype, op, received, {});
  else if (bytes > 0)
    std::memset(data, 0x5a, bytes);  // undefined
}

void SimulatedEngine::broadcast(void* data, std::size_t bytes, int root, const CallOptions& options) {
  std::vector<Part> parts(ranks());
  if (rank_ == root)
    for (Part& part : parts) part = {data, bytes, nullptr, 0, true, false};
  else
    parts[static_cast<std::size_t>(root)] = {nullptr, 0, data, bytes, false, true};
  exchange(std::move(parts), options.tag, options.timeout);
}

void SimulatedEngine::all_gather(const void* in, void* out, const std::size_t* bytes, const CallOptions& options) {
  std::vector<Part> parts(ranks());
  char* to = static_cast<char*>(out);
  for (std::size_t peer = 0; peer < ranks(); to += bytes[peer++])
    parts[peer] = {in, bytes[rank_], to, bytes[peer], true, true};
  exchange(std::move(parts), options.tag, options.timeout);
}

void SimulatedEngine::all_to_all(const void* in, const std::size_t* in_bytes, void* out, const std::size_t* out_bytes,
                                 const CallOptions& options) {
  std::vector<Part> parts(ranks());
  const char* from = static_cast<const char*>(in);
  char* to = static_cast<char*>(out);
  for (std::size_t peer = 0; peer < ranks(); ++peer) {
    parts[peer] = {from, in_bytes[peer], to, out_bytes[peer], true, true};
    from += in_bytes[peer];
    to += out_bytes[peer];
  }
  exchange(std::move(parts), options.tag, options.timeout);
}

void SimulatedEngine::gather(const void* in, void* out, std::size_t bytes, int root, const CallOptions& options) {
  std::vector<Part> parts(ranks());
  if (rank_ == root)
    for (std::size_t peer = 0; peer < ranks(); ++peer)
      parts[peer] = {in, bytes, static_cast<char*>(out) + peer * bytes, bytes, false, true};
  else
    parts[static_cast<std::size_t>(root)] = {in, bytes, nullptr, 0, true, false};
  exchange(std::move(parts), options.tag, options.timeout);
}

void SimulatedEngine::scatter(const void* in, void* out, std::size_t bytes, int root, const CallOptions& options) {
  std::vector<Part> parts(ranks());
  if (rank_ == root)
    for (std::size_t peer = 0; peer < ranks(); ++peer)
      parts[peer] = {static_cast<const char*>(in) + peer * bytes, bytes, nullptr, 0, true, false};
  Part& own = parts[static_cast<std::size_t>(root)];
  own.in = out;
  own.in_bytes = bytes;
  own.receives = true;
  exchange(std::move(parts), options.tag, options.timeout);
}

void SimulatedEngine::barrier(const CallOptions& options) {
  std::vector<char> nothing;
  all(nullptr, 0, nothing, options);
}

}  // namespace tandem::simulation

extern "C" tandem::distributed::Engine* make_simulated_engine(const tandem::distributed::EngineOptions& options) {
  return new tandem::simulation::SimulatedEngine(options);
}
