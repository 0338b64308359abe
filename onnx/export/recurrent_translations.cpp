// Translations of the steps of recurrent layers.
#include "tandem/autograd/ops.h"
#include "tandem/core/backend/recurrent.h"
#include "tandem/onnx/export/arguments.h"

namespace tandem::onnx::exporter {
namespace {

Tensor rows_of(const Tensor& t, int64_t at, int64_t rows) {
  return alias(t, {rows, t.size(1)}, t.strides(), t.storage_offset() + at * t.stride(0));
}

void pack(Recorder&, const KernelCall&) {}  // only another layout of the weight, which a product gets, too

void product(Recorder& r, const KernelCall& call) {
  const auto& p = argument<StepProduct>(call, 0);
  const int64_t rows = integer(call, 3);
  const Tensor to = rows_of(p.to, integer(call, 1), rows), from = rows_of(p.from, integer(call, 2), rows);
  Id value = r.add("MatMul", {r.read(from), r.read(p.weight)}, {}, to.scalar_type(), sizes_of(to));
  if (p.add) value = r.add("Add", {r.read(to), value});
  r.write(to, value);
}

void forward(Recorder& r, const KernelCall& call) {
  const auto& step = argument<RecurrentForward>(call, 0);
  const int64_t at = integer(call, 1), rows = integer(call, 2);
  const Tensor gates = rows_of(step.gates, at, rows), h = rows_of(step.h, 0, rows), out = rows_of(step.out, at, rows);
  const ScalarType dtype = h.scalar_type();
  const Ints sizes = sizes_of(h);
  switch (step.kind) {
    case RecurrentKind::kTanh:
    case RecurrentKind::kRelu: {
      const Id state = r.add(step.kind == RecurrentKind::kTanh ? "Tanh" : "Relu", {r.read(gates)});
      r.write(h, state);
      r.write(out, state);
      return;
    }
    case RecurrentKind::kLstm: {
      const Tensor c = rows_of(step.c, 0, rows);
      const std::vector<Id> made =
          r.call_many("lstm_cell", {r.read(gates), r.read(c)}, {}, {{dtype, sizes}, {dtype, sizes}});
      r.write(h, made[0]);
      r.write(out, made[0]);
      r.write(c, made[1]);
      return;
    }
    case RecurrentKind::kGru: {
      const Id hidden = r.add("Add", {r.read(rows_of(step.hidden, 0, rows)), r.read(step.bias)});
      const Id state = r.call("gru_cell", {r.read(gates), hidden, r.read(h)}, {}, dtype, sizes);
      r.write(h, state);
      r.write(out, state);
      return;
    }
  }
}

}  // namespace

const Translations& recurrent_translations() {
  static const Translations list = {
      {"recurrent_pack", pack}, {"recurrent_product", product}, {"recurrent_forward", forward}};
  return list;
}

}  // namespace tandem::onnx::exporter
