#include "tandem/cli/launch/environment.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tandem/cli/launch/child_processes.h"
#include "tandem/cli/numbers.h"
#include "tandem/core/device.h"
#include "tandem/core/threads/usable_cores.h"

namespace tandem::cli {
namespace {

constexpr int kMaxRanks = Keeper::kMaxGroups;

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

int ranks_here(const std::string& text) {
  if (text == "auto") return std::max(device_count(kCUDA), 0) > 0 ? device_count(kCUDA) : usable_cores();
  if (text == "cpu") return usable_cores();
  if (text == "gpu") {
    require(device_count(kCUDA) != 0, "-n gpu: there is no CUDA device (see tandem devices)");
    return device_count(kCUDA);
  }
  int64_t number = 0;
  if (!detail::read_number(text, number) || number < 1 || number > kMaxRanks)
    detail::refuse_number("-n", text, "auto, cpu, gpu or a number", concat("from 1 to ", kMaxRanks));
  return static_cast<int>(number);
}

// HOST, HOST:PORT or [ADDRESS]:PORT.
void read_endpoint(const std::string& text, LaunchPlace& place) {
  const std::string start = concat("--rdzv ", text.substr(0, 80), ": ");
  const bool brackets = text.starts_with("[");
  const std::size_t close = brackets ? text.find(']') : 0;
  require(brackets || text.find(':') == text.rfind(':'), start, "an IPv6 address is written as [ADDRESS]:PORT");
  const std::size_t colon = close == std::string::npos ? close : text.find(':', close);
  place.host = brackets ? text.substr(1, std::max<std::size_t>(close, 1) - 1) : text.substr(0, colon);
  const bool good = close != std::string::npos && (!brackets || close + 1 == std::min(colon, text.size()));
  require(good && !place.host.empty() && place.host.size() <= 255, start, "expected HOST:PORT, such as node0:29500");
  const std::string port = colon == std::string::npos ? "29500" : text.substr(colon + 1);
  place.port = static_cast<uint16_t>(parse_number("--rdzv: port", port, Range<int>{1, 65535}));
}

// The number of tasks that another launcher has started of this command; 1 if none did.
struct Tasks {
  std::string variable;
  int64_t count = 1;
};

Tasks tasks_of_another_launcher() {
  Tasks out;
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    int64_t count = 0;
    if (detail::read_number(variable(name), count) && count > out.count) out = {name, count};
  }
  return out;
}

void refuse_nested(int nodes) {
  int64_t size = 0;
  if (!variable("RANK").empty() && detail::read_number(variable("WORLD_SIZE"), size) && size > 1)
    refuse("this is already rank ", variable("RANK").substr(0, 20), " of ", size,
           " (RANK and WORLD_SIZE are set): start the program itself here, or unset RANK");
  const Tasks tasks = tasks_of_another_launcher();
  require(tasks.count <= 1 || tasks.count == nodes, "this is already one of ", tasks.count, " tasks (", tasks.variable,
          "): start the program itself with mpirun or srun, or one tandem launch per node with --nnodes");
}

int node_rank(const LaunchOptions& options) {
  int rank = 0;
  if (options.node_rank.has_value()) {
    rank = *options.node_rank;
  } else if (const std::string text = variable("SLURM_NODEID"); !text.empty()) {
    rank = parse_number("SLURM_NODEID", text, Range<int>{0, kMaxRanks});
  } else if (options.nodes > 1) {
    refuse("--nnodes ", options.nodes, ": needs --node-rank, 0 to ", options.nodes - 1);
  }
  if (options.nodes == 1 && !options.node_rank.has_value()) return 0;
  require(rank < options.nodes, "--node-rank ", rank, ": expected at most ", options.nodes - 1, " with --nnodes ",
          options.nodes);
  return rank;
}

std::string random_key() {
  std::array<unsigned char, 16> bytes{};
  check(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
        "cannot draw a random job key: ", std::strerror(errno));
  std::string out;
  for (const unsigned char byte : bytes) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

std::string job_key(int nodes) {
  const std::string given = variable("TANDEM_JOB_KEY");
  require(given.size() <= 256, "TANDEM_JOB_KEY: expected at most 256 bytes");
  if (!given.empty()) return given;
  require(nodes <= 1, "--nnodes ", nodes,
          ": TANDEM_JOB_KEY is not set; set it to the same secret on every node, such as the output of "
          "openssl rand -hex 16");
  return random_key();
}

// What says the rank of this launcher would contradict the ranks that it starts; what makes MPI connect to
// the launcher's parent would fail in several processes at once.
bool is_of_another_launcher(std::string_view name) {
  for (const char* prefix : {"OMPI_", "PMIX_", "PMI_"})
    if (name.starts_with(prefix)) return true;
  for (const char* own :
       {"MPI_LOCALRANKID", "MPI_LOCALNRANKS", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_NPROCS",
        "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE"})
    if (name == own) return true;
  return false;
}

}  // namespace

LaunchPlace read_place(const LaunchOptions& options) {
  LaunchPlace place;
  place.nodes = options.nodes;
  place.local_size = ranks_here(options.ranks);
  refuse_nested(options.nodes);
  place.node = node_rank(options);
  if (!options.rdzv.empty()) read_endpoint(options.rdzv, place);
  require(options.nodes <= 1 || !options.rdzv.empty(), "--nnodes ", options.nodes,
          ": needs --rdzv HOST:PORT, where HOST is the node of --node-rank 0");
  place.max_restarts = options.max_restarts;
  place.job_key = job_key(options.nodes);
  return place;
}

std::vector<std::string> rank_environment(const LaunchPlace& place, int local_rank) {
  std::vector<std::pair<std::string, std::string>> mine{{"RANK", concat(place.first_rank() + local_rank)},
                                                        {"LOCAL_RANK", concat(local_rank)},
                                                        {"WORLD_SIZE", concat(place.size())},
                                                        {"LOCAL_WORLD_SIZE", concat(place.local_size)},
                                                        {"GROUP_RANK", concat(place.node)},
                                                        {"GROUP_WORLD_SIZE", concat(place.nodes)},
                                                        {"MASTER_ADDR", place.host},
                                                        {"MASTER_PORT", concat(place.port)},
                                                        {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                                        {"TORCHELASTIC_RESTART_COUNT", concat(place.restart)},
                                                        {"TORCHELASTIC_MAX_RESTARTS", concat(place.max_restarts)},
                                                        {"TANDEM_JOB_KEY", place.job_key}};
  const std::string threads = concat(std::max(1, usable_cores() / place.local_size));
  for (const char* name : {"OMP_NUM_THREADS", "TANDEM_NUM_THREADS"})
    if (variable(name).empty()) mine.emplace_back(name, threads);
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry, name = text.substr(0, text.find('='));
    const bool replaced = std::ranges::any_of(mine, [&](const auto& m) { return m.first == name; });
    if (!replaced && !is_of_another_launcher(name)) out.emplace_back(text);
  }
  for (const auto& [name, value] : mine) out.push_back(concat(name, "=", value));
  return out;
}

}  // namespace tandem::cli
