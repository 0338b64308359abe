// The engine on MPI: collectives on host memory, over whatever MPI uses. Every operation is nonblocking and polled, so
// that a rank that stalls ends in an exception instead of a hang.
#include <algorithm>
#include <charconv>
#include <climits>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tandem/parallel/distributed/engine.h"
#include "tandem/parallel/distributed/mpi/library.h"
#include "tandem/parallel/distributed/reduce_loops.h"

namespace {

using namespace tandem::distributed;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using tandem::ScalarType;

// Reductions and broadcasts go in parts: MPI counts in int, and keeps copies of a whole part.
constexpr std::size_t kPart = std::size_t{64} << 20;

/// `bytes` bytes as MPI counts them. A separate type describes more than INT_MAX.
class Bytes {
 public:
  explicit Bytes(std::size_t bytes) {
    if (bytes <= INT_MAX) {
      count = static_cast<int>(bytes);
      return;
    }
    constexpr std::size_t kBlock = std::size_t{1} << 30;
    if (bytes / kBlock >= INT_MAX) throw std::runtime_error("MPI: a message of 2^61 bytes or more");
    count = 1;
    MPI_Datatype block = MPI_BYTE, blocks = MPI_BYTE, rest = MPI_BYTE;
    MPI_Type_contiguous(static_cast<int>(kBlock), MPI_BYTE, &block);
    MPI_Type_contiguous(static_cast<int>(bytes / kBlock), block, &blocks);
    MPI_Type_contiguous(static_cast<int>(bytes % kBlock), MPI_BYTE, &rest);
    const int ones[] = {1, 1};
    const MPI_Aint offsets[] = {0, static_cast<MPI_Aint>(bytes / kBlock * kBlock)};
    const MPI_Datatype types[] = {blocks, rest};
    MPI_Type_create_struct(2, ones, offsets, types, &type);
    MPI_Type_commit(&type);
    for (MPI_Datatype* part : {&block, &blocks, &rest}) MPI_Type_free(part);
  }
  // MPI keeps the type until the operations that use it are done.
  ~Bytes() {
    if (type != MPI_BYTE) MPI_Type_free(&type);
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  int count = 0;
  MPI_Datatype type = MPI_BYTE;
};

MPI_Datatype type_of(ScalarType dtype) {
  const std::pair<ScalarType, MPI_Datatype> types[] = {
      {ScalarType::Byte, MPI_UINT8_T},     {ScalarType::Char, MPI_INT8_T},  {ScalarType::Short, MPI_INT16_T},
      {ScalarType::Int, MPI_INT32_T},      {ScalarType::Long, MPI_INT64_T}, {ScalarType::Float, MPI_FLOAT},
      {ScalarType::Double, MPI_DOUBLE},    {ScalarType::Bool, MPI_C_BOOL},  {ScalarType::Half, MPI_UINT16_T},
      {ScalarType::BFloat16, MPI_UINT16_T}};  // two bytes, which only their own operations read
  for (const auto& [own, type] : types)
    if (own == dtype) return type;
  throw std::runtime_error("mpi: cannot reduce this dtype");
}

// By ReduceOp, except AVG, which engines do not know. MPI's handles need not be constants.
MPI_Op op_of(ReduceOp op, bool logical) {
  const MPI_Op numbers[] = {MPI_SUM, MPI_OP_NULL, MPI_PROD, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BOR, MPI_BXOR};
  const MPI_Op bools[] = {MPI_LOR, MPI_OP_NULL, MPI_LAND, MPI_LAND, MPI_LOR, MPI_LAND, MPI_LOR, MPI_LXOR};
  return (logical ? bools : numbers)[static_cast<std::size_t>(op)];
}

template <ScalarType dtype, ReduceOp op>
void combine(void* in, void* inout, int* count, MPI_Datatype*) {
  static const ReduceFunction function = reduce_function(dtype, op);
  function(inout, in, inout, static_cast<std::size_t>(*count));
}

template <ScalarType dtype>
MPI_User_function* own_function(ReduceOp op) {
  constexpr MPI_User_function* functions[] = {combine<dtype, ReduceOp::SUM>, nullptr, combine<dtype, ReduceOp::PRODUCT>,
                                              combine<dtype, ReduceOp::MIN>, combine<dtype, ReduceOp::MAX>};
  return functions[static_cast<std::size_t>(op)];
}

// MPI lacks the two-byte types, and its MIN and MAX do not let NaN win. Null: MPI's own operation is right; it is
// better where there is a choice, because networks may carry it out.
MPI_User_function* own_function(ScalarType dtype, ReduceOp op) {
  const bool extreme = op == ReduceOp::MIN || op == ReduceOp::MAX;
  if (dtype == ScalarType::Half) return own_function<ScalarType::Half>(op);
  if (dtype == ScalarType::BFloat16) return own_function<ScalarType::BFloat16>(op);
  if (dtype == ScalarType::Float && extreme) return own_function<ScalarType::Float>(op);
  if (dtype == ScalarType::Double && extreme) return own_function<ScalarType::Double>(op);
  return nullptr;
}

struct Reduction {
  MPI_Datatype type;
  MPI_Op op;
};

/// Throws std::runtime_error if the dtype does not have the operation. library_mutex() must be held.
Reduction reduction(ScalarType dtype, ReduceOp op) {
  if (reduce_function(dtype, op) == nullptr) throw std::runtime_error("MPI: the dtype does not have this reduction");
  const MPI_Datatype type = type_of(dtype);
  MPI_User_function* const function = own_function(dtype, op);
  if (function == nullptr) return {type, op_of(op, dtype == ScalarType::Bool)};
  static auto& made = *new std::map<std::pair<ScalarType, ReduceOp>, MPI_Op>;
  const auto [at, is_new] = made.try_emplace({dtype, op}, MPI_OP_NULL);
  if (is_new) mpi::check(MPI_Op_create(function, 1, &at->second), "MPI_Op_create");
  return {type, at->second};
}

/// The communicator of one engine. Requests share it, since they may outlive the engine.
struct Communicator {
  ~Communicator() {
    const std::lock_guard lock(mpi::library_mutex());
    if (comm != MPI_COMM_NULL && mpi::is_running()) MPI_Comm_free(&comm);
  }
  MPI_Comm comm = MPI_COMM_NULL;
  std::atomic<bool> aborted{false};
};

void check_alive(const Communicator& communicator) {
  mpi::check_running();
  if (communicator.aborted) throw std::runtime_error("MPI: the engine has been aborted");
}

class Request final : public EngineRequest {
 public:
  Request(std::shared_ptr<Communicator> communicator, std::size_t bytes, bool sending)
      : communicator_(std::move(communicator)), bytes_(bytes), sending_(sending) {
    if (!sending) pending_.allow_cancelling();
  }
  template <class Start>
  void start(const Start& start) {
    const std::lock_guard lock(mpi::library_mutex());
    check_alive(*communicator_);
    const Bytes size(bytes_);
    pending_.add([&](MPI_Request* request) { return start(size, communicator_->comm, request); });
  }
  void wait(milliseconds timeout) override {
    if (done_) return;
    pending_.wait(timeout, communicator_->aborted);
    finish();
  }
  bool test() override {
    if (!done_ && pending_.test()) finish();
    return done_;
  }

