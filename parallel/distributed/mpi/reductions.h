// Tandem's dtypes and reductions as MPI's.
#pragma once
#include <mpi.h>

#include "tandem/core/dtype.h"
#include "tandem/parallel/distributed/engine.h"

namespace tandem::distributed::mpi {

struct Reduction {
  MPI_Datatype type;
  MPI_Op op;
};

/// Throws std::runtime_error if the dtype does not have the operation. library_mutex() must be held.
Reduction reduction(ScalarType dtype, ReduceOp op);

}  // namespace tandem::distributed::mpi
