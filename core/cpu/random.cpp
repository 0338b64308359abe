// Random numbers on the CPU.
//
// Blocks are generated sixteen at a time, one per lane. The last group is generated in full and truncated
// when copied, so an element is computed by the same instructions wherever it is.
#include <algorithm>
#include <cstring>

#include "tandem/core/backend/random.h"
#include "tandem/core/cpu/philox_lanes.h"
#include "tandem/core/cpu/pointwise/loop.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/formulas/count_ops.h"
#include "tandem/core/formulas/random_ops.h"

namespace tandem::cpu {

void philox_lanes(PhiloxLanes& out, const Generator::Draw& draw, uint64_t first) {
  alignas(64) uint32_t c0[kPhiloxLanes], c1[kPhiloxLanes], c2[kPhiloxLanes], c3[kPhiloxLanes];
  for (int l = 0; l < kPhiloxLanes; ++l) {
    const uint64_t block = first + static_cast<uint64_t>(l);
    c0[l] = static_cast<uint32_t>(block);
    c1[l] = static_cast<uint32_t>(block >> 32);
    c2[l] = static_cast<uint32_t>(draw.offset);
    c3[l] = static_cast<uint32_t>(draw.offset >> 32);
  }
  uint32_t k0 = static_cast<uint32_t>(draw.seed), k1 = static_cast<uint32_t>(draw.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int l = 0; l < kPhiloxLanes; ++l) philox_round(c0[l], c1[l], c2[l], c3[l], k0, k1);
    k0 += kPhiloxWeyl0;
    k1 += kPhiloxWeyl1;
  }
  std::memcpy(out.word[0], c0, sizeof c0);
  std::memcpy(out.word[1], c1, sizeof c1);
  std::memcpy(out.word[2], c2, sizeof c2);
  std::memcpy(out.word[3], c3, sizeof c3);
}

namespace {

// Generates one group of elements of a draw; the first is element kPhiloxLanes kCount group.
template <class Op, class T>
inline void fill_group(T* out, const Generator::Draw& draw, const RandomParameters& p, int64_t group) {
  constexpr int n = Op::template kCount<T>;
  PhiloxLanes words;
  philox_lanes(words, draw, static_cast<uint64_t>(group) * kPhiloxLanes);
  for (int l = 0; l < kPhiloxLanes; ++l)
    Op::apply(PhiloxBlock{{words.word[0][l], words.word[1][l], words.word[2][l], words.word[3][l]}}, p, out + l * n);
}

template <class Op, class T>
void fill_typed(const Tensor& out, const Generator::Draw& draw, const RandomParameters& p) {
  constexpr int64_t count = kPhiloxLanes * Op::template kCount<T>;
  static_assert(kGrain % count == 0);
  T* data = out.ptr<T>();
  parallel_for(out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += count) {
      if (i + count <= end) {
        fill_group<Op, T>(data + i, draw, p, i / count);
      } else {
        T rest[count];
        fill_group<Op, T>(rest, draw, p, i / count);
        std::copy_n(rest, end - i, data + i);
      }
    }
  });
}

struct Maker {
  template <class Op>
  static void kernel(const Tensor& out, const Generator::Draw& draw, const RandomParameters& p) {
    dispatch(out.dtype(), typename Op::Types{}, Op::name, [&]<class T>(Type<T>) { fill_typed<Op, T>(out, draw, p); });
  }
};

constinit const FillRandomKernels fill_kernels = FillRandomKernels::from<Maker>(kTakesHalf);

double uniform_at(const Generator::Draw& draw, int64_t element) {
  const PhiloxBlock block = philox(draw.seed, draw.offset, static_cast<uint64_t>(element) / 2);
  const int word = static_cast<int>(element % 2) * 2;
  return uniform_double(block.word[word], block.word[word + 1]);
}

void check_weights(const double* weights, int64_t row, int64_t columns, bool replacement, int64_t samples) {
  int64_t positive = 0;
  for (int64_t c = 0; c < columns; ++c) {
    check(weights[c] >= 0 && std::isfinite(weights[c]), "multinomial: weight ", weights[c], " in row ", row,
          ": weights must be finite and not negative");
    positive += weights[c] > 0;
  }
  check(positive > 0, "multinomial: all weights of row ", row, " are 0");
  check(replacement || positive >= samples, "multinomial: ", samples, " samples without replacement, but row ", row,
        " has only ", positive, " positive weights");
}

void multinomial(const Tensor& out, const Tensor& weights, bool replacement, const Generator::Draw& draw) {
  const int64_t rows = weights.size(0), columns = weights.size(1), samples = out.size(1);
  for (int64_t r = 0; r < rows; ++r)
    check_weights(weights.ptr<double>() + r * columns, r, columns, replacement, samples);
  const int64_t work = std::max<int64_t>(1, columns + samples);
  parallel_for(rows, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
    std::vector<double> sums(static_cast<std::size_t>(columns));
    std::vector<std::pair<double, int64_t>> times(replacement ? 0 : static_cast<std::size_t>(columns));
    for (int64_t r = begin; r < end; ++r) {
      const double* w = weights.ptr<double>() + r * columns;
      int64_t* o = out.ptr<int64_t>() + r * samples;
      if (replacement) {
        double sum = 0;
        for (int64_t c = 0; c < columns; ++c) sums[static_cast<std::size_t>(c)] = sum += w[c];
        // A rounded product may reach the whole sum, so the last column with a weight is the limit.
        const auto last = std::lower_bound(sums.begin(), sums.end(), sum);
        for (int64_t k = 0; k < samples; ++k)
          o[k] = std::upper_bound(sums.begin(), last, uniform_at(draw, r * samples + k) * sum) - sums.begin();
      } else {
        for (int64_t c = 0; c < columns; ++c)
          times[static_cast<std::size_t>(c)] = {
              w[c] > 0 ? -random_math::log(1 - uniform_at(draw, r * columns + c)) / w[c] : HUGE_VAL, c};
        std::partial_sort(times.begin(), times.begin() + samples, times.end());
        for (int64_t k = 0; k < samples; ++k) o[k] = times[static_cast<std::size_t>(k)].second;
      }
    }
  });
}

constexpr int64_t kCountGrain = 256;  // elements per thread: a count takes several logarithms

void poisson(const Tensor& out, const Tensor& rates, const Generator::Draw& draw) {
  parallel_for_each(out.numel(), kCountGrain, [&](int64_t i) {
    out.ptr<double>()[i] = ops::poisson(rates.ptr<double>()[i], ops::UniformPairs(draw, i));
  });
}

void binomial(const Tensor& out, const Tensor& counts, const Tensor& probabilities, const Generator::Draw& draw) {
  parallel_for_each(out.numel(), kCountGrain, [&](int64_t i) {
    out.ptr<double>()[i] =
        ops::binomial(counts.ptr<double>()[i], probabilities.ptr<double>()[i], ops::UniformPairs(draw, i));
  });
}

}  // namespace

constinit const RandomKernels random_kernels{
    .fill = fill_kernels, .multinomial = multinomial, .poisson = poisson, .binomial = binomial};

}  // namespace tandem::cpu
