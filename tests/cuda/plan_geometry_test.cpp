// The inputs of plans and launches: keys of plan caches, matrix layouts, pooling windows, columns of batch
// normalisation, blocks of cat.
// Plain host code.
#include <doctest/doctest.h>

#include <unordered_set>

#include "tandem/cuda/ops/batch_norm_columns.h"
#include "tandem/cuda/ops/cat_batch.h"
#include "tandem/cuda/ops/matmul_matrix.h"
#include "tandem/cuda/ops/pool2d_windows.h"
#include "tandem/cuda/plan_key.h"

using namespace tandem;
using namespace tandem::cuda_impl;

namespace {

// Calls f(key) once per field, and per array element, with that one changed.
template <class Key, class F>
void change_each(const Key& key, F f) {
  const auto change = [&](auto& field, auto& self) -> void {
    using T = std::remove_reference_t<decltype(field)>;
    if constexpr (requires { field[0]; }) {
      for (auto& element : field) self(element, self);
    } else {
      const T before = field;
      field = static_cast<T>(static_cast<int64_t>(field) == 0 ? 1 : static_cast<int64_t>(field) - 1);
      f();
      field = before;
    }
  };
  std::apply(
      [&](const auto&... field) { (change(const_cast<std::remove_cvref_t<decltype(field)>&>(field), change), ...); },
      key.fields());
}

// Number of bytes that a key's fields cover.
template <class Key>
std::size_t bytes_of_fields(const Key& key) {
  return std::apply([](const auto&... field) { return (sizeof field + ...); }, key.fields());
}

template <class Key>
void check_key(int changes) {
  Key key;
  std::unordered_set<std::size_t> hashes{PlanHash{}(key)};
  int seen = 0;
  change_each(key, [&] {
    ++seen;
    CHECK_FALSE(key == Key{});
    CHECK(hashes.insert(PlanHash{}(key)).second);
  });
  CHECK(seen == changes);
  CHECK(key == Key{});
}

}  // namespace

TEST_CASE("keys that differ in one field are different") {
  check_key<LinearKey>(9 + 4);
  check_key<ConvKey>(6 + 3 + 3 * 4 + 3 * 2 + 1);
  // A field missing from fields() would show here: the padding is smaller than a number.
  CHECK(sizeof(LinearKey) - bytes_of_fields(LinearKey{}) < sizeof(int64_t));
  CHECK(sizeof(ConvKey) - bytes_of_fields(ConvKey{}) < sizeof(int64_t));
}

TEST_CASE("padding bytes of a key do not matter") {
  alignas(LinearKey) unsigned char zeros[sizeof(LinearKey)], ones[sizeof(LinearKey)];
  std::fill(std::begin(zeros), std::end(zeros), static_cast<unsigned char>(0));
  std::fill(std::begin(ones), std::end(ones), static_cast<unsigned char>(0xff));
  const auto set = [](unsigned char* memory) {
    auto* key = reinterpret_cast<LinearKey*>(memory);
    key->m = 3, key->n = 4, key->k = 5, key->ld_x = 5, key->ld_weight = 5;
    key->x_transposed = false, key->weight_transposed = true, key->dtype = kDouble, key->tf32 = false;
    key->alignment = {16, 256, 4, 8};
    return key;
  };
  const LinearKey *a = set(zeros), *b = set(ones);
  CHECK(*a == *b);
  CHECK(PlanHash{}(*a) == PlanHash{}(*b));
}

TEST_CASE("keys with swapped fields have different hashes") {
  std::unordered_set<std::size_t> hashes;
  for (int64_t m = 1; m <= 20; ++m)
    for (int64_t n = 1; n <= 20; ++n)
      for (int64_t k = 1; k <= 20; ++k) hashes.insert(PlanHash{}(LinearKey{.m = m, .n = n, .k = k}));
  CHECK(hashes.size() == 8000);
}

TEST_CASE("the alignment of an address") {
  const auto at = [](uintptr_t address) { return alignment_of(reinterpret_cast<const void*>(address)); };
  CHECK(at(4096) == 256);
  CHECK(at(4096 + 4) == 4);
  CHECK(at(4096 + 48) == 16);
  CHECK(at(4096 + 128) == 128);
}

