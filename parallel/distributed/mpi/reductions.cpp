#include "tandem/parallel/distributed/mpi/reductions.h"

#include <map>
#include <stdexcept>
#include <utility>

#include "tandem/parallel/distributed/mpi/library.h"
#include "tandem/parallel/distributed/reduce_loops.h"

namespace tandem::distributed::mpi {

namespace {

MPI_Datatype type_of(ScalarType dtype) {
  const std::pair<ScalarType, MPI_Datatype> types[] = {
      {kByte, MPI_UINT8_T},  {kChar, MPI_INT8_T},      {kShort, MPI_INT16_T}, {kInt, MPI_INT32_T},
      {kLong, MPI_INT64_T},  {kFloat, MPI_FLOAT},      {kDouble, MPI_DOUBLE}, {kBool, MPI_C_BOOL},
      {kHalf, MPI_UINT16_T}, {kBFloat16, MPI_UINT16_T}};  // two bytes, which only their own operations read
  for (const auto& [own, type] : types)
    if (own == dtype) return type;
  throw std::runtime_error("mpi: cannot reduce this dtype");
}

// By ReduceOp, except AVG, which engines do not know. MPI's handles need not be constants.
MPI_Op op_of(ReduceOp op, bool logical) {
  const MPI_Op numbers[] = {MPI_SUM, MPI_OP_NULL, MPI_PROD, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BOR, MPI_BXOR};
  const MPI_Op bools[] = {MPI_LOR, MPI_OP_NULL, MPI_LAND, MPI_LAND, MPI_LOR, MPI_LAND, MPI_LOR, MPI_LXOR};
  return (logical ? bools : numbers)[static_cast<std::size_t>(op)];
}

template <ScalarType dtype, ReduceOp op>
void combine(void* in, void* inout, int* count, MPI_Datatype*) {
  static const ReduceFunction function = reduce_function(dtype, op);
  function(inout, in, inout, static_cast<std::size_t>(*count));
}

template <ScalarType dtype>
MPI_User_function* own_function(ReduceOp op) {
  constexpr MPI_User_function* functions[] = {combine<dtype, ReduceOp::SUM>, nullptr, combine<dtype, ReduceOp::PRODUCT>,
                                              combine<dtype, ReduceOp::MIN>, combine<dtype, ReduceOp::MAX>};
  return functions[static_cast<std::size_t>(op)];
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
  if (function == nullptr) return {type, op_of(op, dtype == ScalarType::Bool)};
  static auto& made = *new std::map<std::pair<ScalarType, ReduceOp>, MPI_Op>;
  const auto [at, is_new] = made.try_emplace({dtype, op}, MPI_OP_NULL);
  if (is_new) check(MPI_Op_create(function, 1, &at->second), "MPI_Op_create");
  return {type, at->second};
}

}  // namespace tandem::distributed::mpi
