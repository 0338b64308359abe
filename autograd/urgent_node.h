// Nodes whose results other devices wait for.
#pragma once
#include "tandem/autograd/node.h"

namespace tandem::autograd {

/// In a pass on several devices, runs before all other nodes that are ready on its device, however early it was
/// created. Sums do not depend on this: gradients that meet are added in the order in which their nodes were created.
class UrgentNode : public Node {};

}  // namespace tandem::autograd
