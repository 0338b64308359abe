// All public operations.
#pragma once
#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/as_strided.h"
#include "tandem/autograd/ops/cat.h"
#include "tandem/autograd/ops/comparison.h"
#include "tandem/autograd/ops/conv2d.h"
#include "tandem/autograd/ops/factories.h"
#include "tandem/autograd/ops/fill.h"
#include "tandem/autograd/ops/flip.h"
#include "tandem/autograd/ops/gather.h"
#include "tandem/autograd/ops/index_add.h"
#include "tandem/autograd/ops/index_select.h"
#include "tandem/autograd/ops/linalg.h"
#include "tandem/autograd/ops/pool2d.h"
#include "tandem/autograd/ops/promotion.h"
#include "tandem/autograd/ops/random.h"
#include "tandem/autograd/ops/reduce.h"
#include "tandem/autograd/ops/repeat.h"
#include "tandem/autograd/ops/softmax.h"
#include "tandem/autograd/ops/sum_to.h"
#include "tandem/autograd/ops/tensor_literal.h"
#include "tandem/autograd/ops/tril.h"
#include "tandem/autograd/ops/unary.h"
#include "tandem/autograd/ops/view.h"
// Families that a build may not have yet.
#if __has_include("tandem/autograd/ops/activation.h")
#include "tandem/autograd/ops/activation.h"
#endif
#if __has_include("tandem/autograd/ops/dropout.h")
#include "tandem/autograd/ops/dropout.h"
#endif
#if __has_include("tandem/autograd/ops/index.h")
#include "tandem/autograd/ops/index.h"
#endif
#if __has_include("tandem/autograd/ops/loss.h")
#include "tandem/autograd/ops/loss.h"
#endif
#if __has_include("tandem/autograd/ops/norm.h")
#include "tandem/autograd/ops/norm.h"
#endif
#if __has_include("tandem/autograd/ops/sort.h")
#include "tandem/autograd/ops/sort.h"
#endif
#if __has_include("tandem/autograd/ops/where.h")
#include "tandem/autograd/ops/where.h"
#endif
