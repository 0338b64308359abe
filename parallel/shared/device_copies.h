// Communication between devices: copies and sums of tensors on different devices.
//
// Every function is differentiable except all_reduce and all_reduce_coalesced, being composed of
// differentiable operations. None blocks the host: between CUDA devices, copies are ordered by streams. Sums
// follow the order of the list, so the bits do not depend on which device finishes first. An undefined tensor throws
// Error. Names and semantics follow LibTorch's torch::cuda functions and PyTorch's torch.cuda.comm.
#pragma once
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::parallel {

using Tensors = std::vector<Tensor>;

/// Piece sizes for splitting `size` elements among at most `parts` devices as chunk does: ceil(size / parts)
/// each, the last one smaller, so there may be fewer pieces than parts. Size 0 yields one piece of size 0.
std::vector<int64_t> chunk_sizes(int64_t size, std::size_t parts);
/// The same for `parts` pieces that differ in size by at most one; empty pieces are omitted.
std::vector<int64_t> balanced_sizes(int64_t size, std::size_t parts);

/// Piece i of `tensor` along `dim`, on devices[i]. Sizes come from chunk_sizes, so there may be fewer pieces
/// than devices. A piece that is already on its device is a view. Throws Error if `devices` is empty,
/// contains a duplicate or names a device that does not exist.
Tensors scatter(const Tensor& tensor, ArrayRef<Device> devices, int64_t dim = 0);
/// The same with explicit piece sizes. Also throws Error unless there is one size per device and the sizes
/// sum to the size of the dimension.
Tensors scatter(const Tensor& tensor, ArrayRef<Device> devices, IntArrayRef sizes, int64_t dim = 0);

/// Concatenates the pieces along `dim` on `device`. Scalars (0-d) become a vector, as in PyTorch.
Tensor gather(TensorList pieces, Device device, int64_t dim = 0);

/// A copy on every device; on the device of `tensor`, the tensor itself.
Tensors broadcast(const Tensor& tensor, ArrayRef<Device> devices);
/// Entry [i] holds `tensors` on devices[i]. Uses flat buffers: one copy per device and dtype.
std::vector<Tensors> broadcast_coalesced(TensorList tensors, ArrayRef<Device> devices);

/// The sum on `device`, added in list order. Throws Error when shapes or dtypes differ.
Tensor reduce_add(TensorList tensors, Device device);
/// Entry [k] is the sum of lists[i][k] over i. Uses one copy per list and dtype.
Tensors reduce_add_coalesced(const std::vector<Tensors>& lists, Device device);

/// Replaces every tensor by the sum of all, in place. The sum is computed on the first tensor's device.
void all_reduce(TensorList tensors);
/// Replaces lists[i][k] by the sum over i of lists[i][k], in place. Uses one copy to the first list's device
/// and one back for every other list and dtype.
void all_reduce_coalesced(const std::vector<Tensors>& lists);

/// `devices` with indices resolved. Throws Error when it is empty, names a missing device or has a duplicate.
std::vector<Device> checked_devices(const char* operation, ArrayRef<Device> devices);

}  // namespace tandem::parallel