TEST_CASE("matrices as BLAS expects them") {
  const auto is = [](const MatrixLayout& m, bool transposed, int64_t ld) {
    return m.dense && m.transposed == transposed && m.ld == ld;
  };
  CHECK(is(matrix_layout(3, 4, 4, 1), false, 4));
  CHECK(is(matrix_layout(3, 4, 10, 1), false, 10));
  CHECK(is(matrix_layout(3, 4, 1, 3), true, 3));
  CHECK(is(matrix_layout(3, 4, 1, 8), true, 8));
  CHECK_FALSE(matrix_layout(3, 4, 8, 2).dense);
  CHECK_FALSE(matrix_layout(3, 4, 0, 1).dense);    // rows expanded
  CHECK_FALSE(matrix_layout(3, 4, 1, 0).dense);    // columns expanded
  CHECK_FALSE(matrix_layout(3, 4, 2, 1).dense);    // rows that overlap
  CHECK(is(matrix_layout(1, 4, 0, 1), false, 4));  // a row, whatever its stride
  CHECK(is(matrix_layout(1, 4, 7, 3), true, 3));   // a row with stride
  CHECK(is(matrix_layout(4, 1, 3, 9), false, 3));  // a column with stride
  CHECK(is(matrix_layout(1, 1, 0, 0), false, 1));
}

TEST_CASE("pooling outputs with an input in their window") {
  int cases = 0;
  for (int32_t in = 1; in <= 9; ++in)
    for (int32_t kernel = 1; kernel <= 5; ++kernel)
      for (int32_t stride = 1; stride <= 6; ++stride)
        for (int32_t pad = 0; pad <= kernel / 2; ++pad)
          for (int32_t dilation = 1; dilation <= 4; ++dilation)
            for (int ceil_mode = 0; ceil_mode <= 1; ++ceil_mode) {
              if (in + 2 * pad < dilation * (kernel - 1) + 1) continue;
              const auto out = static_cast<int32_t>(window_count(in, kernel, stride, pad, dilation, ceil_mode != 0));
              const PoolAxis axis{in, out, kernel, stride, pad, dilation};
              ++cases;
              int32_t last = kernel;
              if (dilation == 1) static_cast<void>(axis.window(out - 1, last));
              if (dilation == 1) CHECK(axis.full() == (last == kernel));
              for (int32_t o = 0; o < out; ++o) {
                const Range places = axis.dilated(o);
                bool inside = false;
                for (int32_t k = 0; k < kernel; ++k) {
                  const int32_t i = o * stride - pad + k * dilation;
                  if (i < 0 || i >= in) continue;
                  if (!inside) CHECK(places.begin == i);
                  inside = true;
                  CHECK(i < places.end);
                  const Range found = axis.outputs(i);
                  CHECK((found.begin <= o && o < found.end));
                }
                if (inside) continue;  // otherwise its position is the last one of the input
                CHECK(places.begin >= in);
                const Range found = axis.outputs(in - 1);
                CHECK((found.begin <= o && o < found.end));
              }
              for (int32_t i = 0; dilation == 1 && i < in; ++i) {  // no output too many
                const Range found = axis.outputs(i);
                CHECK(found.end <= out);
                if (stride >= kernel) CHECK(axis.output(i) == (found.begin < found.end ? found.begin : -1));
                for (int32_t o = found.begin; o < found.end; ++o) {
                  int32_t padded = 0;
                  const Range window = axis.window(o, padded);
                  CHECK((window.begin <= i && i < window.end));
                  CHECK(padded >= window.end - window.begin);
                }
              }
            }
  CHECK(cases > 2500);
}

namespace {

// Visits every element of [outer, channels, plane] once, in packs of columns, and checks its channel.
void check_columns(int64_t outer, int64_t channels, int64_t plane, const Columns& m) {
  std::vector<int> visits(static_cast<std::size_t>(outer * channels * plane));
  bool right = true;
  for (int64_t r = 0; r < m.rows; ++r)
    for (int64_t p = 0; p < m.packs; ++p) {
      int64_t channel[8];
      m.per_channel(p * m.pack, channel, [](int64_t c) { return c; });
      for (int k = 0; k < m.count(p * m.pack); ++k) {
        const int64_t at = m.row(r) + m.column(p * m.pack) + k;
        right = right && channel[k] == at / plane % channels;
        ++visits[static_cast<std::size_t>(at)];
      }
    }
  CHECK(right);
  CHECK(std::all_of(visits.begin(), visits.end(), [](int n) { return n == 1; }));
}

// The places of the blocks' sums, and the units that they add.
void check_tiles(const Columns& m, const ColumnTiles& t) {
  CHECK(t.across * t.lines <= kLineThreads);
  CHECK(t.part_rows <= int64_t{ColumnTiles::kMaxRun} * t.lines);
  CHECK((t.parts - 1) * t.part_rows < m.rows);
  CHECK(t.parts * t.part_rows >= m.rows);
  CHECK((m.inner % t.unit == 0 && t.unit * t.units == m.pack));
  std::vector<int64_t> added(static_cast<std::size_t>(m.channels));
  for (int64_t tile = 0; tile < t.tiles; ++tile)
    for (int64_t unit = tile * t.tile(); unit < std::min((tile + 1) * t.tile(), m.channels * t.inner); ++unit) {
      const int64_t slot = unit / t.inner - t.first_channel(m, tile);
      CHECK((slot >= 0 && slot < t.slots));
      ++added[static_cast<std::size_t>(unit / t.inner)];
    }
  CHECK(std::all_of(added.begin(), added.end(), [&](int64_t n) { return n == t.inner; }));
}

}  // namespace

