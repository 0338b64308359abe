// The table of reductions on the CPU, with sums, products, means and other folds of numbers.
#include "tandem/core/cpu/reduce_loop.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/formulas/reduce_kernels.h"

namespace tandem {
extern template struct ExtremeMaker<cpu::ReduceLoops>;  // reduce_extreme.cpp
}

namespace tandem::cpu {
ReduceKernels::FoldIndex max_index, min_index;  // reduce_index.cpp

namespace {
using Folds = ReduceMaker<ReduceLoops>;
using Extremes = ExtremeMaker<ReduceLoops>;
}  // namespace

constinit const ReduceKernels reduce_kernels{
    .sum = Folds::sum,
    .prod = Folds::prod,
    .mean = Folds::mean,
    .amax = Extremes::amax,
    .amin = Extremes::amin,
    .any = Extremes::any,
    .all = Extremes::all,
    .count_nonzero = Folds::count_nonzero,
    .norm = Extremes::norm,
    .squared_deviation = Folds::squared_deviation,
    .logsumexp = Folds::logsumexp,
    .max_index = max_index,
    .min_index = min_index,
};

}  // namespace tandem::cpu
