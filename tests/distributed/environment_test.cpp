// The variables of each launcher, alone and together, and the store that they lead to.
#include "tandem/parallel/distributed/environment.h"

#include <list>
#include <map>

#include "tandem/parallel/distributed/slurm.h"
#include "tandem/parallel/distributed/tcp_server.h"
#include "tandem/tests/distributed/stores.h"
#include "tandem/tests/environment.h"

using namespace tandem;
using namespace tandem::test;
using Job = tandem::distributed::Environment;
using Variables = std::map<std::string, std::string>;

namespace {

const char* const kAll[] = {"RANK",
                            "WORLD_SIZE",
                            "LOCAL_RANK",
                            "LOCAL_WORLD_SIZE",
                            "MASTER_ADDR",
                            "MASTER_PORT",
                            "TANDEM_JOB_KEY",
                            "TORCHELASTIC_USE_AGENT_STORE",
                            "TORCHELASTIC_RESTART_COUNT",
                            "TORCHELASTIC_RUN_ID",
                            "OMPI_COMM_WORLD_RANK",
                            "OMPI_COMM_WORLD_SIZE",
                            "OMPI_COMM_WORLD_LOCAL_RANK",
                            "OMPI_COMM_WORLD_LOCAL_SIZE",
                            "PMIX_NAMESPACE",
                            "PMI_RANK",
                            "PMI_SIZE",
                            "MPI_LOCALRANKID",
                            "MPI_LOCALNRANKS",
                            "SLURM_PROCID",
                            "SLURM_NTASKS",
                            "SLURM_STEP_NUM_TASKS",
                            "SLURM_LOCALID",
                            "SLURM_NODEID",
                            "SLURM_NTASKS_PER_NODE",
                            "SLURM_TASKS_PER_NODE",
                            "SLURM_STEP_TASKS_PER_NODE",
                            "SLURM_STEP_NODELIST",
                            "SLURM_JOB_NODELIST",
                            "SLURM_JOB_ID",
                            "SLURM_STEP_ID"};

// Reads the environment while these variables, and no others of a launcher, are set.
Job read_with(const Variables& variables) {
  std::list<test::Environment> set;
  for (const char* name : kAll) {
    const auto found = variables.find(name);
    set.emplace_back(name, found == variables.end() ? nullptr : found->second.c_str());
  }
  return Job::read();
}

std::string error_with(const Variables& variables) {
  return complaint([&] { read_with(variables); });
}

void check_places(const Job& job, const char* launcher, int rank, int size, int local_rank, int local_size) {
  CHECK(job.launcher == launcher);
  CHECK(job.rank == rank);
  CHECK(job.world_size == size);
  CHECK(job.local_rank == local_rank);
  CHECK(job.local_world_size == local_size);
}

Variables with(Variables base, const Variables& more) {
  for (const auto& [name, value] : more) base[name] = value;
  return base;
}

const Variables kTorchrun = {{"RANK", "5"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "4"},
                             {"MASTER_ADDR", "node0"},
                             {"MASTER_PORT", "29500"}};
const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "2"},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
const Variables kSlurm = {{"SLURM_PROCID", "9"},
                          {"SLURM_NTASKS", "11"},
                          {"SLURM_LOCALID", "1"},
                          {"SLURM_NODEID", "2"},
                          {"SLURM_TASKS_PER_NODE", "4(x2),3"},
                          {"SLURM_STEP_NODELIST", "node[01-03,7],gpu4"},
                          {"SLURM_JOB_ID", "123456"},
                          {"SLURM_STEP_ID", "0"}};

}  // namespace

TEST_CASE("no launcher") {
  const Job job = read_with({});
  check_places(job, "none", 0, 1, 0, 1);
  CHECK(!job.launched());
  CHECK(job.master_addr == "");
  CHECK(job.master_port == 0);
  const auto store = make_store(job, Milliseconds(50));
  CHECK(dynamic_cast<HashStore*>(store.get()) != nullptr);
  CHECK(store->timeout() == Milliseconds(50));
}

