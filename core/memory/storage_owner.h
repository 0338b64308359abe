// The owner of a storage's memory.
#pragma once
#include "tandem/core/storage.h"

namespace tandem::detail {

/// Whether the storage was made by make_storage, not by borrow_storage.
bool owns_memory(const StorageImpl& storage);

}  // namespace tandem::detail