TEST_CASE("columns of batch normalisation") {
  const std::vector<std::array<int64_t, 3>> shapes = {{3, 5, 49},   {5, 16, 49},  {2, 6, 196}, {70, 3, 1},
                                                      {33, 24, 1},  {2, 4096, 1}, {3, 7, 3},   {1, 2, 4096},
                                                      {3, 1, 4400}, {1, 1, 1}};
  for (const int pack : {2, 4, 8})
    for (const auto& s : shapes) {
      CAPTURE(pack);
      CAPTURE(s[2]);
      const Columns m(s[0], s[1], s[2], pack);
      check_columns(s[0], s[1], s[2], m);
      check_tiles(m, ColumnTiles(m));
    }
  CHECK(Columns(1, 2, 4096, 8).chunks == 32);
  CHECK(Columns(1, 2, 4097, 8).chunks == 1);
  CHECK(Columns(16, 2, 4096, 8).chunks == 1);
  const Columns large(int64_t{1} << 20, 64, 50176, 8);  // more than 2^31 packs
  CHECK(large.by_packs.quotient(large.packs * 1000000 + 5) == 1000000);
  for (const auto& [outer, channels, plane] : {std::array<int64_t, 3>{0, 3, 5}, {3, 0, 5}, {3, 5, 0}})
    CHECK(ColumnTiles(Columns(outer, channels, plane, 4)).parts == 0);
}

TEST_CASE("adaptive pooling outputs with an input in their window") {
  for (int32_t in = 1; in <= 24; ++in)
    for (int32_t out = 1; out <= 30; ++out) {
      const AdaptiveAxis axis{in, out};
      for (int32_t i = 0; i < in; ++i)
        for (int32_t o = 0; o < out; ++o) {
          const Range window = axis.window(o), outputs = axis.outputs(i);
          CHECK(window.begin == o * in / out);
          CHECK((window.begin <= i && i < window.end) == (outputs.begin <= o && o < outputs.end));
        }
    }
  const AdaptiveAxis large{1 << 29, (1 << 29) - 1};
  CHECK(large.window((1 << 29) - 2).end == 1 << 29);
}

TEST_CASE("a block of cat finds its part") {
  CatBatch batch;
  std::vector<uint32_t> part_of_block;
  uint32_t sizes = 1;
  while (batch.add({nullptr, nullptr, 1 + sizes % 3, 1 + sizes * 7919 % 5000})) {
    const uint32_t k = batch.parts - 1;
    for (uint32_t b = 0; b * kCatBlock < batch.units[k]; ++b) part_of_block.push_back(k);
    ++sizes;
  }
  CHECK(batch.parts == static_cast<uint32_t>(kMaxCatParts));
  REQUIRE(batch.blocks == part_of_block.size());
  for (uint32_t b = 0; b < batch.blocks; ++b) CHECK(batch.part_of(b) == part_of_block[b]);
}

TEST_CASE("units of cat") {
  CHECK(cat_unit(0) == 16);
  CHECK(cat_unit(64 | 48) == 16);
  CHECK(cat_unit(64 | 24) == 8);
  CHECK(cat_unit(64 | 4) == 4);
  CHECK(cat_unit(64 | 6) == 2);
  CHECK(cat_unit(7) == 1);
  CHECK(cat_rows(1) * 1 + kCatBlock <= int64_t{1} << 31);
  CHECK(cat_rows(int64_t{1} << 28) == 3);
  CHECK(cat_rows(int64_t{1} << 40) == 1);
}