TEST_CASE("torchrun") {
  const Job job = read_with(with(
      kTorchrun,
      {{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"TORCHELASTIC_RESTART_COUNT", "3"}, {"TANDEM_JOB_KEY", "secret"}}));
  check_places(job, "torchrun", 5, 8, 1, 4);
  CHECK(job.master_addr == "node0");
  CHECK(job.master_port == 29500);
  CHECK(job.launcher_has_store);
  CHECK(job.restart == 3);
  CHECK(job.job_key == "secret");
  CHECK(job.launched());
  CHECK(!read_with(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}})).launcher_has_store);
  CHECK(contains(error_with({{"TORCHELASTIC_USE_AGENT_STORE", "maybe"}}), "TORCHELASTIC_USE_AGENT_STORE is 'maybe'"));
}

TEST_CASE("RANK and WORLD_SIZE alone") {
  const Variables ranks = {{"RANK", "1"}, {"WORLD_SIZE", "2"}};
  check_places(read_with(with(ranks, {{"MASTER_ADDR", "127.0.0.1"}})), "torchrun", 1, 2, 1, 2);
  check_places(read_with(with(ranks, {{"MASTER_ADDR", "192.0.2.7"}})), "torchrun", 1, 2, 0, 1);
  check_places(read_with(ranks), "torchrun", 1, 2, 0, 1);
}

