// Communication between devices: copies and sums of tensors that lie on different ones.
//
// All of it is differentiable, since it is made of operations that are, and nothing waits on the host:
// between CUDA devices copies run in the order of the streams. Sums are taken in the order of the list, so
// that the bits do not depend on which device is ready first. Names and semantics are those of torch::cuda's
// comm functions and of PyTorch's torch.cuda.comm.
#pragma once
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::parallel {

using Tensors = std::vector<Tensor>;

/// Sizes of the pieces of `size` elements for at most `parts` devices, as chunk cuts: ceil(size / parts)
/// each, the last one smaller, so there may be fewer pieces than parts. One piece of 0 for nothing.
std::vector<int64_t> chunk_sizes(int64_t size, std::size_t parts);
/// The same in `parts` pieces that differ by one at most; without the empty ones.
std::vector<int64_t> balanced_sizes(int64_t size, std::size_t parts);

/// Piece i of `tensor` along `dim` on devices[i]; pieces by chunk_sizes, so maybe fewer than devices. A piece
/// that is on its device already is a view. Throws Error without devices, on a device twice or one that is
/// not there.
Tensors scatter(const Tensor& tensor, ArrayRef<Device> devices, int64_t dim = 0);
/// Pieces of these sizes. Throws Error as well unless they are as many as devices and sum to the dimension's
/// size.
Tensors scatter(const Tensor& tensor, ArrayRef<Device> devices, IntArrayRef sizes, int64_t dim = 0);

/// The pieces side by side along `dim`, on `device`. Numbers (0-d) become a vector, as in PyTorch.
Tensor gather(TensorList pieces, Device device, int64_t dim = 0);

/// A copy on every device; where `tensor` is already, itself.
Tensors broadcast(const Tensor& tensor, ArrayRef<Device> devices);
/// Entry [i] is `tensors` on devices[i]; one copy a device for each dtype, by flat buffers.
std::vector<Tensors> broadcast_coalesced(TensorList tensors, ArrayRef<Device> devices);

/// The sum, in the order of the list, on `device`. Throws Error on different shapes.
Tensor reduce_add(TensorList tensors, Device device);
/// Entry [k] is the sum of lists[i][k] over i; one copy a list for each dtype.
Tensors reduce_add_coalesced(const std::vector<Tensors>& lists, Device device);

/// Every tensor becomes the sum of all, in place. The sum is made where the first one is.
void all_reduce(TensorList tensors);
/// lists[i][k] becomes the sum over i of lists[i][k], in place; one copy to the first list's device and one
/// back for every other list and dtype.
void all_reduce_coalesced(const std::vector<Tensors>& lists);

/// `devices` with their indices. Throws Error when there are none, one is not there, or one comes twice.
std::vector<Device> checked_devices(const char* operation, ArrayRef<Device> devices);

}  // namespace tandem::parallel
