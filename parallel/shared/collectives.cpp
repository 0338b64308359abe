// Differentiable collectives. Each backward is the adjoint collective: all_reduce of all_reduce, reduce of broadcast,
// reduce_scatter of all_gather, all_to_all with exchanged splits, and a message in the other direction.
#include "tandem/parallel/shared/collectives.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/ops.h"
#include "tandem/autograd/record.h"
#include "tandem/core/base/literal.h"

namespace tandem::distributed::functional {
namespace {
using namespace autograd;

Group group_of(const char* operation, const Tensor& tensor, const Group& group) {
  check(tensor.defined(), operation, ": the tensor is undefined");
  return given_or_default(group, operation);
}

bool is_linear(ReduceOp op) { return op == ReduceOp::SUM || op == ReduceOp::AVG; }
void check_gradient(const char* operation, const Tensor& tensor, bool has_gradient, const char* which) {
  check(has_gradient || !recording(tensor), operation, ": only ", which,
        " have gradients; detach() the tensor, or compute the reduction from all_gather(): ", tensor);
}

// A contiguous copy without history.
Tensor copy_of(const Tensor& tensor) {
  Tensor out = empty_raw(tensor.sizes(), tensor.dtype(), tensor.device());
  copy_raw(out, tensor);
  return out;
}
Tensor contiguous(const Tensor& tensor) { return tensor.detach().contiguous(); }
Tensor with_rows(const Tensor& tensor, int64_t rows) {
  std::vector<int64_t> sizes = tensor.sizes().vec();
  sizes[0] = rows;
  return empty_raw(sizes, tensor.dtype(), tensor.device());
}

/// A collective whose gradient is `adjoint` of the gradient of its output.
template <Literal kLabel>
struct AdjointBackward final : Node {
  const char* label() const override { return kLabel.text; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = adjoint(g[0]); }
  std::function<Tensor(const Tensor& gradient)> adjoint;
};
template <Literal kLabel, class Adjoint>
Tensor recorded(const Tensor& out, const Tensor& input, Adjoint&& adjoint) {
  if (auto* node = record<AdjointBackward<kLabel>>(out, input)) node->adjoint = std::forward<Adjoint>(adjoint);
  return out;
}
// `sum` as the gradient of a reduction with `op`.
Tensor averaged(const Tensor& sum, ReduceOp op, const Group& group) {
  return op == ReduceOp::AVG ? sum / static_cast<double>(group->size()) : sum;
}

struct AllReduceBackward final : Node {
  const char* label() const override { return "AllReduceBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    if (is_linear(op)) {
      out[0] = all_reduce(g[0], op, group);
      return;
    }
    const Tensor extreme = (input.unpack(*this) == output.unpack(*this)).to(g[0].dtype());
    out[0] = all_reduce(g[0], ReduceOp::SUM, group) * (extreme / all_reduce(extreme, ReduceOp::SUM, group));
  }
  Group group;
  ReduceOp op = ReduceOp::SUM;
  TANDEM_SAVED(input, output);  // of MIN and MAX
};

struct Message {
  Tensor sent;   // the zero
  WorkPtr work;  // null if the node of `sent` has it
};
Message start_send(const Tensor& tensor, int dst, const Group& group, int tag) {
  const TensorOptions options = TensorOptions(tensor.dtype()).device(tensor.device());
  Message message{zeros({}, options), group->send(copy_of(tensor), dst, tag)};
  if (auto* node = record<AdjointBackward<"SendBackward">>(message.sent, tensor))
    node->adjoint = [=, work = std::move(message.work), sizes = tensor.sizes().vec()](const Tensor& g) {
      work->wait();
      return recv(sizes, TensorOptions(options).requires_grad(true), dst, group, tag, g);
    };
  return message;
}

struct RecvBackward final : Node {
  const char* label() const override { return "RecvBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    // Two ranks may send to each other before they receive, so this must not wait here.
    Message message = start_send(g[0], peer, group, tag);
    if (message.work) queue_callback([work = message.work] { work->wait(); });
    if (needs(0)) out[0] = message.sent.expand(after);
  }
  Group group;
  int peer = 0, tag = 0;
  std::vector<int64_t> after;  // the shape of that tensor
};

}  // namespace

Tensor all_reduce(const Tensor& tensor, ReduceOp op, const Group& given) {
  const Group group = group_of("all_reduce", tensor, given);
  const bool extreme = op == ReduceOp::MIN || op == ReduceOp::MAX;
  check_gradient("all_reduce", tensor, is_linear(op) || extreme, "SUM, AVG, MIN and MAX");
  Tensor out = copy_of(tensor);
  group->all_reduce(out, op)->wait();
  if (auto* node = record<AllReduceBackward>(out, tensor)) {
    node->group = group;
    node->op = op;
    if (extreme) {
      node->input.save(tensor.detach());
      node->output.save(out.detach());
    }
  }
  return out;
}

