// Differentiable collectives and messages between the processes of a group, for tensor and pipeline parallelism
// (torch.distributed.nn.functional).
//
//   Tensor y = functional::all_reduce(x.mm(own_columns));       // the gradient of the sum of all ranks' losses
//
// Gradients are those of the sum of the losses of all ranks, which is P times the loss where all of them compute the
// same one. Their backward communicates, too, so every rank must run backward through the same calls: a rank whose
// result takes no part in its loss lets the others wait, and fail after the timeout. Inputs must require a gradient on
// all ranks or on none. Backward consists of the same functions, so gradients of gradients work in the same way
// (create_graph).
//
// Without a `group` the default group is used. Throws Error when there is none, and otherwise as ProcessGroup does.
// Inputs may be strided; results are contiguous.
#pragma once
#include <memory>
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/parallel/distributed/process_group.h"

namespace tandem::distributed::functional {

using Group = std::shared_ptr<ProcessGroup>;

/// The reduction of all ranks' tensors, on every rank. SUM, AVG, MIN and MAX have gradients (equal extremes share
/// theirs); the others throw Error for a tensor that requires one.
Tensor all_reduce(const Tensor& tensor, ReduceOp op = ReduceOp::SUM, const Group& group = nullptr);
/// The same on rank `dst`; zeros on the others.
Tensor reduce(const Tensor& tensor, int dst, ReduceOp op = ReduceOp::SUM, const Group& group = nullptr);
/// The tensor of rank `src`, on every rank. The others' tensors give shape and dtype, and get zeros as gradients.
Tensor broadcast(const Tensor& tensor, int src, const Group& group = nullptr);
/// Every rank's tensor, in rank order.
std::vector<Tensor> all_gather(const Tensor& tensor, const Group& group = nullptr);
/// [n, …] of every rank, joined to [P n, …] in rank order.
Tensor all_gather_into_tensor(const Tensor& tensor, const Group& group = nullptr);
/// [P n, …] to [n, …]: block `rank` of the reduction. Only SUM and AVG have gradients.
Tensor reduce_scatter(const Tensor& tensor, ReduceOp op = ReduceOp::SUM, const Group& group = nullptr);
/// Rows input_splits[i] of `tensor` go to rank i, and output_splits[i] rows come from rank i; equal parts if empty.
Tensor all_to_all(const Tensor& tensor, IntArrayRef output_splits = {}, IntArrayRef input_splits = {},
                  const Group& group = nullptr);

/// Sends a copy of the tensor to rank `dst`. Returns a zero [] that stands for what `dst` makes of it: its
/// backward receives the gradient from there, so add it to the loss, or call backward() on it. Returns before the
/// message has arrived if the tensor requires a gradient. Every backward for which `dst` runs that of recv() needs it,
/// the second one of create_graph included.
Tensor send(const Tensor& tensor, int dst, const Group& group = nullptr, int tag = 0);
/// Receives a tensor from rank `src`, which sends with the same `tag`. If the sender's tensor requires a gradient,
/// `options` must: backward then sends the gradient to `src`. `after`, if defined, is a tensor that the result is made
/// to depend on, such as what send() returned: backward sends the gradient before it goes on there.
Tensor recv(IntArrayRef sizes, const TensorOptions& options, int src, const Group& group = nullptr, int tag = 0,
            const Tensor& after = {});

}  // namespace tandem::distributed::functional
