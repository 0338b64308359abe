// Functions that stand in a namespace under a shorter name: linalg::det for linalg_det.
#pragma once

/// TANDEM_NAMED(linalg, inv, (const Tensor& A), A), in namespace linalg, defines inv(A), which returns linalg_inv(A).
#define TANDEM_NAMED(space, name, parameters, ...) \
  inline auto name(TANDEM_PARAMETERS parameters) { return space##_##name(__VA_ARGS__); }
#define TANDEM_PARAMETERS(...) __VA_ARGS__
