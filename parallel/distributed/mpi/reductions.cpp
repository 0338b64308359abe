#include "tandem/parallel/distributed/mpi/reductions.h"

#include <map>
#include <stdexcept>
#include <utility>

#include "tandem/parallel/distributed/mpi/library.h"
#include "tandem/parallel/distributed/reduce_loops.h"

namespace tandem::distributed::mpi {

namespace {

MPI_Datatype type_of(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Byte:
      return MPI_UINT8_T;
    case ScalarType::Char:
      return MPI_INT8_T;
    case ScalarType::Short:
      return MPI_INT16_T;
    case ScalarType::Int:
      return MPI_INT32_T;
    case ScalarType::Long:
      return MPI_INT64_T;
    case ScalarType::Float:
      return MPI_FLOAT;
    case ScalarType::Double:
      return MPI_DOUBLE;
    case ScalarType::Bool:
      return MPI_C_BOOL;
    case ScalarType::Half:
    case ScalarType::BFloat16:
      return MPI_UINT16_T;  // two bytes, which only their own operations read
    default:
      throw std::runtime_error("mpi: cannot reduce this dtype");
  }
}

MPI_Op op_of_numbers(ReduceOp op) {
  switch (op) {
    case ReduceOp::SUM:
      return MPI_SUM;
    case ReduceOp::PRODUCT:
      return MPI_PROD;
    case ReduceOp::MIN:
      return MPI_MIN;
    case ReduceOp::MAX:
      return MPI_MAX;
    case ReduceOp::BAND:
      return MPI_BAND;
    case ReduceOp::BOR:
      return MPI_BOR;
    default:
      return MPI_BXOR;
  }
}

MPI_Op op_of_bools(ReduceOp op) {
  switch (op) {
    case ReduceOp::SUM:
    case ReduceOp::MAX:
    case ReduceOp::BOR:
      return MPI_LOR;
    case ReduceOp::BXOR:
      return MPI_LXOR;
    default:
      return MPI_LAND;
  }
}

template <ScalarType dtype, ReduceOp op>
void combine(void* in, void* inout, int* count, MPI_Datatype*) {
  static const ReduceFunction function = reduce_function(dtype, op);
  function(inout, in, inout, static_cast<std::size_t>(*count));
}

template <ScalarType dtype>
MPI_User_function* own_function(ReduceOp op) {
  switch (op) {
    case ReduceOp::SUM:
      return combine<dtype, ReduceOp::SUM>;
    case ReduceOp::PRODUCT:
      return combine<dtype, ReduceOp::PRODUCT>;
    case ReduceOp::MIN:
      return combine<dtype, ReduceOp::MIN>;
    default:
      return combine<dtype, ReduceOp::MAX>;
  }
}

// MPI lacks the two-byte types, and its MIN and MAX do not let NaN win. Null: MPI's own operation is right; it is
// better where there is a choice, because networks may carry it out.
MPI_User_function* own_function(ScalarType dtype, ReduceOp op) {
  const bool extreme = op == ReduceOp::MIN || op == ReduceOp::MAX;
  if (dtype == ScalarType::Half) return own_function<ScalarType::Half>(op);
  if (dtype == ScalarType::BFloat16) return own_function<ScalarType::BFloat16>(op);
  if (dtype == ScalarType::Float && extreme) return own_function<ScalarType::Float>(op);
  if (dtype == ScalarType::Double && extreme) return own_function<ScalarType::Double>(op);
  return nullptr;
}

}  // namespace

Reduction reduction(ScalarType dtype, ReduceOp op) {
  if (reduce_function(dtype, op) == nullptr) throw std::runtime_error("MPI: the dtype does not have this reduction");
  const MPI_Datatype type = type_of(dtype);
  MPI_User_function* const function = own_function(dtype, op);
  if (function == nullptr) return {type, dtype == ScalarType::Bool ? op_of_bools(op) : op_of_numbers(op)};
  static auto& made = *new std::map<std::pair<ScalarType, ReduceOp>, MPI_Op>;
  const auto [at, is_new] = made.try_emplace({dtype, op}, MPI_OP_NULL);
  if (is_new) check(MPI_Op_create(function, 1, &at->second), "MPI_Op_create");
  return {type, at->second};
}

}  // namespace tandem::distributed::mpi