 private:
  void finish() {
    done_ = true;
    const std::size_t came = sending_ ? bytes_ : pending_.received_bytes();
    if (came != bytes_)
      throw std::runtime_error("MPI: recv: expected a message of " + std::to_string(bytes_) + " bytes, got " +
                               std::to_string(came));
  }
  const std::shared_ptr<Communicator> communicator_;
  mpi::Pending pending_{"message"};
  const std::size_t bytes_;
  const bool sending_;
  bool done_ = false;
};

int parse_rank(const std::string& text, int size, std::size_t of) {
  int rank = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error == std::errc() && end == text.data() + text.size() && rank >= 0 && rank < size) return rank;
  throw std::runtime_error("MPI: rank " + std::to_string(of) + " published \"" + text.substr(0, 40) +
                           "\", expected its rank in MPI_COMM_WORLD, below " + std::to_string(size));
}

/// The ranks in MPI_COMM_WORLD of the members of the group.
std::vector<int> exchange_world_ranks(const EngineOptions& options, int own, int world_size) {
  const auto key = [](std::size_t rank) { return "mpi/" + std::to_string(rank); };
  const auto end = steady_clock::now() + options.timeout;
  options.store->set(key(static_cast<std::size_t>(options.rank)), std::to_string(own));
  std::vector<int> ranks;
  for (std::size_t i = 0; i < static_cast<std::size_t>(options.size); ++i) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
    ranks.push_back(parse_rank(options.store->get(key(i), std::max(milliseconds(1), left)), world_size, i));
    if (std::find(ranks.begin(), ranks.end() - 1, ranks.back()) != ranks.end() - 1)
      throw std::runtime_error("MPI: two processes have rank " + std::to_string(ranks.back()) +
                               " in MPI_COMM_WORLD; start all processes with one mpirun");
  }
  return ranks;
}

