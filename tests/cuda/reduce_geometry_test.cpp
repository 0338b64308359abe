// The layouts of reductions. Plain host code.
#include "tandem/cuda/reduce_geometry.h"

#include <doctest/doctest.h>

using namespace tandem;
using namespace tandem::cuda_impl;

namespace {

// The geometry for a tensor that is never read.
ReduceGeometry geometry(IntArrayRef sizes, uint32_t mask, int64_t item_size = 4, uintptr_t address = 0) {
  ReduceDims dims;
  int64_t stride = 1;
  for (std::size_t d = sizes.size(); d-- > 0; stride *= sizes[d]) {
    if (sizes[d] == 1) continue;
    const bool reduced = mask >> d & 1u;
    auto* list = reduced ? dims.reduced : dims.kept;
    int& count = reduced ? dims.reduced_count : dims.kept_count;
    for (int i = count; i > 0; --i) list[i] = list[i - 1];
    list[0] = {sizes[d], stride, reduced ? 0 : stride};
    ++count;
    (reduced ? dims.elements : dims.outputs) *= sizes[d];
  }
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] != 1) dims.outer = (mask >> d & 1u) == 0;
  return make_reduce_geometry(dims, item_size, address);
}

}  // namespace

TEST_CASE("layouts of reductions follow from shapes") {
  SUBCASE("one long row: many parts of whole vectors") {
    const auto g = geometry({1 << 28}, 1);
    CHECK(!g.columns);
    CHECK(g.vector);
    CHECK(g.lanes == 256);
    CHECK(g.parts == 4096);
    CHECK(g.part_size * g.parts >= g.elements);
    CHECK(g.part_size % 4096 == 0);
  }
  SUBCASE("rows: a warp or less each") {
    CHECK(geometry({100000, 10}, 2).lanes == 4);
    CHECK(geometry({100000, 64}, 2).lanes == 4);
    CHECK(geometry({100000, 512}, 2).lanes == 32);
    CHECK(geometry({100000, 4096}, 2).lanes == 32);
    CHECK(geometry({100000, 8192}, 2).lanes == 256);
    CHECK(geometry({100, 2048}, 2).lanes == 256);
    CHECK(!geometry({100, 2047}, 2).vector);
    CHECK(!geometry({100, 2048}, 2, 4, 8).vector);
  }
  SUBCASE("columns") {
    const auto g = geometry({16384, 16384}, 1);
    CHECK(g.columns);
    CHECK(g.lanes == 32);
    CHECK(g.tiles == 128);
    CHECK(g.parts == 32);
    CHECK(g.blocks() == 4096);
    CHECK(geometry({1000, 10}, 1).lanes == 4);
    CHECK(geometry({1000, 1}, 1).elements == 1000);
  }
  SUBCASE("columns of small planes: one thread per output") {
    const auto g = geometry({100000, 2, 3}, 0b010);
    CHECK(!g.columns);
    CHECK(!g.vector);
    CHECK(g.lanes == 1);
    CHECK(g.blocks() == (300000 + 255) / 256);
    CHECK(g.kept.offsets(4).at[0] == 7);
    CHECK(geometry({100, 2, 3}, 0b010).columns);
  }
  SUBCASE("parts cover the elements and are not empty") {
    for (const int64_t n : {1, 100, 4095, 4096, 4097, 99999, 1 << 20, 16777259})
      for (const bool rows : {true, false}) {
        const auto g = rows ? geometry({n}, 1) : geometry({n, 3}, 1);
        CHECK(g.part_size * g.parts >= g.elements);
        CHECK(g.part_size * (g.parts - 1) < g.elements);
      }
  }
  SUBCASE("vectors, if no stride but the innermost one is in their way") {
    const auto vector = [](std::vector<ReduceDims::Dim> kept, std::vector<ReduceDims::Dim> reduced, bool outer) {
      ReduceDims dims;
      dims.outer = outer;
      for (const auto& d : kept) {
        dims.kept[dims.kept_count++] = d;
        dims.outputs *= d.size;
      }
      for (const auto& d : reduced) {
        dims.reduced[dims.reduced_count++] = d;
        dims.elements *= d.size;
      }
      return make_reduce_geometry(dims, 4, 0).vector;
    };
    const auto columns = [&](int64_t kept, int64_t reduced, int64_t size, int64_t stride = 1) {
      return vector({{3, kept, size}, {size, stride, 1}}, {{5, reduced, 0}}, true);
    };
    CHECK(columns(44, 8, 8));
    CHECK(!columns(42, 8, 8));
    CHECK(!columns(44, 9, 8));
    CHECK(!columns(44, 8, 6));
    CHECK(!columns(44, 8, 8, 4));
    const auto rows = [&](int64_t kept, int64_t reduced, int64_t size, int64_t stride = 1) {
      return vector({{3, kept, 1}}, {{5, reduced, 0}, {size, stride, 0}}, false);
    };
    CHECK(rows(44, 8, 8));
    CHECK(!rows(42, 8, 8));
    CHECK(!rows(44, 9, 8));
    CHECK(!rows(44, 8, 6));
    CHECK(!rows(44, 8, 8, 4));
    CHECK(vector({{3, 8, 1}}, {{6, 1, 0}}, false));
    CHECK(!vector({{3, 6, 1}}, {{6, 1, 0}}, false));
    CHECK(!vector({{3, 8, 1}}, {{6, 4, 0}}, false));
  }
  SUBCASE("more than 2^31 elements") {
    const auto g = geometry({3, int64_t{1} << 31, 2}, 0b010);
    CHECK(g.reduced.wide);
    CHECK(g.reduced.offsets((int64_t{1} << 31) - 1).at[0] == 2 * ((int64_t{1} << 31) - 1));
    CHECK(geometry({int64_t{1} << 32}, 1).blocks() == 4096);
  }
}

TEST_CASE("walks of any size") {
  LongWalk<2> walk;
  walk.push(5, {1, 2});
  walk.push(7, {100, 0});
  CHECK(walk.offsets(13).at[0] == 203);
  CHECK(walk.offsets(13).at[1] == 6);
  walk.wide = true;
  CHECK(walk.offsets(34).at[0] == 604);
}