Tensor reduce(const Tensor& tensor, int dst, ReduceOp op, const Group& given) {
  const Group group = group_of("reduce", tensor, given);
  check_gradient("reduce", tensor, is_linear(op), "SUM and AVG");
  Tensor out = copy_of(tensor);
  group->reduce(out, dst, op)->wait();
  if (group->rank() != dst) fill_raw(out, 0);
  return recorded<"ReduceBackward">(out, tensor,
                                    [=](const Tensor& g) { return averaged(broadcast(g, dst, group), op, group); });
}

Tensor broadcast(const Tensor& tensor, int src, const Group& given) {
  const Group group = group_of("broadcast", tensor, given);
  Tensor out = group->rank() == src ? copy_of(tensor) : empty_raw(tensor.sizes(), tensor.dtype(), tensor.device());
  group->broadcast(out, src)->wait();
  return recorded<"BroadcastBackward">(out, tensor,
                                       [=](const Tensor& g) { return reduce(g, src, ReduceOp::SUM, group); });
}

std::vector<Tensor> all_gather(const Tensor& tensor, const Group& given) {
  const Group group = group_of("all_gather", tensor, given);
  return all_gather_into_tensor(tensor.unsqueeze(0), group).unbind(0);
}

Tensor all_gather_into_tensor(const Tensor& tensor, const Group& given) {
  const Group group = group_of("all_gather_into_tensor", tensor, given);
  check(tensor.dim() > 0, "all_gather_into_tensor: expected at least one dimension; use all_gather for scalars");
  Tensor out = with_rows(tensor, tensor.size(0) * group->size());
  group->all_gather(out, contiguous(tensor))->wait();
  return recorded<"AllGatherBackward">(out, tensor,
                                       [=](const Tensor& g) { return reduce_scatter(g, ReduceOp::SUM, group); });
}

Tensor reduce_scatter(const Tensor& tensor, ReduceOp op, const Group& given) {
  const Group group = group_of("reduce_scatter", tensor, given);
  check_gradient("reduce_scatter", tensor, is_linear(op), "SUM and AVG");
  check(tensor.dim() > 0 && tensor.size(0) % group->size() == 0, "reduce_scatter: expected a multiple of ",
        group->size(), " rows, as many as there are ranks, got ", tensor);
  Tensor out = with_rows(tensor, tensor.size(0) / group->size());
  group->reduce_scatter(out, contiguous(tensor), op)->wait();
  return recorded<"ReduceScatterBackward">(
      out, tensor, [=](const Tensor& g) { return averaged(all_gather_into_tensor(g, group), op, group); });
}

Tensor all_to_all(const Tensor& tensor, IntArrayRef output_splits, IntArrayRef input_splits, const Group& given) {
  const Group group = group_of("all_to_all", tensor, given);
  check(tensor.dim() > 0, "all_to_all: expected at least one dimension");
  int64_t rows = output_splits.empty() ? tensor.size(0) : 0;
  for (const int64_t part : output_splits) {
    check(part >= 0, "all_to_all: output_splits must not be negative, got ", output_splits);
    rows += part;
  }
  Tensor out = with_rows(tensor, rows);
  group->all_to_all(out, contiguous(tensor), output_splits, input_splits)->wait();
  return recorded<"AllToAllBackward">(
      out, tensor, [group, inputs = input_splits.vec(), outputs = output_splits.vec()](const Tensor& g) {
        return all_to_all(g, inputs, outputs, group);
      });
}

Tensor send(const Tensor& tensor, int dst, const Group& given, int tag) {
  Message message = start_send(tensor, dst, group_of("send", tensor, given), tag);
  if (message.work) message.work->wait();
  return message.sent;
}

Tensor recv(IntArrayRef sizes, const TensorOptions& options, int src, const Group& given, int tag,
            const Tensor& after) {
  Tensor out = empty(sizes, TensorOptions(options).requires_grad(false));
  const Group group = group_of("recv", out, given);
  group->recv(out, src, tag)->wait();
  const bool wanted = options.requires_grad() || (after.defined() && after.requires_grad());
  if (!wanted || !GradMode::is_enabled()) return out;
  check(out.is_floating_point(), "recv: a tensor of ", out.dtype(), " cannot require a gradient");
  const IntrusivePtr<RecvBackward> node(new RecvBackward);
  node->group = group;
  node->peer = src;
  node->tag = tag;
  if (after.defined()) node->after = after.sizes().vec();
  autograd::detail::add_input(*node, after);
  autograd::detail::add_output(*node, out);
  return out;
}

}  // namespace tandem::distributed::functional