class MpiEngine final : public Engine {
 public:
  explicit MpiEngine(const EngineOptions& options)
      : rank_(options.rank), size_(options.size), communicator_(std::make_shared<Communicator>()) {
    int own = 0, world_size = 0;
    {
      const std::lock_guard lock(mpi::library_mutex());
      mpi::start_library();
      MPI_Comm_rank(MPI_COMM_WORLD, &own);
      MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    }
    if (world_size < size_)
      throw std::runtime_error("MPI: the group has " + std::to_string(size_) + " ranks, but MPI_COMM_WORLD has " +
                               std::to_string(world_size) + "; start the processes with mpirun -n " +
                               std::to_string(size_) + " PROGRAM, or use backend gloo");
    const std::vector<int> ranks = exchange_world_ranks(options, own, world_size);
    // The exchange has shown that all members are here, so the call that waits for them returns.
    const std::lock_guard lock(mpi::library_mutex());
    mpi::check_running();
    MPI_Group world = MPI_GROUP_NULL, members = MPI_GROUP_NULL;
    mpi::check(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
    mpi::check(MPI_Group_incl(world, size_, ranks.data(), &members), "MPI_Group_incl");
    const int code = MPI_Comm_create_group(MPI_COMM_WORLD, members, 0, &communicator_->comm);
    MPI_Group_free(&members);
    MPI_Group_free(&world);
    mpi::check(code, "MPI_Comm_create_group");
    MPI_Comm_set_errhandler(communicator_->comm, MPI_ERRORS_RETURN);
    int found = 0, *limit = nullptr;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &limit, &found);
    exchange_tag_ = found != 0 ? *limit : 32767;
  }

