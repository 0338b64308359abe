// What an engine computes and moves, against what each rank computes for itself.
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "engine_job.h"

namespace engine_test {

namespace {

// ---- reductions

/// The value of element i on a rank: 1 to 5, or 0 and 1.
template <class T>
T element(std::size_t i, int rank) {
  const auto v = static_cast<int64_t>(i) * 7 + rank * 3 + static_cast<int64_t>(i / 5) * rank;
  if constexpr (std::is_same_v<T, bool>)
    return v % 2 == 1;
  else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return T(static_cast<float>(v % 5 + 1));
  else
    return static_cast<T>(v % 5 + 1);
}

int64_t combined(int64_t a, int64_t b, ReduceOp op, bool logical) {
  switch (op) {
    case ReduceOp::SUM:
      return logical ? (a | b) : a + b;
    case ReduceOp::PRODUCT:
      return a * b;
    case ReduceOp::MIN:
      return std::min(a, b);
    case ReduceOp::MAX:
      return std::max(a, b);
    case ReduceOp::BAND:
      return a & b;
    case ReduceOp::BOR:
      return a | b;
    default:
      return a ^ b;
  }
}

template <class T>
int64_t number(T value) {
  return static_cast<int64_t>(static_cast<float>(value));
}

template <class T>
void check_reduction(Job& job, Engine& engine, std::size_t count, ReduceOp op, int root) {
  using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
  std::vector<Stored> data(count);
  for (std::size_t i = 0; i < count; ++i) data[i] = static_cast<Stored>(element<T>(i, job.rank));
  if (root < 0)
    engine.all_reduce(data.data(), count, scalar_type_of<T>, op, job.next());
  else
    engine.reduce(data.data(), count, scalar_type_of<T>, op, root, job.next());
  if (root >= 0 && root != job.rank) return;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    int64_t expected = number(element<T>(i, 0));
    for (int r = 1; r < job.size; ++r)
      expected = combined(expected, number(element<T>(i, r)), op, std::is_same_v<T, bool>);
    wrong += number(data[i]) != expected ? 1 : 0;
  }
  job.check(wrong == 0, "reduction " + std::to_string(static_cast<int>(op)) + " of dtype " +
                            std::to_string(static_cast<int>(scalar_type_of<T>)) + ", count " + std::to_string(count) +
                            ", root " + std::to_string(root) + ": " + std::to_string(wrong) + " elements differ");
}

template <class T>
void check_dtype(Job& job, Engine& engine) {
  constexpr bool whole = !is_floating_point(scalar_type_of<T>);
  for (const ReduceOp op : {ReduceOp::SUM, ReduceOp::PRODUCT, ReduceOp::MIN, ReduceOp::MAX, ReduceOp::BAND,
                            ReduceOp::BOR, ReduceOp::BXOR}) {
    if (!whole && op >= ReduceOp::BAND) continue;
    check_reduction<T>(job, engine, 1003, op, -1);
    check_reduction<T>(job, engine, 57, op, job.size - 1);
  }
}

template <class T>
void check_nan(Job& job, Engine& engine) {
  for (const ReduceOp op : {ReduceOp::MIN, ReduceOp::MAX})
    for (int where = 0; where < job.size; ++where) {
      std::vector<T> data(9, T(static_cast<float>(job.rank)));
      if (job.rank == where) data[4] = T(std::numeric_limits<float>::quiet_NaN());
      engine.all_reduce(data.data(), data.size(), scalar_type_of<T>, op, job.next());
      const float other = static_cast<float>(data[3]);
      job.check(std::isnan(static_cast<float>(data[4])) && !std::isnan(other), "NaN wins in MIN and MAX");
    }
}

void check_rounding(Job& job, Engine& engine) {
  if (job.size == 1) return;
  BFloat16 b(job.rank == 0 ? 1.0f : job.rank == 1 ? 0x1.8p-8f : 0.0f);
  engine.all_reduce(&b, 1, kBFloat16, ReduceOp::SUM, job.next());
  job.check(static_cast<float>(b) == 1.0f + 0x1p-7f, "bfloat16 sums are rounded to nearest");
  Half h(job.rank == 0 ? 1.0f : job.rank == 1 ? 0x1.8p-11f : 0.0f);
  engine.all_reduce(&h, 1, kHalf, ReduceOp::SUM, job.next());
  job.check(static_cast<float>(h) == 1.0f + 0x1p-10f, "float16 sums are rounded to nearest");
}

void check_reductions(Job& job, Engine& engine) {
  [&]<class... Ts>(TypeList<Ts...>) { (check_dtype<Ts>(job, engine), ...); }(AllTypes{});
  for (const std::size_t count : {1, 2, 5, 65'539, 3'000'000, 17'500'000}) {
    check_reduction<float>(job, engine, count, ReduceOp::SUM, -1);
    check_reduction<float>(job, engine, count, ReduceOp::SUM, 0);
  }
  check_nan<float>(job, engine);
  check_nan<double>(job, engine);
  check_nan<Half>(job, engine);
  check_nan<BFloat16>(job, engine);
  check_rounding(job, engine);
  for (const auto& [dtype, op] :
       {std::pair(kFloat, ReduceOp::BXOR), std::pair(kHalf, ReduceOp::BAND), std::pair(kInt, ReduceOp::AVG)})
    job.must_throw("a reduction that the dtype lacks", milliseconds(0), milliseconds(1000), [&, d = dtype, o = op] {
      double data = 0;
      engine.all_reduce(&data, 1, d, o, job.next());
    });
}

// ---- data movement

using Text = std::vector<uint8_t>;

Text bytes_of(std::size_t count, int from, int to) {
  Text out(count);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = static_cast<uint8_t>(i * 31 + i / 251 + static_cast<std::size_t>(from * 16 + to));
  return out;
}
void append(Text& to, const Text& part) { to.insert(to.end(), part.begin(), part.end()); }

void check_movement(Job& job, Engine& engine, std::size_t unit) {
  const int size = job.size, rank = job.rank;
  const std::string label = " with unit " + std::to_string(unit);
  for (int root = 0; root < size; ++root) {
    Text data = rank == root ? bytes_of(unit, root, 0) : Text(unit);
    engine.broadcast(data.data(), unit, root, job.next());
    job.check(data == bytes_of(unit, root, 0), "broadcast" + label);
    Text all(rank == root ? unit * static_cast<std::size_t>(size) : 0), expected;
    for (int i = 0; i < size && rank == root; ++i) append(expected, bytes_of(unit, i, root));
    engine.gather(bytes_of(unit, rank, root).data(), all.data(), unit, root, job.next());
    job.check(all == expected, "gather" + label);
    Text parts;
    for (int i = 0; i < size && rank == root; ++i) append(parts, bytes_of(unit, root, i));
    Text part(unit);
    engine.scatter(parts.data(), part.data(), unit, root, job.next());
    job.check(part == bytes_of(unit, root, rank), "scatter" + label);
  }
  // Uneven, and with nothing from one of the ranks.
  std::vector<std::size_t> bytes, in_bytes, out_bytes;
  Text expected, sent, received;
  for (int i = 0; i < size; ++i) {
    bytes.push_back(unit * static_cast<std::size_t>(i));
    in_bytes.push_back(unit * static_cast<std::size_t>((rank + 2 * i) % 3));
    out_bytes.push_back(unit * static_cast<std::size_t>((i + 2 * rank) % 3));
    append(expected, bytes_of(bytes.back(), i, 0));
    append(sent, bytes_of(in_bytes.back(), rank, i));
    append(received, bytes_of(out_bytes.back(), i, rank));
  }
  Text out(expected.size());
  engine.all_gather(bytes_of(bytes[static_cast<std::size_t>(rank)], rank, 0).data(), out.data(), bytes.data(),
                    job.next());
  job.check(out == expected, "all_gather" + label);
  out.assign(received.size(), 0);
  engine.all_to_all(sent.data(), in_bytes.data(), out.data(), out_bytes.data(), job.next());
  job.check(out == received, "all_to_all" + label);
  engine.barrier(job.next());
}

void check_barrier(Job& job, Engine& engine) {
  if (job.rank == 0) std::this_thread::sleep_for(milliseconds(300));
  const auto start = steady_clock::now();
  engine.barrier(job.next());
  const auto waited = steady_clock::now() - start;
  job.check(job.rank == 0 || waited > milliseconds(150), "barrier waits for all ranks");
}

/// All pairs at a time in both directions; receives are posted in another order than sends.
void check_messages(Job& job, Engine& engine) {
  if (job.size == 1) return;
  const std::vector<std::size_t> sizes = {0, 1, 1000, 3'000'000};
  std::vector<std::unique_ptr<EngineRequest>> requests;
  std::vector<Text> in, out;
  in.reserve(100), out.reserve(100);
  const auto tag = [](std::size_t i) {
    return CallOptions{static_cast<uint32_t>(0x80000001u + i), milliseconds(30'000), nullptr};
  };
  for (int peer = 0; peer < job.size; ++peer)
    for (std::size_t i = sizes.size(); i-- > 0 && peer != job.rank;) {
      in.emplace_back(sizes[i]);
      requests.push_back(engine.recv(in.back().data(), sizes[i], peer, tag(i)));
    }
  job.check(!requests[0]->test(), "a receive without a send is not complete");
  engine.barrier(job.next());
  for (int peer = 0; peer < job.size; ++peer)
    for (std::size_t i = 0; i < sizes.size() && peer != job.rank; ++i) {
      out.push_back(bytes_of(sizes[i], job.rank, peer));
      requests.push_back(engine.send(out.back().data(), sizes[i], peer, tag(i)));
    }
  for (int polls = 0; polls < 20'000 && !requests[0]->test(); ++polls) std::this_thread::sleep_for(milliseconds(1));
  job.check(requests[0]->test(), "test() completes a receive");
  for (auto& request : requests) request->wait(milliseconds(30'000));
  std::size_t at = 0;
  for (int peer = 0; peer < job.size; ++peer)
    for (std::size_t i = sizes.size(); i-- > 0 && peer != job.rank;)
      job.check(in[at++] == bytes_of(sizes[i], peer, job.rank), "message of " + std::to_string(sizes[i]));
  engine.barrier(job.next());
}

}  // namespace

void collectives(Job& job) {
  const EnginePtr engine = job.make("all");
  check_reductions(job, *engine);
  for (const std::size_t unit : {1, 13, 4096, 700'001}) check_movement(job, *engine, unit);
  check_barrier(job, *engine);
  check_messages(job, *engine);
}

}  // namespace engine_test
