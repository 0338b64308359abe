#include "tandem/parallel/distributed/environment.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "tandem/parallel/distributed/key_values.h"
#include "tandem/parallel/distributed/slurm.h"
#include "tandem/parallel/distributed/socket.h"
#include "tandem/parallel/distributed/store_protocol.h"

namespace tandem::distributed {
namespace {

using detail::quoted;

std::optional<std::string> text_of(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

/// A variable that holds a number, and where it came from.
struct Number {
  const char* name = "";
  int64_t value = 0;
};

std::optional<Number> number_of(const char* name, int64_t least, int64_t most) {
  const std::optional<std::string> text = text_of(name);
  if (!text) return std::nullopt;
  int64_t value = 0;
  const char* end = text->data() + text->size();
  const auto [last, error] = std::from_chars(text->data(), end, value);
  check(error == std::errc{} && last == end && !text->empty(), name, " is ", quoted(*text), ", must be a number");
  check(value >= least && value <= most, name, " is ", value, ", must be ", least, " to ", most);
  return Number{name, value};
}

constexpr int64_t kMaxRanks = std::numeric_limits<int>::max();
std::optional<Number> rank_of(const char* name) { return number_of(name, 0, kMaxRanks); }
std::optional<Number> size_of(const char* name) { return number_of(name, 1, kMaxRanks); }

/// A rank and the number of ranks.
struct Place {
  Number rank, size;
};

// Both variables or none.
std::optional<Place> place_of(const std::optional<Number>& rank, const char* rank_name,
                              const std::optional<Number>& size, const char* size_name) {
  check(!rank || size, rank_name, " is ", rank ? rank->value : 0, ", but ", size_name, " is not set; set both or none");
  check(rank || !size, size_name, " is ", size ? size->value : 0, ", but ", rank_name, " is not set; set both or none");
  if (!rank) return std::nullopt;
  check(rank->value < size->value, rank->name, " is ", rank->value, ", must be less than ", size->name, ", which is ",
        size->value);
  return Place{*rank, *size};
}
std::optional<Place> place_of(const char* rank, const char* size) {
  return place_of(rank_of(rank), rank, size_of(size), size);
}

/// The variables that one launcher has set.
struct Launcher {
  const char* name;
  std::optional<Place> global, local;
};

void check_equal(const Number& a, const Number& b) {
  check(a.value == b.value, a.name, " is ", a.value, ", but ", b.name, " is ", b.value,
        "; unset the variables of the launcher that did not start this process");
}

void check_agree(const std::optional<Place>& a, const std::optional<Place>& b) {
  if (!a || !b) return;
  check_equal(a->rank, b->rank);
  check_equal(a->size, b->size);
}

bool below_torchrun() {
  return std::getenv("TORCHELASTIC_RUN_ID") != nullptr || std::getenv("TORCHELASTIC_RESTART_COUNT") != nullptr ||
         std::getenv("TORCHELASTIC_USE_AGENT_STORE") != nullptr;
}

Launcher torchrun() {
  const Launcher found{"torchrun", place_of("RANK", "WORLD_SIZE"), place_of("LOCAL_RANK", "LOCAL_WORLD_SIZE")};
  check(found.global || !found.local,
        "LOCAL_RANK and LOCAL_WORLD_SIZE are set, but RANK and WORLD_SIZE are not; set all or none");
  return found;
}
Launcher open_mpi() {
  return {"Open MPI", place_of("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
          place_of("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE")};
}
Launcher pmi() { return {"PMI", place_of("PMI_RANK", "PMI_SIZE"), place_of("MPI_LOCALRANKID", "MPI_LOCALNRANKS")}; }

// Shells of salloc and sbatch have no step, or one whose number is reserved.
bool is_slurm_task() {
  constexpr int64_t kFirstReserved = 0xfffffff0;
  const std::optional<Number> step = number_of("SLURM_STEP_ID", 0, std::numeric_limits<uint32_t>::max());
  return std::getenv("SLURM_PROCID") != nullptr && step && step->value < kFirstReserved;
}

const char* first_set(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (std::getenv(name) != nullptr) return name;
  return nullptr;
}

std::optional<Place> slurm_local() {
  const std::optional<Number> rank = rank_of("SLURM_LOCALID");
  const char* name = first_set({"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE"});
  std::optional<Number> size;
  if (rank && name != nullptr) {
    const std::optional<Number> node = rank_of("SLURM_NODEID");
    size = Number{name, detail::tasks_of_node(name, *text_of(name), node ? node->value : 0)};
  }
  return rank ? place_of(rank, "SLURM_LOCALID", size, "SLURM_TASKS_PER_NODE") : std::nullopt;
}

Launcher slurm() {
  const char* size = first_set({"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"});
  return {"Slurm", place_of("SLURM_PROCID", size != nullptr ? size : "SLURM_NTASKS"), slurm_local()};
}

// The launcher that counts. `has_slurm`: Slurm's variables describe this process.
Launcher find_launcher(bool& has_slurm) {
  Launcher found = torchrun();
  has_slurm = false;
  if (found.global && below_torchrun()) return found;
  for (const Launcher& other : {open_mpi(), pmi()}) {
    check_agree(found.global, other.global);
    if (other.global) check_agree(found.local, other.local);
    if (!found.global) found = other.global ? other : found;
    if (other.global && !found.local) found.local = other.local;
  }
  if (!is_slurm_task()) return found;
  const Launcher by_slurm = slurm();
  const auto same = [](const Place& a, const Place& b) {
    return a.rank.value == b.rank.value && a.size.value == b.size.value;
  };
  has_slurm = by_slurm.global && (!found.global || same(*found.global, *by_slurm.global));
  if (has_slurm && !found.global) return by_slurm;
  if (has_slurm && !found.local) found.local = by_slurm.local;
  return found;
}

void read_master(Environment& e, bool has_slurm) {
  if (const auto port = number_of("MASTER_PORT", 1, 65535)) e.master_port = static_cast<uint16_t>(port->value);
  if (const auto address = text_of("MASTER_ADDR")) {
    check(!address->empty() && address->size() <= 255, "MASTER_ADDR is ", quoted(*address),
          ", must be the name or the address of a host");
    e.master_addr = *address;
  }
  if (!has_slurm || e.world_size == 1) return;  // a single process needs no master
  const char* list = first_set({"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"});
  if (e.master_addr.empty() && list != nullptr) e.master_addr = detail::first_host(list, *text_of(list));
  const auto job = number_of("SLURM_JOB_ID", 0, std::numeric_limits<uint32_t>::max());
  const auto step = number_of("SLURM_STEP_ID", 0, std::numeric_limits<uint32_t>::max());
  if (e.master_port == 0 && job)
    e.master_port = static_cast<uint16_t>(15000 + (job->value + 1009 * (step ? step->value : 0)) % 10000);
}

// mpirun gives its ranks nothing but a name in common.
void read_open_mpi_job(Environment& e) {
  const auto job = text_of("PMIX_NAMESPACE");
  if (e.launcher != "Open MPI" || e.world_size == 1 || !job || job->empty()) return;
  uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : *job) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  if (e.master_port == 0) e.master_port = static_cast<uint16_t>(15000 + hash % 10000);
  if (e.job_key.empty()) e.job_key = job->substr(0, detail::kMaxJobKey);
}

void place_locally(Environment& e, const std::optional<Place>& local) {
  if (local) {
    check(local->size.value <= e.world_size, local->size.name, " is ", local->size.value, ", but there are only ",
          e.world_size, " ranks");
    e.local_rank = static_cast<int>(local->rank.value);
    e.local_world_size = static_cast<int>(local->size.value);
  } else if (e.world_size > 1 && !e.master_addr.empty() && detail::is_loopback(e.master_addr)) {
    e.local_rank = e.rank;
    e.local_world_size = e.world_size;
  }
  if (e.master_addr.empty() && e.world_size > 1 && e.local_world_size == e.world_size) e.master_addr = "127.0.0.1";
}

bool flag_of(const char* name) {
  std::string text = text_of(name).value_or("");
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  check(text == "true" || text == "1" || text == "false" || text == "0" || text.empty(), name, " is ", quoted(text),
        ", must be True or False");
  return text == "true" || text == "1";
}

}  // namespace

Environment Environment::read() {
  Environment e;
  bool has_slurm = false;
  const Launcher launcher = find_launcher(has_slurm);
  if (launcher.global) {
    e.launcher = launcher.name;
    e.rank = static_cast<int>(launcher.global->rank.value);
    e.world_size = static_cast<int>(launcher.global->size.value);
  }
  read_master(e, has_slurm);
  place_locally(e, launcher.local);
  e.job_key = text_of("TANDEM_JOB_KEY").value_or("");
  check(e.job_key.size() <= detail::kMaxJobKey, "TANDEM_JOB_KEY has ", e.job_key.size(), " bytes, at most ",
        detail::kMaxJobKey, " are possible");
  read_open_mpi_job(e);
  e.launcher_has_store = flag_of("TORCHELASTIC_USE_AGENT_STORE");
  if (const auto restart = rank_of("TORCHELASTIC_RESTART_COUNT")) e.restart = static_cast<int>(restart->value);
  return e;
}

namespace {

// Where rank 0 listens. Distributions let /etc/hosts map a machine's own name to a loopback address, which the other
// machines could not reach.
std::string listen_address(const Environment& e) {
  const std::string& name = e.master_addr;
  const bool literal = name == "localhost" || name == "::1" || name.starts_with("127.");
  return e.local_world_size < e.world_size && !literal && detail::is_loopback(name) ? "0.0.0.0" : name;
}

}  // namespace

std::shared_ptr<Store> make_store(const Environment& environment, Milliseconds timeout) {
  const Environment& e = environment;
  if (e.world_size == 1 && e.master_addr.empty() && !e.launcher_has_store) {
    const auto store = std::make_shared<HashStore>();
    store->set_timeout(timeout);
    return store;
  }
  check(e.rank >= 0 && e.rank < e.world_size, "make_store: rank ", e.rank, " of ", e.world_size);
  const std::string of = concat("make_store: rank ", e.rank, " of ", e.world_size);
  check(!e.master_addr.empty(), of, ": the address of rank 0 is not known; set MASTER_ADDR on every rank");
  check(e.master_port != 0, of,
        ": the port of rank 0 is not known; set MASTER_PORT on every rank, to a port that is free on ", e.master_addr);
  TCPStoreOptions options;
  options.port = e.master_port;
  options.is_server = e.rank == 0 && !e.launcher_has_store;
  options.job_key = e.job_key;
  options.bind_address = listen_address(e);
  options.timeout = timeout;
  return std::make_shared<TCPStore>(e.master_addr, options);
}

}  // namespace tandem::distributed