TEST_CASE("MPI") {
  check_places(read_with(kOpenMpi), "Open MPI", 2, 4, 0, 2);
  CHECK(read_with(kOpenMpi).master_addr == "");
  Variables one = with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_RANK", "2"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}});
  CHECK(read_with(one).master_addr == "127.0.0.1");
  const distributed::Environment named = read_with(with(one, {{"PMIX_NAMESPACE", "732954625"}}));
  CHECK(named.master_port >= 15000);
  CHECK(named.master_port < 25000);
  CHECK(named.job_key == "732954625");
  CHECK(read_with(with(one, {{"PMIX_NAMESPACE", "732954626"}})).master_port != named.master_port);
  CHECK(read_with(with(one, {{"PMIX_NAMESPACE", "a"}, {"MASTER_PORT", "7"}, {"TANDEM_JOB_KEY", "k"}})).master_port ==
        7);
  CHECK(read_with({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"PMIX_NAMESPACE", "a"}}).job_key == "");
  const Variables pmi = {{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
  check_places(read_with(pmi), "PMI", 1, 3, 1, 2);
  check_places(read_with({{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}}), "PMI", 1, 3, 0, 1);
}

TEST_CASE("Slurm") {
  const Job job = read_with(kSlurm);
  check_places(job, "Slurm", 9, 11, 1, 3);
  CHECK(job.master_addr == "node01");
  CHECK(job.master_port == 15000 + 123456 % 10000);
  CHECK(read_with(with(kSlurm, {{"SLURM_STEP_ID", "2"}})).master_port == 15000 + (123456 + 2018) % 10000);
  CHECK(read_with(with(kSlurm, {{"MASTER_ADDR", "other"}, {"MASTER_PORT", "7"}})).master_addr == "other");
  CHECK(read_with(with(kSlurm, {{"MASTER_PORT", "7"}})).master_port == 7);
  // The shells of salloc and sbatch.
  for (const char* step : {"4294967290", "4294967291"})
    CHECK(!read_with(with(kSlurm, {{"SLURM_STEP_ID", step}})).launched());
  Variables shell = kSlurm;
  shell.erase("SLURM_STEP_ID");
  CHECK(!read_with(shell).launched());
  // srun --mpi=pmi2 sets both.
  const Job pmi = read_with(with(kSlurm, {{"PMI_RANK", "9"}, {"PMI_SIZE", "11"}}));
  check_places(pmi, "PMI", 9, 11, 1, 3);
  CHECK(pmi.master_addr == "node01");
}

TEST_CASE("launchers that start launchers") {
  // srun starts a torchrun per node.
  check_places(read_with(with(with(kSlurm, kTorchrun), {{"TORCHELASTIC_RUN_ID", "x"}})), "torchrun", 5, 8, 1, 4);
  check_places(read_with(with(with(kOpenMpi, kTorchrun), {{"TORCHELASTIC_RUN_ID", "x"}})), "torchrun", 5, 8, 1, 4);
  // srun starts a daemon of mpirun per node.
  const Job mpi = read_with(with(kSlurm, kOpenMpi));
  check_places(mpi, "Open MPI", 2, 4, 0, 2);
  CHECK(mpi.master_addr == "");
  // A script sets RANK from the variables of MPI.
  check_places(read_with(with(kOpenMpi, {{"RANK", "2"}, {"WORLD_SIZE", "4"}})), "torchrun", 2, 4, 0, 2);
}

TEST_CASE("contradictions name the variables and their values") {
  const auto check_error = [](const Variables& base, const Variables& more, std::vector<std::string> parts) {
    const std::string message = error_with(with(base, more));
    for (const std::string& part : parts) CHECK(contains(message, part));
  };
  check_error({}, {{"RANK", "1"}}, {"RANK is 1", "WORLD_SIZE is not set"});
  check_error({}, {{"WORLD_SIZE", "2"}}, {"WORLD_SIZE is 2", "RANK is not set"});
  check_error(kTorchrun, {{"RANK", "8"}}, {"RANK is 8", "WORLD_SIZE, which is 8"});
  check_error(kTorchrun, {{"RANK", "-1"}}, {"RANK is -1"});
  check_error(kTorchrun, {{"WORLD_SIZE", "0"}, {"RANK", "0"}}, {"WORLD_SIZE is 0"});
  check_error(kTorchrun, {{"LOCAL_RANK", "4"}}, {"LOCAL_RANK is 4", "LOCAL_WORLD_SIZE, which is 4"});
  check_error(kTorchrun, {{"LOCAL_WORLD_SIZE", "9"}}, {"LOCAL_WORLD_SIZE is 9", "8 ranks"});
  check_error({}, {{"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "1"}}, {"LOCAL_RANK", "RANK and WORLD_SIZE are not"});
  check_error({}, {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}}, {"LOCAL_WORLD_SIZE is not set"});
  for (const char* text : {"", " 1", "1 ", "one", "0x1", "1.0", "99999999999999999999"})
    check_error(kTorchrun, {{"RANK", text}}, {"RANK is '" + std::string(text) + "'", "must be a number"});
  check_error(kTorchrun, {{"WORLD_SIZE", "3000000000"}}, {"WORLD_SIZE is 3000000000"});
  for (const char* port : {"0", "65536", "-1"})
    check_error(kTorchrun, {{"MASTER_PORT", port}}, {"MASTER_PORT is " + std::string(port)});
  check_error(kTorchrun, {{"MASTER_PORT", "http"}}, {"MASTER_PORT is 'http'"});
  check_error(kTorchrun, {{"MASTER_ADDR", ""}}, {"MASTER_ADDR is ''"});
  check_error(kTorchrun, {{"MASTER_ADDR", std::string(256, 'a')}}, {"MASTER_ADDR is"});
  check_error(kOpenMpi, {{"RANK", "1"}, {"WORLD_SIZE", "4"}}, {"RANK is 1", "OMPI_COMM_WORLD_RANK is 2"});
  check_error(kOpenMpi, {{"RANK", "2"}, {"WORLD_SIZE", "5"}}, {"WORLD_SIZE is 5", "OMPI_COMM_WORLD_SIZE is 4"});
  check_error(kOpenMpi, {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}}, {"OMPI_COMM_WORLD_RANK is 2", "PMI_RANK is 3"});
  check_error({}, {{"PMI_RANK", "3"}}, {"PMI_RANK is 3", "PMI_SIZE is not set"});
  check_error(kSlurm, {{"SLURM_PROCID", "11"}}, {"SLURM_PROCID is 11", "SLURM_NTASKS, which is 11"});
  check_error(kSlurm, {{"SLURM_LOCALID", "3"}}, {"SLURM_LOCALID is 3", "SLURM_TASKS_PER_NODE, which is 3"});
  check_error(kSlurm, {{"SLURM_STEP_NODELIST", "node[01"}}, {"SLURM_STEP_NODELIST is 'node[01'"});
  check_error(kSlurm, {{"SLURM_NODEID", "3"}}, {"SLURM_TASKS_PER_NODE is '4(x2),3'"});
  check_error(kTorchrun, {{"TORCHELASTIC_RESTART_COUNT", "-2"}}, {"TORCHELASTIC_RESTART_COUNT is -2"});
  const std::string key = error_with({{"TANDEM_JOB_KEY", std::string(257, 'k')}});
  CHECK(contains(key, "TANDEM_JOB_KEY has 257 bytes"));
  CHECK(key.find("kkkk") == std::string::npos);
}

TEST_CASE("lists of Slurm") {
  using distributed::detail::first_host;
  using distributed::detail::tasks_of_node;
  CHECK(first_host("V", "node1") == "node1");
  CHECK(first_host("V", "node1,node2") == "node1");
  CHECK(first_host("V", "node[01-03,7],gpu4") == "node01");
  CHECK(first_host("V", "rack[2,4-5]node[08-12].example.com,x") == "rack2node08.example.com");
  CHECK(first_host("V", "n[007]") == "n007");
  for (const std::string& list : {std::string(), std::string(",a"), std::string("n["), std::string("n[]"),
                                  std::string("n[-3]"), std::string("n[a-b]"), std::string("n 1"), std::string("n]"),
                                  std::string(300, 'n'), "n[" + std::string(300, '1') + "]", std::string("n\0x", 3)})
    CHECK(contains(complaint([&] { first_host("V", list); }), "V is "));
  CHECK(tasks_of_node("V", "4(x2),3", 0) == 4);
  CHECK(tasks_of_node("V", "4(x2),3", 1) == 4);
  CHECK(tasks_of_node("V", "4(x2),3", 2) == 3);
  CHECK(tasks_of_node("V", "8", 0) == 8);
  for (const char* list :
       {"", "x", "0", "-1", "4(x2", "4(x0)", "4(x-1)", "4(2)", "4(x2),", ",4", "4;4", "99999999999", "3000000000"})
    CHECK(contains(complaint([&] { tasks_of_node("V", list, 5); }), "V is "));
}

TEST_CASE("rank 0 serves the store") {
  const uint16_t port = distributed::detail::TCPServer("127.0.0.1", 0, "").port();
  on_threads(3, [&](int rank) {
    Job job;
    job.rank = rank, job.world_size = job.local_world_size = 3;
    job.master_addr = "localhost", job.master_port = port, job.job_key = "key";
    const auto store = make_store(job, Milliseconds(20'000));
    store->set(std::to_string(rank), "");
    if (rank == 0) store->wait({"1", "2"});
  });
}

TEST_CASE("the launcher serves the store") {
  const distributed::detail::TCPServer launcher("127.0.0.1", 0, "key");
  Job job;
  job.world_size = 2, job.master_addr = "127.0.0.1", job.master_port = launcher.port(), job.launcher_has_store = true;
  job.job_key = "key";
  CHECK(make_store(job, Milliseconds(20'000))->add("n", 1) == 1);
  job.rank = 1;
  CHECK(make_store(job, Milliseconds(20'000))->add("n", 1) == 2);
  job.job_key = "other";
  CHECK(contains(failure([&] { make_store(job, Milliseconds(20'000)); }), "TANDEM_JOB_KEY"));
}

TEST_CASE("a store without an address or a port") {
  Job job;
  job.world_size = 2;
  CHECK(contains(complaint([&] { make_store(job); }), "set MASTER_ADDR"));
  job.master_addr = "127.0.0.1";
  CHECK(contains(complaint([&] { make_store(job); }), "set MASTER_PORT"));
}
