// The schedules of all_reduce and of the exchange in tree order, for SimGrid's simulation of MPI. No data is sent: the
// messages have the lengths of the real ones, and additions only take simulated time. simulate.py builds and runs it.
//
//   schedule ring|halving|exchange BYTES SEGMENT_OR_PART_BYTES SECONDS_PER_BYTE WINDOW
//
// Prints the simulated seconds from the first rank's start to the last one's end.
#include <mpi.h>
#include <smpi/smpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

struct Schedule {
  int rank = 0, size = 1;
  long bytes = 0, chunk = 1;
  int window = 1;
  double per_byte = 0;  // of additions and copies
  char* memory = nullptr;

  void work(long n) const { smpi_execute_flops(static_cast<double>(n) * per_byte * 1e9); }  // hosts do 1e9/s
  MPI_Request send(int to, long n) const {
    MPI_Request out;
    MPI_Isend(memory, static_cast<int>(n), MPI_BYTE, to, 0, MPI_COMM_WORLD, &out);
    return out;
  }
  MPI_Request receive(int from, long n) const {
    MPI_Request out;
    MPI_Irecv(memory, static_cast<int>(n), MPI_BYTE, from, 0, MPI_COMM_WORLD, &out);
    return out;
  }
};

void wait(std::array<MPI_Request, 2>& pair) { MPI_Waitall(2, pair.data(), MPI_STATUSES_IGNORE); }

// Gloo's ring: every rank's chunk is cut into at least two segments, two of which are in flight. The first half adds
// what arrives, the second only passes it on.
void ring(const Schedule& s) {
  const long segment = std::max(1L, std::min((s.bytes + 2 * s.size - 1) / (2 * s.size), s.chunk));
  const long per_rank = std::max(2L, (s.bytes + segment * s.size - 1) / (segment * s.size));
  const long messages = per_rank * (s.size - 1);
  const int left = (s.rank + s.size - 1) % s.size, right = (s.rank + 1) % s.size;
  for (const bool adds : {true, false}) {
    std::array<std::array<MPI_Request, 2>, 2> flight;
    for (long i = 0; i < messages + 2; ++i) {
      auto& pair = flight[static_cast<std::size_t>(i % 2)];
      if (i >= 2) {
        wait(pair);
        if (adds) s.work(segment);
      }
      if (i < messages) pair = {s.receive(right, segment), s.send(left, segment)};
    }
  }
}

// Gloo's halving and doubling: log2(size) steps with half of the bytes each, and then the same in reverse order.
void halving(const Schedule& s) {
  long n = s.bytes;
  for (int distance = 1; distance < s.size; distance *= 2) {
    n = (n + 1) / 2;
    std::array<MPI_Request, 2> pair = {s.receive(s.rank ^ distance, n), s.send(s.rank ^ distance, n)};
    wait(pair);
    s.work(n);
  }
  for (int distance = s.size / 2; distance > 0; distance /= 2, n *= 2) {
    std::array<MPI_Request, 2> pair = {s.receive(s.rank ^ distance, n), s.send(s.rank ^ distance, n)};
    wait(pair);
  }
}

// Gloo starts all messages at once. A simulation of P * P flows takes too long for many ranks, so that only `window`
// messages of each rank may be in flight.
void all_to_all(const Schedule& s, long block) {
  std::vector<std::array<MPI_Request, 2>> flight;
  s.work(block);
  for (int i = 1; i < s.size; ++i) {
    if (i > s.window) wait(flight[static_cast<std::size_t>(i - s.window - 1)]);
    flight.push_back({s.send((s.rank + i) % s.size, block), s.receive((s.rank + s.size - i) % s.size, block)});
  }
  for (auto& pair : flight) wait(pair);
}

void all_gather(const Schedule& s, long block) {
  const int left = (s.rank + s.size - 1) % s.size, right = (s.rank + 1) % s.size;
  s.work(block);
  for (int i = 1; i < s.size; ++i) {
    std::array<MPI_Request, 2> pair = {s.send(right, block), s.receive(left, block)};
    wait(pair);
  }
}

// One tree node per rank. The group's thread runs all_to_all of part k + 1 before all_gather of part k, while the
// caller adds part k; the addition is short beside the messages, so this program does one after another.
void exchange(const Schedule& s) {
  const long part = std::max(s.chunk, 64L * s.size), parts = (s.bytes + part - 1) / part;
  const auto block = [&](long k) { return (std::min(part, s.bytes - k * part) + s.size - 1) / s.size; };
  all_to_all(s, block(0));
  for (long k = 0; k < parts; ++k) {
    if (k + 1 < parts) all_to_all(s, block(k + 1));
    s.work(block(k) * (s.size - 1));
    all_gather(s, block(k));
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 6) return std::fprintf(stderr, "schedule: expected 5 arguments, got %d\n", argc - 1), 1;
  const std::string what = argv[1];
  Schedule s;
  MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &s.size);
  s.bytes = std::atol(argv[2]), s.chunk = std::atol(argv[3]), s.per_byte = std::atof(argv[4]);
  s.window = std::atoi(argv[5]);
  s.memory = static_cast<char*>(SMPI_SHARED_MALLOC(static_cast<std::size_t>(s.bytes)));
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  what == "ring" ? ring(s) : what == "halving" ? halving(s) : exchange(s);
  const double seconds = MPI_Wtime() - begin;
  double longest = 0;
  MPI_Reduce(&seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (s.rank == 0) std::printf("seconds %.9f\n", longest);
  SMPI_SHARED_FREE(s.memory);
  MPI_Finalize();
}
