// The orders of a tensor's elements in memory that have names.
#pragma once
#include "tandem/core/dims.h"
#include "tandem/core/options.h"

namespace tandem {

/// The strides of a dense tensor whose channels are the last dimension in memory. Throws Error unless there are 4
/// dimensions (ChannelsLast) or 5 (ChannelsLast3d).
Dims channels_last_strides(IntArrayRef sizes, MemoryFormat format);
inline bool is_channels_last(optional<MemoryFormat> format) {
  return format && (*format == MemoryFormat::ChannelsLast || *format == MemoryFormat::ChannelsLast3d);
}

}  // namespace tandem