  void all_reduce(void* data, std::size_t count, ScalarType dtype, ReduceOp op, const CallOptions& options) override {
    Call call(*this, "all_reduce", options);
    in_parts(data, count, item_bytes(dtype), [&](void* part, int n) {
      call.run([&](MPI_Comm comm, MPI_Request* request) {
        const Reduction as = reduction(dtype, op);
        return MPI_Iallreduce(MPI_IN_PLACE, part, n, as.type, as.op, comm, request);
      });
    });
  }
  void reduce(void* data, std::size_t count, ScalarType dtype, ReduceOp op, int root,
              const CallOptions& options) override {
    Call call(*this, "reduce", options);
    in_parts(data, count, item_bytes(dtype), [&](void* part, int n) {
      call.run([&](MPI_Comm comm, MPI_Request* request) {
        const Reduction as = reduction(dtype, op);
        return MPI_Ireduce(rank_ == root ? MPI_IN_PLACE : part, part, n, as.type, as.op, root, comm, request);
      });
    });
  }
  void broadcast(void* data, std::size_t bytes, int root, const CallOptions& options) override {
    Call call(*this, "broadcast", options);
    broadcast(data, bytes, root, call);
  }
  void all_gather(const void* in, void* out, const std::size_t* bytes, const CallOptions& options) override {
    Call call(*this, "all_gather", options);
    std::vector<int> counts, offsets;
    std::size_t total = 0, own = 0;
    for (int i = 0; i < size_; ++i) {
      if (i == rank_) own = total;
      counts.push_back(static_cast<int>(bytes[i]));
      offsets.push_back(static_cast<int>(total));
      total += bytes[i];
    }
    char* const to = static_cast<char*>(out);
    if (bytes[rank_] > 0 && in != to + own) std::memcpy(to + own, in, bytes[rank_]);
    if (total <= INT_MAX)
      return call.run([&](MPI_Comm comm, MPI_Request* request) {
        return MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_BYTE, out, counts.data(), offsets.data(), MPI_BYTE, comm, request);
      });
    std::size_t begin = 0;
    for (int i = 0; i < size_; begin += bytes[i], ++i) broadcast(to + begin, bytes[i], i, call);
  }
  // Messages between all pairs, as MPI_Ialltoallv does, but without its limit of INT_MAX bytes in all.
  void all_to_all(const void* in, const std::size_t* in_bytes, void* out, const std::size_t* out_bytes,
                  const CallOptions& options) override {
    Call call(*this, "all_to_all", options);
    const char* from = static_cast<const char*>(in);
    char* to = static_cast<char*>(out);
    mpi::Pending pending("all_to_all");
    {
      const std::lock_guard lock(mpi::library_mutex());
      check_alive(*communicator_);
      const MPI_Comm comm = communicator_->comm;
      for (int i = 0; i < size_; to += out_bytes[i], ++i)
        pending.add([&, size = Bytes(out_bytes[i])](MPI_Request* request) {
          return MPI_Irecv(to, size.count, size.type, i, exchange_tag_, comm, request);
        });
      for (int i = 0; i < size_; from += in_bytes[i], ++i)
        pending.add([&, size = Bytes(in_bytes[i])](MPI_Request* request) {
          return MPI_Isend(from, size.count, size.type, i, exchange_tag_, comm, request);
        });
    }
    call.wait(pending);
  }
  void gather(const void* in, void* out, std::size_t bytes, int root, const CallOptions& options) override {
    Call(*this, "gather", options).run([&](MPI_Comm comm, MPI_Request* request) {
      const Bytes size(bytes);
      return MPI_Igather(in, size.count, size.type, out, size.count, size.type, root, comm, request);
    });
  }
  void scatter(const void* in, void* out, std::size_t bytes, int root, const CallOptions& options) override {
    Call(*this, "scatter", options).run([&](MPI_Comm comm, MPI_Request* request) {
      const Bytes size(bytes);
      return MPI_Iscatter(in, size.count, size.type, out, size.count, size.type, root, comm, request);
    });
  }
  void barrier(const CallOptions& options) override {
    Call(*this, "barrier", options).run([](MPI_Comm comm, MPI_Request* request) {
      return MPI_Ibarrier(comm, request);
    });
  }
  std::unique_ptr<EngineRequest> send(const void* data, std::size_t bytes, int to,
                                      const CallOptions& options) override {
    auto request = std::make_unique<Request>(communicator_, bytes, true);
    request->start([&](const Bytes& size, MPI_Comm comm, MPI_Request* started) {
      return MPI_Isend(data, size.count, size.type, to, message_tag(options), comm, started);
    });
    return request;
  }
  std::unique_ptr<EngineRequest> recv(void* data, std::size_t bytes, int from, const CallOptions& options) override {
    auto request = std::make_unique<Request>(communicator_, bytes, false);
    request->start([&](const Bytes& size, MPI_Comm comm, MPI_Request* started) {
      return MPI_Irecv(data, size.count, size.type, from, message_tag(options), comm, started);
    });
    return request;
  }
  void abort() noexcept override { communicator_->aborted = true; }

 private:
  /// A collective call: its parts share one timeout.
  class Call {
   public:
    Call(MpiEngine& engine, const char* operation, const CallOptions& options)
        : communicator_(*engine.communicator_), operation_(operation), end_(steady_clock::now() + options.timeout) {}
    template <class Start>
    void run(const Start& start) {
      mpi::Pending pending(operation_);
      {
        const std::lock_guard lock(mpi::library_mutex());
        check_alive(communicator_);
        pending.add([&](MPI_Request* request) { return start(communicator_.comm, request); });
      }
      wait(pending);
    }
    void wait(mpi::Pending& pending) {
      const auto left = std::chrono::duration_cast<milliseconds>(end_ - steady_clock::now());
      pending.wait(std::max(milliseconds(1), left), communicator_.aborted);
    }

   private:
    Communicator& communicator_;
    const char* const operation_;
    const steady_clock::time_point end_;
  };

  static std::size_t item_bytes(ScalarType dtype) { return static_cast<std::size_t>(tandem::item_size(dtype)); }
  template <class Run>
  static void in_parts(void* data, std::size_t count, std::size_t item, const Run& run) {
    for (std::size_t begin = 0; begin < count; begin += kPart / item)
      run(static_cast<char*>(data) + begin * item, static_cast<int>(std::min(kPart / item, count - begin)));
  }
  static void broadcast(void* data, std::size_t bytes, int root, Call& call) {
    in_parts(data, bytes, 1, [&](void* part, int n) {
      call.run([&](MPI_Comm comm, MPI_Request* request) { return MPI_Ibcast(part, n, MPI_BYTE, root, comm, request); });
    });
  }
  /// MPI's tags are smaller. The largest is all_to_all's.
  int message_tag(const CallOptions& options) const {
    return static_cast<int>(options.tag % static_cast<uint32_t>(exchange_tag_));
  }

  const int rank_, size_;
  const std::shared_ptr<Communicator> communicator_;
  int exchange_tag_ = 0;
};

Engine* make_engine(const EngineOptions& options) { return new MpiEngine(options); }

#define TANDEM_TEXT(x) #x
#define TANDEM_VERSION_TEXT(name, a, b, c) name " " TANDEM_TEXT(a) "." TANDEM_TEXT(b) c
#ifdef OPEN_MPI
#define TANDEM_RELEASE(x) "." TANDEM_TEXT(x)
constexpr const char* kDescription =
    TANDEM_VERSION_TEXT("Open MPI", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, TANDEM_RELEASE(OMPI_RELEASE_VERSION));
#else
constexpr const char* kDescription = TANDEM_VERSION_TEXT("MPI", MPI_VERSION, MPI_SUBVERSION, "");
#endif

}  // namespace

extern "C" __attribute__((visibility("default")))
const EnginePlugin tandem_engine_plugin{EnginePlugin::kVersion, "mpi", kDescription, make_engine};
